#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/banned.h"

/* The room that fd_read_all adds to a buffer that it grows, without the NUL. */
#define READ_GROWTH 65535
/* fd_read_all grows a buffer that has less room than this. */
#define READ_MIN_ROOM 4096

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
/* macOS cannot receive a descriptor that is close-on-exec at once. Only a process without other threads
 * receives descriptors there (fd_receive). */
#ifdef MSG_CMSG_CLOEXEC
#define RECEIVE_CLOEXEC MSG_CMSG_CLOEXEC
#else
#define RECEIVE_CLOEXEC 0
#endif

#ifdef __linux__

void fd_spawn_lock(void)
{
}

void fd_spawn_unlock(void)
{
}

int fd_pipe(int fds[2], struct err *err)
{
    return pipe2(fds, O_CLOEXEC) < 0 ? err_sys(err, "cannot make a pipe") : 0;
}

int fd_socketpair(int fds[2], struct err *err)
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0
               ? err_sys(err, "cannot make a pair of sockets")
               : 0;
}

int fd_socket(int family, struct err *err)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? err_sys(err, "cannot make a socket") : fd;
}

int fd_accept(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

#else

static pthread_mutex_t spawn_mutex = PTHREAD_MUTEX_INITIALIZER;

void fd_spawn_lock(void)
{
    pthread_mutex_lock(&spawn_mutex);
}

void fd_spawn_unlock(void)
{
    pthread_mutex_unlock(&spawn_mutex);
}

static void close_on_exec(int fd)
{
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int fd_pipe(int fds[2], struct err *err)
{
    fd_spawn_lock();
    int rc = pipe(fds);
    if (rc == 0) {
        close_on_exec(fds[0]);
        close_on_exec(fds[1]);
    }
    fd_spawn_unlock();
    return rc < 0 ? err_sys(err, "cannot make a pipe") : 0;
}

int fd_socketpair(int fds[2], struct err *err)
{
    fd_spawn_lock();
    int rc = socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    if (rc == 0) {
        close_on_exec(fds[0]);
        close_on_exec(fds[1]);
    }
    fd_spawn_unlock();
    return rc < 0 ? err_sys(err, "cannot make a pair of sockets") : 0;
}

int fd_socket(int family, struct err *err)
{
    fd_spawn_lock();
    int fd = socket(family, SOCK_STREAM, 0);
    close_on_exec(fd);
    fd_spawn_unlock();
    return fd < 0 ? err_sys(err, "cannot make a socket") : fd;
}

int fd_accept(int listener)
{
    fd_spawn_lock();
    int fd = accept(listener, NULL, NULL);
    close_on_exec(fd);
    fd_spawn_unlock();
    return fd;
}

#endif

/* The inherited limit of descriptors. fd_raise_limit writes it once, before any thread starts; 0: the limit
 * is unchanged. */
static struct rlimit inherited_limit;

size_t fd_raise_limit(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return wanted;
    struct rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) < 0)
        return limit.rlim_cur;
    if (inherited_limit.rlim_max == 0)
        inherited_limit = limit;
    return raised.rlim_cur;
}

void fd_restore_limit(pid_t child)
{
#ifdef __linux__
    if (inherited_limit.rlim_max != 0)
        prlimit(child, RLIMIT_NOFILE, &inherited_limit, NULL);
#else
    (void)child;
#endif
}

int fd_set_nonblocking(int fd, bool on, struct err *err)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0)
        return err_sys(err, "cannot set the mode of a descriptor");
    return 0;
}

int fd_pipe_nonblocking(int fds[2], struct err *err)
{
    int made[2];
    if (fd_pipe(made, err) < 0)
        return -1;
    if (fd_set_nonblocking(made[0], true, err) < 0 || fd_set_nonblocking(made[1], true, err) < 0) {
        fd_close(&made[0]);
        fd_close(&made[1]);
        return -1;
    }
    fds[0] = made[0];
    fds[1] = made[1];
    return 0;
}

void fd_pipe_wake(int fd)
{
    /* If the pipe is full (EAGAIN), its read end is readable already. */
    while (write(fd, "", 1) < 0 && errno == EINTR)
        ;
}

void fd_pipe_drain(int fd)
{
    char drained[64];
    while (read(fd, drained, sizeof drained) > 0)
        ;
}

int fd_unix_address(const char *path, struct sockaddr_un *ret, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof address.sun_path)
        return err_set(err, ERR_FAILED,
                       "%s: the path of a Unix socket may have at most %zu bytes; this path has %zu", path,
                       sizeof address.sun_path - 1, n);
    memcpy(address.sun_path, path, n);
    *ret = address;
    return 0;
}

void fd_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

int fd_wait(int fd, short events, int64_t deadline, int cancel_fd, struct err *err)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = cancel_fd, .events = POLLIN}};
        int n = poll(fds, 2, clock_poll_timeout(deadline));
        if (n < 0 && errno != EINTR)
            return err_sys(err, "cannot wait for a descriptor");
        if (n > 0 && fds[1].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (n > 0 && fds[0].revents)
            return 0;
        if (n == 0)
            return err_set(err, ERR_TIMEOUT, "timed out");
    }
}

uint64_t fd_bytes_on_disk(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    uint64_t size = (uint64_t)st.st_size, on_disk = (uint64_t)st.st_blocks * 512;
    if (on_disk >= size)
        return size;
    /* Compression saves blocks too. SEEK_HOLE tells whether the file has a hole. */
    off_t offset = lseek(fd, 0, SEEK_CUR), hole = lseek(fd, 0, SEEK_HOLE);
    lseek(fd, offset, SEEK_SET);
    if (hole < 0 || hole >= st.st_size)
        return size;
    return on_disk > 0 ? on_disk : 1;
}

bool fd_cancelled(int cancel_fd)
{
    struct pollfd p = {.fd = cancel_fd, .events = POLLIN};
    return cancel_fd >= 0 && poll(&p, 1, 0) > 0;
}

int fd_write_all(int fd, const void *p, size_t n, struct err *err)
{
    const char *at = p;
    while (n > 0) {
        ssize_t w = write(fd, at, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (fd_wait(fd, POLLOUT, CLOCK_NEVER, -1, err) < 0)
                return -1;
            continue;
        }
        if (w < 0)
            return err_sys(err, "cannot write");
        at += w;
        n -= (size_t)w;
    }
    return 0;
}

/* Returns the number of bytes that a write accepts without blocking after poll has reported POLLOUT: for
 * pipes, sockets and terminals PIPE_BUF, the most that POSIX guarantees. A write to a file never
 * blocks. */
static size_t writable_at_once(int fd)
{
    struct stat st;
    bool may_block = fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd);
    return may_block ? PIPE_BUF : SIZE_MAX;
}

int fd_write_or_cancel(int fd, const void *p, size_t n, int cancel_fd, struct err *err)
{
    const char *at = p;
    if (cancel_fd < 0)
        return fd_write_all(fd, p, n, err);
    size_t max_piece = writable_at_once(fd);
    while (n > 0) {
        size_t piece = n < max_piece ? n : max_piece;
        if (fd_wait(fd, POLLOUT, CLOCK_NEVER, cancel_fd, err) < 0 || fd_write_all(fd, at, piece, err) < 0)
            return -1;
        at += piece;
        n -= piece;
    }
    return 0;
}

int fd_write_cancel_if_blocked(int fd, const void *p, size_t n, int cancel_fd, struct err *err)
{
    const char *at = p;
    size_t max_piece = writable_at_once(fd);
    while (n > 0) {
        struct err why = ERR_INIT;
        struct pollfd now = {.fd = fd, .events = POLLOUT};
        size_t piece = n < max_piece ? n : max_piece;
        if (fd_wait(fd, POLLOUT, CLOCK_NEVER, cancel_fd, &why) < 0 &&
            (why.kind != ERR_CANCELLED || poll(&now, 1, 0) <= 0)) {
            if (err)
                *err = why;
            return -1;
        }
        if (fd_write_all(fd, at, piece, err) < 0)
            return -1;
        at += piece;
        n -= piece;
    }
    return 0;
}

int fd_read_all(int fd, struct buf *ret)
{
    for (;;) {
        char excess;
        size_t left = ret->cap - ret->len, room = left > READ_MIN_ROOM ? left - 1 : READ_GROWTH;
        /* If the buffer is full, read one byte to learn whether the input exceeds it. */
        char *to = buf_reserve(ret, &room);
        ssize_t n = to ? read(fd, to, room) : read(fd, &excess, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (to)
            buf_commit(ret, (size_t)n);
        else
            buf_add(ret, &excess, 1);
        if (ret->failed)
            return 0;
    }
}

/* ---- passing descriptors ------------------------------------------------------------------------------- */

/* Room for the control message with one descriptor. */
union fd_control {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
};

int fd_send(int socket, int fd)
{
    union fd_control control = {0};
    struct iovec byte = {.iov_base = (void *)(uintptr_t) "", .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int fd_receive(int socket)
{
    union fd_control control = {0};
    char byte;
    int fd = -1;
    struct iovec io = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    ssize_t n;
    do
        n = recvmsg(socket, &message, RECEIVE_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        errno = n < 0 ? errno : 0;
        return -1;
    }
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len != CMSG_LEN(sizeof fd)) {
        errno = EBADMSG;
        return -1;
    }
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (RECEIVE_CLOEXEC == 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}
