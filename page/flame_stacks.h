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

#endif
