/* -tree and -peek: each node between its callers and its callees. */
#include <stdlib.h>

#include "pprof/formats.h"
#include "pprof/heading.h"
#include "pprof/report.h"
#include "pprof/regex.h"
#include "pprof/trim.h"
#include "base/banned.h"

#define SEPARATOR "----------------------------------------------------------+-------------\n"
#define LEGEND "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n"

struct tree {
    struct report *report;
    const struct graph *g;
    struct buf name; /* of the current node or edge */
    int64_t sum;     /* the sum of flat so far */
};

static void write_value(struct tree *t, size_t columns, int64_t value)
{
    char text[MEASURE_TEXT];
    report_format_value(t->report, text, value);
    out_right(t->report->out, columns, str_of(text));
}

static void write_share(struct tree *t, int64_t value, int64_t total)
{
    char text[MEASURE_TEXT];
    measure_percentage(text, value, total);
    out_format(t->report->out, " %s", text);
}

/* Writes the callers or the callees of a node. */
static int write_edges(struct tree *t, uint32_t node, bool in)
{
    const struct graph *g = t->g;
    struct graph_edges edges = {NULL, 0};
    if (graph_edges(g, node, in, &edges, t->report->err) < 0)
        return -1;
    for (size_t i = 0; i < edges.n; i++) {
        const struct edge *e = &g->edges[edges.items[i]];
        write_value(t, 50, e->weight);
        write_share(t, e->weight, node_cum(&g->nodes[node]));
        buf_clear(&t->name);
        node_name(g, &g->nodes[in ? e->from : e->to].info, &t->name);
        out_text(t->report->out, " |   ");
        out_add(t->report->out, buf_str(&t->name), t->name.len);
        out_text(t->report->out, e->inlined ? " (inline)\n" : "\n");
    }
    free(edges.items);
    return 0;
}

/* Writes a node, whose name is in t->name. */
static void write_node(struct tree *t, const struct node *n)
{
    int64_t flat = node_flat(n), cum = node_cum(n);
    t->sum = measure_sum(t->sum, flat);
    write_value(t, 10, flat);
    write_share(t, flat, t->report->total);
    write_share(t, t->sum, t->report->total);
    out_text(t->report->out, " ");
    write_value(t, 10, cum);
    write_share(t, cum, t->report->total);
    out_text(t->report->out, "                | ");
    out_add(t->report->out, buf_str(&t->name), t->name.len);
    out_text(t->report->out, "\n");
}

static void make_name(struct tree *t, uint32_t node)
{
    buf_clear(&t->name);
    node_name(t->g, &t->g->nodes[node].info, &t->name);
}

static int write_family(struct tree *t, uint32_t node)
{
    out_text(t->report->out, SEPARATOR);
    if (write_edges(t, node, true) < 0)
        return -1;
    make_name(t, node);
    write_node(t, &t->g->nodes[node]);
    return write_edges(t, node, false);
}

/* Writes the nodes whose name matches the symbol, or all without one. */
static int write_nodes(struct tree *t)
{
    struct regex *wanted = t->report->symbol;
    size_t written = 0;
    for (size_t i = 0; i < t->g->n_order; i++) {
        uint32_t node = t->g->order[i];
        make_name(t, node);
        if (wanted && !regex_matches(wanted, (struct str){buf_str(&t->name), t->name.len}))
            continue;
        if (write_family(t, node) < 0)
            return -1;
        written++;
    }
    if (t->g->n_order)
        out_text(t->report->out, SEPARATOR);
    if (buf_check(&t->name, "a name", t->report->err) < 0 || regex_check(wanted, t->report->err) < 0)
        return -1;
    if (wanted && written == 0)
        return err_set(t->report->err, ERR_FAILED, "no matches found for regexp: %s",
                       t->report->settings->symbol);
    return 0;
}

static int write_report(struct tree *t)
{
    if (heading_write(t->report, t->g) < 0)
        return -1;
    out_text(t->report->out, SEPARATOR LEGEND);
    return write_nodes(t);
}

int tree_write(struct report *report)
{
    struct graph g = {0};
    struct tree t = {.report = report, .g = &g, .name = BUF_INIT(REPORT_NAME_MAX)};
    int rc = trim_graph(report, &g, NULL);
    if (rc == 0)
        rc = write_report(&t);
    buf_release(&t.name);
    graph_release(&g);
    return rc;
}
