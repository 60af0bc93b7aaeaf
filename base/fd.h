/*
 * Descriptors. All are created close-on-exec. Waits have a deadline and a cancel descriptor.
 *
 * If the system cannot create a close-on-exec descriptor in one step, creation and spawning share a lock, so
 * that no child inherits a descriptor. A child that inherits an end of a socketpair would prevent
 * end-of-file.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/data/buf.h"
#include "base/data/err.h"

/* Creates a pipe: [0] to read, [1] to write. */
int fd_pipe(int fds[2], struct err *err);

/* Creates a pipe with two non-blocking ends. */
int fd_pipe_nonblocking(int fds[2], struct err *err);
/* fd_pipe_wake writes one byte to such a pipe, so that its read end becomes readable. fd_pipe_drain reads the
 * pipe until it is empty. */
void fd_pipe_wake(int write_fd);
void fd_pipe_drain(int read_fd);

/* Creates a connected pair of stream sockets. */
int fd_socketpair(int fds[2], struct err *err);

/* Sends one byte and a descriptor through a Unix socket. The caller closes its own copy. Returns 0, or -1
 * with sendmsg(2)'s errno. */
int fd_send(int socket, int fd);
/* Receives the byte and the descriptor of one fd_send. Returns the descriptor, or -1: with errno 0 at the end
 * of the stream, else with recvmsg(2)'s errno, or EBADMSG for anything else than fd_send sends. */
int fd_receive(int socket);

/* Creates a stream socket of the address family. Returns the descriptor or -1. */
int fd_socket(int family, struct err *err);

/* Fills in the address of a Unix socket, for bind(2) and connect(2). ERR_FAILED if the path is longer than
 * the system allows: 107 bytes, 103 on macOS. */
int fd_unix_address(const char *path, struct sockaddr_un *ret, struct err *err);

/* Accepts a connection. Returns its descriptor, or -1 with accept(2)'s errno. */
int fd_accept(int listener);

/*
 * Raises the soft limit of open descriptors, usually 1024, to `wanted` or to the hard limit. Call it before
 * any thread starts. Returns the number of descriptors that the limit then allows, at most `wanted`. On Linux
 * fd_restore_limit restores the old limit in a child.
 */
size_t fd_raise_limit(size_t wanted);
void fd_restore_limit(pid_t child);

int fd_set_nonblocking(int fd, bool on, struct err *err);

/* Closes *fd if it is open and sets it to -1. Keeps errno. */
void fd_close(int *fd);

/*
 * Waits until poll(2) reports one of `events`, an error or a hang-up for fd. ERR_TIMEOUT if the deadline
 * (clock_deadline) passes first, ERR_CANCELLED if cancel_fd (-1: none) is readable. If fd is -1, the function
 * waits only for the deadline and cancel_fd.
 */
int fd_wait(int fd, short events, int64_t deadline, int cancel_fd, struct err *err);

/* Returns whether cancel_fd (-1: none) is readable now. */
bool fd_cancelled(int cancel_fd);

/*
 * Returns the size of a regular file without its holes, at least 1 unless it is empty; 0 for anything else.
 * Limits that grow with the size of an untrusted file use this size, because a file of 4 kB on disk can have
 * holes of gigabytes. Keeps the offset. A file that its file system has compressed counts in full.
 */
uint64_t fd_bytes_on_disk(int fd);

/* Writes all n bytes and waits if needed. */
int fd_write_all(int fd, const void *p, size_t n, struct err *err);

/* Works like fd_write_all, but fails with ERR_CANCELLED once cancel_fd (-1: none) is readable, even if no
 * process reads the pipe. Bytes already written stay. The descriptor may be blocking; its mode is
 * unchanged. */
int fd_write_or_cancel(int fd, const void *p, size_t n, int cancel_fd, struct err *err);

/* Works like fd_write_or_cancel, but fails with ERR_CANCELLED only if cancel_fd is readable and a write would
 * block. */
int fd_write_cancel_if_blocked(int fd, const void *p, size_t n, int cancel_fd, struct err *err);

/* Appends everything up to end-of-file to `ret`. Returns 0, also if the bytes exceed the buffer's maximum
 * (buf_check), or -1 with read(2)'s errno. */
int fd_read_all(int fd, struct buf *ret);

/* Lock and unlock the mutex of spawning, on systems that cannot set close-on-exec atomically. Elsewhere they
 * do nothing. */
void fd_spawn_lock(void);
void fd_spawn_unlock(void);

#endif
