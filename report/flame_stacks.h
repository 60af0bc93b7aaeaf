/*
 * The stacks of a profile as calls of functions, the outermost first; and its samples in an order in which
 * stacks that begin alike stand together.
 */
#ifndef REPORT_FLAME_STACKS_H
#define REPORT_FLAME_STACKS_H

#include "report/flame.h"

struct flame_stacks {
    struct profile *p;
    struct flame_function *functions; /* told apart by name and file */
    size_t n_functions, cap_functions;
    struct finder by_name;
    uint32_t *run_at; /* of each location: where its calls begin in `runs` */
    uint32_t *runs;   /* functions */
    uint32_t *order;  /* the samples */
};

/* May add strings to the profile, and keeps it. On failure too flame_stacks_release is due. */
int flame_stacks_init(struct flame_stacks *s, struct profile *p, struct err *err);
void flame_stacks_release(struct flame_stacks *s);

/* A stack, read from the outermost call on. */
struct flame_calls {
    const struct flame_stacks *stacks;
    const struct profile_sample *sample;
    uint32_t left;            /* locations */
    const uint32_t *at, *end; /* of the location at hand */
};

static inline struct flame_calls flame_calls_of(const struct flame_stacks *s,
                                                const struct profile_sample *sample)
{
    return (struct flame_calls){s, sample, sample->depth, NULL, NULL};
}

/* False behind the last. */
static inline bool flame_calls_next(struct flame_calls *c, uint32_t *ret)
{
    while (c->at == c->end) {
        if (c->left == 0)
            return false;
        uint32_t location = profile_frame(c->stacks->p, c->sample, --c->left);
        c->at = c->stacks->runs + c->stacks->run_at[location];
        c->end = c->stacks->runs + c->stacks->run_at[location + 1];
    }
    *ret = *c->at++;
    return true;
}

#endif
