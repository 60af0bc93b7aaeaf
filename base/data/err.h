/*
 * Errors: one value that lives with the caller, owns nothing and never allocates.
 *
 * The innermost function reports the event and the object concerned. Callers add context in front, so that
 * the user reads `file-03: gitaly: heap: HTTP 404: Unknown profile`. The hint is a second sentence that gives
 * the next action. A function returns an error or reports it, never both.
 *
 * Every setter returns -1, so that `return err_set(err, ...)` is the usual return. `err` may be NULL if the
 * caller ignores the message.
 */
#ifndef BASE_DATA_ERR_H
#define BASE_DATA_ERR_H

#include <stdbool.h>
#include <stddef.h>

/* Only the kinds that some caller acts on. cli maps kinds to exit codes. */
enum err_kind {
    ERR_NONE,
    ERR_FAILED,       /* a failure of no other kind */
    ERR_USAGE,        /* the command line, inventory or kinds are wrong: nothing was opened or fetched */
    ERR_CANCELLED,    /* the caller's cancel descriptor became readable */
    ERR_TIMEOUT,      /* a deadline passed */
    ERR_NOT_FOUND,    /* the requested object does not exist */
    ERR_UNRECOGNIZED, /* the bytes have none of the formats that the parser knows */
    ERR_NO_KEY,       /* no key opens the encrypted file */
    ERR_EXISTS,       /* the name exists already, and nothing was overwritten */
    ERR_LOCAL_IO,     /* the workstation's disk or descriptors failed: other hosts would fail too */
    ERR_PIPE,         /* a pipe or a connection has no reader any more (EPIPE) */
    ERR_BUSY,         /* another process holds the lock: wait and retry */
    ERR_LOST,         /* the SSH session is unusable: a new session may work */
    ERR_UNSUPPORTED,  /* the library or the system lacks a feature: another way may work */
    ERR_DENIED,       /* the server or the user refused, and would refuse again: do not retry */
    ERR_LIMIT,        /* the input needs more memory or time than allowed, or crashed its parser */
    ERR_HOST_KEY,     /* the host key is not verified: never retry over another route */
};

struct err {
    enum err_kind kind;
    char msg[512];
    size_t cause_at;    /* the bytes of context in msg, in front of the text of err_set */
    size_t cause_n;     /* the bytes of that text; err_append adds its text after them */
    char hint[512];     /* the next action without "hint: ", or empty */
    bool unreachable;   /* a connection was refused or timed out (err_mark_unreachable) */
    bool out_of_memory; /* err_nomem sets it. A caller that otherwise skips a bad input must return this error
                           instead */
    /* The position in a YAML file, from 1 on (yaml_tree_err_wrap); 0: none. */
    size_t line, column;
};

#define ERR_INIT                                                                                             \
    {                                                                                                        \
        .kind = ERR_NONE                                                                                     \
    }

/* Sets the kind and the message, and clears the hint. Cuts a text too long for `msg`. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Works like err_set, with `: ` and errno's text appended. The kind is ERR_PIPE for EPIPE, else
 * ERR_LOCAL_IO. */
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets "out of memory". */
int err_nomem(struct err *err);

/* Adds context and `: ` in front of the message. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds text at the end of the message. */
int err_append(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Works like err_set, but replaces only the text of err_set, and keeps the context and the appended text. */
int err_replace_cause(struct err *err, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Marks the error as a connection that was refused or timed out. cli then suggests `profgrab check`. */
int err_mark_unreachable(struct err *err);

/* Sets the hint. */
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#if defined(__clang_analyzer__) && !defined(ERR_IMPLEMENTATION)
/* Tells the analyzer, which sees one file at a time, that these functions never return 0. */
#define ERR_RETURNS_MINUS_1(call)                                                                            \
    __extension__({                                                                                          \
        int result_ = (call);                                                                                \
        __builtin_assume(result_ == -1);                                                                     \
        result_;                                                                                             \
    })
#define err_set(...) ERR_RETURNS_MINUS_1((err_set)(__VA_ARGS__))
#define err_sys(...) ERR_RETURNS_MINUS_1((err_sys)(__VA_ARGS__))
#define err_nomem(err) ERR_RETURNS_MINUS_1((err_nomem)(err))
#define err_wrap(...) ERR_RETURNS_MINUS_1((err_wrap)(__VA_ARGS__))
#define err_append(...) ERR_RETURNS_MINUS_1((err_append)(__VA_ARGS__))
#define err_replace_cause(...) ERR_RETURNS_MINUS_1((err_replace_cause)(__VA_ARGS__))
#define err_hint(...) ERR_RETURNS_MINUS_1((err_hint)(__VA_ARGS__))
#define err_mark_unreachable(err) ERR_RETURNS_MINUS_1((err_mark_unreachable)(err))
#endif

#endif
