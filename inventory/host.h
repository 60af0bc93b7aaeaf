/* The section `hosts`. */
#ifndef INVENTORY_HOST_H
#define INVENTORY_HOST_H

#include "inventory/schema.h"

/* Reads the section's mapping into the inventory; the services are there already. */
int host_read_all(const struct schema *s, const struct tree_node *section, struct err *err);

/* A host's settings. */
extern const struct schema_key host_keys[];

#endif
