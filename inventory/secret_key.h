/* Keys for the place of a secret: NAME_env, NAME_file, NAME_command. A mapping has one of them. */
#ifndef INVENTORY_SECRET_KEY_H
#define INVENTORY_SECRET_KEY_H

#include "inventory/schema.h"

/* Reads the value of such a key into `ret`. *at is the earlier such key, or NULL; it becomes this one. No
 * message shows the value, because it may be a misplaced secret. */
int secret_key_read(const struct schema *s, const struct yaml_node *value, enum secret_source source,
                    const struct yaml_node **at, struct secret_ref *ret, struct err *err);

#endif
