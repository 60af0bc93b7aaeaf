/* -traces: each sample, with its labels and its stack. */
#include <stdlib.h>

#include "pprof/formats.h"
#include "pprof/heading.h"
#include "pprof/report.h"
#include "pprof/label_units.h"
#include "base/banned.h"

#define SEPARATOR "-----------+-------------------------------------------------------\n"

/* A label and its position in the sample. */
struct placed {
    struct profile_label label;
    size_t at;
};

struct traces {
    struct report *report;
    struct graph g; /* only its places are used */
    struct buf text;
    struct placed *labels; /* of the current sample */
    struct str *lines;     /* their texts, as ranges of `text` */
    size_t cap_labels, cap_lines;
};

/* Groups labels by key, in the sample's order. */
static int compare_labels(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->label.key != b->label.key)
        return a->label.key < b->label.key ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int compare_lines(const void *left, const void *right)
{
    const struct str *a = left, *b = right;
    return str_compare(*a, *b);
}

static void add_value(struct traces *t, const struct profile_label *l)
{
    char number[MEASURE_TEXT];
    struct str text = profile_str(t->report->profile, l->str);
    if (l->is_number) {
        measure_label(number, l->num, label_unit(t->report, l->key), STR("auto"));
        text = str_of(number);
    }
    buf_add(&t->text, text.p, text.n);
}

/* Adds a line of a key and the sample's values for it. Returns their number. */
static size_t add_line(struct traces *t, const struct placed *labels, size_t n)
{
    struct str key = profile_str(t->report->profile, labels->label.key);
    size_t i = 0;
    for (size_t columns = out_columns(key); columns < 10; columns++)
        buf_addc(&t->text, ' ');
    buf_add(&t->text, key.p, key.n);
    buf_addc(&t->text, ':');
    for (buf_addc(&t->text, ' '); i < n && labels[i].label.key == labels->label.key; i++) {
        buf_addc(&t->text, ' ');
        add_value(t, &labels[i].label);
    }
    buf_addc(&t->text, '\n');
    return i;
}

/* Writes the sample's text labels, or with `numbers` its numeric labels: a line for each key, in order. */
static int write_labels(struct traces *t, const struct profile_sample *s, bool numbers)
{
    const struct profile *p = t->report->profile;
    size_t n = 0, n_lines = 0, begin = 0;
    if (array_reserve((void **)&t->labels, &t->cap_labels, s->n_labels, sizeof *t->labels, t->report->err) <
            0 ||
        array_reserve((void **)&t->lines, &t->cap_lines, s->n_labels, sizeof *t->lines, t->report->err) < 0)
        return -1;
    for (size_t i = s->label_at; i < s->label_at + s->n_labels; i++)
        if (p->labels[i].is_number == numbers)
            t->labels[n++] = (struct placed){p->labels[i], i};
    if (n == 0)
        return 0;
    qsort(t->labels, n, sizeof *t->labels, compare_labels);
    buf_clear(&t->text);
    for (size_t i = 0; i < n;) {
        i += add_line(t, &t->labels[i], n - i);
        t->lines[n_lines++].n = t->text.len - begin;
        begin = t->text.len;
    }
    if (buf_check(&t->text, "a sample's labels", t->report->err) < 0)
        return -1;
    const char *at = buf_str(&t->text);
    for (size_t i = 0; i < n_lines; at += t->lines[i++].n)
        t->lines[i].p = at;
    qsort(t->lines, n_lines, sizeof *t->lines, compare_lines);
    for (size_t i = 0; i < n_lines; i++)
        out_str(t->report->out, t->lines[i]);
    return 0;
}

static void write_stack(struct traces *t, const struct profile_sample *s, const char *value)
{
    const struct profile *p = t->report->profile;
    for (size_t i = 0; i < s->depth; i++) {
        uint32_t location = profile_frame(p, s, i);
        for (size_t at = t->g.frame_at[location]; at < t->g.frame_at[location + 1]; at++) {
            buf_clear(&t->text);
            node_name(&t->g, &t->g.nodes[t->g.frames[at]].info, &t->text);
            out_right(t->report->out, 10, str_of(value));
            out_text(t->report->out, "   ");
            out_add(t->report->out, buf_str(&t->text), t->text.len);
            out_text(t->report->out, at + 1 < t->g.frame_at[location + 1] ? " (inline)\n" : "\n");
            value = "";
        }
    }
}

static int write_sample(struct traces *t, size_t i)
{
    const struct profile *p = t->report->profile;
    const struct profile_sample *s = &p->samples[i];
    const int64_t *values = &p->values[i * p->n_sample_types];
    char value[MEASURE_TEXT];
    if (s->depth == 0)
        return 0;
    out_text(t->report->out, SEPARATOR);
    if (s->n_labels && (write_labels(t, s, false) < 0 || write_labels(t, s, true) < 0))
        return -1;
    report_format_value(
        t->report, value,
        measure_divide(values[t->report->value_index], t->report->settings->mean ? values[0] : 0));
    write_stack(t, s, value);
    return buf_check(&t->text, "a name", t->report->err);
}

static int write_header(struct report *report)
{
    struct heading lines = HEADING_INIT;
    heading_add_profile(report, &lines);
    out_add(report->out, buf_str(&lines.text), lines.text.len);
    if (lines.n_lines == 0)
        out_text(report->out, "\n");
    int rc = buf_check(&lines.text, "the heading of the report", report->err);
    buf_release(&lines.text);
    return rc;
}

int traces_write(struct report *report)
{
    struct traces t = {.report = report, .text = BUF_INIT(REPORT_NAME_MAX)};
    int rc = graph_init(&t.g, report->profile, &(struct graph_options){0}, report->err);
    if (rc == 0)
        rc = write_header(report);
    for (size_t i = 0; i < report->profile->n_samples && rc == 0; i++)
        rc = write_sample(&t, i);
    if (rc == 0)
        out_text(report->out, SEPARATOR);
    free(t.labels);
    free(t.lines);
    buf_release(&t.text);
    graph_release(&t.g);
    return rc;
}
