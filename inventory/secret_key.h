/* Keys for the place of a secret: NAME_env, NAME_file, NAME_command. A mapping has one of them. */
#ifndef INVENTORY_SECRET_KEY_H
#define INVENTORY_SECRET_KEY_H

#include "inventory/schema.h"

/* A secret of a mapping while it is read. */
struct secret_place {
    const struct yaml_node *key; /* the key that was read; NULL: none yet */
    struct secret_ref *ref;      /* receives the place */
};

/* Reads the value of such a key. Refuses a second one. No message shows the value, because it may be a
 * misplaced secret. */
int secret_key_read(const struct schema *s, const struct yaml_node *value, enum secret_source source,
                    struct secret_place *place, struct err *err);

#endif
