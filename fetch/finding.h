/*
 * Findings: plain sentences on an item or a service, so that a reader does not mistake an empty mutex
 * profile for "no contention". One table of rules (findings/rule.h).
 */
#ifndef FETCH_FINDING_H
#define FETCH_FINDING_H

#include "fetch/fetch.h"
#include "fetch/plan.h"
#include "fetch/transfer.h"

/* All known facts of one item after its fetch. */
struct evidence {
    const struct fetch_item *item;
    const struct plan_item *plan;
    const struct http_response *response;
    int64_t waited_ms;            /* the time spent waiting until no other client used the profiler */
    const char *concurrent_kinds; /* the kinds fetched at the same time; NULL or empty for none */
};

/* Adds the findings of all rules that check an item; without memory, fewer. */
void fetch_finding_check(struct findings *l, const struct evidence *e);

/* Compares an item's build id with the last one of this service (may be empty), and stores its own. */
void fetch_finding_check_build(struct fetch_item *item, char build_id[128]);

/* Adds the finding on a clock `skew_ms` ahead of ours. */
void fetch_finding_add_skew(struct findings *l, int64_t skew_ms);

#endif
