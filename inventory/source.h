/* The section `discovery`: where services are found. */
#ifndef INVENTORY_SOURCE_H
#define INVENTORY_SOURCE_H

#include "inventory/schema.h"

/* Reads the section's list into the inventory; services and hosts have been read. */
int source_read_all(const struct schema *s, const struct tree_node *section, struct err *err);

void source_free(struct source *s);

/* Finds the first match of the source's pattern in an address: what its first group matched, or all of it,
 * into ret; false where it does not match, or what matched is no host's name. */
bool source_match(const struct source *s, const char *address, char *ret, size_t cap);

#endif
