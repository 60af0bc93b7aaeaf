/*
 * Descriptors: close-on-exec from birth, non-blocking where said, waited for with a deadline and a way out.
 *
 * Where the system cannot make a descriptor close-on-exec in one step, making and spawning share a lock, so
 * that no child ever inherits one: a leaked end of a socketpair means that end-of-file never comes.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/err.h"

/* A pipe: [0] to read, [1] to write. */
int fd_pipe(int fds[2], struct err *err);

/* The same, neither end of which ever waits. */
int fd_pipe_nonblocking(int fds[2], struct err *err);
/* Has whoever polls the other end of such a pipe look up, until that is drained. */
void fd_ring(int fd);
void fd_drain(int fd);

/* A connected pair of stream sockets. */
int fd_socketpair(int fds[2], struct err *err);

/* A stream socket of that family. */
int fd_socket(int family, struct err *err);

/* The address of a Unix socket, for bind(2) and connect(2). ERR_FAILED when the path is longer than the
 * system has room for: 107 bytes, 103 on macOS. */
int fd_unix_address(const char *path, struct sockaddr_un *ret, struct err *err);

/* Accepts a connection; -1 with errno as accept(2) leaves it. */
int fd_accept(int listener);

/*
 * Lets this process have `wanted` descriptors open, or as many as the system's hard limit allows: the soft
 * one, which most systems set to 1024, is raised. Before any thread starts. Returns how many there may be
 * then. Children get the limit that was, where the system can do that (Linux); proc.c's affair.
 */
size_t fd_make_room(size_t wanted);
void fd_give_back_room(pid_t child);

int fd_set_nonblocking(int fd, bool on, struct err *err);

/* Closes *fd if it is open and sets it to -1. Keeps errno. */
void fd_close(int *fd);

/*
 * Waits until one of `events` (poll(2)) holds for fd. ERR_TIMEOUT when the deadline (clock_deadline) passes
 * first, ERR_CANCELLED when cancel_fd (or -1) is readable. fd may be -1: then it only waits for those.
 */
int fd_wait(int fd, short events, int64_t deadline, int cancel_fd, struct err *err);

/* Whether cancel_fd (or -1) is readable now. */
bool fd_cancelled(int cancel_fd);

/* Writes all n bytes, waiting where needed. */
int fd_write_all(int fd, const void *p, size_t n, struct err *err);

/* The same, but ERR_CANCELLED once cancel_fd (or -1) is readable, also where nobody reads a pipe: what was
 * written by then stays. The descriptor may be one that waits; it is left as it is. */
int fd_write_or_cancel(int fd, const void *p, size_t n, int cancel_fd, struct err *err);

/* The same, but once cancel_fd is readable it still writes what the descriptor takes without waiting:
 * ERR_CANCELLED only where it would have to wait. */
int fd_write_or_leave(int fd, const void *p, size_t n, int cancel_fd, struct err *err);

/* Reads up to the end of it, behind what `ret` holds: -1 with errno as read(2) leaves it. Whether it all
 * found room there is what buf_check says. */
int fd_read_all(int fd, struct buf *ret);

/* The lock spawning holds where close-on-exec is not atomic; elsewhere these do nothing. */
void fd_spawn_lock(void);
void fd_spawn_unlock(void);

#endif
