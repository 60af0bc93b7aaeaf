/* The section `services`. */
#ifndef INVENTORY_SERVICE_H
#define INVENTORY_SERVICE_H

#include "inventory/schema.h"

/* Reads the section's mapping into the inventory. */
int service_read_all(const struct schema *s, const struct tree_node *section, struct err *err);

/* A service with the defaults and neither name nor port: NULL if there is no memory. */
struct service *service_new(const char *name, unsigned port);

#endif
