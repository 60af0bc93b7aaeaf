/*
 * What an earlier run left in the place of an item, in a work directory that is resumed: a whole file that it
 * was killed too early to record, or half a body. Of that the largest waits as NAME.earlier for what comes
 * now, so that a run that is killed again loses nothing either.
 */
#ifndef FETCH_LEFTOVER_H
#define FETCH_LEFTOVER_H

#include "fetch/item.h"

/*
 * True if a whole file is there: `ret` describes it, and nothing is to be fetched. Else whatever is there has
 * made way. `t` knows the secret that half a body must not repeat; one that does is removed.
 */
bool leftover_take(const struct plan_item *plan, const struct item_context *context, const struct transfer *t,
                   struct fetch_item *ret);

/*
 * Once the item has been fetched, or not: what waited is removed if that was whole, or is at least as large;
 * else it is NAME.damaged, and the item says so.
 */
void leftover_settle(const struct plan_item *plan, const struct item_context *context,
                     struct fetch_item *item);

#endif
