#include "pprof/stacks.h"

#include <stdlib.h>

#include "pprof/trim.h"
#include "base/banned.h"

int stacks_init(struct stacks *s, struct report *report)
{
    struct graph_options options = {.value_index = report->value_index,
                                    .mean = report->settings->mean,
                                    .drop_negative = report->settings->drop_negative,
                                    .tree = true};
    *s = (struct stacks){.report = report};
    if (trim_paths(report) < 0 || graph_init(&s->g, report->profile, &options, report->err) < 0)
        return -1;
    return graph_count(&s->g, report->err);
}

void stacks_release(struct stacks *s)
{
    graph_release(&s->g);
    free(s->path);
    *s = (struct stacks){0};
}

/* Finds the path from the root to the node. */
static int find_path(struct stacks *s, uint32_t node)
{
    size_t depth = 1;
    for (uint32_t n = node; s->g.nodes[n].first_in != GRAPH_NONE; depth++)
        n = s->g.edges[s->g.nodes[n].first_in].from;
    if (array_reserve((void **)&s->path, &s->cap_path, depth, sizeof *s->path, s->report->err) < 0)
        return -1;
    s->n_path = depth;
    for (uint32_t n = node; depth-- > 0;) {
        s->path[depth] = n;
        if (depth > 0)
            n = s->g.edges[s->g.nodes[n].first_in].from;
    }
    return 0;
}

int stacks_next(struct stacks *s, size_t *at)
{
    const struct report *report = s->report;
    for (; *at < s->g.n_order; ++*at) {
        uint32_t node = s->g.order[*at];
        s->value = node_flat(&s->g.nodes[node]);
        if (report->ratio > 0 && report->ratio != 1)
            s->value = profile_double_to_int((double)s->value * report->ratio);
        if (s->value == 0)
            continue;
        ++*at;
        return find_path(s, node) < 0 ? -1 : 1;
    }
    return 0;
}
