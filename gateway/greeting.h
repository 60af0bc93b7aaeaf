/*
 * What the first bytes of a server tell about a handshake that did not come to its end.
 *
 * libssh2 says no more than that it failed or, of a server that goes on and on, nothing at all.
 */
#ifndef GATEWAY_GREETING_H
#define GATEWAY_GREETING_H

#include "base/base.h"

/* More than this before the line with its version (RFC 4253 section 4.2), and it is no SSH server. */
#define GREETING_BEFORE_MAX 4096

/* How the handshake ended. */
enum greeting_end {
    GREETING_CLOSED, /* the server left */
    GREETING_SILENT, /* it let the deadline pass */
    GREETING_FAILED, /* libssh2 could make nothing of what came */
};

/* Whether what has come can become a handshake: ERR_FAILED with the server's words when they are too many for
 * one, or its version is too old. */
int greeting_check(const void *p, size_t n, struct err *err);

/*
 * Says why there was no handshake, after the n bytes that came; always returns -1. ERR_BUSY of a server that
 * turns logins away, or closed without a word, as one above its limit does; ERR_TIMEOUT of a silent one,
 * which was waited for that long; ERR_FAILED else. The bytes may be cut anywhere behind the first
 * GREETING_BEFORE_MAX.
 */
int greeting_explain(const void *p, size_t n, enum greeting_end end, int64_t waited_ms, struct err *err);

#endif
