#include "gateway/local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "base/banned.h"

/* The backlog is large because many connections wait while a lost session is opened again. */
#define BACKLOG 128

/* ---- addresses ----------------------------------------------------------------------------------------- */

static int refuse_address(const char *text, struct err *err)
{
    err_set(err, ERR_USAGE, "\"%.80s\" is not an address to listen on", text);
    return err_hint(err, "PORT, IP:PORT or unix:PATH; port 0 is any that is free, and 0.0.0.0:PORT lets the "
                         "whole network in");
}

static int parse_path(const char *path, struct local_address *ret, struct err *err)
{
    char *expanded = file_expand_home(path);
    int rc = -1;
    if (!expanded)
        err_nomem(err);
    else if (!*expanded || !text_is_visible(expanded))
        err_set(err, ERR_USAGE, "unix: must be followed by the path of a socket");
    else if (strlen(expanded) >= sizeof ret->path)
        err_set(err, ERR_USAGE, "the path of a Unix socket has at most %zu bytes: %s", sizeof ret->path - 1,
                expanded);
    else
        rc = 0;
    if (rc == 0) {
        *ret = (struct local_address){0};
        snprintf(ret->path, sizeof ret->path, "%s", expanded);
    }
    free(expanded);
    return rc;
}

/* Reads the address before the last colon, without its brackets. Without a colon it is 127.0.0.1. */
static int read_ip(const char *text, const char *colon, char *ip, size_t cap)
{
    unsigned char ignored[16];
    size_t n = colon ? (size_t)(colon - text) : 0;
    bool brackets = n >= 2 && text[0] == '[' && text[n - 1] == ']';
    int written = snprintf(ip, cap, "%.*s", (int)(brackets ? n - 2 : n), brackets ? text + 1 : text);
    if (!colon || strcmp(ip, "localhost") == 0)
        written = snprintf(ip, cap, "127.0.0.1");
    return (size_t)written < cap && inet_pton(brackets ? AF_INET6 : AF_INET, ip, ignored) == 1 ? 0 : -1;
}

int local_address_parse(const char *text, struct local_address *ret, struct err *err)
{
    if (strncmp(text, "unix:", 5) == 0)
        return parse_path(text + 5, ret, err);
    struct local_address a = {.path = ""};
    const char *colon = strrchr(text, ':');
    uint64_t port = 0;
    if (text_to_uint(colon ? colon + 1 : text, 65535, &port) < 0 ||
        read_ip(text, colon, a.ip, sizeof a.ip) < 0)
        return refuse_address(text, err);
    a.port = (unsigned)port;
    *ret = a;
    return 0;
}

bool local_address_is_private(const struct local_address *a)
{
    return a->path[0] || address_is_loopback(a->ip);
}

static char *write_name(const struct local_address *a, const char *ip, char dst[LOCAL_ADDRESS_NAME])
{
    if (a->path[0])
        snprintf(dst, LOCAL_ADDRESS_NAME, "%s", a->path);
    else
        snprintf(dst, LOCAL_ADDRESS_NAME, strchr(ip, ':') ? "[%s]:%u" : "%s:%u", ip, a->port);
    return dst;
}

char *local_address_name(const struct local_address *a, char dst[LOCAL_ADDRESS_NAME])
{
    return write_name(a, a->ip, dst);
}

char *local_address_client_name(const struct local_address *a, char dst[LOCAL_ADDRESS_NAME])
{
    const char *ip = a->ip;
    if (strcmp(ip, "0.0.0.0") == 0)
        ip = "127.0.0.1";
    if (strcmp(ip, "::") == 0)
        ip = "::1";
    return write_name(a, ip, dst);
}

/* ---- sockets ------------------------------------------------------------------------------------------- */

union socket_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    struct sockaddr_un local;
};

static socklen_t fill_address(const struct local_address *a, union socket_address *ret)
{
    *ret = (union socket_address){.any = {.sa_family = AF_UNIX}};
    if (a->path[0]) {
        fd_unix_address(a->path, &ret->local, NULL); /* local_address.path is no longer than sun_path */
        return sizeof ret->local;
    }
    if (inet_pton(AF_INET, a->ip, &ret->ipv4.sin_addr) == 1) {
        ret->ipv4.sin_family = AF_INET;
        ret->ipv4.sin_port = htons((uint16_t)a->port);
        return sizeof ret->ipv4;
    }
    inet_pton(AF_INET6, a->ip, &ret->ipv6.sin6_addr);
    ret->ipv6.sin6_family = AF_INET6;
    ret->ipv6.sin6_port = htons((uint16_t)a->port);
    return sizeof ret->ipv6;
}

/* Checks that no program listens on the Unix socket. */
static bool is_abandoned(const struct local_address *a)
{
    union socket_address address;
    socklen_t size = fill_address(a, &address);
    int fd = fd_socket(AF_UNIX, NULL);
    bool refused = fd >= 0 && fd_set_nonblocking(fd, true, NULL) == 0 &&
                   connect(fd, &address.any, size) < 0 && errno == ECONNREFUSED;
    fd_close(&fd);
    return refused;
}

/* Removes the user's own socket if no program listens on it, and nothing else. */
static int remove_abandoned(const struct local_address *a, struct err *err)
{
    struct stat st;
    if (lstat(a->path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "cannot listen on %s", a->path);
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return err_set(err, ERR_EXISTS, "cannot listen on %s: %s", a->path,
                       S_ISSOCK(st.st_mode) ? "the socket belongs to another user"
                                            : "the file exists and is no socket");
    if (!is_abandoned(a))
        return err_set(err, ERR_BUSY, "cannot listen on %s: another program listens there", a->path);
    return unlink(a->path) == 0 || errno == ENOENT ? 0 : err_sys(err, "cannot remove the old %s", a->path);
}

static int set_listen_error(const struct local_address *at, struct err *err)
{
    char where[LOCAL_ADDRESS_NAME];
    int why = errno;
    local_address_name(at, where);
    if (why == EADDRINUSE)
        err_set(err, ERR_BUSY, "cannot listen on %s: another program listens there", where);
    else
        err_sys(err, "cannot listen on %s", where);
    if (why == EACCES && at->port > 0 && at->port < 1024)
        err_hint(
            err,
            "only root may listen on ports below 1024; choose a higher port, or port 0 for any free port");
    else if (why == EADDRINUSE)
        err_hint(err, "choose another port, or port 0 for any free port");
    return -1;
}

/* Stores the port that the kernel chose. */
static int store_port(struct local_listener *l, struct err *err)
{
    union socket_address got = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size = sizeof got;
    if (getsockname(l->fd, &got.any, &size) < 0)
        return err_sys(err, "cannot listen on %s", l->address.ip);
    l->address.port = ntohs(got.any.sa_family == AF_INET ? got.ipv4.sin_port : got.ipv6.sin6_port);
    return 0;
}

/* Binds and listens. The chmod after bind is early enough, because no client can connect before listen(2). */
static int bind_and_listen(struct local_listener *l, struct err *err)
{
    union socket_address address;
    socklen_t size = fill_address(&l->address, &address);
    bool is_unix = l->address.path[0] != '\0';
    if (is_unix && remove_abandoned(&l->address, err) < 0)
        return -1;
    l->fd = fd_socket(address.any.sa_family, err);
    if (l->fd < 0 || fd_set_nonblocking(l->fd, true, err) < 0)
        return -1;
    /* Permit a port whose last connection has closed less than a minute ago. */
    if (!is_unix)
        setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(l->fd, &address.any, size) < 0)
        return set_listen_error(&l->address, err);
    l->has_socket_file = is_unix;
    if ((is_unix && chmod(l->address.path, 0600) < 0) || listen(l->fd, BACKLOG) < 0)
        return set_listen_error(&l->address, err);
    return is_unix ? 0 : store_port(l, err);
}

int local_listener_open(const struct local_address *at, struct local_listener *ret, struct err *err)
{
    struct local_listener l = {.address = *at, .fd = -1};
    if (bind_and_listen(&l, err) < 0) {
        local_listener_close(&l);
        return -1;
    }
    *ret = l;
    return 0;
}

/* Removes the socket only if no other program has replaced it. */
void local_listener_close(struct local_listener *l)
{
    fd_close(&l->fd);
    if (l->has_socket_file && is_abandoned(&l->address))
        unlink(l->address.path);
    l->has_socket_file = false;
}

int local_listener_accept(const struct local_listener *l, char from[LOCAL_ADDRESS_NAME])
{
    union socket_address peer = {.any = {.sa_family = AF_UNSPEC}};
    struct local_address a = {.path = ""};
    socklen_t size = sizeof peer;
    int fd = fd_accept(l->fd);
    if (fd < 0)
        return -1;
    snprintf(from, LOCAL_ADDRESS_NAME, "a local program");
    if (l->address.path[0])
        return fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (getpeername(fd, &peer.any, &size) == 0) {
        bool ipv4 = peer.any.sa_family == AF_INET;
        const void *ip = ipv4 ? (void *)&peer.ipv4.sin_addr : (void *)&peer.ipv6.sin6_addr;
        inet_ntop(peer.any.sa_family, ip, a.ip, sizeof a.ip);
        a.port = ntohs(ipv4 ? peer.ipv4.sin_port : peer.ipv6.sin6_port);
        local_address_name(&a, from);
    }
    return fd;
}
