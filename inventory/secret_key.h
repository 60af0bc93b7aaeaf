/* Keys for the location of a secret: NAME_env, NAME_file, NAME_command. A mapping has one of them. */
#ifndef INVENTORY_SECRET_KEY_H
#define INVENTORY_SECRET_KEY_H

#include "inventory/schema.h"

/* The location of a secret while its mapping is read. */
struct secret_location {
    const struct yaml_node *value; /* the value of the key that was read; NULL: none yet */
    struct secret_ref *ref;        /* receives the location */
};

/* Reads the value of one of these keys. Refuses a second one of them in the same mapping. No message shows
 * the value, because it may be a misplaced secret. */
int secret_key_read(const struct schema *s, const struct yaml_node *value, enum secret_kind kind,
                    struct secret_location *location, struct err *err);

#endif
