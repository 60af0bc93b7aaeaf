/* The section `discovery`: the sources of services. */
#ifndef INVENTORY_SOURCE_H
#define INVENTORY_SOURCE_H

#include "inventory/schema.h"

/* Reads the section's list into the inventory. Services and hosts must be read before. */
int source_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);

void source_free(struct source *s);

/* Finds the first match of the source's pattern in an address and copies its first group, or all of it, to
 * ret. Returns false without a match, or if the match is no host name. */
bool source_match(const struct source *s, const char *address, char *ret, size_t cap);

#endif
