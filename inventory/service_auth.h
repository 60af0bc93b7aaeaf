/* A service's key `auth`. */
#ifndef INVENTORY_SERVICE_AUTH_H
#define INVENTORY_SERVICE_AUTH_H

#include "inventory/schema.h"

/* Reads the mapping into `ret`, which service_free releases. No message shows a value, because it may be a
 * misplaced secret. */
int service_auth_read(const struct schema *s, const struct yaml_node *value, struct service_auth *ret,
                      struct err *err);

#endif
