/*
 * Derives the cause of a failed handshake from the first bytes of a server.
 *
 * libssh2 only reports that the handshake failed, and does not even return while a server keeps sending text.
 */
#ifndef GATEWAY_SSH_PREAUTH_H
#define GATEWAY_SSH_PREAUTH_H

#include "base/base.h"

/* A server that sends more bytes than this before the version line (RFC 4253 section 4.2) is no SSH server.
 */
#define PREAUTH_BEFORE_MAX 4096

/* How the handshake ended. */
enum preauth_end {
    PREAUTH_CLOSED, /* the server closed the connection */
    PREAUTH_SILENT, /* the deadline passed */
    PREAUTH_FAILED, /* libssh2 could not parse the data */
};

/* Checks whether the data can be the start of a handshake. ERR_FAILED if the server sent too much text before
 * a version line, or if its version is too old; the message quotes the text or the version. */
int preauth_check(const void *p, size_t n, struct err *err);

/*
 * Sets the error of a handshake that failed after these n bytes; always returns -1. ERR_BUSY if the server
 * reported too many logins, or closed the connection before it sent any data, as busy servers do; ERR_TIMEOUT
 * for PREAUTH_SILENT, with waited_ms in the message; else ERR_FAILED. The bytes may be cut anywhere after the
 * first PREAUTH_BEFORE_MAX.
 */
int preauth_explain(const void *p, size_t n, enum preauth_end end, int64_t waited_ms, struct err *err);

#endif
