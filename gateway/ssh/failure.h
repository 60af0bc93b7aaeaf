/*
 * The failures of SSH: one table of their kinds, messages and hints, for libssh2 and for ssh(1).
 *
 * To change a message or a hint, edit the table in failure.c. To add a failure, add a row there and an enum
 * value here. The files that detect failures only choose the row and fill in its details; gateway/gateway.h
 * lists these files. Errors of this workstation's system calls have no row.
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
    FAILURE_KEY_NOT_SHOWN,
    FAILURE_KEY_TYPE_BEYOND_LIBSSH2,
    FAILURE_KNOWN_HOSTS_NOT_REGULAR,
    FAILURE_KNOWN_HOSTS_UNREADABLE,
    FAILURE_NO_SSH_KEYGEN,
    FAILURE_ONLY_AUTHORITY_KNOWN,

    /* the connection and the handshake */
    FAILURE_RESOLVE,
    FAILURE_RESOLVER_SILENT,
    FAILURE_CONNECT,
    FAILURE_BIND_FAMILY,
    FAILURE_CONNECT_TIMEOUT,
    FAILURE_CONNECT_REFUSED,
    FAILURE_PROXY_MESSAGE,
    FAILURE_PROXY_ENDED,
    FAILURE_PROXY_CLOSED,
    FAILURE_ROUTE_UNKNOWN,
    FAILURE_ROUTE_BUSY,
    FAILURE_ROUTE,
    FAILURE_SERVER_NOT_REACHED,
    FAILURE_NO_SSH_SERVER,
    FAILURE_OLD_VERSION,
    FAILURE_SERVER_SILENT,
    FAILURE_CLOSED_EARLY,
    FAILURE_RESET_EARLY,
    FAILURE_SERVER_BUSY,
    FAILURE_HANDSHAKE_CLOSED,
    FAILURE_HANDSHAKE_SLOW,
    FAILURE_HANDSHAKE_INVALID,
    FAILURE_NO_COMMON_ALGORITHM,
    FAILURE_SERVER_BEYOND_LIBSSH2,
    FAILURE_CONFIGURED_BEYOND_LIBSSH2,
    FAILURE_ALGORITHMS_REFUSED,
    FAILURE_ALGORITHMS_NOT_SHOWN,
    FAILURE_ALGORITHMS_CUT,
    FAILURE_OPTION_BEYOND_LIBSSH2,
    FAILURE_ONLY_OPENSSH_CAN,

    /* the login */
    FAILURE_LOGIN_FLOODED,
    FAILURE_LOGIN_COSTLY,
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
    FAILURE_LOGIN_SLOW,
    FAILURE_LOGIN_SLOW_AGENT,
    FAILURE_LOGIN_SLOW_KERBEROS,
    FAILURE_TOUCH_NOT_ASKED,
    FAILURE_TOUCH_MISSING,
    FAILURE_SSH_SILENT,
    FAILURE_SSH_MESSAGE,
    FAILURE_QUESTIONS_ENDLESS,

    /* a key or method that was not offered */
    FAILURE_NO_USER,
    FAILURE_ASKING_FORBIDDEN,
    FAILURE_NO_ANSWER_IN_TIME,
    FAILURE_NO_ANSWER,
    FAILURE_ANSWERS_WRONG,
    FAILURE_ANSWER_WRONG_HERE,
    FAILURE_SIGNING_UNKNOWN,
    FAILURE_NO_CERTIFICATE,
    FAILURE_CERTIFICATE_DAMAGED,

    /* a login that only OpenSSH can do */
    FAILURE_NEEDS_OPENSSH_OPTION,
    FAILURE_NEEDS_OPENSSH_KERBEROS,
    FAILURE_NEEDS_OPENSSH_HOSTBASED,
    FAILURE_PASSWORD_EXPIRED,
    FAILURE_QUESTIONS_UNREADABLE,
    FAILURE_QUESTIONS_OF_OTHER_LIBSSH2,
    FAILURE_RSA_NO_COMMON,
    FAILURE_RSA_BEYOND_LIBSSH2,
    FAILURE_KEY_BEYOND_LIBSSH2,

    /* the opening of a channel */
    FAILURE_FORWARD_FORBIDDEN,
    FAILURE_FORWARD_UNSUPPORTED,
    FAILURE_FORWARD_UNREACHED,
    FAILURE_FORWARD_UNREACHED_SOCKET,
    FAILURE_FORWARD_SLOW,
    FAILURE_FORWARD_CUT,
    FAILURE_CHANNEL,
    FAILURE_MASTER_FORBIDS,
    FAILURE_MASTER_UNREACHED,
    FAILURE_MASTER_ANSWER,
    FAILURE_JUMP_FORBIDDEN,
    FAILURE_JUMP_UNREACHED,

    /* an open session */
    FAILURE_SESSION_TIMED_OUT,
    FAILURE_SESSION_FLOODED,
    FAILURE_SESSION_ENDED,
    FAILURE_SESSION_BROKEN,
    FAILURE_SESSION_CLOSED,
    FAILURE_SESSION_ERROR,
    FAILURE_SESSION_LOST,
    FAILURE_SESSION_LOST_BECAUSE,
    FAILURE_SESSION_STUCK,
    FAILURE_ALL_SESSIONS_STUCK,
    FAILURE_NO_FREE_SESSION,
    FAILURE_NO_SESSION,
    FAILURE_SESSION_SILENT,

    /* an open session of ssh(1) */
    FAILURE_SSH_SESSION_SILENT,
    FAILURE_SSH_CLOSED,
    FAILURE_SSH_BROKEN_PIPE,
    FAILURE_SSH_RESET,
    FAILURE_SSH_ENDED,

    /* ssh(1)'s master connection */
    FAILURE_MASTER_NO_SOCKET,
    FAILURE_MASTER_OF_OTHER_USER,
    FAILURE_MASTER_NOT_ALIVE,
    FAILURE_MASTER_ENDED,
    FAILURE_MASTER_MESSAGE_SIZE,
    FAILURE_MASTER_MESSAGE_TYPE,
    FAILURE_MASTER_NOT_READING,
    FAILURE_MASTER_VERSION,

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
#ifdef __clang_analyzer__
/* The static analyzer would follow paths on which failure_set returns 0, as in base/data/err.h. */
#define failure_set(...) ERR_RETURNS_MINUS_1((failure_set)(__VA_ARGS__))
#endif

/* Writes the detail on the host key that the server offered. `key`: its type and fingerprint; "" if unknown.
 * Returns dst. */
char *failure_offered_key(char *dst, size_t cap, const char *key);

enum err_kind failure_kind(enum failure f);
/* Checks whether the failure is a refused or unanswered connection (err_mark_unreachable). */
bool failure_is_unreachable(enum failure f);
/* Returns the hint, NULL without one, to add it to an error of the operating system. Only for rows whose hint
 * has no {}. */
const char *failure_hint(enum failure f);

#endif
