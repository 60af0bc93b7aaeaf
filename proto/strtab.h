/*
 * A table that numbers strings: equal strings have one number, and 0 is the empty string. The table refers to
 * bytes or copies them. A copy does not move while the table lives.
 */
#ifndef PROTO_STRTAB_H
#define PROTO_STRTAB_H

#include "proto/profile.h"

struct strtab {
    struct str *items;
    size_t n, cap;
    struct hash_index by_text;
    char **chunks; /* copied strings */
    size_t n_chunks, cap_chunks;
    char *free; /* the free part of the newest chunk for short strings; a long string has its own chunk */
    size_t n_free;
};

/* Initialises the table with the empty string and room for `expected` more strings. */
int strtab_init(struct strtab *t, size_t expected, struct err *err);
void strtab_release(struct strtab *t);

/* *ret is the number of the string, which is added if it is new. The bytes must stay valid while the table
 * lives. */
int strtab_refer(struct strtab *t, struct str s, uint32_t *ret, struct err *err);
/* Works like strtab_refer, but copies the bytes. */
int strtab_copy(struct strtab *t, struct str s, uint32_t *ret, struct err *err);

#endif
