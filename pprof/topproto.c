/*
 * -topproto: the output of -top as a profile, with a location and a sample for each node.
 *
 * Source: google/pprof internal/report (printTopProto).
 */
#include "pprof/formats.h"
#include "pprof/report.h"
#include "pprof/trim.h"
#include "base/banned.h"

struct top {
    struct report *report;
    struct profile *to;
    struct function_table functions;
};

static int intern_string(struct top *t, struct str s, uint32_t *ret)
{
    return profile_intern(t->to, s.p, s.n, ret, t->report->err);
}

/* Finds or adds the function of a node. */
static int intern_node_function(struct top *t, const struct node_info *info, uint32_t *ret)
{
    const struct profile *from = t->report->profile;
    struct profile_function f = {.start_line = info->start_line};
    if (intern_string(t, profile_str(from, info->name), &f.name) < 0 ||
        intern_string(t, profile_str(from, info->file), &f.filename) < 0)
        return -1;
    return function_table_find_or_add(&t->functions, &f, ret, t->report->err);
}

static int add_node(struct top *t, const struct node *n)
{
    const struct report *report = t->report;
    struct profile_line line = {.line = n->info.line, .column = n->info.column};
    uint32_t at = (uint32_t)t->to->n_locations;
    struct profile_location l = {
        .id = (uint64_t)at + 1, .address = n->info.address, .mapping = PROFILE_NONE, .n_lines = 1};
    struct str unit;
    int64_t values[2] = {
        profile_double_to_int(measure_scale(node_cum(n), report->sample_unit, report->output_unit, &unit)),
        profile_double_to_int(measure_scale(node_flat(n), report->sample_unit, report->output_unit, &unit))};
    return intern_node_function(t, &n->info, &line.function) < 0 ||
                   profile_add_location(t->to, &l, &line, report->err) < 0
               ? -1
               : profile_add_sample(t->to, &(struct profile_new_sample){&at, 1, values, NULL, 0},
                                    report->err);
}

static int add_header(struct top *t)
{
    const struct report *report = t->report;
    const struct profile *from = report->profile;
    struct profile_value_type cum, flat;
    t->to->time_ns = from->time_ns;
    t->to->duration_ns = from->duration_ns;
    t->to->period = from->period;
    if (intern_string(t, STR("cum"), &cum.type) < 0 || intern_string(t, STR("flat"), &flat.type) < 0 ||
        intern_string(t, report->output_unit, &cum.unit) < 0 ||
        intern_string(t, profile_str(from, from->period_type.type), &t->to->period_type.type) < 0 ||
        intern_string(t, profile_str(from, from->period_type.unit), &t->to->period_type.unit) < 0)
        return -1;
    flat.unit = cum.unit;
    return profile_add_sample_type(t->to, cum, report->err) < 0
               ? -1
               : profile_add_sample_type(t->to, flat, report->err);
}

static int fill_profile(struct top *t, const struct graph *g)
{
    function_table_init(&t->functions, t->to);
    int rc = add_header(t);
    for (size_t i = 0; rc == 0 && i < g->n_order; i++)
        rc = add_node(t, &g->nodes[g->order[i]]);
    return rc;
}

int topproto_write(struct report *report)
{
    struct graph g = {0};
    struct top t = {.report = report};
    int rc = trim_graph(report, &g, NULL);
    if (rc == 0) {
        t.to = profile_new(report->err);
        rc = t.to ? fill_profile(&t, &g) : -1;
    }
    if (rc == 0)
        rc = proto_write_profile(report, t.to);
    function_table_release(&t.functions);
    profile_free(t.to);
    graph_release(&g);
    return rc;
}
