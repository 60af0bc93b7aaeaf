/*
 * -tags: the values of the samples' labels, and the weight of each.
 *
 * The value of a numeric label is its formatted text. Keys and values are compared as strings, and sorted for
 * output.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "pprof/formats.h"
#include "pprof/report.h"
#include "pprof/label_units.h"
#include "pprof/table.h"
#include "base/banned.h"

/* A key and a value of a label, and the sum of the samples that have them. */
struct label_weight {
    uint32_t key, value; /* indices of strings */
    int64_t sum;
    bool is_number;
    int64_t least, most; /* the numbers that have this text */
};

struct label_weights {
    struct label_weight *items;
    size_t n, cap;
    struct hash_index by_key_and_value;
};

struct wanted {
    const struct label_weights *weights;
    uint32_t key, value;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct label_weight *item = &w->weights->items[index];
    return item->key == w->key && item->value == w->value;
}

/* *ret: the index of the label's weight. */
static int find_weight(struct label_weights *weights, uint32_t key, uint32_t value, uint32_t *ret,
                       struct err *err)
{
    uint64_t hash = hash_index_mix(hash_index_mix(hash_index_seed(&weights->by_key_and_value), key), value);
    uint32_t at =
        hash_index_find(&weights->by_key_and_value, hash, is_wanted, &(struct wanted){weights, key, value});
    if (at == HASH_INDEX_NONE) {
        if (array_reserve((void **)&weights->items, &weights->cap, weights->n + 1, sizeof *weights->items,
                          err) < 0 ||
            hash_index_add(&weights->by_key_and_value, hash, err) < 0)
            return -1;
        at = (uint32_t)weights->n++;
        weights->items[at] = (struct label_weight){.key = key, .value = value};
    }
    *ret = at;
    return 0;
}

static void add_number(struct label_weight *item, int64_t number)
{
    item->least = item->is_number && item->least < number ? item->least : number;
    item->most = item->is_number && item->most > number ? item->most : number;
    item->is_number = true;
}

static int add_label(struct report *report, struct label_weights *weights, const struct profile_label *l,
                     int64_t weight)
{
    char text[MEASURE_TEXT];
    uint32_t value = l->str;
    if (l->is_number) {
        measure_label(text, l->num, label_unit(report, l->key), report->output_unit);
        if (profile_intern(report->profile, text, strlen(text), &value, report->err) < 0)
            return -1;
    }
    uint32_t at;
    if (find_weight(weights, l->key, value, &at, report->err) < 0)
        return -1;
    weights->items[at].sum = measure_sum(weights->items[at].sum, weight);
    if (l->is_number)
        add_number(&weights->items[at], l->num);
    return 0;
}

static int add_samples(struct report *report, struct label_weights *weights)
{
    const struct profile *p = report->profile;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        int64_t weight = p->values[i * p->n_sample_types + report->value_index];
        for (size_t at = s->label_at; at < s->label_at + s->n_labels; at++)
            if (add_label(report, weights, &p->labels[at], weight) < 0)
                return -1;
    }
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

struct ranked {
    struct str key, value;
    int64_t sum;
    const struct label_weight *item;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int order = str_compare(a->key, b->key);
    int64_t x = measure_abs(a->sum), y = measure_abs(b->sum);
    if (order || x == y)
        return order ? order : str_compare(a->value, b->value);
    return x < y ? 1 : -1;
}

static void add_str(struct table *t, struct str s)
{
    table_add(t, s.p, s.n);
}

static void add_text(struct table *t, const char *s)
{
    add_str(t, str_of(s));
}

/* Writes "5.20s ( 2.00%)"; without a share if the total is 0. */
static void add_value(struct report *report, struct table *t, int64_t sum)
{
    char text[MEASURE_TEXT], share[MEASURE_TEXT];
    report_format_value(report, text, sum);
    add_text(t, text);
    if (report->total <= 0)
        return;
    measure_percentage(share, sum, report->total);
    add_text(t, " (");
    add_text(t, share);
    add_text(t, ")");
}

/* "key:   Total 5.20s of 10s (52.00%)" */
static void add_key(struct report *report, struct table *t, struct str key, int64_t sum)
{
    char part[MEASURE_TEXT], total[MEASURE_TEXT], share[MEASURE_TEXT];
    report_format_value(report, part, sum);
    report_format_value(report, total, report->total);
    measure_percentage(share, sum, report->total);
    add_str(t, key);
    add_text(t, ":\t Total ");
    add_text(t, part);
    add_text(t, " of ");
    add_text(t, total);
    if (report->total > 0) {
        add_text(t, " (");
        add_text(t, share);
        add_text(t, ")");
    }
    add_text(t, "\n");
}

/* Returns the number of values of the first key. */
static size_t count_values(const struct ranked *ranks, size_t n)
{
    size_t same = 0;
    while (same < n && str_equal(ranks[same].key, ranks->key))
        same++;
    return same;
}

static int64_t sum_of(const struct ranked *ranks, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = measure_sum(sum, ranks[i].sum);
    return sum;
}

/* Adds the values of one key. */
static void add_values(struct report *report, struct table *t, const struct ranked *ranks, size_t n)
{
    add_key(report, t, ranks->key, sum_of(ranks, n));
    for (size_t i = 0; i < n; i++) {
        add_text(t, " \t");
        add_value(report, t, ranks[i].sum);
        add_text(t, ":\t ");
        add_str(t, ranks[i].value);
        add_text(t, "\n");
    }
    add_text(t, "\n");
}

static int write_table(struct report *report, const struct ranked *ranks, size_t n)
{
    struct table t = TABLE_INIT;
    int rc = 0;
    for (size_t i = 0, same; i < n && rc == 0; i += same) {
        same = count_values(ranks + i, n - i);
        add_values(report, &t, ranks + i, same);
        rc = table_write(&t, report->out, i + same == n, report->err);
    }
    table_release(&t);
    return rc;
}

static void add_json_sum(struct report *report, const char *key, int64_t sum)
{
    char text[MEASURE_TEXT];
    report_format_value(report, text, sum);
    out_format(report->out, ",\"%s\":", key);
    out_json(report->out, str_of(text));
}

/* Adds the argument of -tagfocus that selects exactly the numbers of a value, such as "4096bytes". */
static void add_json_range(struct report *report, const struct label_weight *item)
{
    struct str unit = label_unit(report, item->key);
    for (size_t i = 0; i < unit.n; i++)
        if (!((unit.p[i] >= 'a' && unit.p[i] <= 'z') || (unit.p[i] >= 'A' && unit.p[i] <= 'Z')))
            unit.n = 0; /* a range cannot have this unit */
    int n = unit.n < 40 ? (int)unit.n : 0;
    out_format(report->out, ",\"range\":\"%" PRId64 "%.*s", item->least, n, unit.p);
    if (item->most != item->least)
        out_format(report->out, ":%" PRId64 "%.*s", item->most, n, unit.p);
    out_text(report->out, "\"");
}

static void write_json_value(struct report *report, const struct ranked *rank)
{
    double share = report->total ? (double)rank->sum / (double)report->total : 0;
    out_text(report->out, "{\"value\":");
    out_json(report->out, rank->value);
    add_json_sum(report, "text", rank->sum);
    out_format(report->out, ",\"share\":%.6f", share);
    if (rank->item->is_number)
        add_json_range(report, rank->item);
    out_text(report->out, "}");
}

/* {"key":"thread","total":"1.2s","n":1,"values":[{"value":"main","text":"1s","share":0.8333}]}; `n` counts
 * all values of the key, a number's value has a `range` too. */
static void write_json_key(struct report *report, const struct ranked *ranks, size_t n)
{
    const struct report_tags *part = &report->settings->tags;
    size_t from = part->from < n ? part->from : n, most = part->most > 0 ? part->most : n;
    size_t end = n - from < most ? n : from + most;
    out_text(report->out, "{\"key\":");
    out_json(report->out, ranks->key);
    add_json_sum(report, "total", sum_of(ranks, n));
    out_format(report->out, ",\"n\":%zu,\"values\":[", n);
    for (size_t i = from; i < end; i++) {
        out_text(report->out, i > from ? "," : "");
        write_json_value(report, &ranks[i]);
    }
    out_text(report->out, "]}");
}

static int write_json(struct report *report, const struct ranked *ranks, size_t n)
{
    const char *wanted = report->settings->tags.key, *separator = "";
    out_text(report->out, "{\"keys\":[");
    for (size_t i = 0, same; i < n; i += same) {
        same = count_values(ranks + i, n - i);
        if (wanted && !str_is(ranks[i].key, wanted))
            continue;
        out_text(report->out, separator);
        separator = ",";
        write_json_key(report, ranks + i, same);
    }
    out_text(report->out, "]}");
    return 0;
}

typedef int write_ranks_fn(struct report *report, const struct ranked *ranks, size_t n);

/* Sorts the labels by key and weight, and writes them. */
static int write_labels(struct report *report, write_ranks_fn *write)
{
    struct label_weights weights = {0};
    int rc = add_samples(report, &weights);
    struct ranked *ranks = rc == 0 ? malloc((weights.n + 1) * sizeof *ranks) : NULL;
    if (rc == 0 && !ranks)
        rc = err_nomem(report->err);
    for (size_t i = 0; rc == 0 && i < weights.n; i++)
        ranks[i] = (struct ranked){profile_str(report->profile, weights.items[i].key),
                                   profile_str(report->profile, weights.items[i].value), weights.items[i].sum,
                                   &weights.items[i]};
    if (rc == 0) {
        qsort(ranks, weights.n, sizeof *ranks, compare_ranked);
        rc = write(report, ranks, weights.n);
    }
    free(ranks);
    free(weights.items);
    hash_index_release(&weights.by_key_and_value);
    return rc;
}

int tags_write(struct report *report)
{
    return write_labels(report, write_table);
}

int tags_write_json(struct report *report)
{
    return write_labels(report, write_json);
}
