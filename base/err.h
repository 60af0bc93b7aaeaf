/*
 * Errors: one value that lives with the caller, owns nothing and never allocates.
 *
 * The innermost function says what happened and to what; callers put their context in front, so that a
 * person reads `file-03: gitaly: heap: HTTP 404: Unknown profile`. A second sentence, the hint, says what to
 * do next. A function returns an error or reports it, never both.
 *
 * Every setter returns -1, so that `return err_set(err, ...)` is the usual way out. `err` may be NULL where a
 * caller has no use for the words.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

/* The few kinds that some caller acts on. Exit codes are chosen from them in cli. */
enum err_kind {
    ERR_NONE,
    ERR_FAILED,      /* it did not work; trying something else may */
    ERR_USAGE,       /* the user's words, inventory or kinds are wrong: nothing was opened or fetched */
    ERR_CANCELLED,   /* the caller's cancel descriptor became readable */
    ERR_TIMEOUT,     /* a deadline passed */
    ERR_NOT_FOUND,   /* the thing asked for does not exist */
    ERR_EXISTS,      /* the name is taken, nothing was overwritten */
    ERR_LOCAL_IO,    /* the workstation's own disk or descriptors failed: going on elsewhere will not help */
    ERR_BUSY,        /* somebody else holds what can be used by one at a time: wait and repeat */
    ERR_LOST,        /* the SSH session cannot be used any more: another one may do */
    ERR_UNSUPPORTED, /* the library in use cannot do it; another program may */
    ERR_DENIED,      /* whoever was asked says no, and would again: asking would only annoy them */
    ERR_LIMIT,       /* the input costs more memory or time than it may, or crashed what read it */
    ERR_HOST_KEY,    /* the host did not prove who it is: never to be retried another way */
};

struct err {
    enum err_kind kind;
    char msg[512];
    char hint[512]; /* empty, or what to do next, without "hint: " in front */
    bool unreached; /* a connection was refused or not answered; err_unreached sets it */
    bool starved;   /* err_nomem set it: a caller for whom the input is optional still fails */
};

#define ERR_INIT                                                                                             \
    {                                                                                                        \
        .kind = ERR_NONE                                                                                     \
    }

/* Says what happened. Forgets an earlier hint. Text too long for `msg` is cut. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set with `: ` and errno's text behind. The kind is ERR_LOCAL_IO. */
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory". */
int err_nomem(struct err *err);

/* Puts context and `: ` in front of the message. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Notes of what was set before that a connection was refused or not answered: a look at each step of the way
 * there tells more. */
int err_unreached(struct err *err);

/* Sets the hint. */
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#if defined(__clang_analyzer__) && !defined(ERR_ITSELF)
/* The analyzer looks into one file at a time and would follow paths on which these return 0. */
#define ERR_KNOWN(call)                                                                                      \
    __extension__({                                                                                          \
        int result_ = (call);                                                                                \
        __builtin_assume(result_ == -1);                                                                     \
        result_;                                                                                             \
    })
#define err_set(...) ERR_KNOWN((err_set)(__VA_ARGS__))
#define err_sys(...) ERR_KNOWN((err_sys)(__VA_ARGS__))
#define err_nomem(err) ERR_KNOWN((err_nomem)(err))
#define err_wrap(...) ERR_KNOWN((err_wrap)(__VA_ARGS__))
#define err_hint(...) ERR_KNOWN((err_hint)(__VA_ARGS__))
#define err_unreached(err) ERR_KNOWN((err_unreached)(err))
#endif

#endif
