/* Nodelets: small boxes at a node that show the labels of the node's samples. Numbers are merged into a few
 * ranges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/dot.h"
#include "base/banned.h"

/* The nodelets of one node. */
struct nodelets {
    struct dot *d;
    struct tag *labels, *numbers; /* the node's tags */
    size_t n_labels, n_numbers;
    bool show_flat;       /* show flat values, because the node's callees are shown with their own tags */
    char source[64];      /* the box that the next boxes belong to: "N5" of a node, "N5_0" of a label */
    struct tag *selected; /* the node's numbers with one label */
};

static int64_t flat_of(const struct tag *t)
{
    return measure_divide(t->flat, t->flat_div);
}

static int64_t cum_of(const struct tag *t)
{
    return measure_divide(t->cum, t->cum_div);
}

/* ---- ranges of numbers --------------------------------------------------------------------------------- */

static double convert_to_unit(const struct profile *p, const struct tag *t, const struct tag *other)
{
    struct str unit;
    return measure_scale(t->value, profile_str(p, t->unit), profile_str(p, other->unit), &unit);
}

static double range_distance(const struct profile *p, const struct tag *t, const struct tag *from)
{
    double v = convert_to_unit(p, from, t), own = (double)t->value;
    return v < own ? own - v : v - own;
}

/* A range of numbers, which starts as one tag. */
struct range {
    const struct tag *seed, *smallest, *largest;
    struct tag sum;
    size_t n;
};

static void widen_range(const struct profile *p, struct range *r, const struct tag *t)
{
    if (profile_double_to_int(convert_to_unit(p, t, r->smallest)) < r->smallest->value)
        r->smallest = t;
    if (profile_double_to_int(convert_to_unit(p, t, r->largest)) > r->largest->value)
        r->largest = t;
    r->sum.flat = measure_sum(r->sum.flat, t->flat);
    r->sum.flat_div = measure_sum(r->sum.flat_div, t->flat_div);
    r->sum.cum = measure_sum(r->sum.cum, t->cum);
    r->sum.cum_div = measure_sum(r->sum.cum_div, t->cum_div);
    r->n++;
}

/* Names the range "1kB" or "1kB..4kB". Each end gets its own unit, because the report's unit may be far too
 * large. Replaces the sums of the range by the values to show. */
static int name_range(struct profile *p, struct range *r, struct err *err)
{
    char text[2 * MEASURE_TEXT + 2], largest[MEASURE_TEXT];
    measure_label(text, r->smallest->value, profile_str(p, r->smallest->unit), STR("auto"));
    if (r->n > 1) {
        measure_label(largest, r->largest->value, profile_str(p, r->largest->unit), STR("auto"));
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "..%s", largest);
    }
    r->sum = (struct tag){.flat = flat_of(&r->sum), .cum = cum_of(&r->sum)};
    return profile_intern(p, text, strlen(text), &r->sum.number, err);
}

/* Merges *n tags, which are sorted by weight, into TAGS_SHOWN ranges around the first tags, and sorts the
 * ranges. */
static int merge_ranges(struct nodelets *nodelets, struct tag *tags, size_t *n)
{
    struct profile *p = nodelets->d->report->profile;
    struct range ranges[TAGS_SHOWN];
    if (*n <= TAGS_SHOWN)
        return 0;
    for (size_t i = 0; i < TAGS_SHOWN; i++)
        ranges[i] = (struct range){
            .seed = &tags[i], .smallest = &tags[i], .largest = &tags[i], .sum = tags[i], .n = 1};
    for (size_t i = TAGS_SHOWN; i < *n; i++) {
        size_t nearest = 0;
        for (size_t k = 1; k < TAGS_SHOWN; k++)
            if (range_distance(p, &tags[i], ranges[k].seed) <
                range_distance(p, &tags[i], ranges[nearest].seed))
                nearest = k;
        widen_range(p, &ranges[nearest], &tags[i]);
    }
    for (size_t i = 0; i < TAGS_SHOWN; i++)
        if (name_range(p, &ranges[i], nodelets->d->report->err) < 0)
            return -1;
    for (size_t i = 0; i < TAGS_SHOWN; i++)
        tags[i] = ranges[i].sum;
    *n = TAGS_SHOWN;
    return graph_tags_sort(p, tags, *n, nodelets->show_flat, nodelets->d->report->err);
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

/* Adds a box and its edge. `box` is the box's identifier without the leading N, `name` its text. */
static void add_box(struct nodelets *nodelets, const char *box, struct str name, int64_t w, const char *style)
{
    char weight[MEASURE_TEXT];
    struct buf *to = &nodelets->d->text;
    dot_format_value(nodelets->d, weight, w);
    buf_addf(to, "N%s [label = \"", box);
    buf_add(to, name.p, name.n);
    buf_addf(to, "\" id=\"N%s\" fontsize=8 shape=box3d tooltip=\"%s\"]\n", box, weight);
    buf_addf(to, "%s -> N%s [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"%s]\n",
             nodelets->source, box, weight, weight, weight, style);
}

/* Adds boxes for the numbers of a label (0: of the node itself), with edges from nodelets->source. */
static int add_numbers(struct nodelets *nodelets, uint32_t label)
{
    const struct profile *p = nodelets->d->report->profile;
    size_t n = 0;
    for (size_t i = 0; i < nodelets->n_numbers; i++)
        if (nodelets->numbers[i].label == label)
            nodelets->selected[n++] = nodelets->numbers[i];
    if (graph_tags_sort(p, nodelets->selected, n, nodelets->show_flat, nodelets->d->report->err) < 0 ||
        merge_ranges(nodelets, nodelets->selected, &n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct tag *t = &nodelets->selected[i];
        bool is_flat = nodelets->show_flat || flat_of(t) == cum_of(t);
        int64_t w = is_flat ? flat_of(t) : cum_of(t);
        char box[80];
        snprintf(box, sizeof box, "%s_%u", nodelets->source, (unsigned)i);
        if (w)
            add_box(nodelets, box, profile_str(p, t->number), w, is_flat ? "" : " style=\"dotted\"");
    }
    return 0;
}

static int add_labels(struct nodelets *nodelets, uint32_t id)
{
    const struct profile *p = nodelets->d->report->profile;
    if (graph_tags_sort(p, nodelets->labels, nodelets->n_labels, nodelets->show_flat,
                        nodelets->d->report->err) < 0)
        return -1;
    for (size_t i = 0; i < nodelets->n_labels && i < TAGS_SHOWN; i++) {
        const struct tag *t = &nodelets->labels[i];
        int64_t w = nodelets->show_flat ? flat_of(t) : cum_of(t);
        char box[48];
        if (w == 0)
            continue;
        snprintf(box, sizeof box, "%u_%u", id, (unsigned)i);
        snprintf(nodelets->source, sizeof nodelets->source, "N%u", id);
        add_box(nodelets, box, profile_str(p, t->label), w, "");
        snprintf(nodelets->source, sizeof nodelets->source, "N%s", box);
        if (add_numbers(nodelets, t->label) < 0)
            return -1;
    }
    snprintf(nodelets->source, sizeof nodelets->source, "N%u", id);
    return add_numbers(nodelets, 0);
}

static int add_tags(struct nodelets *nodelets, uint32_t node)
{
    const struct graph_tags *tags = nodelets->d->tags;
    size_t n = 0;
    for (uint32_t at = tags->first[node]; at != GRAPH_NONE; at = tags->tags[at].next)
        n++;
    nodelets->labels = malloc((n + 1) * sizeof *nodelets->labels);
    nodelets->numbers = malloc((n + 1) * sizeof *nodelets->numbers);
    nodelets->selected = malloc((n + 1) * sizeof *nodelets->selected);
    if (!nodelets->labels || !nodelets->numbers || !nodelets->selected)
        return err_nomem(nodelets->d->report->err);
    for (uint32_t at = tags->first[node]; at != GRAPH_NONE; at = tags->tags[at].next) {
        if (tags->tags[at].number)
            nodelets->numbers[nodelets->n_numbers++] = tags->tags[at];
        else
            nodelets->labels[nodelets->n_labels++] = tags->tags[at];
    }
    return add_labels(nodelets, nodelets->d->ids[node]);
}

int dot_nodelets(struct dot *d, uint32_t node, bool *ret_any)
{
    struct nodelets nodelets = {.d = d,
                                .show_flat = graph_has_edges(d->g, d->g->nodes[node].first_out, false)};
    *ret_any = false;
    if (d->tags->first[node] == GRAPH_NONE)
        return 0;
    int rc = add_tags(&nodelets, node);
    free(nodelets.labels);
    free(nodelets.numbers);
    free(nodelets.selected);
    if (rc == 0)
        rc = buf_check(&d->text, "a node's tags", d->report->err);
    *ret_any = d->text.len > 0;
    out_add(d->report->out, buf_str(&d->text), d->text.len);
    buf_clear(&d->text);
    return rc;
}
