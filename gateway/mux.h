/*
 * OpenSSH's multiplexing protocol (its PROTOCOL.mux), as far as a client of a master connection needs it: is
 * it alive, a forwarding to a TCP port over descriptors that are handed over, a forwarding from a Unix socket
 * here, end.
 */
#ifndef GATEWAY_MUX_H
#define GATEWAY_MUX_H

#include "base/base.h"

/* The one version there has ever been since OpenSSH 5.4. */
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

/* What a master answers. */
struct mux_message {
    enum mux_type type; /* one of those above */
    uint32_t id;        /* of the request it answers; 0 with MUX_HELLO */
    uint32_t number;    /* MUX_HELLO: the version; MUX_ALIVE: the master's process; else 0 */
    char reason[256];   /* MUX_PERMISSION_DENIED, MUX_FAILURE: printable; else "" */
};

/* Reads one message from the front of n bytes. *ret_used is how many it takes, 0 when more have to come; then
 * *ret is untouched. ERR_FAILED for what no master says: the connection is of no use any more. */
int mux_parse(const void *p, size_t n, struct mux_message *ret, size_t *ret_used, struct err *err);

/* Requests, each a whole message added to b. */
void mux_put_hello(struct buf *b);
/* MUX_ALIVE_CHECK, MUX_TERMINATE. */
void mux_put_plain(struct buf *b, enum mux_type type, uint32_t id);
/* To be followed by two descriptors, each with mux_send_fd: the one the master reads from, the one it writes
 * to. */
void mux_put_stdio_forward(struct buf *b, uint32_t id, const char *host, unsigned port);
/* MUX_OPEN_FORWARD, MUX_CLOSE_FORWARD: whatever connects to the Unix socket `here`, which the master makes,
 * is carried to the Unix socket `there` on the far side. */
void mux_put_unix_forward(struct buf *b, enum mux_type type, uint32_t id, const char *here,
                          const char *there);

/* A connection to a master. */
struct mux {
    int fd;         /* -1: none */
    struct buf in;  /* what came and has not been taken */
    struct buf out; /* requests that were put and not sent */
};

/* Connects to the master's socket, which must be ours, as must be who listens there. ERR_NOT_FOUND when
 * nobody does, or somebody else, ERR_BUSY when too many wait already. Released by mux_close, also after a
 * failure. */
int mux_connect(struct mux *m, const char *path, struct err *err);
void mux_close(struct mux *m);

/* Sends what was put into m->out. A master takes requests as they come; one that does not is ERR_FAILED. */
int mux_send(struct mux *m, struct err *err);
int mux_send_fd(struct mux *m, int fd, struct err *err);

/* Takes the next message, without waiting: 1 there was one, 0 not yet, -1 the connection has ended
 * (ERR_LOST) or makes no sense (ERR_FAILED). */
int mux_take(struct mux *m, struct mux_message *ret, struct err *err);

/* The same with a deadline, passing over the master's hello, whose version it checks: 0 or -1. */
int mux_wait(struct mux *m, int64_t deadline, int cancel_fd, struct mux_message *ret, struct err *err);

#endif
