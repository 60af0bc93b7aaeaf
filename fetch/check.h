/*
 * Is this body what was asked for, and all of it? Judged while it streams past, in constant memory.
 */
#ifndef FETCH_CHECK_H
#define FETCH_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "proto/proto.h"

enum check_format {
    CHECK_PPROF, /* profile.proto, gzip-compressed or not */
    CHECK_TRACE, /* an execution trace */
    CHECK_TEXT,  /* lines of text */
    CHECK_RAW,   /* anything that is neither empty nor an HTML page */
    CHECK_ANY,   /* anything that is not empty */
};

struct check_result {
    bool has_profile; /* `profile` is filled: the whole message could be read */
    struct profile_summary profile;
    bool other;           /* the body is bad because it is something else, not because it is damaged */
    unsigned trace_minor; /* the 22 of `go 1.22 trace`; 0 if there is no such header */
    char beginning[200];  /* the beginning of a body that reads as text, printable; else empty */
};

struct check;

struct check *check_new(enum check_format format, struct err *err);
void check_free(struct check *c);

/* 0 even when the body is already known to be bad: it is stored all the same, and the verdict comes at the
 * end. -1 only when the check itself cannot go on (no memory). */
int check_feed(struct check *c, const void *p, size_t n, struct err *err);

/* 0 if the body is good. -1 with ERR_FAILED and what is wrong with it otherwise; *ret is filled as far as
 * things are known in both cases. */
int check_finish(struct check *c, struct check_result *ret, struct err *err);

#endif
