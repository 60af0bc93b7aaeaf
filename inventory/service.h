/* The section `services`. */
#ifndef INVENTORY_SERVICE_H
#define INVENTORY_SERVICE_H

#include "inventory/schema.h"

/* Reads the section's mapping into the inventory. */
int service_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);

/* The settings of a service. */
extern const struct schema_key service_keys[];

/* Creates a service with the defaults. NULL without memory. */
struct service *service_new(const char *name, unsigned port);

/* Copies all fields of `from` but its name and port. */
int service_copy(struct service *service, const struct service *from, struct err *err);

/* Set pprof's path, or a Unix socket, also for the command line. ERR_USAGE for an invalid path. */
int service_set_path(struct service *service, const char *path, struct err *err);
int service_set_unix(struct service *service, const char *path, struct err *err);

#endif
