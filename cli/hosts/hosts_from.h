/* `profgrab hosts --from SOURCE`: the targets of one source. */
#ifndef CLI_HOSTS_HOSTS_FROM_H
#define CLI_HOSTS_HOSTS_FROM_H

#include <jansson.h>

#include "cli/hosts/discovery.h"

/* Prints the targets of `source`, the value of --from, as a table or as JSON. If the selection has labels,
 * prints only the targets that have them. */
int hosts_from(const struct discovery_command *c, const char *source, bool json, struct err *err);

/* Returns a source as JSON: name, kind, place, and the time of its answer. */
json_t *hosts_source_json(const struct source_use *use);

#endif
