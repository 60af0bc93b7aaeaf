/* Makes tags in two passes. The first sums the weight of each label and number over all samples. The second
 * makes tags at the nodes of the stacks, for the labels and numbers that are heavy enough. */
#include <stdlib.h>
#include <string.h>

#include "pprof/graph_tags.h"
#include "pprof/label_units.h"
#include "base/banned.h"

#define LABELS_MAX_BYTES ((size_t)256 << 20)

struct tagger {
    struct graph_tags *tags;
    struct report *report;
    const struct graph *g;
    int64_t cutoff;
    uint32_t bytes_key; /* the key of the numbers that are shown */
    uint32_t base_key;  /* the key of the label that marks the samples of a difference's base */
    uint32_t *labels;   /* by sample: its joined labels */
    /* The weight of each joined label or formatted number in all samples, at most INT64_MAX; by the index of
     * its string. */
    uint64_t *weights;
    size_t n_weights, cap_weights;
    uint32_t *stamps; /* by node: the `stamp` of the last sample that has the node */
    uint32_t stamp;
    uint32_t *nodes; /* of the current sample */
    size_t n_nodes, cap_nodes;
    struct buf text;
    struct str *parts; /* of `text`: the labels of the current sample, each as "key:value" */
    size_t cap_parts;
};

/* ---- names of tags ------------------------------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right)
{
    const struct str *a = left, *b = right;
    return str_compare(*a, *b);
}

/* Sorts the n parts of tagger->text, and puts pprof's line break between them. */
static void sort_parts(struct tagger *tagger, size_t n)
{
    struct buf joined = BUF_INIT(LABELS_MAX_BYTES);
    const char *at = buf_str(&tagger->text);
    if (tagger->text.failed)
        return;
    for (size_t i = 0; i < n; at += tagger->parts[i++].n)
        tagger->parts[i].p = at;
    qsort(tagger->parts, n, sizeof *tagger->parts, compare_parts);
    for (size_t i = 0; i < n; i++) {
        buf_adds(&joined, i ? "\\n" : "");
        buf_add(&joined, tagger->parts[i].p, tagger->parts[i].n);
    }
    buf_release(&tagger->text);
    tagger->text = joined;
}

/* Joins the sample's text labels, each as "key:value", in order. */
static int join_labels(struct tagger *tagger, const struct profile_sample *s, uint32_t *ret)
{
    struct profile *p = tagger->report->profile;
    size_t n = 0;
    buf_clear(&tagger->text);
    for (const struct profile_label *l = &p->labels[s->label_at], *end = l + s->n_labels; l < end; l++) {
        struct str key = profile_str(p, l->key), value = profile_str(p, l->str);
        if (l->is_number || l->key == tagger->base_key)
            continue;
        if (array_reserve((void **)&tagger->parts, &tagger->cap_parts, n + 1, sizeof *tagger->parts,
                          tagger->report->err) < 0)
            return -1;
        tagger->parts[n++].n = key.n + 1 + value.n;
        buf_add(&tagger->text, key.p, key.n);
        buf_addc(&tagger->text, ':');
        buf_add(&tagger->text, value.p, value.n);
    }
    *ret = 0;
    if (n == 0)
        return 0;
    if (n > 1)
        sort_parts(tagger, n);
    if (buf_check(&tagger->text, "a sample's labels", tagger->report->err) < 0)
        return -1;
    return profile_intern(p, buf_str(&tagger->text), tagger->text.len, ret, tagger->report->err);
}

static int format_number(struct tagger *tagger, const struct profile_label *l, uint32_t *ret)
{
    char text[MEASURE_TEXT];
    measure_label(text, l->num, label_unit(tagger->report, l->key), tagger->report->output_unit);
    return profile_intern(tagger->report->profile, text, strlen(text), ret, tagger->report->err);
}

/* ---- weights ------------------------------------------------------------------------------------------- */

static int add_weight(struct tagger *tagger, uint32_t string, int64_t w)
{
    size_t had = tagger->n_weights;
    if (string >= had) {
        if (array_reserve((void **)&tagger->weights, &tagger->cap_weights, string + 1,
                          sizeof *tagger->weights, tagger->report->err) < 0)
            return -1;
        memset(tagger->weights + had, 0, (string + 1 - had) * sizeof *tagger->weights);
        tagger->n_weights = string + 1;
    }
    uint64_t sum = tagger->weights[string] + (w < 0 ? -(uint64_t)w : (uint64_t)w);
    tagger->weights[string] = sum > INT64_MAX || sum < tagger->weights[string] ? INT64_MAX : sum;
    return 0;
}

static bool weighs_enough(const struct tagger *tagger, uint32_t string)
{
    return string == 0 || (int64_t)tagger->weights[string] >= tagger->cutoff;
}

/* Joins the labels of all samples, and weighs them and the numbers. */
static int weigh_labels(struct tagger *tagger)
{
    const struct profile *p = tagger->report->profile;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        int64_t w = 0, div = 0;
        tagger->labels[i] = 0;
        if (s->n_labels == 0 || !graph_weight(tagger->g, i, &w, &div))
            continue;
        if (join_labels(tagger, s, &tagger->labels[i]) < 0 || add_weight(tagger, tagger->labels[i], w) < 0)
            return -1;
        for (size_t at = s->label_at; at < s->label_at + s->n_labels; at++) {
            uint32_t number = 0;
            if (p->labels[at].is_number && p->labels[at].key == tagger->bytes_key &&
                (format_number(tagger, &p->labels[at], &number) < 0 || add_weight(tagger, number, w) < 0))
                return -1;
        }
    }
    return 0;
}

/* ---- tags ---------------------------------------------------------------------------------------------- */

struct wanted {
    const struct graph_tags *t;
    const struct tag *tag;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct tag *tag = &w->t->tags[index];
    return tag->node == w->tag->node && tag->label == w->tag->label && tag->number == w->tag->number;
}

/* Finds or makes the tag with the node, label and number of `wanted`. */
static struct tag *tag_of(struct tagger *tagger, const struct tag *wanted)
{
    struct graph_tags *t = tagger->tags;
    uint64_t hash = hash_index_mix(hash_index_seed(&t->by_name), wanted->node);
    hash = hash_index_mix(hash_index_mix(hash, wanted->label), wanted->number);
    uint32_t at = hash_index_find(&t->by_name, hash, is_wanted, &(struct wanted){t, wanted});
    if (at == HASH_INDEX_NONE) {
        if (array_reserve((void **)&t->tags, &t->cap_tags, t->n_tags + 1, sizeof *t->tags,
                          tagger->report->err) < 0 ||
            hash_index_add(&t->by_name, hash, tagger->report->err) < 0)
            return NULL;
        at = (uint32_t)t->n_tags++;
        t->tags[at] = *wanted;
        t->tags[at].next = t->first[wanted->node];
        t->first[wanted->node] = at;
    }
    return &t->tags[at];
}

/* Adds a sample's weight to this tag at each node of the sample, and to the tag's flat value at the leaf. */
static int add_tag(struct tagger *tagger, struct tag wanted, uint32_t leaf, int64_t w, int64_t div)
{
    for (size_t i = 0; i < tagger->n_nodes; i++) {
        wanted.node = tagger->nodes[i];
        struct tag *tag = tag_of(tagger, &wanted);
        if (!tag)
            return -1;
        tag->cum = measure_sum(tag->cum, w);
        tag->cum_div = measure_sum(tag->cum_div, div);
        if (tagger->nodes[i] != leaf)
            continue;
        tag->flat = measure_sum(tag->flat, w);
        tag->flat_div = measure_sum(tag->flat_div, div);
    }
    return 0;
}

static int add_node(struct tagger *tagger, uint32_t node)
{
    if (!tagger->g->nodes[node].kept || tagger->stamps[node] == tagger->stamp)
        return 0;
    if (array_reserve((void **)&tagger->nodes, &tagger->cap_nodes, tagger->n_nodes + 1, sizeof *tagger->nodes,
                      tagger->report->err) < 0)
        return -1;
    tagger->stamps[node] = tagger->stamp;
    tagger->nodes[tagger->n_nodes++] = node;
    return 0;
}

/* Finds the kept nodes on a sample's stack, each once. *ret_leaf is the innermost frame's node, kept or not;
 * GRAPH_NONE: none. */
static int find_nodes(struct tagger *tagger, size_t sample, uint32_t *ret_leaf)
{
    const struct graph *g = tagger->g;
    const struct profile_sample *s = &g->profile->samples[sample];
    uint32_t leaf = GRAPH_NONE;
    tagger->stamp++;
    tagger->n_nodes = 0;
    if (g->options.tree) {
        leaf = g->leaves[sample];
        for (uint32_t at = leaf; at != GRAPH_NONE;) {
            if (add_node(tagger, at) < 0)
                return -1;
            const struct node *n = &g->nodes[at];
            at = n->first_in == GRAPH_NONE ? GRAPH_NONE : g->edges[n->first_in].from;
        }
    } else {
        for (size_t i = 0; i < s->depth; i++) {
            uint32_t location = profile_frame(g->profile, s, i);
            for (size_t at = g->frame_at[location]; at < g->frame_at[location + 1]; at++)
                if (add_node(tagger, g->frames[at]) < 0)
                    return -1;
        }
        leaf = s->depth ? g->frames[g->frame_at[profile_frame(g->profile, s, 0)]] : GRAPH_NONE;
    }
    *ret_leaf = leaf;
    return 0;
}

static int add_sample(struct tagger *tagger, size_t sample)
{
    const struct profile *p = tagger->report->profile;
    const struct profile_sample *s = &p->samples[sample];
    struct tag wanted = {.label = tagger->labels[sample]};
    int64_t w = 0, div = 0;
    uint32_t leaf = GRAPH_NONE;
    if (s->n_labels == 0 || !graph_weight(tagger->g, sample, &w, &div) ||
        !weighs_enough(tagger, wanted.label))
        return 0;
    if (find_nodes(tagger, sample, &leaf) < 0 || (wanted.label && add_tag(tagger, wanted, leaf, w, div) < 0))
        return -1;
    for (size_t at = s->label_at; at < s->label_at + s->n_labels; at++) {
        const struct profile_label *l = &p->labels[at];
        if (!l->is_number || l->key != tagger->bytes_key)
            continue;
        if (format_number(tagger, l, &wanted.number) < 0)
            return -1;
        wanted.value = l->num;
        wanted.unit = tagger->report->label_units[l->key];
        if (weighs_enough(tagger, wanted.number) && add_tag(tagger, wanted, leaf, w, div) < 0)
            return -1;
    }
    return 0;
}

/* Removes the tags that are too light. */
static void drop_light(struct graph_tags *t, const struct graph *g, int64_t cutoff)
{
    for (size_t i = 0; i < g->n_order; i++) {
        uint32_t *at = &t->first[g->order[i]];
        while (*at != GRAPH_NONE) {
            const struct tag *tag = &t->tags[*at];
            if (measure_abs(tag->flat) < cutoff && measure_abs(tag->cum) < cutoff)
                *at = tag->next;
            else
                at = &t->tags[*at].next;
        }
    }
}

static int make_tags(struct tagger *tagger)
{
    const struct profile *p = tagger->report->profile;
    if (profile_intern(tagger->report->profile, "bytes", 5, &tagger->bytes_key, tagger->report->err) < 0 ||
        profile_intern(tagger->report->profile, "pprof::base", 11, &tagger->base_key, tagger->report->err) <
            0)
        return -1;
    tagger->labels = calloc(p->n_samples + 1, sizeof *tagger->labels);
    tagger->stamps = calloc(tagger->g->n_nodes + 1, sizeof *tagger->stamps);
    if (!tagger->labels || !tagger->stamps)
        return err_nomem(tagger->report->err);
    if (weigh_labels(tagger) < 0)
        return -1;
    for (size_t i = 0; i < p->n_samples; i++)
        if (add_sample(tagger, i) < 0)
            return -1;
    return 0;
}

int graph_tags_make(struct graph_tags *t, struct report *report, const struct graph *g, int64_t cutoff)
{
    struct tagger tagger = {
        .tags = t, .report = report, .g = g, .cutoff = cutoff, .text = BUF_INIT(LABELS_MAX_BYTES)};
    *t = (struct graph_tags){.first = malloc((g->n_nodes + 1) * sizeof *t->first)};
    if (!t->first)
        return err_nomem(report->err);
    for (size_t i = 0; i < g->n_nodes; i++)
        t->first[i] = GRAPH_NONE;
    int rc = report->profile->n_labels ? make_tags(&tagger) : 0;
    free(tagger.labels);
    free(tagger.weights);
    free(tagger.stamps);
    free(tagger.nodes);
    free(tagger.parts);
    buf_release(&tagger.text);
    if (rc == 0)
        drop_light(t, g, cutoff);
    return rc;
}

void graph_tags_release(struct graph_tags *t)
{
    free(t->tags);
    free(t->first);
    hash_index_release(&t->by_name);
    *t = (struct graph_tags){0};
}

size_t graph_tags_count(const struct graph_tags *t, uint32_t node)
{
    size_t n = 0;
    for (uint32_t at = t->first[node]; at != GRAPH_NONE; at = t->tags[at].next)
        n += t->tags[at].flat != 0;
    return n;
}

/* ---- order --------------------------------------------------------------------------------------------- */

struct ranked_tag {
    struct tag tag;
    const struct profile *p;
    bool by_flat;
};

static int compare_tags(const void *left, const void *right)
{
    const struct ranked_tag *a = left, *b = right;
    int64_t x = measure_abs(a->tag.cum), y = measure_abs(b->tag.cum);
    if (!a->by_flat && x != y)
        return x < y ? 1 : -1;
    x = measure_abs(a->tag.flat);
    y = measure_abs(b->tag.flat);
    if (x != y)
        return x < y ? 1 : -1;
    return str_compare(profile_str(a->p, a->tag.number ? a->tag.number : a->tag.label),
                       profile_str(b->p, b->tag.number ? b->tag.number : b->tag.label));
}

int graph_tags_sort(const struct profile *p, struct tag *tags, size_t n, bool by_flat, struct err *err)
{
    struct ranked_tag *ranks = malloc((n + 1) * sizeof *ranks);
    if (!ranks)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        ranks[i] = (struct ranked_tag){tags[i], p, by_flat};
    qsort(ranks, n, sizeof *ranks, compare_tags);
    for (size_t i = 0; i < n; i++)
        tags[i] = ranks[i].tag;
    free(ranks);
    return 0;
}
