/* The mapping `tls` of a service in the inventory. */
#ifndef INVENTORY_SERVICE_TLS_H
#define INVENTORY_SERVICE_TLS_H

#include "inventory/schema.h"

/* Reads the mapping into `ret`, which service_free releases. */
int service_tls_read(const struct schema *s, const struct yaml_node *value, struct service_tls *ret,
                     struct err *err);

#endif
