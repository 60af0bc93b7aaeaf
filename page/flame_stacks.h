/* The calls of a profile's stacks: the functions, and the calls of each location, the outermost first. */
#ifndef PAGE_FLAME_STACKS_H
#define PAGE_FLAME_STACKS_H

#include "page/flame.h"

struct flame_stacks {
    struct profile *p;
    struct flame_function *functions; /* identified by name and file */
    size_t n_functions, cap_functions;
    struct hash_index by_name; /* the functions by name and file */
    uint32_t *calls_at;        /* by location: the index of its first call in `calls` */
    uint32_t *calls;           /* the calls of all locations, as indices of functions */
};

/* May add strings to the profile, and keeps the pointer. Call flame_stacks_release even after a failure. */
int flame_stacks_init(struct flame_stacks *stacks, struct profile *profile, struct err *err);
void flame_stacks_release(struct flame_stacks *stacks);

/* Removes the samples that the tree does not have from the profile. ERR_NOT_FOUND: no function has the name
 * wanted->through_name. */
int flame_stacks_keep(const struct flame_stacks *stacks, const struct page_tree *wanted, struct err *err);

static inline void flame_stacks_add_values(int64_t *to, const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)values[i]);
}

/* Sets the weight of one unit of each of the first n_types sample types: 1 divided by the sum of the absolute
 * values of all samples. */
void flame_stacks_scale(const struct flame_stacks *stacks, size_t n_types, double *ret);

#endif
