#include "gateway/ssh/connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "gateway/ssh/resolve.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* Binds to the first address in `from` that is of the family. */
static int bind_from(int fd, const struct addrinfo *from, int family, struct err *err)
{
    for (; from; from = from->ai_next)
        if (from->ai_family == family)
            return bind(fd, from->ai_addr, from->ai_addrlen) == 0 ? 0
                                                                  : err_sys(err, "cannot use BindAddress");
    return failure_set(FAILURE_BIND_FAMILY, FAILURE_DETAILS(NULL), err);
}

int connect_start(const struct addrinfo *address, const struct addrinfo *from, struct err *err)
{
    int fd = fd_socket(address->ai_family, err);
    if (fd < 0)
        return -1;
    if (address->ai_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (fd_set_nonblocking(fd, true, err) < 0 || (from && bind_from(fd, from, address->ai_family, err) < 0)) {
        fd_close(&fd);
        return -1;
    }
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS && errno != EINTR) {
        err_sys(err, "cannot connect");
        err_mark_unreachable(err);
        if (err)
            err->kind = ERR_FAILED;
        fd_close(&fd);
    }
    return fd;
}

int connect_check(int fd, struct err *err)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (poll(&p, 1, 0) <= 0)
        return 0;
    int failure = 0;
    socklen_t size = sizeof failure;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
        failure = errno;
    if (!failure)
        return 1;
    errno = failure;
    err_sys(err, "cannot connect");
    if (err)
        err->kind = ERR_FAILED;
    return err_mark_unreachable(err);
}

static int connect_one(const struct addrinfo *address, const struct addrinfo *from, int64_t deadline,
                       int cancel_fd, struct err *err)
{
    int fd = connect_start(address, from, err);
    if (fd < 0)
        return -1;
    if (fd_wait(fd, POLLOUT, deadline, cancel_fd, err) < 0) {
        if (err && err->kind == ERR_TIMEOUT)
            failure_set(FAILURE_CONNECT_TIMEOUT, FAILURE_DETAILS(NULL), err);
    } else if (connect_check(fd, err) == 1) {
        return fd;
    }
    fd_close(&fd);
    return -1;
}

char *connect_peer_ip(int fd, char dst[CONNECT_PEER_IP])
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    dst[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.ss_family != AF_UNIX &&
        getnameinfo((struct sockaddr *)&peer, size, dst, CONNECT_PEER_IP, NULL, 0, NI_NUMERICHOST) != 0)
        dst[0] = '\0';
    return dst;
}

static int connect_any(const struct addrinfo *all, const struct addrinfo *from,
                       const struct connect_options *options, struct err *err)
{
    int left = 0, fd = -1;
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        left++;
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next, left--) {
        int64_t share = (options->deadline - clock_now()) / left;
        fd = connect_one(a, from, clock_deadline(share > 0 ? share : 0), options->cancel_fd, err);
        if (fd < 0 && err->kind == ERR_CANCELLED)
            break;
    }
    return fd;
}

static int add_connect_hint(const char *host, unsigned port, struct err *err)
{
    if (err->kind == ERR_FAILED)
        err_hint(err, "%s", failure_hint(FAILURE_CONNECT_REFUSED));
    return err_wrap(err, "%s port %u", host, port);
}

int connect_tcp(const char *host, unsigned port, const struct connect_options *options, struct err *err)
{
    struct addrinfo *all = NULL, *from = NULL;
    struct err why = ERR_INIT;
    int fd = -1;
    struct resolve_query to = {.host = host,
                               .port = port,
                               .family = options->family,
                               .deadline = options->deadline,
                               .cancel_fd = options->cancel_fd},
                         local = to;
    local.host = options->bind_address;
    local.port = 0;
    if (resolve_host(&to, &all, err) < 0)
        return -1;
    if (options->bind_address && resolve_host(&local, &from, err) < 0) {
        err_wrap(err, "BindAddress");
        goto out;
    }
    fd = connect_any(all, from, options, &why);
    if (fd < 0) {
        add_connect_hint(host, port, &why);
        if (err)
            *err = why;
    }
out:
    freeaddrinfo(all);
    if (from)
        freeaddrinfo(from);
    return fd;
}
