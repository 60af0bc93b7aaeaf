#include <stdlib.h>

#include "pprof/graph/graph_walk.h"
#include "base/banned.h"

/* ---- places -------------------------------------------------------------------------------------------- */

/* The index of the nodes by their place. */
struct places {
    struct hash_index by_info;
    size_t cap_nodes;
};

struct wanted {
    const struct graph *g;
    const struct node_info *info;
};

static uint64_t hash_info(uint64_t seed, const struct node_info *i)
{
    uint64_t h = hash_index_mix(hash_index_mix(seed, (uint64_t)i->name << 32 | i->file), i->address);
    h = hash_index_mix(hash_index_mix(h, (uint64_t)i->line), (uint64_t)i->column);
    return hash_index_mix(hash_index_mix(h, (uint64_t)i->start_line), i->objfile);
}

static bool same_info(const struct node_info *a, const struct node_info *b)
{
    return a->name == b->name && a->file == b->file && a->objfile == b->objfile && a->address == b->address &&
           a->line == b->line && a->column == b->column && a->start_line == b->start_line;
}

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    return same_info(&w->g->nodes[index].info, w->info);
}

static int intern_place(struct graph *g, struct places *places, const struct node_info *info, uint32_t *ret,
                        struct err *err)
{
    uint64_t hash = hash_info(hash_index_seed(&places->by_info), info);
    *ret = hash_index_find(&places->by_info, hash, is_wanted, &(struct wanted){g, info});
    if (*ret != HASH_INDEX_NONE)
        return 0;
    if (array_reserve((void **)&g->nodes, &places->cap_nodes, g->n_nodes + 1, sizeof *g->nodes, err) < 0 ||
        hash_index_add(&places->by_info, hash, err) < 0)
        return -1;
    g->nodes[g->n_nodes] =
        (struct node){.info = *info, .first_in = GRAPH_NONE, .first_out = GRAPH_NONE, .kept = true};
    *ret = (uint32_t)g->n_nodes++;
    return 0;
}

/* The place of a location's line, or of the location if it has no lines. */
static struct node_info info_of(const struct graph *g, const struct profile_location *l,
                                const struct profile_line *line, const uint32_t *files)
{
    const struct profile *p = g->profile;
    uint32_t objfile = l->mapping == PROFILE_NONE ? 0 : p->mappings[l->mapping].file;
    struct node_info info = {.address = l->address};
    if (!line || line->function == PROFILE_NONE) {
        info.objfile = objfile;
        return info;
    }
    const struct profile_function *f = &p->functions[line->function];
    info.name = f->name;
    info.file = files[line->function];
    info.line = line->line;
    info.column = line->column;
    if (g->options.objnames || !info.name) {
        info.objfile = objfile;
        info.start_line = f->start_line;
    }
    return info;
}

/* Finds the cleaned path of each function's file. */
static int clean_files(struct profile *p, uint32_t **ret, struct err *err)
{
    uint32_t *files = malloc((p->n_functions + 1) * sizeof *files), last = 0, last_clean = 0;
    if (!files)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t file = p->functions[i].filename;
        if (file != last && profile_clean_path(p, file, &last_clean, err) < 0) {
            free(files);
            return -1;
        }
        last = file;
        files[i] = file ? last_clean : 0;
    }
    *ret = files;
    return 0;
}

static int find_places(struct graph *g, struct places *places, const uint32_t *files, struct err *err)
{
    const struct profile *p = g->profile;
    size_t n = 0;
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        g->frame_at[i] = (uint32_t)n;
        for (size_t at = 0; at < l->n_lines || at == 0; at++) {
            struct node_info info = info_of(g, l, at < l->n_lines ? &p->lines[l->line_at + at] : NULL, files);
            if (intern_place(g, places, &info, &g->frames[n], err) < 0)
                return -1;
            n++;
        }
    }
    g->frame_at[p->n_locations] = (uint32_t)n;
    return 0;
}

int graph_init(struct graph *g, struct profile *profile, const struct graph_options *options, struct err *err)
{
    *g = (struct graph){.profile = profile, .options = *options};
    struct places places = {0};
    uint32_t *files = NULL;
    size_t n_frames = 1, most = WALK_NONE / 2; /* a run (graph_walk.h) has up to 1.5 items for each frame */
    for (size_t i = 0; i < profile->n_locations; i++)
        n_frames += profile->locations[i].n_lines ? profile->locations[i].n_lines : 1;
    if (n_frames > most)
        return err_set(err, ERR_FAILED, "more than %zu lines of locations", most);
    g->frames = malloc(n_frames * sizeof *g->frames);
    g->frame_at = malloc((profile->n_locations + 1) * sizeof *g->frame_at);
    int rc = g->frames && g->frame_at ? 0 : err_nomem(err);
    if (rc == 0)
        rc = clean_files(profile, &files, err);
    if (rc == 0)
        rc = find_places(g, &places, files, err);
    free(files);
    hash_index_release(&places.by_info);
    return rc;
}

void graph_release(struct graph *g)
{
    free(g->nodes);
    free(g->edges);
    free(g->order);
    free(g->frames);
    free(g->frame_at);
    free(g->leaves);
    *g = (struct graph){0};
}

int64_t node_flat(const struct node *n)
{
    return measure_divide(n->flat, n->flat_div);
}

int64_t node_cum(const struct node *n)
{
    return measure_divide(n->cum, n->cum_div);
}

/* ---- counting ------------------------------------------------------------------------------------------ */

/* The counters of a node that a walk updates at every frame. They are side by side in memory. */
struct node_count {
    int64_t cum;
    uint32_t seen; /* index + 1 of the last sample counted */
};

/* The counters of a part of the samples, by node. */
struct node_counts {
    const struct graph *g;
    const struct walk *walk;
    struct node_count *cums;
    int64_t *flat;
    uint64_t *inlined_bound;     /* only with only_inlined */
    int64_t *flat_div, *cum_div; /* only for means */
};

static int node_counts_init(struct node_counts *counts, const struct graph *g, const struct walk *walk,
                            struct err *err)
{
    size_t n = g->n_nodes + 1;
    bool mean = g->options.mean, inlined = g->options.only_inlined;
    *counts = (struct node_counts){.g = g,
                                   .walk = walk,
                                   .cums = calloc(n, sizeof *counts->cums),
                                   .flat = calloc(n, sizeof *counts->flat),
                                   .inlined_bound = inlined ? calloc(n, sizeof *counts->inlined_bound) : NULL,
                                   .flat_div = mean ? calloc(n, sizeof *counts->flat_div) : NULL,
                                   .cum_div = mean ? calloc(n, sizeof *counts->cum_div) : NULL};
    bool complete = counts->cums && counts->flat && (!inlined || counts->inlined_bound) &&
                    (!mean || (counts->flat_div && counts->cum_div));
    return complete ? 0 : err_nomem(err);
}

static void node_counts_release(struct node_counts *counts)
{
    free(counts->cums);
    free(counts->flat);
    free(counts->inlined_bound);
    free(counts->flat_div);
    free(counts->cum_div);
}

/* The sample that is being counted. */
struct sample_count {
    struct node_counts *counts;
    uint32_t stamp; /* index + 1 of the sample */
    uint32_t leaf;
    int64_t w, div;
    uint64_t size; /* |w|, at least 1 */
};

static uint64_t add_sizes(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static inline int count_node(void *ctx, uint32_t node, bool inlined, struct err *err)
{
    struct sample_count *c = ctx;
    struct node_counts *counts = c->counts;
    struct node_count *tally = &counts->cums[node];
    (void)err;
    c->leaf = node;
    if (inlined && counts->inlined_bound)
        counts->inlined_bound[node] = add_sizes(counts->inlined_bound[node], c->size);
    bool again = tally->seen == c->stamp;
    tally->seen = c->stamp;
    tally->cum = measure_sum(tally->cum, again ? 0 : c->w);
    if (c->div)
        counts->cum_div[node] = measure_sum(counts->cum_div[node], again ? 0 : c->div);
    return 0;
}

static int count_samples(void *ctx, size_t begin, size_t end, struct err *err)
{
    struct node_counts *counts = ctx;
    for (size_t i = begin; i < end; i++) {
        struct sample_count c = {.counts = counts, .stamp = (uint32_t)i + 1, .leaf = GRAPH_NONE};
        if (!graph_weight(counts->g, i, &c.w, &c.div))
            continue;
        c.size = c.w < 0 ? -(uint64_t)c.w : c.w > 0 ? (uint64_t)c.w : 1;
        if (walk_stack(counts->walk, &counts->g->profile->samples[i], count_node, &c, err) < 0)
            return -1;
        if (c.leaf == GRAPH_NONE)
            continue;
        counts->flat[c.leaf] = measure_sum(counts->flat[c.leaf], c.w);
        if (c.div)
            counts->flat_div[c.leaf] = measure_sum(counts->flat_div[c.leaf], c.div);
    }
    return 0;
}

static void add_node_counts(struct graph *g, const struct node_counts *counts)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct node *n = &g->nodes[i];
        n->flat = measure_sum(n->flat, counts->flat[i]);
        n->cum = measure_sum(n->cum, counts->cums[i].cum);
        n->inlined_bound = add_sizes(n->inlined_bound, counts->inlined_bound ? counts->inlined_bound[i] : 0);
        if (g->options.mean) {
            n->flat_div = measure_sum(n->flat_div, counts->flat_div[i]);
            n->cum_div = measure_sum(n->cum_div, counts->cum_div[i]);
        }
    }
}

static int count_halves(struct graph *g, struct err *err)
{
    struct node_counts halves[2] = {0};
    struct walk walk;
    bool two = two_threads_are_faster(g->profile->n_stack, g->options.threads);
    int rc = walk_init(&walk, g, NULL, err);
    for (int i = 0; i < (two ? 2 : 1) && rc == 0; i++)
        rc = node_counts_init(&halves[i], g, &walk, err);
    if (rc == 0)
        rc = two_threads_run(count_samples, &halves[0], two ? &halves[1] : NULL, g->profile->n_samples, err);
    for (int i = 0; i < 2; i++) {
        if (rc == 0 && (i == 0 || two))
            add_node_counts(g, &halves[i]);
        node_counts_release(&halves[i]);
    }
    walk_release(&walk);
    return rc;
}

int graph_count(struct graph *g, struct err *err)
{
    if (g->options.tree)
        return graph_grow_tree(g, err);
    g->order = malloc((g->n_nodes + 1) * sizeof *g->order);
    if (!g->order)
        return err_nomem(err);
    if (count_halves(g, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (graph_shows(g, &g->nodes[i]))
            g->order[g->n_order++] = (uint32_t)i;
    return 0;
}

/* ---- selection ----------------------------------------------------------------------------------------- */

size_t graph_keep(struct graph *g, int64_t cutoff)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_order; i++)
        if (measure_abs(g->nodes[g->order[i]].cum) >= cutoff)
            g->order[n++] = g->order[i];
    size_t dropped = g->n_order - n;
    if (dropped)
        graph_keep_first(g, n);
    return dropped;
}

void graph_keep_first(struct graph *g, size_t n)
{
    g->n_order = n < g->n_order ? n : g->n_order;
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].kept = false;
    for (size_t i = 0; i < g->n_order; i++)
        g->nodes[g->order[i]].kept = true;
}
