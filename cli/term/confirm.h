/* The question before many processes are profiled at once: a slip in a pattern must not slow a whole fleet.
 */
#ifndef CLI_TERM_CONFIRM_H
#define CLI_TERM_CONFIRM_H

#include "cli/term/prompt.h"
#include "inventory/inventory.h"

/* So many targets are profiled without a question. */
#define CONFIRM_TARGETS 10

struct confirm {
    const struct targets *targets;
    const struct strlist *kinds; /* empty: each service's own */
    bool yes;                    /* go on without a question */
    int64_t wait_ms;             /* for the answer; 0: as for any question */
};

/*
 * Where more than CONFIRM_TARGETS targets are asked for what profiles a process for a time, or stops it
 * (fetch_costly), asks on the terminal whether to go on. ERR_USAGE where nobody can be asked, ERR_CANCELLED
 * for an answer other than yes.
 */
int confirm_many(const struct confirm *c, struct prompt *prompt, struct err *err);

#endif
