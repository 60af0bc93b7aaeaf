/*
 * -list: sources with the values of each line.
 *
 * Source: google/pprof internal/report/source.go (printSource, getSourceFromFile).
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/formats.h"
#include "pprof/graph/graph.h"
#include "pprof/report.h"
#include "pprof/regex.h"
#include "pprof/source_code.h"
#include "pprof/trim.h"
#include "base/banned.h"

/* The lines of context around the first and the last line with a value. */
#define MARGIN 5

/* A node of the report and its sort keys: function, file, line. */
struct entry {
    struct str name, file;
    const struct node *node;
};

struct listing {
    struct report *report;
    struct graph graph;
    struct source_code *sources;
    struct entry *entries;
    size_t n;
};

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = str_compare(a->name, b->name);
    if (order == 0)
        order = str_compare(a->file, b->file);
    if (order == 0)
        order = (a->node->info.line > b->node->info.line) - (a->node->info.line < b->node->info.line);
    return order;
}

/* Finds the nodes whose function matches, in order. */
static int find_entries(struct listing *l)
{
    struct report *report = l->report;
    const struct profile *p = report->profile;
    l->entries = calloc(l->graph.n_order + 1, sizeof *l->entries);
    if (!l->entries)
        return err_nomem(report->err);
    for (size_t i = 0; i < l->graph.n_order; i++) {
        const struct node *n = &l->graph.nodes[l->graph.order[i]];
        if (regex_matches_string(report->symbol, p, n->info.name))
            l->entries[l->n++] =
                (struct entry){profile_str(p, n->info.name), profile_str(p, n->info.file), n};
    }
    if (l->n)
        qsort(l->entries, l->n, sizeof *l->entries, compare_entries);
    return 0;
}

/* Counts the entries at the start that have the function of the first entry, and if `same_file` also its
 * file. */
static size_t count_equal(const struct entry *e, size_t n, bool same_file)
{
    size_t count = 1;
    while (count < n && str_equal(e[count].name, e->name) &&
           (!same_file || str_equal(e[count].file, e->file)))
        count++;
    return count;
}

/* Wraps around like Go's addition. */
static int64_t add_wrapping(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void sum_values(const struct entry *e, size_t n, int64_t *flat, int64_t *cum)
{
    *flat = *cum = 0;
    for (size_t i = 0; i < n; i++) {
        *flat = add_wrapping(*flat, e[i].node->flat);
        *cum = add_wrapping(*cum, e[i].node->cum);
    }
}

static const char *value_or_dot(const struct report *report, char dst[MEASURE_TEXT], int64_t value)
{
    if (value == 0)
        return ".";
    report_format_value(report, dst, value);
    return dst;
}

/* Finds the lines to show: from the function's first line to the last line with a value, with some
 * context. */
static void find_extent(const struct entry *e, size_t n, int64_t *start, int64_t *end)
{
    const struct node_info *first = &e->node->info;
    *start = first->start_line ? first->start_line : add_wrapping(first->line, -MARGIN);
    *end = add_wrapping(first->line, MARGIN);
    for (size_t i = 0; i < n; i++) {
        const struct node_info *info = &e[i].node->info;
        int64_t from = info->start_line ? info->start_line : add_wrapping(info->line, -MARGIN);
        int64_t to = add_wrapping(info->line, MARGIN);
        if (from < *start)
            *start = from;
        else if (to > *end)
            *end = to;
    }
    if (*start < 1)
        *start = 1;
}

static void write_lines(struct report *report, const struct entry *e, size_t n,
                        const struct source_code_lines *lines)
{
    char flat_text[MEASURE_TEXT], cum_text[MEASURE_TEXT];
    int64_t start, end, flat, cum;
    size_t at = 0;
    find_extent(e, n, &start, &end);
    for (int64_t line = start; line <= end && (uint64_t)line <= lines->n; line++) {
        while (at < n && e[at].node->info.line < line)
            at++;
        size_t here = at;
        while (here < n && e[here].node->info.line == line)
            here++;
        sum_values(e + at, here - at, &flat, &cum);
        out_format(report->out, "%10s %10s %6lld:", value_or_dot(report, flat_text, flat),
                   value_or_dot(report, cum_text, cum), (long long)line);
        out_str(report->out, lines->items[line - 1]);
        out_text(report->out, "\n");
    }
}

/* Writes one file of a function. */
static int write_file(struct listing *l, const struct entry *e, size_t n)
{
    struct report *report = l->report;
    char flat_text[MEASURE_TEXT], cum_text[MEASURE_TEXT], share[MEASURE_TEXT];
    const struct source_code_lines *lines;
    const char *message;
    int64_t flat, cum;
    if (source_code_get(l->sources, e->node->info.file, &lines, &message, report->err) < 0)
        return -1;
    sum_values(e, n, &flat, &cum);
    report_format_value(report, flat_text, flat);
    report_format_value(report, cum_text, cum);
    measure_percentage(share, cum, report->total);
    out_text(report->out, "ROUTINE ======================== ");
    out_str(report->out, e->name);
    out_text(report->out, " in ");
    out_str(report->out, e->file);
    out_format(report->out, "\n%10s %10s (flat, cum) %s of Total\n", flat_text, cum_text, share);
    if (message) {
        out_text(report->out, " Error: ");
        out_text(report->out, message);
        out_text(report->out, "\n");
    } else {
        write_lines(report, e, n, lines);
    }
    return 0;
}

static int write_function(struct listing *l, const struct entry *e, size_t n)
{
    size_t at = 0;
    while (at < n && e[at].file.n == 0)
        at++;
    if (at == n) {
        out_text(l->report->out, "No source information for ");
        out_str(l->report->out, e->name);
        out_text(l->report->out, "\n");
    }
    while (at < n) {
        size_t count = count_equal(e + at, n - at, true);
        if (write_file(l, e + at, count) < 0)
            return -1;
        at += count;
    }
    return 0;
}

static int write_functions(struct listing *l)
{
    struct report *report = l->report;
    char total[MEASURE_TEXT];
    if (l->n == 0)
        return err_set(report->err, ERR_NOT_FOUND, "no matches found for regexp: %s",
                       report->settings->symbol);
    report_format_value(report, total, report->total);
    out_format(report->out, "Total: %s\n", total);
    for (size_t at = 0; at < l->n;) {
        size_t count = count_equal(l->entries + at, l->n - at, false);
        if (write_function(l, l->entries + at, count) < 0)
            return -1;
        at += count;
    }
    return 0;
}

int list_write(struct report *report)
{
    struct listing l = {.report = report};
    struct graph_options options = {.value_index = report->value_index,
                                    .mean = report->settings->mean,
                                    .objnames = true,
                                    .drop_negative = report->settings->drop_negative};
    int rc = trim_paths(report);
    if (rc == 0)
        rc = graph_init(&l.graph, report->profile, &options, report->err);
    if (rc == 0)
        rc = graph_count(&l.graph, report->err);
    if (rc == 0)
        rc = find_entries(&l);
    if (rc == 0)
        rc = regex_check(report->symbol, report->err);
    if (rc == 0)
        rc = source_code_new(report->profile, report->settings->source_path, report->settings->trim_path,
                             &l.sources, report->err);
    if (rc == 0)
        rc = write_functions(&l);
    source_code_free(l.sources);
    graph_release(&l.graph);
    free(l.entries);
    return rc;
}
