/*
 * Findings: plain sentences on an item or a service, so that a reader does not mistake an empty mutex profile
 * for "no contention". fetch/finding.c has their rules in one table (struct finding_rule).
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

/* Adds the findings of all rules that check an item; fewer if memory runs out. */
void fetch_finding_check(struct findings *findings, const struct evidence *e);

/* Adds a finding if the item's build ID differs from `build_id`, the last one of this service (may be empty).
 * Then stores the item's build ID in `build_id`. */
void fetch_finding_check_build(struct fetch_item *item, char build_id[128]);

/* Adds the finding on a service's clock that differs from ours by 5 s or more. `skew_ms`: its time minus
 * ours. */
void fetch_finding_add_skew(struct findings *findings, int64_t skew_ms);

#endif
