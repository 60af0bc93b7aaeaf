/* `profgrab hosts --from SOURCE`: what one source of services says. */
#ifndef CLI_HOSTS_FROM_H
#define CLI_HOSTS_FROM_H

#include <jansson.h>

#include "cli/discovery.h"

/* Prints the targets of a source, a name of the inventory or KIND:PLACE, as a table or as JSON. With labels
 * in the selection only those that have them. */
int hosts_from(const struct inventory *inv, const char *source, struct target_options *o,
               enum discovery_when when, bool json, struct err *err);

/* A source, as JSON has it: name, kind, place, and when it said what it said. */
json_t *hosts_source_json(const struct source_use *use);

#endif
