/* Selects the parts of a graph that a report shows. */
#include <stdlib.h>

#include "pprof/graph_tags.h"
#include "pprof/source_code.h"
#include "pprof/trim.h"
#include "base/banned.h"

static int64_t fraction_of(int64_t total, double fraction)
{
    return measure_abs(profile_double_to_int((double)total * fraction));
}

/* For -unit=minimum: chooses the unit of the smallest value, unless the largest would get too long. */
static void choose_unit(struct report *report, const struct graph *g)
{
    struct str smallest_unit = {"", 0}, largest_unit = {"", 0}, unit;
    int64_t smallest = 0, largest = report->total;
    if (!str_is(report->output_unit, "minimum") || g->n_order == 0)
        return;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        int64_t v = measure_abs(node_flat(n));
        v = v ? v : measure_abs(node_cum(n));
        if (v > 0 && (smallest == 0 || v < smallest))
            smallest = v;
    }
    smallest = smallest ? smallest : largest;
    if (report->ratio > 0 && report->ratio != 1) {
        smallest = profile_double_to_int((double)smallest * report->ratio);
        largest = profile_double_to_int((double)largest * report->ratio);
    }
    measure_scale(smallest, report->sample_unit, STR("minimum"), &smallest_unit);
    measure_scale(largest, report->sample_unit, STR("minimum"), &largest_unit);
    unit = smallest_unit;
    if (!str_equal(smallest_unit, largest_unit) && (int64_t)((uint64_t)smallest * 100) < largest &&
        report->settings->format != REPORT_CALLGRIND)
        measure_scale((int64_t)((uint64_t)smallest * 100), report->sample_unit, STR("minimum"), &unit);
    report->output_unit = unit.n ? unit : report->sample_unit;
}

static enum graph_order choose_order(const struct report *report)
{
    return report->settings->format == REPORT_DOT ? GRAPH_BY_ENTROPY
           : report->settings->cum                ? GRAPH_BY_CUM
                                                  : GRAPH_BY_FLAT;
}

/* Returns how many nodes may stay. In a picture, tags count as nodes. */
static size_t node_limit(const struct report *report, const struct graph *g, const struct graph_tags *tags)
{
    size_t limit = (size_t)report->nodecount, count = 0;
    for (size_t i = 0; tags && i < g->n_order; i++) {
        size_t n_tags = graph_tags_count(tags, g->order[i]);
        count += (n_tags < TAGS_SHOWN ? n_tags : TAGS_SHOWN) + 1;
        if (count >= limit) {
            limit = i + 1;
            break;
        }
    }
    return limit;
}

/* Keeps at most nodecount nodes. In a picture the order of the nodes depends on the edges, so this function
 * makes the edges again and sorts the nodes again. */
static int limit_nodes(struct report *report, struct graph *g, const struct graph_tags *tags,
                       int64_t edge_cutoff)
{
    if (tags)
        graph_drop_edges(g, edge_cutoff);
    size_t limit = node_limit(report, g, tags);
    if (limit >= g->n_order)
        return 0;
    graph_keep_first(g, limit);
    if (!tags)
        return 0;
    return graph_connect(g, report->err) < 0 ? -1 : graph_sort(g, choose_order(report), report->err);
}

/* Chooses and sorts the nodes. Makes edges only for a picture, where the order depends on them. */
static int choose_nodes(struct report *report, struct graph *g, struct graph_tags *tags, int64_t node_cutoff,
                        int64_t edge_cutoff)
{
    if (node_cutoff > 0)
        report->nodes_dropped = graph_keep(g, node_cutoff);
    report->nodes_before_limit = g->n_order;
    if (tags && (graph_connect(g, report->err) < 0 || graph_tags_make(tags, report, g, node_cutoff) < 0))
        return -1;
    if (graph_sort(g, choose_order(report), report->err) < 0)
        return -1;
    return report->nodecount > 0 ? limit_nodes(report, g, tags, edge_cutoff) : 0;
}

static struct graph_options make_options(const struct report *report)
{
    enum report_format format = report->settings->format;
    return (struct graph_options){.value_index = report->value_index,
                                  .mean = report->settings->mean,
                                  .objnames = format == REPORT_LIST || format == REPORT_CALLGRIND,
                                  .only_inlined = format == REPORT_TEXT || format == REPORT_TOPPROTO,
                                  .drop_negative = report->settings->drop_negative,
                                  .tree = report->settings->call_tree &&
                                          (format == REPORT_DOT || format == REPORT_CALLGRIND)};
}

int trim_graph(struct report *report, struct graph *g, struct graph_tags *tags)
{
    struct graph_options options = make_options(report);
    if (trim_paths(report) < 0 || graph_init(g, report->profile, &options, report->err) < 0 ||
        graph_count(g, report->err) < 0)
        return -1;
    int64_t flat = 0;
    for (size_t i = 0; i < g->n_order; i++)
        flat = measure_sum(flat, g->nodes[g->order[i]].flat);
    int64_t node_cutoff = fraction_of(flat, report->nodefraction);
    int64_t edge_cutoff = fraction_of(flat, report->edgefraction);
    if (choose_nodes(report, g, tags, node_cutoff, edge_cutoff) < 0)
        return -1;
    if (options.only_inlined)
        g->options.min_edge_weight = edge_cutoff;
    if (!tags && graph_connect(g, report->err) < 0)
        return -1;
    report->edges_dropped = graph_drop_edges(g, edge_cutoff);
    choose_unit(report, g);
    return tags && !options.tree ? graph_drop_redundant(g, report->err) : 0;
}

int trim_paths(struct report *report)
{
    struct profile *p = report->profile;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct str whole = profile_str(p, p->functions[i].filename);
        struct str cut = source_code_trim(whole, report->settings->trim_path, report->settings->source_path);
        if (cut.n != whole.n && profile_intern(p, cut.p, cut.n, &p->functions[i].filename, report->err) < 0)
            return -1;
    }
    return 0;
}
