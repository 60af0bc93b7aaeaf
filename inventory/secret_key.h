/* Keys that say where a secret is: NAME_env, NAME_file, NAME_command. A mapping has one of them. */
#ifndef INVENTORY_SECRET_KEY_H
#define INVENTORY_SECRET_KEY_H

#include "inventory/schema.h"

/* Reads the value of such a key into `ret`. *at is the key that was there before, or NULL; it becomes this
 * one. No message shows the value: it may be a secret that stands in the wrong place. */
int secret_key_read(const struct schema *s, const struct tree_node *value, enum secret_source source,
                    const struct tree_node **at, struct secret_ref *ret, struct err *err);

#endif
