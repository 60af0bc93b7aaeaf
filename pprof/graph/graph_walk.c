#include <stdlib.h>

#include "pprof/graph/graph_walk.h"
#include "base/banned.h"

/* The number of items in the runs. */
static size_t runs_size(const struct graph *g)
{
    size_t ret = 1;
    for (size_t i = 0; i < g->profile->n_locations; i++) {
        size_t n = g->frame_at[i + 1] - g->frame_at[i];
        ret += n > 1 ? n + 1 : 0;
    }
    return ret;
}

/* The value that a walk yields for a frame. */
static uint32_t value_of(const struct graph *g, const uint32_t *values, uint32_t frame)
{
    return values ? values[g->frames[frame]] : g->frames[frame];
}

/* Whether a location is stored as a single value, without a run. */
static bool is_single_value(const struct graph *g, const uint32_t *values, size_t location)
{
    uint32_t n = 0;
    for (uint32_t at = g->frame_at[location]; at < g->frame_at[location + 1]; at++)
        n += value_of(g, values, at) != WALK_NONE;
    return n == 0 || g->frame_at[location + 1] - g->frame_at[location] == 1;
}

int walk_init(struct walk *w, const struct graph *g, const uint32_t *values, struct err *err)
{
    size_t n_locations = g->profile->n_locations;
    uint32_t end = 0; /* of the runs */
    *w = (struct walk){.profile = g->profile,
                       .values = malloc((n_locations + 1) * sizeof *w->values),
                       .runs = malloc(runs_size(g) * sizeof *w->runs)};
    if (!w->values || !w->runs)
        return err_nomem(err);
    for (size_t i = 0; i < n_locations; i++) {
        uint32_t first = g->frame_at[i], after = g->frame_at[i + 1];
        w->values[i] = is_single_value(g, values, i) ? value_of(g, values, first) : WALK_RUN | end;
        if (!(w->values[i] & WALK_RUN))
            continue;
        w->runs[end++] = after - first;
        while (after > first)
            w->runs[end++] = value_of(g, values, --after);
    }
    return 0;
}

void walk_release(struct walk *w)
{
    free(w->values);
    free(w->runs);
}
