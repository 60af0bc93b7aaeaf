/* Makes tags in two passes: first the weight of each label and number in all samples; then, for those that
 * are heavy enough, a tag for each node on each stack. */
#include <stdlib.h>
#include <string.h>

#include "pprof/graph_tags.h"
#include "pprof/label_units.h"
#include "base/banned.h"

#define LABELS_MAX_BYTES ((size_t)256 << 20)

struct tagger {
    struct graph_tags *tags;
    struct pprof_job *j;
    const struct graph *g;
    int64_t cutoff;
    uint32_t bytes;   /* the key of the numbers that are shown */
    uint32_t base;    /* the key of the label that marks the samples of a difference's base */
    uint32_t *labels; /* by sample: its joined labels */
    uint64_t
        *weights; /* by string of a joined label or a number: its weight in all samples, at most INT64_MAX */
    size_t n_weights, cap_weights;
    uint32_t *stamps; /* by node */
    uint32_t stamp;
    uint32_t *nodes; /* of the current sample */
    size_t n_nodes, cap_nodes;
    struct buf text;
    struct str *parts;
    size_t cap_parts;
};

/* ---- names of tags ------------------------------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right)
{
    const struct str *a = left, *b = right;
    return str_compare(*a, *b);
}

static bool is_shown(const struct tagger *f, const struct profile_label *l)
{
    return !l->is_number && l->key != f->base;
}

/* Sorts the n parts of f->text, and puts pprof's line break between them. */
static void sort_parts(struct tagger *f, size_t n)
{
    struct buf joined = BUF_INIT(LABELS_MAX_BYTES);
    const char *at = buf_str(&f->text);
    if (f->text.failed)
        return;
    for (size_t i = 0; i < n; at += f->parts[i++].n)
        f->parts[i].p = at;
    qsort(f->parts, n, sizeof *f->parts, compare_parts);
    for (size_t i = 0; i < n; i++) {
        buf_adds(&joined, i ? "\\n" : "");
        buf_add(&joined, f->parts[i].p, f->parts[i].n);
    }
    buf_release(&f->text);
    f->text = joined;
}

/* Joins the sample's text labels "key:value" in order. */
static int join_labels(struct tagger *f, const struct profile_sample *s, uint32_t *ret)
{
    struct profile *p = f->j->profile;
    size_t n = 0;
    buf_clear(&f->text);
    for (const struct profile_label *l = &p->labels[s->label_at], *end = l + s->n_labels; l < end; l++) {
        struct str key = profile_str(p, l->key), value = profile_str(p, l->str);
        if (!is_shown(f, l))
            continue;
        if (array_reserve((void **)&f->parts, &f->cap_parts, n + 1, sizeof *f->parts, f->j->err) < 0)
            return -1;
        f->parts[n++].n = key.n + 1 + value.n;
        buf_add(&f->text, key.p, key.n);
        buf_addc(&f->text, ':');
        buf_add(&f->text, value.p, value.n);
    }
    *ret = 0;
    if (n == 0)
        return 0;
    if (n > 1)
        sort_parts(f, n);
    if (buf_check(&f->text, "a sample's labels", f->j->err) < 0)
        return -1;
    return profile_intern(p, buf_str(&f->text), f->text.len, ret, f->j->err);
}

static int spell_number(struct tagger *f, const struct profile_label *l, uint32_t *ret)
{
    char text[MEASURE_TEXT];
    measure_label(text, l->num, label_unit(f->j, l->key), f->j->output_unit);
    return profile_intern(f->j->profile, text, strlen(text), ret, f->j->err);
}

/* ---- weights ------------------------------------------------------------------------------------------- */

static int add_weight(struct tagger *f, uint32_t string, int64_t w)
{
    size_t had = f->n_weights;
    if (string >= had) {
        if (array_reserve((void **)&f->weights, &f->cap_weights, string + 1, sizeof *f->weights, f->j->err) <
            0)
            return -1;
        memset(f->weights + had, 0, (string + 1 - had) * sizeof *f->weights);
        f->n_weights = string + 1;
    }
    uint64_t sum = f->weights[string] + (w < 0 ? -(uint64_t)w : (uint64_t)w);
    f->weights[string] = sum > INT64_MAX || sum < f->weights[string] ? INT64_MAX : sum;
    return 0;
}

static bool weighs_enough(const struct tagger *f, uint32_t string)
{
    return string == 0 || (int64_t)f->weights[string] >= f->cutoff;
}

/* Joins the labels of all samples, and weighs them and the numbers. */
static int weigh_labels(struct tagger *f)
{
    const struct profile *p = f->j->profile;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        int64_t w = 0, div = 0;
        f->labels[i] = 0;
        if (s->n_labels == 0 || !graph_weight(f->g, i, &w, &div))
            continue;
        if (join_labels(f, s, &f->labels[i]) < 0 || add_weight(f, f->labels[i], w) < 0)
            return -1;
        for (size_t at = s->label_at; at < s->label_at + s->n_labels; at++) {
            uint32_t number = 0;
            if (p->labels[at].is_number && p->labels[at].key == f->bytes &&
                (spell_number(f, &p->labels[at], &number) < 0 || add_weight(f, number, w) < 0))
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

/* Finds or makes the tag of that node and name. */
static struct tag *tag_of(struct tagger *f, const struct tag *wanted)
{
    struct graph_tags *t = f->tags;
    uint64_t hash = hash_index_mix(hash_index_seed(&t->by_name), wanted->node);
    hash = hash_index_mix(hash_index_mix(hash, wanted->label), wanted->number);
    uint32_t at = hash_index_find(&t->by_name, hash, is_wanted, &(struct wanted){t, wanted});
    if (at == HASH_INDEX_NONE) {
        if (array_reserve((void **)&t->tags, &t->cap_tags, t->n_tags + 1, sizeof *t->tags, f->j->err) < 0 ||
            hash_index_add(&t->by_name, hash, f->j->err) < 0)
            return NULL;
        at = (uint32_t)t->n_tags++;
        t->tags[at] = *wanted;
        t->tags[at].next = t->first[wanted->node];
        t->first[wanted->node] = at;
    }
    return &t->tags[at];
}

/* Adds a sample's weight to this tag at each node of the sample, and to the tag's flat value at the leaf. */
static int add_tag(struct tagger *f, struct tag wanted, uint32_t leaf, int64_t w, int64_t div)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        wanted.node = f->nodes[i];
        struct tag *tag = tag_of(f, &wanted);
        if (!tag)
            return -1;
        tag->cum = measure_sum(tag->cum, w);
        tag->cum_div = measure_sum(tag->cum_div, div);
        if (f->nodes[i] != leaf)
            continue;
        tag->flat = measure_sum(tag->flat, w);
        tag->flat_div = measure_sum(tag->flat_div, div);
    }
    return 0;
}

static int add_node(struct tagger *f, uint32_t node)
{
    if (!f->g->nodes[node].kept || f->stamps[node] == f->stamp)
        return 0;
    if (array_reserve((void **)&f->nodes, &f->cap_nodes, f->n_nodes + 1, sizeof *f->nodes, f->j->err) < 0)
        return -1;
    f->stamps[node] = f->stamp;
    f->nodes[f->n_nodes++] = node;
    return 0;
}

/* Finds the kept nodes on a sample's stack, each once. *ret_leaf is the innermost frame's node, kept or not;
 * GRAPH_NONE: none. */
static int find_nodes(struct tagger *f, size_t sample, uint32_t *ret_leaf)
{
    const struct graph *g = f->g;
    const struct profile_sample *s = &g->profile->samples[sample];
    uint32_t leaf = GRAPH_NONE;
    f->stamp++;
    f->n_nodes = 0;
    if (g->options.tree) {
        leaf = g->leaves[sample];
        for (uint32_t at = leaf; at != GRAPH_NONE;) {
            if (add_node(f, at) < 0)
                return -1;
            const struct node *n = &g->nodes[at];
            at = n->first_in == GRAPH_NONE ? GRAPH_NONE : g->edges[n->first_in].from;
        }
    } else {
        for (size_t i = 0; i < s->depth; i++) {
            uint32_t location = profile_frame(g->profile, s, i);
            for (size_t at = g->frame_at[location]; at < g->frame_at[location + 1]; at++)
                if (add_node(f, g->frames[at]) < 0)
                    return -1;
        }
        leaf = s->depth ? g->frames[g->frame_at[profile_frame(g->profile, s, 0)]] : GRAPH_NONE;
    }
    *ret_leaf = leaf;
    return 0;
}

static int add_sample(struct tagger *f, size_t sample)
{
    const struct profile *p = f->j->profile;
    const struct profile_sample *s = &p->samples[sample];
    struct tag wanted = {.label = f->labels[sample]};
    int64_t w = 0, div = 0;
    uint32_t leaf = GRAPH_NONE;
    if (s->n_labels == 0 || !graph_weight(f->g, sample, &w, &div) || !weighs_enough(f, wanted.label))
        return 0;
    if (find_nodes(f, sample, &leaf) < 0 || (wanted.label && add_tag(f, wanted, leaf, w, div) < 0))
        return -1;
    for (size_t at = s->label_at; at < s->label_at + s->n_labels; at++) {
        const struct profile_label *l = &p->labels[at];
        if (!l->is_number || l->key != f->bytes)
            continue;
        if (spell_number(f, l, &wanted.number) < 0)
            return -1;
        wanted.value = l->num;
        wanted.unit = f->j->label_units[l->key];
        if (weighs_enough(f, wanted.number) && add_tag(f, wanted, leaf, w, div) < 0)
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

static int make_tags(struct tagger *f)
{
    const struct profile *p = f->j->profile;
    if (profile_intern(f->j->profile, "bytes", 5, &f->bytes, f->j->err) < 0 ||
        profile_intern(f->j->profile, "pprof::base", 11, &f->base, f->j->err) < 0)
        return -1;
    f->labels = calloc(p->n_samples + 1, sizeof *f->labels);
    f->stamps = calloc(f->g->n_nodes + 1, sizeof *f->stamps);
    if (!f->labels || !f->stamps)
        return err_nomem(f->j->err);
    if (weigh_labels(f) < 0)
        return -1;
    for (size_t i = 0; i < p->n_samples; i++)
        if (add_sample(f, i) < 0)
            return -1;
    return 0;
}

int graph_tags_find(struct graph_tags *t, struct pprof_job *j, const struct graph *g, int64_t cutoff)
{
    struct tagger f = {.tags = t, .j = j, .g = g, .cutoff = cutoff, .text = BUF_INIT(LABELS_MAX_BYTES)};
    *t = (struct graph_tags){.first = malloc((g->n_nodes + 1) * sizeof *t->first)};
    if (!t->first)
        return err_nomem(j->err);
    for (size_t i = 0; i < g->n_nodes; i++)
        t->first[i] = GRAPH_NONE;
    int rc = j->profile->n_labels ? make_tags(&f) : 0;
    free(f.labels);
    free(f.weights);
    free(f.stamps);
    free(f.nodes);
    free(f.parts);
    buf_release(&f.text);
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
    bool flat;
};

static int compare_tags(const void *left, const void *right)
{
    const struct ranked_tag *a = left, *b = right;
    int64_t x = measure_abs(a->tag.cum), y = measure_abs(b->tag.cum);
    if (!a->flat && x != y)
        return x < y ? 1 : -1;
    x = measure_abs(a->tag.flat);
    y = measure_abs(b->tag.flat);
    if (x != y)
        return x < y ? 1 : -1;
    return str_compare(profile_str(a->p, a->tag.number ? a->tag.number : a->tag.label),
                       profile_str(b->p, b->tag.number ? b->tag.number : b->tag.label));
}

int graph_tags_sort(const struct profile *p, struct tag *tags, size_t n, bool flat, struct err *err)
{
    struct ranked_tag *ranks = malloc((n + 1) * sizeof *ranks);
    if (!ranks)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        ranks[i] = (struct ranked_tag){tags[i], p, flat};
    qsort(ranks, n, sizeof *ranks, compare_tags);
    for (size_t i = 0; i < n; i++)
        tags[i] = ranks[i].tag;
    free(ranks);
    return 0;
}
