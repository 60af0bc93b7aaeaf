/*
 * Strings by number: equal ones have one number, 0 is the empty one. Bytes are referred to or copied; either
 * way they stay where they are until the table goes.
 */
#ifndef PROTO_STRTAB_H
#define PROTO_STRTAB_H

#include "proto/profile.h"

struct strtab {
    struct str *items;
    size_t n, cap;
    struct finder by_text;
    char **chunks; /* what was copied */
    size_t n_chunks, cap_chunks;
    char *free; /* what is left of the newest common one */
    size_t n_free;
};

/* With the empty string in it, and room for so many more. */
int strtab_init(struct strtab *t, size_t expected, struct err *err);
void strtab_release(struct strtab *t);

/* The number of the string, added if it is new: the bytes stay the caller's, for as long as the table lives.
 */
int strtab_refer(struct strtab *t, struct str s, uint32_t *ret, struct err *err);
/* The same; the bytes are copied. */
int strtab_copy(struct strtab *t, struct str s, uint32_t *ret, struct err *err);

#endif
