/* The section `trackers`. */
#ifndef INVENTORY_TRACKER_H
#define INVENTORY_TRACKER_H

#include "inventory/schema.h"

int tracker_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
void tracker_free(struct tracker *t);

#endif
