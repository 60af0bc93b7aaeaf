/* Adds functions to a profile, each once: a function is identified by its name, file and first line. */
#ifndef PROTO_FUNCTION_TABLE_H
#define PROTO_FUNCTION_TABLE_H

#include "base/base.h"
#include "proto/profile.h"

struct function_table {
    struct profile *profile;
    size_t first; /* the number of functions that the profile had before; they are not in the table */
    struct hash_index index; /* its index i stands for function `first` + i of the profile */
};

/* Prepares an empty table for new functions of the profile. The caller must not add functions to the profile
 * by other means while it uses the table. */
void function_table_init(struct function_table *t, struct profile *p);
void function_table_release(struct function_table *t);

/* Finds the function with the same name, filename and start_line, or adds it with a new ID. *ret is the
 * function's index in profile->functions. */
int function_table_find_or_add(struct function_table *t, const struct profile_function *f, uint32_t *ret,
                               struct err *err);

#endif
