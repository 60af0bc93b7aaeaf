/* From a pattern to the hosts it means: names, globs (`*`, `?`) and ranges. */
#ifndef INVENTORY_MATCH_H
#define INVENTORY_MATCH_H

#include <stdbool.h>

#include "inventory/model.h"

bool match_is_glob(const char *name);

/* Expands the ranges of a pattern: what it yields are names and globs. `ret` must be empty. */
int match_expand(const char *pattern, struct strlist *ret, struct err *err);

/* Adds the host of that name, or all that the glob matches. *ret_found: whether there was any. Case does not
 * count in a name, and in a glob only where some match with it. */
int match_name(const struct inventory *inv, const char *name, struct hostset *into, bool *ret_found,
               struct err *err);

/* Adds all members of a group. */
int match_group(const struct group *group, struct hostset *into, struct err *err);

/* ERR_USAGE for a name that no host has, or a glob that matches none, with the nearest names as a hint. */
int match_unknown(const struct inventory *inv, const char *name, struct err *err);

#endif
