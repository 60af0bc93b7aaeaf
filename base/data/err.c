#define ERR_IMPLEMENTATION
#include "base/data/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* The bytes of context that err_wrap never cuts, however long the message is. */
#define CONTEXT_MIN 160

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    if (!err)
        return -1;
    err->kind = kind;
    err->hint[0] = '\0';
    err->line = err->column = 0;
    err->unreachable = err->out_of_memory = false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    err->cause_at = 0;
    err->cause_n = strlen(err->msg);
    return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
    int saved = errno;
    if (!err)
        return -1;
    char what[sizeof err->msg], buffer[128];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    const char *why = strerror_r(saved, buffer, sizeof buffer);
    return err_set(err, saved == EPIPE ? ERR_PIPE : ERR_LOCAL_IO, "%.380s: %s", what, why);
}

int err_nomem(struct err *err)
{
    err_set(err, ERR_LOCAL_IO, "out of memory");
    if (err)
        err->out_of_memory = true;
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char context[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(context, sizeof context, fmt, ap);
    va_end(ap);
    /* The context names the host or the file, and the inner message has the cause, so both must be visible.
     * If the text is too long, first the context is cut to CONTEXT_MIN bytes, then the inner message. */
    size_t room = sizeof err->msg - 3;
    size_t inner = strnlen(err->msg, room), outer = strlen(context);
    if (outer > CONTEXT_MIN && outer + inner > room)
        outer = room - inner > CONTEXT_MIN ? room - inner : CONTEXT_MIN;
    if (inner > room - outer)
        inner = room - outer;
    memmove(err->msg + outer + 2, err->msg, inner);
    memcpy(err->msg, context, outer);
    memcpy(err->msg + outer, ": ", 2);
    err->msg[outer + 2 + inner] = '\0';
    err->cause_at += outer + 2;
    return -1;
}

int err_append(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    size_t n = strlen(err->msg);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg + n, sizeof err->msg - n, fmt, ap);
    va_end(ap);
    return -1;
}

int err_replace_cause(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    if (!err)
        return -1;
    char cause[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(cause, sizeof cause, fmt, ap);
    va_end(ap);
    /* err_wrap may have cut the message. */
    const struct err old = *err;
    size_t n = strlen(old.msg), at = old.cause_at < n ? old.cause_at : n;
    size_t end = old.cause_n < n - at ? at + old.cause_n : n;
    err_set(err, kind, "%.*s%s%s", (int)at, old.msg, cause, old.msg + end);
    err->cause_at = at;
    err->cause_n = strlen(cause);
    return -1;
}

int err_mark_unreachable(struct err *err)
{
    if (err)
        err->unreachable = true;
    return -1;
}

int err_hint(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, ap);
    va_end(ap);
    return -1;
}
