/* The section `groups`. */
#ifndef INVENTORY_GROUP_H
#define INVENTORY_GROUP_H

#include "inventory/schema.h"

/* Reads the section's mapping into the inventory and resolves every group; the hosts are there already. */
int group_read_all(const struct schema *s, const struct tree_node *section, struct err *err);

#endif
