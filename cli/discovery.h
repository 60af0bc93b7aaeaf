/* The inventory's sources of services: when they are asked, what is kept of their answers, and what is said
 * of those that fail. */
#ifndef CLI_DISCOVERY_H
#define CLI_DISCOVERY_H

#include "cli/target.h"

enum discovery_when {
    DISCOVERY_KEPT,      /* nobody is asked: what was kept counts, however old it is */
    DISCOVERY_AS_NEEDED, /* those of which nothing was kept that is young enough */
    DISCOVERY_REFRESH,   /* all of them */
};

/*
 * Adds to the inventory what its sources say. A source that fails is said on stderr, and so is an old answer
 * that takes the place of a new one; whoever misses something then is told by inventory_select. `o` says how
 * hosts are opened. *ret_failed (may be NULL): how many failed. -1 only if it was interrupted, or there is no
 * memory.
 *
 * `tell`: also what belongs to nobody, and what was not understood.
 */
int discovery_apply(struct inventory *inv, struct target_options *o, enum discovery_when when, bool tell,
                    size_t *ret_failed, struct err *err);

/* The same for one source, whose targets are handed out. The caller releases them. */
int discovery_list(struct inventory *inv, const struct source *source, struct target_options *o,
                   enum discovery_when when, struct discovered *ret, struct err *err);

/* How old an answer is, for people: "12s", "5m", "3h", "4d". */
char *discovery_age(char *dst, size_t cap, int64_t at);

#endif
