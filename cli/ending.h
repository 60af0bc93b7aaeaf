/*
 * How a run ends: the states of its items counted, and from these counts alone the exit code and the last
 * line. Neither is decided anywhere else.
 */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

#include "fetch/fetch.h"

struct ending {
    size_t whole;    /* items that arrived whole; of a resumed run also those of the runs before it */
    size_t damaged;  /* items of which a damaged body was kept */
    size_t missing;  /* items, services and hosts of which nothing was kept */
    size_t lasting;  /* of damaged and missing: asking again brings the same, so resume cannot fetch it */
    size_t unusable; /* of missing: the request itself is wrong, such as an unknown kind */
    int signal;      /* that stopped the run; 0: none */
    bool bundled;    /* there is a bundle, or a new one where a bundle was resumed */
};

/* Counts what was fetched, or not; `whole` is the caller's to set, since earlier runs may have items too. */
void ending_count_item(struct ending *e, const struct fetch_item *item);
/* Counts a host or a service from which nothing could be fetched. */
void ending_count_failure(struct ending *e, const struct err *failure);

/* Whether everything that was asked for arrived whole. */
bool ending_is_complete(const struct ending *e);

/* The exit code: enum exit_status (cli/term/exit.h). */
int ending_code(const struct ending *e);

/* Sets err to the last line of a run that has a bundle but is not complete; its hint is `resume_line`, a
 * command, where that can fetch anything of what is not there. */
void ending_explain(const struct ending *e, const char *resume_line, struct err *err);

#endif
