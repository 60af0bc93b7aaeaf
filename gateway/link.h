/*
 * A link moves bytes between a local descriptor and a stream until either end closes.
 *
 * Only the hub's thread uses a link. Each direction has one buffer and reads only while that buffer is empty,
 * so a slow reader slows its sender and no data accumulates.
 */
#ifndef GATEWAY_LINK_H
#define GATEWAY_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/ssh/stream.h"

#define LINK_BUFFER (64u << 10)

enum link_state {
    LINK_OPENING,
    LINK_OPEN,
    LINK_CLOSING, /* the local side is closed, the stream is still closing */
    LINK_GONE,    /* closed; the hub frees it */
};

/* One direction of a link: data moves from a source to a sink. */
struct link_flow {
    char *data;        /* LINK_BUFFER bytes */
    size_t from, to;   /* the unsent bytes are data[from] to data[to - 1] */
    uint64_t n_moved;  /* bytes that the sink has accepted */
    bool source_ended; /* the source is at its end */
    bool end_sent;     /* the sink has been notified of the end */
};

struct link {
    struct link *next;
    int fd;                /* the local end */
    struct destination to; /* of the stream; an owned copy */
    int64_t deadline;      /* of the opening, later of the closing */
    bool was_open;         /* the stream is open, or was open before the link began to close */
    int reply_fd;          /* -1, or the descriptor that receives a struct err when the link opens or fails */
    struct gateway_listener *listener; /* the listener that accepted the connection; link_fail stores the
                                          error in it. NULL: no listener */
    struct gateway_watch watch;        /* called when the link ends; its function may be NULL */
    struct stream *stream;
    enum link_state state;
    bool peer_closed;      /* the local peer has closed its end */
    bool broken;           /* the stream failed; the hub calls link_fail with the reason */
    struct link_flow up;   /* from fd to the stream */
    struct link_flow down; /* from the stream to fd */
};

/* Takes ownership of fd, also on failure. */
struct link *link_new(int fd, const struct destination *to, struct err *err);
/* Frees the link at once, without an orderly close. */
void link_free(struct link *l);

/* Sets the stream of the link and begins to open it. */
void link_start(struct link *l, struct stream *stream, int64_t deadline);

/* Moves the available data. Returns whether anything changed. */
bool link_advance(struct link *l);

/* Ends the link: reports the error and closes the local side. If the link is already closing, only reports
 * the error. */
void link_fail(struct link *l, const struct err *why);

/* Checks whether the next link_advance makes libssh2 read from the session's socket. */
bool link_is_reading_session(const struct link *l);

/* Fill in the link's entries for poll(2), and process their results. */
#define LINK_POLLS (1 + STREAM_POLLS)
void link_poll_entries(const struct link *l, struct pollfd ret[LINK_POLLS]);
void link_process_polled(struct link *l, const struct pollfd polled[LINK_POLLS]);

#endif
