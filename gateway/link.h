/*
 * A link: bytes carried between a local descriptor and a stream, until either end closes.
 *
 * Owned and moved by the hub's thread. Each direction has one buffer; a side is only read when its buffer is
 * empty, so a slow reader slows its sender and nothing piles up.
 */
#ifndef GATEWAY_LINK_H
#define GATEWAY_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/stream.h"

#define LINK_BUFFER (64u << 10)

enum link_state {
    LINK_OPENING,
    LINK_OPEN,
    LINK_CLOSING, /* the local side is done with; the stream still says goodbye */
    LINK_GONE,
};

struct link_flow {
    char *data; /* LINK_BUFFER bytes */
    size_t from, to;
    uint64_t moved; /* bytes its sink has taken */
    bool ended;     /* its source has no more */
    bool passed;    /* its sink was told so */
};

struct link {
    struct link *next;
    int fd;
    struct destination to; /* a copy of its own */
    int64_t deadline;      /* of opening, and later of the goodbye */
    bool opened;
    int reply_fd;                      /* -1, or where to write a struct err once it is opened or refused */
    struct gateway_listener *listener; /* NULL, or who wants to know why it failed */
    struct gateway_watch watch;        /* of its end; ended is NULL where nobody wants to know */
    struct stream *stream;
    enum link_state state;
    bool hung_up; /* the local peer is gone altogether */
    bool broken;  /* the stream failed; the hub finds out why and fails the link */
    struct link_flow up, down;
};

/* Takes fd over, also on failure. */
struct link *link_new(int fd, const struct destination *to, struct err *err);
/* Frees it at once, without goodbye. */
void link_free(struct link *l);

/* Gives it its stream; it then begins to open. */
void link_start(struct link *l, struct stream *stream, int64_t deadline);

/* Moves what can be moved. Whether anything did. */
bool link_advance(struct link *l);

/* Ends it because of err: tells who wants to know, closes the local side. One that is closing already only
 * tells. */
void link_fail(struct link *l, const struct err *why);

/* Whether moving it makes libssh2 read from the session. */
bool link_reads(const struct link *l);

/* Its entries for poll(2), and what came of them. */
#define LINK_POLLS (1 + STREAM_POLLS)
void link_poll(const struct link *l, struct pollfd ret[LINK_POLLS]);
void link_polled(struct link *l, const struct pollfd polled[LINK_POLLS]);

#endif
