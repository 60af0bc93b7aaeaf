/* The section `hosts`. */
#ifndef INVENTORY_HOST_H
#define INVENTORY_HOST_H

#include "inventory/schema.h"

/* Reads the section into the inventory. The services must be read before. */
int host_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);

/* The settings of a host. */
extern const struct schema_key host_keys[];

#endif
