/* Discovery for the commands: asks with the options of the command line, and prints warnings and failures. */
#ifndef CLI_DISCOVERY_H
#define CLI_DISCOVERY_H

#include "cli/target.h"
#include "discovery/discovery.h"

/*
 * Adds the services of the inventory's sources to `t`, or only those of selection.source. Prints failed
 * sources and old answers to stderr. Opens hosts by the options `o`. *ret_failed (may be NULL): the number of
 * failed sources. -1 only if the run was cancelled, without memory, or if selection.source failed.
 *
 * `verbose`: prints also which targets are left out, and which content is not supported.
 */
int discovery_apply(const struct inventory *inv, struct targets *t, struct target_options *o,
                    enum discovery_when when, bool verbose, size_t *ret_failed, struct err *err);

/* Does the same for one source, and returns its targets. The caller releases them. */
int discovery_list(const struct inventory *inv, struct targets *t, struct source_use *use,
                   struct target_options *o, enum discovery_when when, struct discovered *ret,
                   struct err *err);

/* Formats the age of an answer: "12s", "5m", "3h", "4d". */
char *discovery_age(char *dst, size_t cap, int64_t at);

#endif
