/*
 * Walks over stacks, from the root to the leaf, place by place.
 *
 * A large profile's locations are more than the near caches hold, and a walk comes to them in no order. So a
 * stack is taken in pieces: first what there is of each of its locations is asked for, one not waiting for
 * the other, and then the walk goes over what came. Most locations are one place, and four bytes of a column
 * are all that is read of them; what is inlined into others lies in runs.
 */
#ifndef REPORT_GRAPH_WALK_H
#define REPORT_GRAPH_WALK_H

#include "report/graph.h"

/* Of a location: it has several places, a run of them. What else the number says is where it begins. */
#define WALK_RUN (UINT32_C(1) << 31)
/* No place. */
#define WALK_NONE (WALK_RUN - 1)

/* What stacks are made of, as a walk reads it. */
struct walk {
    const struct profile *profile;
    uint32_t *places; /* by location */
    uint32_t *runs;   /* how many, and then they, the outermost first */
};

/* places: by node, what the walk is to say of it; NULL: the node. walk_release is due whatever it says. */
int walk_init(struct walk *w, const struct graph *g, const uint32_t *places, struct err *err);
void walk_release(struct walk *w);

/* One place of a stack, and whether its call was inlined into the one before it. */
typedef int walk_fn(void *ctx, uint32_t place, bool inlined, struct err *err);

/* Takes a step for each place on a sample's stack, until one fails. Each walk is made of this one, with its
 * own step inside. */
static inline __attribute__((always_inline)) int
walk_stack(const struct walk *w, const struct profile_sample *s, walk_fn *step, void *ctx, struct err *err)
{
    enum { PIECE = 64 };
    uint32_t piece[PIECE];
    for (size_t left = s->depth; left > 0;) {
        size_t n = left < PIECE ? left : PIECE;
        for (size_t i = 0; i < n; i++)
            piece[i] = w->places[profile_frame(w->profile, s, --left)];
        for (size_t i = 0; i < n; i++) {
            if (!(piece[i] & WALK_RUN)) {
                if (step(ctx, piece[i], false, err) < 0)
                    return -1;
                continue;
            }
            const uint32_t *run = &w->runs[piece[i] & ~WALK_RUN];
            for (uint32_t at = 1; at <= run[0]; at++)
                if (step(ctx, run[at], at > 1, err) < 0)
                    return -1;
        }
    }
    return 0;
}

#endif
