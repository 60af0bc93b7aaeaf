#include "keys/agent.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/banned.h"

#define MESSAGE_MAX (256u << 10)
#define KEYS_MAX 64
#define SLOW_MS 1000

/* draft-miller-ssh-agent section 5.1 */
enum { REQUEST_IDENTITIES = 11, IDENTITIES_ANSWER = 12, SIGN_REQUEST = 13, SIGN_RESPONSE = 14 };

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct transfer {
    char *p;
    size_t n;
    bool sending;
};

/* Sends or receives exactly n bytes. */
static int transfer_bytes(struct agent *a, const struct transfer *t, int64_t deadline, struct err *err)
{
    char *p = t->p;
    size_t n = t->n;
    while (n > 0) {
        if (fd_wait(a->fd, t->sending ? POLLOUT : POLLIN, deadline, a->cancel_fd, err) < 0)
            return err_wrap(err, "the SSH agent");
        ssize_t moved = t->sending ? send(a->fd, p, n, MSG_NOSIGNAL) : recv(a->fd, p, n, 0);
        if (moved < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (moved < 0)
            return err_sys(err, "cannot exchange messages with the SSH agent");
        if (moved == 0)
            return err_set(err, ERR_FAILED, "the SSH agent closed the connection");
        p += moved;
        n -= (size_t)moved;
    }
    return 0;
}

static int send_message(struct agent *a, const struct buf *message, int64_t deadline, struct err *err)
{
    if (buf_check(message, "the request to the SSH agent", err) < 0)
        return -1;
    uint32_t n = (uint32_t)message->len;
    char size[4] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
    if (transfer_bytes(a, &(struct transfer){size, 4, true}, deadline, err) < 0)
        return -1;
    return transfer_bytes(a, &(struct transfer){message->data, message->len, true}, deadline, err);
}

static int receive_message(struct agent *a, struct buf *message, int64_t deadline, struct err *err)
{
    char size[4] = {0};
    uint32_t n = 0;
    if (transfer_bytes(a, &(struct transfer){size, 4, false}, deadline, err) < 0)
        return -1;
    struct ssh_reader r = {(const unsigned char *)size, 4};
    ssh_read_u32(&r, &n);
    if (n == 0 || n > MESSAGE_MAX)
        return err_set(err, ERR_FAILED, "the SSH agent sent a message of %u bytes", n);
    char *answer = malloc(n);
    if (!answer)
        return err_nomem(err);
    int rc = transfer_bytes(a, &(struct transfer){answer, n, false}, deadline, err);
    buf_clear(message);
    if (rc == 0)
        buf_add(message, answer, n);
    free(answer);
    return rc < 0 ? -1 : buf_check(message, "the SSH agent's answer", err);
}

/* Calls `on_slow` if there is no answer after a second. Ignores errors: receive_message reports them. */
static void remind_if_slow(const struct agent *a, const struct agent_request *request)
{
    struct err why = ERR_INIT;
    int64_t slow_at = clock_deadline(SLOW_MS);
    if (!request->on_slow || slow_at >= request->deadline)
        return;
    if (fd_wait(a->fd, POLLIN, slow_at, a->cancel_fd, &why) < 0 && why.kind == ERR_TIMEOUT)
        request->on_slow(request->slow_ctx);
}

/* Sends a message and replaces it with the answer. Neither contains the length that precedes it on the wire.
 * After a failure no more requests are sent, because a late answer would be read as the answer to the next
 * request. `request` is NULL if the message does not request a signature. */
static int exchange_messages(struct agent *a, struct buf *message, const struct agent_request *request,
                             int64_t deadline, struct err *err)
{
    if (a->fd < 0)
        return err_set(err, ERR_FAILED, "an earlier request to the SSH agent failed, so no more are sent");
    int rc = send_message(a, message, deadline, err);
    if (rc == 0 && request)
        remind_if_slow(a, request);
    if (rc == 0)
        rc = receive_message(a, message, deadline, err);
    if (rc < 0)
        fd_close(&a->fd);
    return rc;
}

int agent_parse_keys(struct agent *a, const void *p, size_t n, struct err *err)
{
    struct ssh_reader r = {p, n};
    uint32_t count = 0;
    if (r.left < 1 || r.p[0] != IDENTITIES_ANSWER)
        return err_set(err, ERR_FAILED, "the SSH agent does not list its keys (is it locked?)");
    r.p++;
    r.left--;
    if (ssh_read_u32(&r, &count) < 0)
        return err_set(err, ERR_FAILED, "the SSH agent's answer is cut off");
    for (uint32_t i = 0; i < count && a->n_keys < KEYS_MAX; i++) {
        const unsigned char *blob = NULL, *comment = NULL;
        size_t n_blob = 0, n_comment = 0;
        struct agent_key key = {0};
        if (ssh_read_string(&r, &blob, &n_blob) < 0 || ssh_read_string(&r, &comment, &n_comment) < 0)
            return err_set(err, ERR_FAILED, "the SSH agent's answer is cut off");
        if (array_reserve((void **)&a->keys, &a->cap_keys, a->n_keys + 1, sizeof *a->keys, err) < 0 ||
            ssh_blob_copy(&key.blob, blob, n_blob, err) < 0)
            return -1;
        ssh_blob_type(&key.blob, key.type, sizeof key.type);
        a->keys[a->n_keys++] = key;
    }
    return 0;
}

/* Waits a little, because connect(2) returns EAGAIN while the agent's queue is full: the agent hangs. */
static int wait_for_queue(const char *path, int64_t deadline, int cancel_fd, struct err *err)
{
    struct err waited = ERR_INIT;
    if (clock_now() >= deadline)
        return err_set(err, ERR_TIMEOUT, "the SSH agent at %s accepts no connection", path);
    if (fd_wait(-1, 0, clock_deadline(20), cancel_fd, &waited) == 0 || waited.kind != ERR_CANCELLED)
        return 0;
    err_set(err, ERR_CANCELLED, "interrupted");
    return err_wrap(err, "the SSH agent");
}

static int connect_to_agent(const char *path, int64_t deadline, int cancel_fd, struct err *err)
{
    struct sockaddr_un address;
    if (fd_unix_address(path, &address, err) < 0)
        return err_wrap(err, "the SSH agent");
    int fd = fd_socket(AF_UNIX, err);
    if (fd < 0)
        return -1;
    int rc = fd_set_nonblocking(fd, true, err);
    while (rc == 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        rc = errno == EAGAIN ? wait_for_queue(path, deadline, cancel_fd, err)
                             : err_sys(err, "cannot reach the SSH agent at %s", path);
    if (rc < 0)
        fd_close(&fd);
    return fd;
}

int agent_open(const char *path, int64_t deadline, int cancel_fd, struct agent *ret, struct err *err)
{
    struct agent a = {.fd = -1, .cancel_fd = cancel_fd};
    struct buf message = BUF_INIT(MESSAGE_MAX);
    buf_addc(&message, REQUEST_IDENTITIES);
    int rc = -1;
    a.fd = connect_to_agent(path, deadline, cancel_fd, err);
    if (a.fd >= 0 && exchange_messages(&a, &message, NULL, deadline, err) == 0)
        rc = agent_parse_keys(&a, message.data, message.len, err);
    buf_release(&message);
    if (rc < 0)
        agent_release(&a);
    else
        *ret = a;
    return rc;
}

void agent_release(struct agent *a)
{
    fd_close(&a->fd);
    for (size_t i = 0; i < a->n_keys; i++)
        ssh_blob_release(&a->keys[i].blob);
    free(a->keys);
    *a = (struct agent){.fd = -1};
}

/* draft-miller-ssh-agent section 3.6.1: without a flag an RSA key signs with SHA-1. */
static uint32_t sign_flags(const char *algorithm)
{
    enum { RSA_SHA2_256 = 2, RSA_SHA2_512 = 4 };
    if (strncmp(algorithm, "rsa-sha2-512", 12) == 0)
        return RSA_SHA2_512;
    return strncmp(algorithm, "rsa-sha2-256", 12) == 0 ? RSA_SHA2_256 : 0;
}

/* Finds the inner signature in a complete one; *ret borrows its bytes. Fails if an RSA key did not sign with
 * the requested algorithm; keys of other types have only one algorithm. */
static int read_inner_signature(const struct ssh_blob *whole, const char *algorithm, struct ssh_blob *ret,
                                struct err *err)
{
    struct ssh_reader r = {whole->data, whole->n};
    const unsigned char *name = NULL, *inner = NULL;
    size_t n_name = 0, n_inner = 0;
    if (ssh_read_string(&r, &name, &n_name) < 0 || ssh_read_string(&r, &inner, &n_inner) < 0)
        return err_set(err, ERR_FAILED, "the SSH agent's signature is cut off");
    if (sign_flags(algorithm) && (n_name != 12 || memcmp(name, algorithm, 12) != 0))
        return err_set(err, ERR_FAILED, "the SSH agent signs with SHA-1 only");
    *ret = (struct ssh_blob){(unsigned char *)(uintptr_t)inner, n_inner};
    return 0;
}

int agent_sign_blob(struct agent *a, const struct agent_request *request, struct ssh_blob *ret,
                    struct err *err)
{
    struct buf message = BUF_INIT(MESSAGE_MAX);
    struct ssh_blob whole = {0}, inner;
    buf_addc(&message, SIGN_REQUEST);
    ssh_add_string(&message, request->key->data, request->key->n);
    ssh_add_string(&message, request->data.data, request->data.n);
    ssh_add_u32(&message, sign_flags(request->algorithm));
    int rc = exchange_messages(a, &message, request, request->deadline, err);
    if (rc == 0) {
        struct ssh_reader r = {(const unsigned char *)message.data + 1, message.len - 1};
        const unsigned char *p = NULL;
        if (message.data[0] != SIGN_RESPONSE)
            rc = err_set(err, ERR_FAILED, "the SSH agent refused to sign");
        else if (ssh_read_string(&r, &p, &whole.n) < 0)
            rc = err_set(err, ERR_FAILED, "the SSH agent's signature is cut off");
        else {
            whole.data = (unsigned char *)(uintptr_t)p;
            rc = read_inner_signature(&whole, request->algorithm, &inner, err);
        }
    }
    if (rc == 0)
        rc = ssh_blob_copy(ret, whole.data, whole.n, err);
    buf_release(&message);
    return rc;
}

int agent_sign(struct agent *a, const struct agent_request *request, struct ssh_blob *ret, struct err *err)
{
    struct ssh_blob whole = {0}, inner;
    if (agent_sign_blob(a, request, &whole, err) < 0)
        return -1;
    int rc = read_inner_signature(&whole, request->algorithm, &inner, err);
    if (rc == 0)
        rc = ssh_blob_copy(ret, inner.data, inner.n, err);
    ssh_blob_release(&whole);
    return rc;
}
