/* Memory that is freed all at once. All 0 is an empty arena. */
#ifndef BUNDLE_ARENA_H
#define BUNDLE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *last;
};

/* Returns n zeroed bytes, or NULL without memory. */
void *arena_alloc(struct arena *a, size_t n);

void arena_release(struct arena *a);

#endif
