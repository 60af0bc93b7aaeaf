/*
 * What came of each target of a run: counted while it is observed, told at the end, and kept for --json. The
 * functions that count are called as fetch_observer's are: from any thread, never two at a time.
 */
#ifndef CLI_OUTCOMES_H
#define CLI_OUTCOMES_H

#include <stdio.h>

#include "fetch/fetch.h"

struct outcome {
    const struct target *target;
    bool planned; /* how much is asked for is known */
    size_t asked; /* items that were still to come */
    size_t got;   /* of those, whole */
    size_t failures;
    uint64_t bytes; /* of those that are whole */
    int64_t began,
        ended;     /* clock_now(): its host was about to be opened, the last of it came; 0: not so far */
    bool unopened; /* its host could not be opened */
    bool unusable; /* the request itself is wrong, such as an unknown kind */
    char why[720]; /* the first failure; empty: none */
};

struct outcomes {
    const struct targets *targets;
    struct outcome *items; /* one for each */
};

/* The targets must live as long. */
int outcomes_new(struct outcomes *t, const struct targets *targets, struct err *err);
void outcomes_release(struct outcomes *t);

void outcomes_opening(struct outcomes *t, const struct host *host);
void outcomes_host(struct outcomes *t, const struct host *host, const struct err *failure);
void outcomes_service(struct outcomes *t, const struct target *target, const struct fetch_service *s);
void outcomes_item(struct outcomes *t, const struct target *target, const struct fetch_item *item);

/* Whether everything that was asked of it came. */
bool outcome_is_whole(const struct outcome *t);
/* How long it took, in milliseconds. */
int64_t outcome_took(const struct outcome *t);

/* Prints a table: those that are whole first, many of them in one line unless `all`, then the others with
 * what failed, cut to the width of a terminal. */
void outcomes_print(const struct outcomes *t, bool all, FILE *out);

#endif
