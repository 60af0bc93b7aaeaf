#include "gateway/connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/banned.h"

int connect_resolve(const char *host, unsigned port, struct addrinfo **ret, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    int rc = getaddrinfo(host, service, &hints, ret);
    if (rc == 0)
        return 0;
    if (rc == EAI_SYSTEM)
        return err_sys(err, "cannot resolve %s", host);
    err_set(err, ERR_FAILED, "cannot resolve %s: %s", host, gai_strerror(rc));
    return err_hint(err, "is the name right, and is this workstation on the network (VPN) that knows it?");
}

int connect_start(const struct addrinfo *address, struct err *err)
{
    int fd = fd_socket(address->ai_family, err);
    if (fd < 0)
        return -1;
    if (address->ai_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (fd_set_nonblocking(fd, true, err) < 0) {
        fd_close(&fd);
        return -1;
    }
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS && errno != EINTR) {
        err_sys(err, "cannot connect");
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
    return -1;
}

static int connect_one(const struct addrinfo *address, int64_t deadline, int cancel_fd, struct err *err)
{
    int fd = connect_start(address, err);
    if (fd < 0)
        return -1;
    if (fd_wait(fd, POLLOUT, deadline, cancel_fd, err) < 0) {
        if (err && err->kind == ERR_TIMEOUT)
            err_set(err, ERR_TIMEOUT, "no answer to the connection attempt");
    } else if (connect_check(fd, err) == 1) {
        return fd;
    }
    fd_close(&fd);
    return -1;
}

char *connect_peer(int fd, char dst[CONNECT_PEER])
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    dst[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.ss_family != AF_UNIX &&
        getnameinfo((struct sockaddr *)&peer, size, dst, CONNECT_PEER, NULL, 0, NI_NUMERICHOST) != 0)
        dst[0] = '\0';
    return dst;
}

int connect_tcp(const char *host, unsigned port, int64_t deadline, int cancel_fd, struct err *err)
{
    struct addrinfo *all = NULL;
    if (connect_resolve(host, port, &all, err) < 0)
        return -1;
    struct err why = ERR_INIT;
    int left = 0, fd = -1;
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        left++;
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next, left--) {
        int64_t share = (deadline - clock_now()) / left;
        fd = connect_one(a, clock_deadline(share > 0 ? share : 0), cancel_fd, &why);
        if (why.kind == ERR_CANCELLED)
            break;
    }
    freeaddrinfo(all);
    if (fd < 0 && err) {
        *err = why;
        err_wrap(err, "%s port %u", host, port);
    }
    return fd;
}
