/*
 * Checks a body while it arrives: whether it is complete and has the requested format. Needs constant memory.
 *
 * This folder reads bodies without a connection. If a body does not have the requested format, format.h names
 * the format that it has. index.h parses the index page, which lists the profiles of a service.
 */
#ifndef FETCH_BODY_CHECK_H
#define FETCH_BODY_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "proto/proto.h"
#include "fetch/body/check_limit.h"

struct check_result {
    bool has_profile; /* `profile` is filled: the scan read the whole message */
    struct profile_summary profile;
    bool has_other_format; /* the body has another format; it is not damaged */
    unsigned trace_minor;  /* the 22 of `go 1.22 trace`; 0 if there is no such header */
    char beginning[200];   /* the printable beginning of a body that is text; else empty */
};

struct check;

struct check *check_new(enum body_format format, struct err *err);
void check_free(struct check *c);

/* Limits the processor time of the check. Call it before the first check_feed. A body that exceeds the limit
 * is bad. */
void check_set_limit(struct check *c, struct check_limit *limit);

/* Returns 0 also for a body that is already known to be bad: the caller stores it, and check_finish reports
 * the error. -1 only if the check itself cannot continue (no memory). */
int check_feed(struct check *c, const void *p, size_t n, struct err *err);

/* Returns 0 if the body is good, else -1 with ERR_FAILED and the reason. Fills *ret in both cases as far as
 * possible. */
int check_finish(struct check *c, struct check_result *ret, struct err *err);

#endif
