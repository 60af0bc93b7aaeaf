#include "gateway/openssh/mux.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/ssh/failure.h"
#include "keys/keys.h"
#include "base/banned.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/* The longest answer, in bytes. */
#define ANSWER_MAX 4096
/* The most bytes of unsent requests. A request has one host name (255 bytes) or two paths (108 each). */
#define REQUEST_MAX 2048

#define FORWARD_LOCAL 1
/* With this port number, the name is the path of a Unix socket. */
#define PORT_UNIX UINT32_C(0xfffffffe)

/* ---- messages ------------------------------------------------------------------------------------------ */

static int parse_body(struct ssh_reader *r, struct mux_message *m)
{
    const unsigned char *reason = NULL;
    size_t n = 0;
    switch (m->type) {
    case MUX_HELLO:
        /* Names and values of extensions may follow; no OpenSSH sends any so far. */
        return ssh_read_u32(r, &m->number);
    case MUX_OK:
    case MUX_SESSION_OPENED:
        return ssh_read_u32(r, &m->id);
    case MUX_ALIVE:
        return ssh_read_u32(r, &m->id) < 0 ? -1 : ssh_read_u32(r, &m->number);
    case MUX_PERMISSION_DENIED:
    case MUX_FAILURE:
        if (ssh_read_u32(r, &m->id) < 0 || ssh_read_string(r, &reason, &n) < 0)
            return -1;
        text_printable(m->reason, sizeof m->reason, (const char *)reason, n);
        return 0;
    default:
        return -1;
    }
}

static int set_size_error(uint32_t size, struct err *err)
{
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)size);
    return failure_set(FAILURE_MASTER_MESSAGE_SIZE, FAILURE_DETAILS(number), err);
}

static int set_type_error(uint32_t type, struct err *err)
{
    char number[16];
    snprintf(number, sizeof number, "0x%08x", (unsigned)type);
    return failure_set(FAILURE_MASTER_MESSAGE_TYPE, FAILURE_DETAILS(number), err);
}

int mux_parse(const void *p, size_t n, struct mux_message *ret, size_t *ret_used, struct err *err)
{
    struct ssh_reader all = {p, n}, body = {NULL, 0};
    struct mux_message m = {0};
    uint32_t size = 0, type = 0;
    if (ssh_read_u32(&all, &size) < 0) {
        *ret_used = 0;
        return 0;
    }
    if (size < 4 || size > ANSWER_MAX)
        return set_size_error(size, err);
    if (size > all.left) {
        *ret_used = 0;
        return 0;
    }
    body = (struct ssh_reader){all.p, size};
    ssh_read_u32(&body, &type);
    m.type = (enum mux_type)type;
    if (parse_body(&body, &m) < 0)
        return set_type_error(type, err);
    *ret = m;
    *ret_used = 4 + (size_t)size;
    return 0;
}

/* Starts a message, and returns its position for end_message, which fills in the length. */
static size_t begin_message(struct buf *b, enum mux_type type)
{
    size_t at = b->len;
    ssh_add_u32(b, 0);
    ssh_add_u32(b, (uint32_t)type);
    return at;
}

static void end_message(struct buf *b, size_t at)
{
    if (b->failed)
        return;
    size_t n = b->len - at - 4;
    for (size_t i = 0; i < 4; i++)
        b->data[at + i] = (char)(n >> (24 - 8 * i));
}

static void add_text(struct buf *b, const char *s)
{
    ssh_add_string(b, s, strlen(s));
}

void mux_add_hello(struct buf *b)
{
    size_t at = begin_message(b, MUX_HELLO);
    ssh_add_u32(b, MUX_VERSION);
    end_message(b, at);
}

void mux_add_request(struct buf *b, enum mux_type type, uint32_t id)
{
    size_t at = begin_message(b, type);
    ssh_add_u32(b, id);
    end_message(b, at);
}

void mux_add_stdio_forward(struct buf *b, uint32_t id, const char *host, unsigned port)
{
    size_t at = begin_message(b, MUX_STDIO_FORWARD);
    ssh_add_u32(b, id);
    add_text(b, "");
    add_text(b, host);
    ssh_add_u32(b, port);
    end_message(b, at);
}

void mux_add_unix_forward(struct buf *b, enum mux_type type, uint32_t id, const char *local_path,
                          const char *remote_path)
{
    size_t at = begin_message(b, type);
    ssh_add_u32(b, id);
    ssh_add_u32(b, FORWARD_LOCAL);
    add_text(b, local_path);
    ssh_add_u32(b, PORT_UNIX);
    add_text(b, remote_path);
    ssh_add_u32(b, PORT_UNIX);
    end_message(b, at);
}

/* ---- a connection -------------------------------------------------------------------------------------- */

/* Checks that the path is a socket of this user. In a shared directory another user may have created it. */
static bool is_own_socket(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid();
}

int mux_connect(struct mux *m, const char *path, struct err *err)
{
    struct sockaddr_un address;
    *m = (struct mux){.fd = -1, .in = BUF_INIT(ANSWER_MAX + 4), .out = BUF_INIT(REQUEST_MAX)};
    if (fd_unix_address(path, &address, NULL) < 0 || !is_own_socket(path))
        return failure_set(FAILURE_MASTER_NO_SOCKET, FAILURE_DETAILS(path), err);
    if ((m->fd = fd_socket(AF_UNIX, err)) < 0 || fd_set_nonblocking(m->fd, true, err) < 0)
        return -1;
    if (connect(m->fd, (struct sockaddr *)&address, sizeof address) == 0)
        /* The socket may have a new owner since the check, so check the peer too. */
        return unix_socket_peer_is_same_user(m->fd)
                   ? 0
                   : failure_set(FAILURE_MASTER_OF_OTHER_USER, FAILURE_DETAILS(path), err);
    enum err_kind kind = errno == EAGAIN ? ERR_BUSY : ERR_NOT_FOUND;
    err_sys(err, "cannot connect to the master connection at %s", path);
    if (err)
        err->kind = kind;
    return -1;
}

void mux_close(struct mux *m)
{
    fd_close(&m->fd);
    buf_release(&m->in);
    buf_release(&m->out);
}

/* Requests are small: if the socket's buffer is full, the master has stopped reading. */
int mux_send(struct mux *m, struct err *err)
{
    if (buf_check(&m->out, "the request", err) < 0)
        return -1;
    if (send(m->fd, m->out.data, m->out.len, MSG_NOSIGNAL) != (ssize_t)m->out.len)
        return failure_set(FAILURE_MASTER_NOT_READING, FAILURE_DETAILS("requests"), err);
    buf_clear(&m->out);
    return 0;
}

int mux_send_fd(struct mux *m, int fd, struct err *err)
{
    if (fd_send(m->fd, fd) < 0)
        return failure_set(FAILURE_MASTER_NOT_READING, FAILURE_DETAILS("descriptors"), err);
    return 0;
}

int mux_read(struct mux *m, struct mux_message *ret, struct err *err)
{
    for (;;) {
        char chunk[1024];
        size_t used = 0, room = m->in.max - m->in.len;
        if (mux_parse(m->in.data, m->in.len, ret, &used, err) < 0)
            return -1;
        if (used > 0) {
            buf_consume(&m->in, used);
            return 1;
        }
        ssize_t n = recv(m->fd, chunk, sizeof chunk < room ? sizeof chunk : room, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return failure_set(FAILURE_MASTER_ENDED, FAILURE_DETAILS(NULL), err);
        buf_add(&m->in, chunk, (size_t)n);
        if (buf_check(&m->in, "its answer", err) < 0)
            return -1;
    }
}

static int set_version_error(uint32_t version, struct err *err)
{
    char theirs[16], ours[16];
    snprintf(theirs, sizeof theirs, "%u", (unsigned)version);
    snprintf(ours, sizeof ours, "%u", (unsigned)MUX_VERSION);
    return failure_set(FAILURE_MASTER_VERSION, FAILURE_DETAILS(theirs, ours), err);
}

int mux_wait(struct mux *m, int64_t deadline, int cancel_fd, struct mux_message *ret, struct err *err)
{
    for (;;) {
        struct mux_message got;
        int rc = mux_read(m, &got, err);
        if (rc < 0 || (rc == 0 && fd_wait(m->fd, POLLIN, deadline, cancel_fd, err) < 0))
            return -1;
        if (rc == 1 && got.type == MUX_HELLO && got.number != MUX_VERSION)
            return set_version_error(got.number, err);
        if (rc == 1 && got.type != MUX_HELLO) {
            *ret = got;
            return 0;
        }
    }
}
