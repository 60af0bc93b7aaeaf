/*
 * Walks over stacks from the root to the leaf, node by node, and passes a value of each node to a visitor.
 *
 * The locations of a large profile exceed the processor's caches, and a walk reads them in random order.
 * Therefore a stack is read in pieces of PIECE locations: first all entries of a piece are loaded, so that
 * the memory accesses overlap, then they are visited. A location without inlined calls belongs to one node,
 * with one value of four bytes. A location with inlined calls has a run of values.
 */
#ifndef PPROF_GRAPH_GRAPH_WALK_H
#define PPROF_GRAPH_GRAPH_WALK_H

#include "pprof/graph/graph.h"

/* Marks a location with several values: a run. The other bits are the run's index in `runs`. */
#define WALK_RUN (UINT32_C(1) << 31)
/* No value. */
#define WALK_NONE (WALK_RUN - 1)

/* The values of all locations, in the form that a walk reads. */
struct walk {
    const struct profile *profile;
    uint32_t *values; /* by location */
    uint32_t *runs;   /* of each run: the number of values, then the values, the outermost first */
};

/* `values` has the value of each node; NULL: the value of a node is its index. Call walk_release even after a
 * failure. */
int walk_init(struct walk *w, const struct graph *g, const uint32_t *values, struct err *err);
void walk_release(struct walk *w);

/* Receives the value of one node of a stack. `inlined`: the call of this node is inlined into the previous
 * node. */
typedef int walk_fn(void *ctx, uint32_t value, bool inlined, struct err *err);

/* Visits each node of a sample's stack, until a visit fails. The compiler inlines this function with each
 * visitor. */
static inline __attribute__((always_inline)) int
walk_stack(const struct walk *w, const struct profile_sample *s, walk_fn *visit, void *ctx, struct err *err)
{
    enum { PIECE = 64 };
    uint32_t piece[PIECE];
    for (size_t left = s->depth; left > 0;) {
        size_t n = left < PIECE ? left : PIECE;
        for (size_t i = 0; i < n; i++)
            piece[i] = w->values[profile_frame(w->profile, s, --left)];
        for (size_t i = 0; i < n; i++) {
            if (!(piece[i] & WALK_RUN)) {
                if (visit(ctx, piece[i], false, err) < 0)
                    return -1;
                continue;
            }
            const uint32_t *run = &w->runs[piece[i] & ~WALK_RUN];
            for (uint32_t at = 1; at <= run[0]; at++)
                if (visit(ctx, run[at], at > 1, err) < 0)
                    return -1;
        }
    }
    return 0;
}

#endif
