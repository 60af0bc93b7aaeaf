/* -top, -text: one node per line. */
#include <inttypes.h>

#include "pprof/formats.h"
#include "pprof/heading.h"
#include "pprof/report.h"
#include "pprof/trim.h"
#include "base/banned.h"

/* Returns a mark for a node if all or some of the calls to it were inlined; otherwise "". */
static const char *inlining_mark(const struct graph *g, const struct node *n)
{
    bool some = false, all = true;
    for (uint32_t at = n->first_in; at != GRAPH_NONE; at = g->edges[at].next_in) {
        if (g->edges[at].gone)
            continue;
        some = some || g->edges[at].inlined;
        all = all && g->edges[at].inlined;
    }
    return !some ? "" : all ? " (inline)" : " (partial-inline)";
}

static int write_nodes(struct report *report, const struct graph *g)
{
    char flat[MEASURE_TEXT], cum[MEASURE_TEXT], flat_share[MEASURE_TEXT], sum_share[MEASURE_TEXT],
        cum_share[MEASURE_TEXT];
    struct buf name = BUF_INIT(REPORT_NAME_MAX);
    uint64_t sum = 0;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        sum += (uint64_t)node_flat(n);
        report_format_value(report, flat, node_flat(n));
        report_format_value(report, cum, node_cum(n));
        measure_percentage(flat_share, node_flat(n), report->total);
        measure_percentage(sum_share, (int64_t)sum, report->total);
        measure_percentage(cum_share, node_cum(n), report->total);
        buf_clear(&name);
        node_name(g, &n->info, &name);
        out_right(report->out, 10, str_of(flat));
        out_text(report->out, " ");
        out_text(report->out, flat_share);
        out_text(report->out, " ");
        out_text(report->out, sum_share);
        out_text(report->out, " ");
        out_right(report->out, 10, str_of(cum));
        out_text(report->out, " ");
        out_text(report->out, cum_share);
        out_text(report->out, "  ");
        out_add(report->out, buf_str(&name), name.len);
        out_text(report->out, inlining_mark(g, n));
        out_text(report->out, "\n");
    }
    int rc = buf_check(&name, "a name", report->err);
    buf_release(&name);
    return rc;
}

static void add_json_value(struct report *report, const char *key, const char *key_of_text, int64_t value)
{
    char text[MEASURE_TEXT];
    report_format_value(report, text, value);
    out_format(report->out, ",\"%s\":%" PRId64 ",\"%s\":", key, value, key_of_text);
    out_json(report->out, str_of(text));
}

static int write_json_rows(struct report *report, const struct graph *g)
{
    struct buf name = BUF_INIT(REPORT_NAME_MAX);
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        const char *mark = inlining_mark(g, n);
        buf_clear(&name);
        node_name(g, &n->info, &name);
        out_text(report->out, i > 0 ? ",{\"name\":" : "{\"name\":");
        out_json(report->out, (struct str){buf_str(&name), name.len});
        out_text(report->out, ",\"inline\":");
        out_json(report->out, str_of(mark + (*mark == ' ')));
        add_json_value(report, "flat", "flatText", node_flat(n));
        add_json_value(report, "cum", "cumText", node_cum(n));
        out_text(report->out, "}");
    }
    int rc = buf_check(&name, "a name", report->err);
    buf_release(&name);
    return rc;
}

/* {"heading":["File: prometheus"],"total":1200,"unit":"ms","rows":[{"name":"main.f","inline":"",
 * "flat":12,"flatText":"12ms","cum":80,"cumText":"80ms"}]} */
int text_write_json(struct report *report)
{
    struct graph g = {0};
    int rc = trim_graph(report, &g, NULL);
    if (rc == 0) {
        out_text(report->out, "{\"heading\":");
        rc = heading_write_json(report, &g);
    }
    if (rc == 0) {
        out_format(report->out, ",\"total\":%" PRId64 ",\"unit\":", report->total);
        out_json(report->out, report->sample_unit);
        out_text(report->out, ",\"rows\":[");
        rc = write_json_rows(report, &g);
        out_text(report->out, "]}");
    }
    graph_release(&g);
    return rc;
}

int text_write(struct report *report)
{
    struct graph g = {0};
    int rc = trim_graph(report, &g, NULL);
    if (rc == 0)
        rc = heading_write(report, &g);
    if (rc == 0) {
        out_format(report->out, "%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
        rc = write_nodes(report, &g);
    }
    graph_release(&g);
    return rc;
}
