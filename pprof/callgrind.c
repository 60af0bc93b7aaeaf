/*
 * -callgrind: the profile in the format of kcachegrind.
 *
 * Source: the Callgrind Format Specification. A name is written once with a number, and afterwards as its
 * number. An address is written as the distance from the previous address if that is shorter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/formats.h"
#include "pprof/report.h"
#include "pprof/trim.h"
#include "base/banned.h"

/* The numbers of names; 0: not written yet. */
struct numbers {
    uint32_t *by_string;
    size_t cap;
    uint32_t last;
};

struct callgrind {
    struct report *report;
    const struct graph *g;
    uint32_t *names; /* by node: its unique name; 0 for nodes that are not shown */
    struct numbers objfiles, files, functions;
    const struct node_info *previous;
};

/* ---- names --------------------------------------------------------------------------------------------- */

/* The function of a node. In a call tree, a function with another caller counts as another function. */
struct function {
    struct node_info info;
    uint32_t caller;
    size_t at;    /* index of the node among the shown nodes */
    size_t first; /* index of the function's first node */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Compares the parts that callgrind uses to identify a function. */
static int compare_names(const struct function *a, const struct function *b)
{
    int order = compare_numbers(a->info.file, b->info.file);
    return order ? order : compare_numbers(a->info.name, b->info.name);
}

static int compare_functions(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    int order = compare_names(a, b);
    order = order ? order : compare_numbers((uint64_t)a->info.start_line, (uint64_t)b->info.start_line);
    order = order ? order : compare_numbers(a->info.objfile, b->info.objfile);
    order = order ? order : compare_numbers(a->caller, b->caller);
    return order ? order : compare_numbers(a->at, b->at);
}

static int compare_positions(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    int order = compare_names(a, b);
    order = order ? order : compare_numbers(a->first, b->first);
    return order ? order : compare_numbers(a->at, b->at);
}

static bool same_function(const struct function *a, const struct function *b)
{
    return compare_names(a, b) == 0 && a->info.start_line == b->info.start_line &&
           a->info.objfile == b->info.objfile && a->caller == b->caller;
}

/* "main.f [2/3]" */
static int number_name(struct callgrind *c, uint32_t name, size_t number, size_t n, uint32_t *ret)
{
    struct str s = profile_str(c->report->profile, name);
    struct buf text = BUF_INIT(REPORT_NAME_MAX);
    buf_add(&text, s.p, s.n);
    buf_addf(&text, " [%zu/%zu]", number, n);
    int rc = buf_check(&text, "a function's name", c->report->err);
    if (rc == 0)
        rc = profile_intern(c->report->profile, buf_str(&text), text.len, ret, c->report->err);
    buf_release(&text);
    return rc;
}

/* Gives unique names to the functions of n nodes. All n nodes have the same file and name, and are in the
 * order of the report. */
static int name_functions(struct callgrind *c, const struct function *functions, size_t n)
{
    size_t n_different = 1, number = 1;
    uint32_t name = functions->info.name;
    for (size_t i = 1; i < n; i++)
        n_different += functions[i].first != functions[i - 1].first;
    for (size_t i = 0; i < n; i++) {
        bool is_new = i == 0 || functions[i].first != functions[i - 1].first;
        number += i > 0 && is_new;
        if (n_different > 1 && is_new && number_name(c, functions->info.name, number, n_different, &name) < 0)
            return -1;
        c->names[c->g->order[functions[i].at]] = name;
    }
    return 0;
}

static int name_nodes(struct callgrind *c, struct function *functions)
{
    const struct graph *g = c->g;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        bool called = g->options.tree && n->first_in != GRAPH_NONE;
        functions[i] = (struct function){
            .info = n->info, .at = i, .caller = called ? g->edges[n->first_in].from : GRAPH_NONE};
    }
    qsort(functions, g->n_order, sizeof *functions, compare_functions);
    for (size_t i = 0; i < g->n_order; i++)
        functions[i].first =
            i && same_function(&functions[i], &functions[i - 1]) ? functions[i - 1].first : functions[i].at;
    qsort(functions, g->n_order, sizeof *functions, compare_positions);
    for (size_t i = 0, end; i < g->n_order; i = end) {
        for (end = i + 1; end < g->n_order && compare_names(&functions[i], &functions[end]) == 0;)
            end++;
        if (name_functions(c, functions + i, end - i) < 0)
            return -1;
    }
    return 0;
}

static int find_names(struct callgrind *c)
{
    struct function *functions = malloc((c->g->n_order + 1) * sizeof *functions);
    c->names = calloc(c->g->n_nodes + 1, sizeof *c->names);
    int rc = functions && c->names ? name_nodes(c, functions) : err_nomem(c->report->err);
    free(functions);
    return rc;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* Writes a name once, and only its number afterwards. */
static int write_name(struct callgrind *c, const char *prefix, struct numbers *numbers, uint32_t name)
{
    size_t had = numbers->cap;
    if (array_reserve((void **)&numbers->by_string, &numbers->cap, (size_t)name + 1,
                      sizeof *numbers->by_string, c->report->err) < 0)
        return -1;
    if (numbers->cap > had)
        memset(numbers->by_string + had, 0, (numbers->cap - had) * sizeof *numbers->by_string);
    out_text(c->report->out, prefix);
    if (name && numbers->by_string[name]) {
        out_format(c->report->out, "(%" PRIu32 ")", numbers->by_string[name]);
    } else if (name) {
        numbers->by_string[name] = ++numbers->last;
        out_format(c->report->out, "(%" PRIu32 ") ", numbers->last);
        out_str(c->report->out, profile_str(c->report->profile, name));
    }
    out_text(c->report->out, "\n");
    return 0;
}

/* Writes an address, as the distance from the previous one if that is shorter. */
static void write_address(const struct callgrind *c, uint64_t address)
{
    char absolute[32], relative[32];
    snprintf(absolute, sizeof absolute, "0x%" PRIx64, address);
    snprintf(relative, sizeof relative, "*");
    if (c->previous && c->previous->address != address)
        snprintf(relative, sizeof relative, "%+" PRId64, (int64_t)(address - c->previous->address));
    bool shorter = c->previous && (relative[0] == '*' || strlen(relative) < strlen(absolute));
    out_text(c->report->out, shorter ? relative : absolute);
}

static int64_t scale_value(const struct report *report, int64_t value)
{
    struct str unit;
    return profile_double_to_int(measure_scale(value, report->sample_unit, report->output_unit, &unit));
}

static int write_calls(struct callgrind *c, uint32_t node)
{
    const struct graph *g = c->g;
    struct graph_edges calls = {NULL, 0};
    int rc = graph_edges(g, node, false, &calls, c->report->err);
    for (size_t i = 0; i < calls.n && rc == 0; i++) {
        const struct edge *e = &g->edges[calls.items[i]];
        const struct node_info *callee = &g->nodes[e->to].info;
        rc = write_name(c, "cfl=", &c->files, callee->file);
        if (rc == 0)
            rc = write_name(c, "cfn=", &c->functions, c->names[e->to]);
        out_text(c->report->out, "calls=0 ");
        write_address(c, callee->address);
        out_format(c->report->out, " %" PRId64 "\n* * %" PRId64 "\n", callee->line,
                   scale_value(c->report, e->weight));
    }
    free(calls.items);
    return rc;
}

static int write_node(struct callgrind *c, uint32_t node)
{
    const struct node *n = &c->g->nodes[node];
    const struct node_info *last = c->previous;
    if (!last || n->info.objfile != last->objfile || n->info.file != last->file ||
        n->info.name != last->name) {
        out_text(c->report->out, "\n");
        if (write_name(c, "ob=", &c->objfiles, n->info.objfile) < 0 ||
            write_name(c, "fl=", &c->files, n->info.file) < 0 ||
            write_name(c, "fn=", &c->functions, n->info.name) < 0)
            return -1;
    }
    write_address(c, n->info.address);
    out_format(c->report->out, " %" PRId64 " %" PRId64 "\n", n->info.line,
               scale_value(c->report, node_flat(n)));
    int rc = write_calls(c, node);
    c->previous = &n->info;
    return rc;
}

static int write_profile(struct callgrind *c)
{
    struct report *report = c->report;
    if (find_names(c) < 0)
        return -1;
    out_text(report->out, "positions: instr line\nevents: ");
    out_text(report->out, report->settings->mean ? "mean_" : "");
    out_str(report->out,
            profile_str(report->profile, report->profile->sample_types[report->value_index].type));
    out_text(report->out, "(");
    out_str(report->out, report->output_unit);
    out_text(report->out, ")\n");
    for (size_t i = 0; i < c->g->n_order; i++)
        if (write_node(c, c->g->order[i]) < 0)
            return -1;
    return 0;
}

int callgrind_write(struct report *report)
{
    struct graph g = {0};
    struct callgrind c = {.report = report, .g = &g};
    int rc = trim_graph(report, &g, NULL);
    if (rc == 0)
        rc = write_profile(&c);
    free(c.names);
    free(c.objfiles.by_string);
    free(c.files.by_string);
    free(c.functions.by_string);
    graph_release(&g);
    return rc;
}
