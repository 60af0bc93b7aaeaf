/* Verdicts: plain sentences on what an item shows about itself. One table of rules. */
#ifndef FETCH_VERDICT_H
#define FETCH_VERDICT_H

#include "fetch/fetch.h"
#include "fetch/transfer.h"

/* Adds a sentence (printf) under a rule's name. Without memory there is none. */
void verdicts_add(struct verdicts *l, const char *rule, bool note, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void verdicts_release(struct verdicts *l);

/* Adds what can be said of one item to item->verdicts. */
void verdict_item(struct fetch_item *item, const struct transfer_response *response);

/* Compares an item with the build id seen before in this service (may be empty), and remembers its own. */
void verdict_build(struct fetch_item *item, char build_id[128]);

#endif
