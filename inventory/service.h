/* The section `services`. */
#ifndef INVENTORY_SERVICE_H
#define INVENTORY_SERVICE_H

#include "inventory/schema.h"

/* Reads the section's mapping into the inventory. */
int service_read_all(const struct schema *s, const struct tree_node *section, struct err *err);

/* Its settings. */
extern const struct schema_key service_keys[];

/* A service with the defaults. NULL if there is no memory. */
struct service *service_new(const char *name, unsigned port);

/* Makes it like `from`, its name and port aside. */
int service_copy(struct service *service, const struct service *from, struct err *err);

/* Set what the command line can say too: where pprof lives, and a Unix socket. ERR_USAGE for what is no URL's
 * path, or no path of a socket. */
int service_set_path(struct service *service, const char *path, struct err *err);
int service_set_unix(struct service *service, const char *path, struct err *err);

#endif
