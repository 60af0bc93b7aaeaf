/*
 * -dot: the graph in graphviz's language.
 *
 * Source: google/pprof internal/graph for the drawing, graphviz' documentation of escString.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/dot.h"
#include "pprof/formats.h"
#include "pprof/heading.h"
#include "pprof/trim.h"
#include "base/banned.h"

static void write_buffer(struct dot *d)
{
    out_add(d->report->out, buf_str(&d->text), d->text.len);
    buf_clear(&d->text);
}

static void add_text(struct dot *d, struct str s)
{
    buf_add(&d->text, s.p, s.n);
}

/* ---- colours and sizes --------------------------------------------------------------------------------- */

static int color_channel(double v)
{
    return isnan(v) ? 0 : (int)(v * 255) & 0xff;
}

struct dot_color dot_color(double score, bool light)
{
    double saturation = light ? 0.1 : 1, value = light ? 0.93 : 0.7, size;
    struct dot_color ret;
    if (score > 1 || score < -1)
        score = score > 0 ? 1 : -1;
    size = fabs(score);
    /* Make small values grey, not yellow; the colour grows faster than the value. */
    if (size < 0.2)
        saturation *= size / 0.2;
    double faded = value * (1 - saturation * pow(size, 0.3)), blue = value * (1 - saturation);
    double red = score < 0 ? faded : value, green = score < 0 ? value : faded;
    snprintf(ret.text, sizeof ret.text, "#%02x%02x%02x", (unsigned)color_channel(red),
             (unsigned)color_channel(green), (unsigned)color_channel(blue));
    return ret;
}

/* The font size from 8 to 24, by the value's share of the largest value. */
static int font_size(int64_t flat, double largest)
{
    double size = (double)measure_abs(flat);
    if (largest == 0 || flat == 0 || size > largest)
        return 8;
    return 8 + (int)ceil(16 * sqrt(size / largest));
}

static double color_score(const struct report *report, int64_t v)
{
    return (double)v / (double)measure_abs(report->total);
}

/* Returns how many of the total's `parts` parts the value has, at most `parts`. */
static int64_t share_of(const struct report *report, int64_t v, int64_t parts)
{
    int64_t product = (int64_t)((uint64_t)v * (uint64_t)parts);
    int64_t share = measure_abs(measure_divide(product, report->total));
    return share < parts ? share : parts;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* "12ms (3.40%)" */
static void add_share(struct dot *d, const char *value, int64_t v)
{
    char share[MEASURE_TEXT];
    measure_percentage(share, v, d->report->total);
    buf_addf(&d->text, "%s (%s)", value, share + strspn(share, " "));
}

static void add_values(struct dot *d, int64_t flat, int64_t cum)
{
    char text[MEASURE_TEXT];
    dot_format_value(d, text, flat);
    if (flat)
        add_share(d, text, flat);
    else
        buf_adds(&d->text, "0");
    if (cum == flat)
        return;
    dot_format_value(d, text, cum);
    buf_adds(&d->text, flat ? "\\nof " : " of ");
    add_share(d, text, cum);
}

static int add_escaped_name(struct dot *d, uint32_t node)
{
    struct buf name = BUF_INIT(REPORT_NAME_MAX);
    node_name(d->g, &d->g->nodes[node].info, &name);
    int rc = buf_check(&name, "a name", d->report->err);
    if (rc == 0)
        dot_escape(&d->text, (struct str){buf_str(&name), name.len});
    buf_release(&name);
    return rc;
}

static int write_node(struct dot *d, uint32_t node, double largest)
{
    const struct node *n = &d->g->nodes[node];
    int64_t flat = node_flat(n), cum = node_cum(n);
    char value[MEASURE_TEXT];
    double score = color_score(d->report, cum);
    dot_format_value(d, value, cum);
    buf_addf(&d->text, "N%u [label=\"", d->ids[node]);
    dot_node_lines(d->g, &n->info, &d->text);
    add_values(d, flat, cum);
    buf_addf(&d->text, "\" id=\"node%u\" fontsize=%d shape=box tooltip=\"", d->ids[node],
             font_size(flat, largest));
    if (add_escaped_name(d, node) < 0)
        return -1;
    buf_addf(&d->text, " (%s)\" color=\"%s\" fillcolor=\"%s\"]\n", value, dot_color(score, false).text,
             dot_color(score, true).text);
    int rc = buf_check(&d->text, "a node", d->report->err);
    write_buffer(d);
    return rc;
}

/* Writes `caller -> callee (12ms)"`: the tooltip and its closing quote. */
static int add_tooltip(struct dot *d, const struct edge *e, const char *value)
{
    if (add_escaped_name(d, e->from) < 0)
        return -1;
    buf_adds(&d->text, e->residual ? " ... " : " -> ");
    if (add_escaped_name(d, e->to) < 0)
        return -1;
    buf_addf(&d->text, " (%s)\"", value);
    return 0;
}

static int write_edge(struct dot *d, const struct edge *e, bool has_nodelets)
{
    int64_t w = measure_divide(e->weight, e->weight_div);
    char value[MEASURE_TEXT];
    dot_format_value(d, value, w);
    buf_addf(&d->text, "N%u -> N%u [label=\" %s%s\"", d->ids[e->from], d->ids[e->to], value,
             e->inlined ? "\\n (inline)" : "");
    if (d->report->total) {
        int64_t weight = 1 + share_of(d->report, w, 100), width = 1 + share_of(d->report, w, 5);
        if (weight > 1)
            buf_addf(&d->text, " weight=%lld", (long long)weight);
        if (width > 1)
            buf_addf(&d->text, " penwidth=%lld", (long long)width);
        buf_addf(&d->text, " color=\"%s\"", dot_color(color_score(d->report, w), false).text);
    }
    buf_adds(&d->text, " tooltip=\"");
    if (add_tooltip(d, e, value) < 0)
        return -1;
    buf_adds(&d->text, " labeltooltip=\"");
    if (add_tooltip(d, e, value) < 0)
        return -1;
    buf_addf(&d->text, "%s%s]\n", e->residual ? " style=\"dotted\"" : "", has_nodelets ? " minlen=2" : "");
    int rc = buf_check(&d->text, "an edge", d->report->err);
    write_buffer(d);
    return rc;
}

static struct str profile_title(const struct profile *p)
{
    return p->n_mappings && p->mappings[0].file ? path_base(profile_str(p, p->mappings[0].file)) : STR("");
}

static int write_legend(struct dot *d)
{
    struct heading legend = HEADING_INIT;
    struct str title = profile_title(d->report->profile);
    heading_add_picture(d->report, d->g, &legend);
    int rc = buf_check(&legend.text, "the legend", d->report->err);
    buf_adds(&d->text, "digraph \"");
    dot_escape(&d->text, title.n ? title : STR("unnamed"));
    buf_adds(&d->text, "\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\nsubgraph cluster_L { \"");
    if (rc == 0) {
        dot_escape(&d->text, (struct str){buf_str(&legend.text), legend.first_length});
        buf_adds(&d->text, "\" [shape=box fontsize=16 label=\"");
        dot_escape(&d->text, (struct str){buf_str(&legend.text), legend.text.len});
        buf_adds(&d->text, "\"");
    }
    if (title.n) {
        buf_adds(&d->text, " tooltip=\"");
        add_text(d, title);
        buf_adds(&d->text, "\"");
    }
    buf_adds(&d->text, "] }\n");
    buf_release(&legend.text);
    rc = rc == 0 ? buf_check(&d->text, "the legend", d->report->err) : rc;
    write_buffer(d);
    return rc;
}

/* ---- graph --------------------------------------------------------------------------------------------- */

static double largest_flat(const struct graph *g)
{
    double largest = g->n_order ? (double)measure_abs(node_flat(&g->nodes[g->order[0]])) : 0;
    for (size_t i = 0; i < g->n_order; i++) {
        double flat = (double)measure_abs(node_flat(&g->nodes[g->order[i]]));
        largest = flat > largest ? flat : largest;
    }
    return largest;
}

/* Writes the heaviest edges first, because graphviz starts with the first edges of the file. */
static int write_edges(struct dot *d, const bool *has_nodelets)
{
    const struct graph *g = d->g;
    size_t n = 0;
    uint32_t *edges = malloc((g->n_edges + 1) * sizeof *edges);
    if (!edges)
        return err_nomem(d->report->err);
    for (size_t i = 0; i < g->n_order; i++)
        for (uint32_t at = g->nodes[g->order[i]].first_out; at != GRAPH_NONE; at = g->edges[at].next_out)
            if (!g->edges[at].gone)
                edges[n++] = at;
    int rc = graph_sort_edges(g, edges, n, d->report->err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = write_edge(d, &g->edges[edges[i]], has_nodelets[g->edges[edges[i]].from]);
    free(edges);
    return rc;
}

static int write_graph(struct dot *d)
{
    const struct graph *g = d->g;
    double largest = largest_flat(g);
    bool *has_nodelets = calloc(g->n_nodes + 1, sizeof *has_nodelets);
    d->ids = calloc(g->n_nodes + 1, sizeof *d->ids);
    int rc = has_nodelets && d->ids ? write_legend(d) : err_nomem(d->report->err);
    for (size_t i = 0; i < g->n_order && rc == 0; i++) {
        uint32_t node = g->order[i];
        d->ids[node] = (uint32_t)i + 1;
        rc = write_node(d, node, largest);
        if (rc == 0)
            rc = dot_nodelets(d, node, &has_nodelets[node]);
    }
    if (rc == 0)
        rc = write_edges(d, has_nodelets);
    if (rc == 0)
        out_text(d->report->out, "}\n");
    free(has_nodelets);
    return rc;
}

int dot_write(struct report *report)
{
    struct graph g = {0};
    struct graph_tags tags = {0};
    struct dot d = {.report = report, .g = &g, .tags = &tags, .text = BUF_INIT((size_t)256 << 20)};
    int rc = trim_graph(report, &g, &tags);
    if (rc == 0)
        rc = write_graph(&d);
    free(d.ids);
    buf_release(&d.text);
    graph_tags_release(&tags);
    graph_release(&g);
    return rc;
}
