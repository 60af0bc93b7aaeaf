/* Resolves patterns to hosts: names, globs (`*`, `?`) and ranges. */
#ifndef INVENTORY_MATCH_H
#define INVENTORY_MATCH_H

#include <stdbool.h>

#include "inventory/created_objects.h"

bool match_is_glob(const char *name);

/* Expands the ranges of a pattern to names and globs. `ret` must be empty. */
int match_expand(const char *pattern, struct strlist *ret, struct err *err);

/* Adds the host of that name, or all hosts that match the glob. *ret_found: at least one host matched. Names
 * ignore case; a glob ignores case only if no host matches it in the case as written. */
int match_name(const struct scope *s, const char *name, struct hostset *into, bool *ret_found,
               struct err *err);

/* Adds all members of a group. */
int match_group(const struct group *group, struct hostset *into, struct err *err);

/* Sets ERR_USAGE for a name or glob that matches no host, with the nearest names as a hint. */
int match_refuse_unknown(const struct scope *s, const char *name, struct err *err);

#endif
