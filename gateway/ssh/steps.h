/* Reports the steps of a login (struct gateway_step). */
#ifndef GATEWAY_SSH_STEPS_H
#define GATEWAY_SSH_STEPS_H

#include "base/base.h"
#include "gateway/ssh/hop.h"

struct steps {
    const struct hop *hop;
    struct gateway_step current;
    int64_t since;   /* the start of the current step */
    bool unreported; /* the current step failed and the failure is not reported yet */
};

void steps_begin(struct steps *s, enum gateway_step_kind kind);

/* Ends the current step with the result `rc`, and returns rc. `why` is the error of a failure. A failure that
 * allows a retry or OpenSSH (ERR_BUSY, ERR_UNSUPPORTED) is not reported yet. */
int steps_end(struct steps *s, int rc, const struct err *why);

/* Reports the current step; `failure` is NULL for a success. */
void steps_report(struct steps *s, const struct err *failure);

#endif
