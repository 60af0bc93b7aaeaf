/* Resolves the options of a command to its targets. */
#ifndef CLI_HOSTS_RESOLVE_H
#define CLI_HOSTS_RESOLVE_H

#include "cli/hosts/target.h"

/* Loads the inventory and resolves the selection, with discovery if the selection needs it. Discovery uses
 * `prompt` only if it must open a host to query a source behind it. `t` must be empty. The caller releases
 * *ret_inventory and `t`, also on failure. */
int resolve_targets(struct target_options *o, struct prompt *prompt, struct inventory **ret_inventory,
                    struct targets *t, struct err *err);

/* Sets the selection's source (--from), and adds the services of the sources to `t`. */
int resolve_sources(struct target_options *o, struct prompt *prompt, const struct inventory *inventory,
                    struct targets *t, struct err *err);

#endif
