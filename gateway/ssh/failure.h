/*
 * The failures of SSH: one table of their kinds, messages and hints, for libssh2 and for ssh(1).
 *
 * To change a message or a hint, edit the table in failure.c. To add a failure, add a row there and an enum
 * value here. The files that detect failures only choose the row and fill in its details: preauth.c and
 * knownhosts.c, auth*.c, open_failure.c for libssh2, gateway/openssh/ssh_log_failure.c for ssh(1).
 */
#ifndef GATEWAY_SSH_FAILURE_H
#define GATEWAY_SSH_FAILURE_H

#include "base/base.h"

enum failure {
    /* the host key */
    FAILURE_KEY_CHANGED,
    FAILURE_KEY_CHANGED_OR_SIGNED,
    FAILURE_KEY_UNKNOWN,
    FAILURE_KEY_UNKNOWN_OR_SIGNED,
    FAILURE_KEY_UNKNOWN_AT_PORT,
    FAILURE_KEY_UNKNOWN_TO_SSH,
    FAILURE_KEY_OF_OTHER_TYPE,
    FAILURE_KEY_REVOKED,
    FAILURE_KEY_REVOKED_TO_SSH,
    FAILURE_ONLY_AUTHORITY_KNOWN,

    /* the connection and the handshake */
    FAILURE_RESOLVE,
    FAILURE_RESOLVER_SILENT,
    FAILURE_CONNECT,
    FAILURE_CONNECT_TIMEOUT,
    FAILURE_CONNECT_REFUSED,
    FAILURE_NO_SSH_SERVER,
    FAILURE_OLD_VERSION,
    FAILURE_SILENT,
    FAILURE_CLOSED_EARLY,
    FAILURE_RESET_EARLY,
    FAILURE_BUSY,
    FAILURE_HANDSHAKE_CLOSED,
    FAILURE_HANDSHAKE_SLOW,
    FAILURE_HANDSHAKE_INVALID,
    FAILURE_NO_COMMON_ALGORITHM,

    /* the login */
    FAILURE_LOGIN_ENDED,
    FAILURE_LOGIN_ENDED_AFTER_KEYS,
    FAILURE_LOGIN_ENDED_WITHOUT_KEYS,
    FAILURE_LOGIN_NEEDS_USER,
    FAILURE_LOGIN_WITHOUT_KEY,
    FAILURE_LOGIN_KEYS_REFUSED,
    FAILURE_LOGIN_REFUSED,
    FAILURE_LOGIN_REFUSED_TO_SSH,
    FAILURE_TOO_MANY_KEYS,
    FAILURE_SIGNING,

    /* the opening of a channel */
    FAILURE_FORWARD_FORBIDDEN,
    FAILURE_FORWARD_UNSUPPORTED,
    FAILURE_FORWARD_UNREACHED,
    FAILURE_FORWARD_UNREACHED_SOCKET,
    FAILURE_JUMP_FORBIDDEN,
    FAILURE_JUMP_UNREACHED,

    /* an open session of ssh(1) */
    FAILURE_DEAD,
    FAILURE_CLOSED,
    FAILURE_BROKEN_PIPE,
    FAILURE_RESET,
    FAILURE_ENDED,

    /* ssh(1)'s configuration */
    FAILURE_UNKNOWN_OPTION,
    FAILURE_BAD_MODE,
    FAILURE_CONFIGURATION,
};

/* The details of a failure, in the order of the {} in its message and then in its hint. */
#define FAILURE_DETAILS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Sets the error: replaces each {} of the row by one of the details (see FAILURE_DETAILS; missing ones are
 * empty). Returns -1. */
int failure_set(enum failure f, const char *const details[], struct err *err);

enum err_kind failure_kind(enum failure f);
/* Checks whether it means a refused or unanswered connection (err_unreached). */
bool failure_is_unreached(enum failure f);
/* Returns the hint, NULL without one. Only for rows whose hint has no {}. */
const char *failure_hint(enum failure f);

#endif
