/* The readers of the sections of an inventory file. A section is read after the sections that define the
 * objects to which it refers. */
#ifndef INVENTORY_SECTIONS_H
#define INVENTORY_SECTIONS_H

#include "inventory/schema.h"

/* Each function reads its section into the inventory, notes mistakes and continues (schema_note_mistake). */
int service_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
int host_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
int group_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
int tracker_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
int team_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
int self_read(const struct schema *s, const struct yaml_node *section, struct err *err);
int source_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);

/* The settings of a service and of a host. */
extern const struct schema_key service_keys[];
extern const struct schema_key host_keys[];

#endif
