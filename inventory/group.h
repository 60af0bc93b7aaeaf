/* The section `groups`. */
#ifndef INVENTORY_GROUP_H
#define INVENTORY_GROUP_H

#include "inventory/schema.h"

/* Reads the section into the inventory and resolves every group. The hosts must be read before. */
int group_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);

#endif
