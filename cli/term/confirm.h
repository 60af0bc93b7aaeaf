/* Asks for a confirmation before many processes are profiled, because a wrong pattern of host names
 * could slow down a fleet. */
#ifndef CLI_TERM_CONFIRM_H
#define CLI_TERM_CONFIRM_H

#include "cli/term/prompt.h"
#include "inventory/inventory.h"

/* The maximum number of targets that need no confirmation. */
#define CONFIRM_TARGETS 10

struct confirm {
    const struct targets *targets;
    const struct strlist *kinds; /* empty: the default kinds of each service */
    bool yes;                    /* --yes is given: do not ask */
    int64_t wait_ms;             /* the time limit for the answer; 0: GATEWAY_ASK_MS */
};

/*
 * Asks on the terminal whether to continue, if more than CONFIRM_TARGETS targets have a costly kind. A costly
 * kind profiles a process for some time or stops it (fetch_add_costly_kinds). ERR_USAGE without a terminal,
 * ERR_CANCELLED for any answer but yes.
 */
int confirm_many(const struct confirm *c, struct prompt *prompt, struct err *err);

#endif
