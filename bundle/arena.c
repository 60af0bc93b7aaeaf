#include "bundle/arena.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/banned.h"

/* Each allocation is a block of its own, so that sanitizers see writes beyond its end. */
struct arena_block {
    struct arena_block *before;
    max_align_t bytes[];
};

void *arena_alloc(struct arena *a, size_t n)
{
    struct arena_block *block = calloc(1, sizeof *block + n);
    if (!block)
        return NULL;
    block->before = a->last;
    a->last = block;
    return block->bytes;
}

void arena_release(struct arena *a)
{
    while (a->last) {
        struct arena_block *block = a->last;
        a->last = block->before;
        free(block);
    }
}
