/*
 * Files of an item that an earlier run left in a resumed work directory: a complete file that the
 * killed run had not recorded yet, or a partial body. During the new fetch the largest partial body is kept
 * as NAME.earlier, so that a second kill does not lose it.
 */
#ifndef FETCH_RECOVERED_H
#define FETCH_RECOVERED_H

#include "fetch/item.h"

/*
 * Returns true if a complete file exists: then `ret` describes the file, and no fetch is needed. Otherwise
 * renames the largest existing file to NAME.earlier, and removes the other files, and every file that
 * contains the secret of `t`.
 */
bool recovered_adopt(const struct plan_item *plan, const struct item_context *context,
                     const struct transfer *t, struct fetch_item *ret);

/*
 * After the fetch, successful or not: removes NAME.earlier if the new file is complete, or at least as
 * large. Otherwise renames NAME.earlier to NAME.damaged, and the item's error mentions it.
 */
void recovered_resolve(const struct plan_item *plan, const struct item_context *context,
                       struct fetch_item *item);

#endif
