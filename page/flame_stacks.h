/*
 * The stacks of a profile as calls of functions, the outermost first, and an order of the samples in which
 * stacks that begin alike are next to each other.
 */
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
    uint32_t *order;           /* indices of samples */
};

/* May add strings to the profile, and keeps the pointer. Call flame_stacks_release even after a failure. */
int flame_stacks_init(struct flame_stacks *stacks, struct profile *profile, struct err *err);
void flame_stacks_release(struct flame_stacks *stacks);

/* A stack, read from the outermost call on. */
struct flame_calls {
    const struct flame_stacks *stacks;
    const struct profile_sample *sample;
    uint32_t left;            /* locations left */
    const uint32_t *at, *end; /* the calls of the current location */
};

static inline struct flame_calls flame_calls_of(const struct flame_stacks *stacks,
                                                const struct profile_sample *sample)
{
    return (struct flame_calls){stacks, sample, sample->depth, NULL, NULL};
}

/* Returns false after the last call. */
static inline bool flame_calls_next(struct flame_calls *c, uint32_t *ret)
{
    while (c->at == c->end) {
        if (c->left == 0)
            return false;
        uint32_t location = profile_frame(c->stacks->p, c->sample, --c->left);
        c->at = c->stacks->calls + c->stacks->calls_at[location];
        c->end = c->stacks->calls + c->stacks->calls_at[location + 1];
    }
    *ret = *c->at++;
    return true;
}

#endif
