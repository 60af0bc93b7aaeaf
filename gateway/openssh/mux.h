/* OpenSSH's multiplexing protocol (its PROTOCOL.mux) for a client of a master connection: alive check,
 * forwarding of a TCP port over passed descriptors, forwarding of a local Unix socket, termination. */
#ifndef GATEWAY_OPENSSH_MUX_H
#define GATEWAY_OPENSSH_MUX_H

#include "base/base.h"

/* The only version since OpenSSH 5.4. */
#define MUX_VERSION 4

enum mux_type {
    MUX_HELLO = 0x00000001,
    MUX_ALIVE_CHECK = 0x10000004,
    MUX_TERMINATE = 0x10000005,
    MUX_OPEN_FORWARD = 0x10000006,
    MUX_CLOSE_FORWARD = 0x10000007,
    MUX_STDIO_FORWARD = 0x10000008,
    MUX_OK = (int)0x80000001,
    MUX_PERMISSION_DENIED = (int)0x80000002,
    MUX_FAILURE = (int)0x80000003,
    MUX_ALIVE = (int)0x80000005,
    MUX_SESSION_OPENED = (int)0x80000006,
};

/* A master's answer. */
struct mux_message {
    enum mux_type type; /* one of the values above */
    uint32_t id;        /* of the request; 0 with MUX_HELLO */
    uint32_t number;    /* MUX_HELLO: the version; MUX_ALIVE: the master's process ID; else 0 */
    char reason[256];   /* MUX_PERMISSION_DENIED, MUX_FAILURE: printable; else "" */
};

/* Parses one message at the start of n bytes, and sets *ret_used to its length. If the message is incomplete,
 * sets *ret_used to 0 and leaves *ret untouched. ERR_FAILED for invalid data: close the connection then. */
int mux_parse(const void *p, size_t n, struct mux_message *ret, size_t *ret_used, struct err *err);

/* These functions append a complete request to b. */
void mux_add_hello(struct buf *b);
/* A request without parameters: MUX_ALIVE_CHECK, MUX_TERMINATE. */
void mux_add_request(struct buf *b, enum mux_type type, uint32_t id);
/* After this request, send two descriptors with mux_send_fd: the master reads from the first and writes to
 * the second. */
void mux_add_stdio_forward(struct buf *b, uint32_t id, const char *host, unsigned port);
/* MUX_OPEN_FORWARD: the master listens on the Unix socket `local_path` and forwards its connections to the
 * Unix socket `remote_path` on the SSH server. MUX_CLOSE_FORWARD: the master stops listening there. */
void mux_add_unix_forward(struct buf *b, enum mux_type type, uint32_t id, const char *local_path,
                          const char *remote_path);

/* A connection to a master. */
struct mux {
    int fd;         /* -1: none */
    struct buf in;  /* received bytes that are not parsed yet */
    struct buf out; /* requests that are not sent yet */
};

/*
 * Connects to the master's socket. The socket and its listener must belong to this user. ERR_NOT_FOUND
 * without such a listener, ERR_BUSY if its backlog is full. Call mux_close also after a failure.
 */
int mux_connect(struct mux *m, const char *path, struct err *err);
void mux_close(struct mux *m);

/* Sends m->out. A master reads requests at once; ERR_FAILED if it does not. */
int mux_send(struct mux *m, struct err *err);
int mux_send_fd(struct mux *m, int fd, struct err *err);

/* Reads the next message without waiting. Returns 1 for a message, 0 without one, -1 if the connection has
 * ended (ERR_LOST) or sends invalid data (ERR_FAILED). */
int mux_read(struct mux *m, struct mux_message *ret, struct err *err);

/* Waits for a message until the deadline: 0 or -1. Checks the version in the master's hello and skips the
 * hello. */
int mux_wait(struct mux *m, int64_t deadline, int cancel_fd, struct mux_message *ret, struct err *err);

#endif
