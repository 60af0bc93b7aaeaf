/* The values of a profile's functions over all its samples, for a tree that has folded some calls. */
#ifndef PAGE_FLAME_SUMS_H
#define PAGE_FLAME_SUMS_H

#include "page/flame_stacks.h"

/* The values of one function. Together in memory, because millions of frames are counted. */
struct flame_sum {
    uint64_t last_sample; /* the number, from 1 on, of the last sample that was counted */
    int64_t values[];     /* n_types flat values, then n_types cumulative values */
};

struct flame_sums {
    size_t n_types;
    void *bytes;
};

static inline size_t flame_sums_size(const struct flame_sums *sums)
{
    return sizeof(struct flame_sum) + 2 * sums->n_types * sizeof(int64_t);
}

/* Returns the values of a function of the stacks. */
static inline struct flame_sum *flame_sums_at(const struct flame_sums *sums, uint32_t function)
{
    return (struct flame_sum *)(void *)((char *)sums->bytes + function * flame_sums_size(sums));
}

/* Adds up the first n_types sample types. A recursive function counts once in each stack. The caller releases
 * *ret, also after a failure. */
int flame_sums_make(const struct flame_stacks *stacks, size_t n_types, struct flame_sums *ret,
                    struct err *err);
void flame_sums_release(struct flame_sums *sums);

#endif
