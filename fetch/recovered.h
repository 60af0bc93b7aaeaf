/*
 * Files of an item that an earlier run left in a resumed work directory: a complete file that the run was
 * killed before recording, or a partial body. The largest partial body waits as NAME.earlier during the new
 * fetch, so that a second kill loses nothing either.
 */
#ifndef FETCH_RECOVERED_H
#define FETCH_RECOVERED_H

#include "fetch/item.h"

/*
 * True if a complete file exists: `ret` describes it, and no fetch is needed. Else sets the existing files
 * aside. `t` has the secret: removes a file that repeats it.
 */
bool recovered_adopt(const struct plan_item *plan, const struct item_context *context,
                     const struct transfer *t, struct fetch_item *ret);

/*
 * After the fetch, successful or not: removes the file set aside if the new one is complete, or at least as
 * large. Else the old file becomes NAME.damaged, and the item's error mentions it.
 */
void recovered_resolve(const struct plan_item *plan, const struct item_context *context,
                       struct fetch_item *item);

#endif
