/*
 * Verdicts: plain sentences on what an item or a service shows about itself, so that nobody reads an empty
 * mutex profile as "no contention". One table of rules: name, evidence, sentence, source.
 */
#ifndef FETCH_VERDICT_H
#define FETCH_VERDICT_H

#include "fetch/fetch.h"
#include "fetch/plan.h"
#include "fetch/transfer.h"

/* Everything that is known of one item once it has come. */
struct evidence {
    const struct fetch_item *item;
    const struct plan_item *plan;
    const struct transfer_response *response;
    int64_t waited_ms;  /* until nobody else held the profiler */
    const char *beside; /* the kinds taken at the same time; NULL or empty for none */
};

/* Adds to `l` what the rules find; without memory, less. */
void verdict_item(struct verdicts *l, const struct evidence *e);

/* Compares an item with the build id seen before in this service (may be empty), and remembers its own. */
void verdict_build(struct fetch_item *item, char build_id[128]);

/* Adds what there is to say of a clock `skew_ms` ahead of ours. */
void verdict_skew(struct verdicts *l, int64_t skew_ms);

/* Moves all of `from` behind those in `l`. */
void verdicts_move(struct verdicts *l, struct verdicts *from);

#endif
