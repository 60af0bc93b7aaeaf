/*
 * The edges of a graph: what is counted of every call on every stack.
 *
 * That is most of the work of a report, so it is kept near: of each edge, what is counted lies in the very
 * table in which it is found. Large profiles are counted in two halves side by side. What comes out, and in
 * which order, is the same either way.
 *
 * Where only heavy edges matter, there are few of them, sometimes among very many. When those are more than a
 * table that is near has room for, a walk over the stacks adds up |weights| by hash, in a table of such a
 * size; a call whose sum there is too little is none of them, and another walk leaves it out.
 */
#include <stdlib.h>
#include <string.h>

#include "report/graph.h"
#include "report/measure.h"
#include "base/banned.h"

struct call {
    uint32_t from, to; /* numbers of kept places */
    int64_t weight;
    uint32_t seen;        /* the sample that was last counted, + 1; 0: there is nothing here */
    uint32_t number : 30; /* in the order in which they were met */
    bool residual : 1, inlined : 1;
};

/* The calls of some of the samples. */
struct calls {
    const struct graph *g;
    const uint32_t *kept; /* of each frame: the number of its place; GRAPH_NONE if it is not kept */
    const uint32_t *only; /* by location: that of its one frame, or GRAPH_SEVERAL */
    const bool *wanted;   /* by number: whether edges into it are; NULL: all are */
    struct call *table;   /* open addressing */
    int64_t *divs;        /* beside it, for means */
    unsigned bits;        /* of its size; 0: there is none */
    uint64_t seed;        /* as a finder has one: this table is one that is kept near */
    uint32_t n;
    uint64_t *sums; /* of |weights| by hash, never too little; NULL: all calls matter */
    uint64_t least; /* those of less there do not */
    uint32_t most;  /* entries of the table; */
    bool over;      /* there are more */
};

/* The table of sums takes half a megabyte, and so many calls some more: for stacks of more locations than
 * these. */
enum { SUMS_BITS = 16, SUMS_PAY = 200000, NEAR = 40000 };

/* A call that is met on a stack. */
struct visit {
    struct call call;
    int64_t div;
};

typedef int visit_fn(struct calls *c, const struct visit *v, struct err *err);

static uint64_t hash_of(const struct calls *c, const struct call *call)
{
    return finder_mix(c->seed, (uint64_t)call->from << 32 | call->to);
}

static size_t slot_of(const struct calls *c, const struct call *wanted)
{
    size_t mask = ((size_t)1 << c->bits) - 1;
    uint64_t h = hash_of(c, wanted);
    for (size_t at = (size_t)(h >> (64 - c->bits));; at = (at + 1) & mask) {
        const struct call *call = &c->table[at];
        if (call->seen == 0 || (call->from == wanted->from && call->to == wanted->to))
            return at;
    }
}

/* Makes room for one more. */
static int reserve(struct calls *c, struct err *err)
{
    size_t had = c->bits ? (size_t)1 << c->bits : 0;
    if (c->bits && 3 * ((size_t)c->n + 1) <= 2 * had)
        return 0;
    if (c->n >= 1u << 29)
        return err_set(err, ERR_FAILED, "more than %u calls between places", 1u << 29);
    struct calls larger = *c;
    larger.bits = c->bits ? c->bits + 1 : 12;
    larger.table = calloc((size_t)1 << larger.bits, sizeof *larger.table);
    larger.divs = c->g->options.mean ? calloc((size_t)1 << larger.bits, sizeof *larger.divs) : NULL;
    if (!larger.table || (c->g->options.mean && !larger.divs)) {
        free(larger.table);
        free(larger.divs);
        return err_nomem(err);
    }
    for (size_t i = 0; i < had; i++) {
        if (c->table[i].seen == 0)
            continue;
        size_t at = slot_of(&larger, &c->table[i]);
        larger.table[at] = c->table[i];
        if (larger.divs)
            larger.divs[at] = c->divs[i];
    }
    free(c->table);
    free(c->divs);
    *c = larger;
    return 0;
}

/* A call that a sample has seen counts once for it. */
static int add_call(struct calls *c, const struct visit *v, struct err *err)
{
    const struct call *call = &v->call;
    if (c->sums && c->sums[hash_of(c, call) >> (64 - SUMS_BITS)] < c->least)
        return 0;
    size_t at = slot_of(c, call);
    struct call *known = &c->table[at];
    if (known->seen == 0) {
        c->over = c->n >= c->most;
        if (c->over || reserve(c, err) < 0)
            return -1;
        at = slot_of(c, call);
        known = &c->table[at];
        *known = (struct call){.from = call->from, .to = call->to, .number = c->n++, .inlined = true};
    } else if (known->seen == call->seen) {
        return 0;
    }
    known->seen = call->seen;
    known->weight = measure_sum(known->weight, call->weight);
    known->residual = known->residual || call->residual;
    known->inlined = known->inlined && call->inlined;
    if (c->divs)
        c->divs[at] = measure_sum(c->divs[at], v->div);
    return 0;
}

static int add_weight(struct calls *c, const struct visit *v, struct err *err)
{
    uint64_t *sum = &c->sums[hash_of(c, &v->call) >> (64 - SUMS_BITS)];
    uint64_t size = v->call.weight < 0 ? -(uint64_t)v->call.weight : (uint64_t)v->call.weight;
    (void)err;
    *sum = *sum + size < size ? UINT64_MAX : *sum + size;
    return 0;
}

/* The two walks are made of this one, each with its own step inside. */
#define MADE_OF_IT static inline __attribute__((always_inline))

MADE_OF_IT int visit_place(struct calls *c, uint32_t to, bool inlined, struct visit *v, visit_fn *visit,
                           struct err *err)
{
    struct call *call = &v->call;
    if (to == GRAPH_NONE) {
        call->residual = true;
        return 0;
    }
    call->to = to;
    call->inlined = inlined;
    if (call->from != GRAPH_NONE && call->from != to && (!c->wanted || c->wanted[to]) && visit(c, v, err) < 0)
        return -1;
    call->from = to;
    call->residual = false;
    return 0;
}

MADE_OF_IT int visit_stack(struct calls *c, const struct profile_sample *s, struct visit *v, visit_fn *visit,
                           struct err *err)
{
    const struct graph *g = c->g;
    for (size_t i = s->depth; i-- > 0;) {
        uint32_t location = profile_frame(g->profile, s, i), only = c->only[location];
        graph_prefetch(c->only, g->profile, s, i);
        if (only != GRAPH_SEVERAL) {
            if (visit_place(c, only, false, v, visit, err) < 0)
                return -1;
            continue;
        }
        size_t first = g->frame_at[location], outermost = g->frame_at[location + 1] - 1;
        for (size_t at = outermost + 1; at-- > first;)
            if (visit_place(c, c->kept[at], at != outermost, v, visit, err) < 0)
                return -1;
    }
    return 0;
}

MADE_OF_IT int visit_samples(struct calls *c, size_t begin, size_t end, visit_fn *visit, struct err *err)
{
    for (size_t i = begin; i < end; i++) {
        struct visit v = {.call = {.from = GRAPH_NONE, .seen = (uint32_t)i + 1}};
        if (graph_weight(c->g, i, &v.call.weight, &v.div) &&
            visit_stack(c, &c->g->profile->samples[i], &v, visit, err) < 0)
            return -1;
    }
    return 0;
}

static int add_samples(void *ctx, size_t begin, size_t end, struct err *err)
{
    return visit_samples(ctx, begin, end, add_call, err);
}

static int add_weights(void *ctx, size_t begin, size_t end, struct err *err)
{
    return visit_samples(ctx, begin, end, add_weight, err);
}

/* Where the calls are, in the order in which they were met. */
static uint32_t *list_calls(const struct calls *c)
{
    uint32_t *ret = calloc((size_t)c->n + 1, sizeof *ret);
    for (size_t i = 0; ret && i < (size_t)1 << c->bits; i++)
        if (c->table[i].seen)
            ret[c->table[i].number] = (uint32_t)i;
    return ret;
}

/* Adds what was counted of later samples. */
static int add_calls(struct calls *to, const struct calls *from, struct err *err)
{
    uint32_t *list = list_calls(from);
    int rc = list ? 0 : err_nomem(err);
    for (size_t i = 0; i < from->n && rc == 0; i++) {
        struct visit v = {from->table[list[i]], from->divs ? from->divs[list[i]] : 0};
        v.call.seen = GRAPH_NONE;
        rc = add_call(to, &v, err);
    }
    free(list);
    return rc;
}

/* ---- the graph ------------------------------------------------------------------------------------------
 */

/* The kept places. */
struct numbering {
    uint32_t *kept, *only; /* as the calls have them */
    uint32_t *nodes;       /* by number */
    size_t n;
};

static void numbering_release(struct numbering *k)
{
    free(k->kept);
    free(k->only);
    free(k->nodes);
}

static int number_kept(const struct graph *g, struct numbering *k, struct err *err)
{
    size_t n_locations = g->profile->n_locations, n_frames = g->frame_at[n_locations];
    uint32_t *numbers = malloc((g->n_nodes + 1) * sizeof *numbers);
    *k = (struct numbering){.kept = malloc((n_frames + 1) * sizeof *k->kept),
                            .only = malloc((n_locations + 1) * sizeof *k->only),
                            .nodes = calloc(g->n_nodes + 1, sizeof *k->nodes)};
    if (!numbers || !k->kept || !k->only || !k->nodes) {
        free(numbers);
        return err_nomem(err);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        numbers[i] = g->nodes[i].kept ? (uint32_t)k->n : GRAPH_NONE;
        if (g->nodes[i].kept)
            k->nodes[k->n++] = (uint32_t)i;
    }
    for (size_t i = 0; i < n_frames; i++)
        k->kept[i] = numbers[g->frames[i]];
    for (size_t i = 0; i < n_locations; i++)
        k->only[i] = g->only[i] == GRAPH_SEVERAL ? GRAPH_SEVERAL : numbers[g->only[i]];
    free(numbers);
    return 0;
}

/* Which of the kept places some call is inlined into its caller: of the others nothing can be said. */
static bool *find_inlined(const struct graph *g, const uint32_t *kept, size_t n)
{
    bool *ret = calloc(n + 1, sizeof *ret);
    for (size_t i = 0; ret && i < g->profile->n_locations; i++)
        for (size_t at = g->frame_at[i]; at + 1 < g->frame_at[i + 1]; at++)
            if (kept[at] != GRAPH_NONE)
                ret[kept[at]] = true;
    return ret;
}

/* Makes edges of the calls, and lists them at their nodes. */
static int take_edges(struct graph *g, const struct calls *c, const uint32_t *nodes, struct err *err)
{
    uint32_t *list = list_calls(c);
    g->n_edges = 0;
    if (!list || array_reserve((void **)&g->edges, &g->cap_edges, c->n, sizeof *g->edges, err) < 0) {
        free(list);
        return err_nomem(err);
    }
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].first_in = g->nodes[i].first_out = GRAPH_NONE;
    for (size_t i = 0; i < c->n; i++) {
        const struct call *call = &c->table[list[i]];
        struct node *from = &g->nodes[nodes[call->from]], *to = &g->nodes[nodes[call->to]];
        g->edges[g->n_edges++] = (struct edge){.from = nodes[call->from],
                                               .to = nodes[call->to],
                                               .next_out = from->first_out,
                                               .next_in = to->first_in,
                                               .weight = call->weight,
                                               .weight_div = c->divs ? c->divs[list[i]] : 0,
                                               .residual = call->residual,
                                               .inlined = call->inlined};
        from->first_out = to->first_in = (uint32_t)i;
    }
    free(list);
    return 0;
}

static void calls_release(struct calls *c)
{
    free(c->sums);
    free(c->table);
    free(c->divs);
}

/* What calls weigh at most. */
static int weigh_calls(struct calls halves[2], bool two, struct err *err)
{
    const struct graph *g = halves[0].g;
    size_t n = (size_t)1 << SUMS_BITS;
    for (int i = 0; i < (two ? 2 : 1); i++) {
        halves[i].least = (uint64_t)g->options.least;
        halves[i].sums = calloc(n, sizeof *halves[i].sums);
        if (!halves[i].sums)
            return err_nomem(err);
    }
    if (halves_run(add_weights, &halves[0], two ? &halves[1] : NULL, g->profile->n_samples, err) < 0)
        return -1;
    for (size_t i = 0; two && i < n; i++) {
        uint64_t sum = halves[0].sums[i] + halves[1].sums[i];
        halves[0].sums[i] = halves[1].sums[i] = sum < halves[1].sums[i] ? UINT64_MAX : sum;
    }
    return 0;
}

/* Into empty tables of at most so many calls. */
static int gather_calls(struct calls halves[2], bool two, uint32_t most, struct err *err)
{
    for (int i = 0; i < (two ? 2 : 1); i++) {
        halves[i].most = most;
        if (reserve(&halves[i], err) < 0)
            return -1;
    }
    return halves_run(add_samples, &halves[0], two ? &halves[1] : NULL, halves[0].g->profile->n_samples, err);
}

static int count_calls(struct calls halves[2], struct err *err)
{
    const struct graph *g = halves[0].g;
    const struct calls empty = halves[0];
    bool two = halves_pay(g->profile->n_samples, g->options.threads);
    bool choosy = g->options.least > 0 && g->profile->n_stack >= SUMS_PAY;
    int rc = gather_calls(halves, two, choosy ? NEAR : UINT32_MAX, err);
    if (halves[0].over || halves[1].over) {
        for (int i = 0; i < 2; i++) {
            calls_release(&halves[i]);
            halves[i] = empty;
        }
        rc = weigh_calls(halves, two, err) == 0 ? gather_calls(halves, two, UINT32_MAX, err) : -1;
    }
    if (rc == 0 && two) {
        halves[0].most = UINT32_MAX;
        rc = add_calls(&halves[0], &halves[1], err);
    }
    return rc;
}

int graph_connect(struct graph *g, struct err *err)
{
    struct numbering k;
    bool *wanted = NULL;
    if (g->options.tree) {
        graph_prune_tree(g);
        return 0;
    }
    int rc = number_kept(g, &k, err);
    if (rc == 0 && g->options.only_inlined) {
        wanted = find_inlined(g, k.kept, k.n);
        rc = wanted ? 0 : err_nomem(err);
    }
    struct calls halves[2] = {
        {.g = g, .kept = k.kept, .only = k.only, .wanted = wanted, .seed = finder_random()}};
    halves[1] = halves[0];
    if (rc == 0)
        rc = count_calls(halves, err);
    if (rc == 0)
        rc = take_edges(g, &halves[0], k.nodes, err);
    for (int i = 0; i < 2; i++)
        calls_release(&halves[i]);
    numbering_release(&k);
    free(wanted);
    return rc;
}

size_t graph_drop_edges(struct graph *g, int64_t cutoff)
{
    size_t dropped = 0;
    for (size_t i = 0; i < g->n_order; i++) {
        for (uint32_t at = g->nodes[g->order[i]].first_in; at != GRAPH_NONE; at = g->edges[at].next_in) {
            struct edge *e = &g->edges[at];
            if (!e->gone && measure_abs(e->weight) < cutoff) {
                e->gone = true;
                dropped++;
            }
        }
    }
    return dropped;
}
