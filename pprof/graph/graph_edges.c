/*
 * Counts the edges of a graph: every call of every stack.
 *
 * This is most of the work of a report. The table of calls is larger than the processor's caches. Therefore
 * the calls of a stack are first collected without unpredictable branches, and then looked up together, so
 * that the memory accesses overlap. Two threads count the halves of a large profile. The result and its order
 * are the same either way.
 *
 * If only edges of inlined calls are needed, most nodes are skipped: graph_count has computed an upper bound
 * of the weight of the inlined calls into each node.
 */
#include <stdlib.h>

#include "pprof/graph/graph_walk.h"
#include "base/banned.h"

/* The number of calls that are looked up together. A table begins with 2^FIRST_BITS slots. */
enum { BATCH = 64, FIRST_BITS = 8 };

/* A call and its counters. */
struct call {
    uint32_t from, to; /* the numbers of two kept nodes */
    int64_t weight;
    uint32_t seen; /* index + 1 of the last sample counted */
    bool residual, inlined;
};

/* The calls of a part of the samples. */
struct calls {
    const struct graph *g;
    const struct walk *walk; /* yields numbers of kept nodes */
    uint32_t n_wanted;       /* calls to nodes with this number or a larger one are ignored */
    struct call *calls;      /* in the order of their first occurrence */
    int64_t *divs;           /* by call, for means */
    size_t n, cap, cap_divs;
    uint32_t *slots;             /* open addressing: index of a call + 1; 0: empty */
    unsigned bits;               /* log2 of the number of slots; 0: no table */
    uint64_t seed;               /* of the hash */
    struct call gathered[BATCH]; /* calls to look up */
};

static uint64_t hash_of(const struct calls *c, const struct call *call)
{
    return hash_index_mix(c->seed, (uint64_t)call->from << 32 | call->to);
}

/* The slot of a call with that hash, or the empty slot for it. */
static inline uint32_t *slot_of(const struct calls *c, uint64_t hash, const struct call *wanted)
{
    size_t mask = ((size_t)1 << c->bits) - 1;
    for (size_t at = (size_t)(hash >> (64 - c->bits));; at = (at + 1) & mask) {
        uint32_t slot = c->slots[at];
        if (slot == 0 || (c->calls[slot - 1].from == wanted->from && c->calls[slot - 1].to == wanted->to))
            return &c->slots[at];
    }
}

static int make_slots(struct calls *c, unsigned bits, struct err *err)
{
    uint32_t *slots = calloc((size_t)1 << bits, sizeof *slots);
    if (!slots)
        return err_nomem(err);
    free(c->slots);
    c->slots = slots;
    c->bits = bits;
    for (size_t i = 0; i < c->n; i++)
        *slot_of(c, hash_of(c, &c->calls[i]), &c->calls[i]) = (uint32_t)i + 1;
    return 0;
}

/* Makes room for one more call. */
static int reserve_call(struct calls *c, struct err *err)
{
    if (c->n >= 1u << 30)
        return err_set(err, ERR_FAILED, "more than %u calls between places", 1u << 30);
    if (c->g->options.mean &&
        array_reserve((void **)&c->divs, &c->cap_divs, c->n + 1, sizeof *c->divs, err) < 0)
        return -1;
    if (array_reserve((void **)&c->calls, &c->cap, c->n + 1, sizeof *c->calls, err) < 0)
        return -1;
    return 2 * (c->n + 1) <= (size_t)1 << c->bits ? 0 : make_slots(c, c->bits + 1, err);
}

static int append_call(struct calls *c, uint64_t hash, const struct call *call, int64_t div, struct err *err)
{
    if (reserve_call(c, err) < 0)
        return -1;
    if (c->divs)
        c->divs[c->n] = div;
    c->calls[c->n++] = *call;
    *slot_of(c, hash, call) = (uint32_t)c->n;
    return 0;
}

/* Counts a call, once for each sample. */
static inline int add_call(struct calls *c, uint64_t hash, const struct call *call, int64_t div,
                           struct err *err)
{
    uint32_t slot = *slot_of(c, hash, call);
    if (slot == 0)
        return append_call(c, hash, call, div, err);
    struct call *known = &c->calls[slot - 1];
    bool again = known->seen == call->seen;
    known->seen = call->seen;
    known->weight = measure_sum(known->weight, again ? 0 : call->weight);
    known->residual |= call->residual & !again;
    known->inlined &= call->inlined | again;
    if (c->divs)
        c->divs[slot - 1] = measure_sum(c->divs[slot - 1], again ? 0 : div);
    return 0;
}

/* Counts the first n gathered calls. */
static int count_gathered(struct calls *c, size_t n, int64_t div, struct err *err)
{
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_of(c, &c->gathered[i]);
        __builtin_prefetch(&c->slots[hashes[i] >> (64 - c->bits)]);
    }
    for (size_t i = 0; i < n; i++)
        if (add_call(c, hashes[i], &c->gathered[i], div, err) < 0)
            return -1;
    return 0;
}

/* A stack whose calls are being gathered. */
struct gathered_stack {
    struct calls *calls;
    uint32_t from, stamp;
    bool residual;
    int64_t weight, div;
    size_t n; /* gathered calls */
};

/* Does not branch on whether a node is kept or wanted, because the processor could not predict such a
 * branch. */
static inline int gather_call(void *ctx, uint32_t to, bool inlined, struct err *err)
{
    struct gathered_stack *stack = ctx;
    struct calls *c = stack->calls;
    bool kept = to != WALK_NONE;
    c->gathered[stack->n] =
        (struct call){stack->from, to, stack->weight, stack->stamp, stack->residual, inlined};
    stack->n += (to < c->n_wanted) & (stack->from != to) & (stack->from != WALK_NONE);
    stack->from = kept ? to : stack->from;
    stack->residual = !kept;
    if (stack->n < BATCH)
        return 0;
    stack->n = 0;
    return count_gathered(c, BATCH, stack->div, err);
}

static int add_samples(void *ctx, size_t begin, size_t end, struct err *err)
{
    struct calls *c = ctx;
    if (make_slots(c, FIRST_BITS, err) < 0)
        return -1;
    for (size_t i = begin; i < end; i++) {
        struct gathered_stack stack = {.calls = c, .from = WALK_NONE, .stamp = (uint32_t)i + 1};
        if (!graph_weight(c->g, i, &stack.weight, &stack.div))
            continue;
        if (walk_stack(c->walk, &c->g->profile->samples[i], gather_call, &stack, err) < 0 ||
            count_gathered(c, stack.n, stack.div, err) < 0)
            return -1;
    }
    return 0;
}

/* Adds the calls of `from`, whose samples come after those of `to`. */
static int add_calls(struct calls *to, const struct calls *from, struct err *err)
{
    for (size_t i = 0; i < from->n; i++) {
        struct call call = from->calls[i];
        call.seen = GRAPH_NONE;
        if (add_call(to, hash_of(to, &call), &call, from->divs ? from->divs[i] : 0, err) < 0)
            return -1;
    }
    return 0;
}

static int count_calls(struct calls halves[2], struct err *err)
{
    const struct profile *p = halves[0].g->profile;
    bool two = two_threads_are_faster(p->n_stack, halves[0].g->options.threads);
    int rc = two_threads_run(add_samples, &halves[0], two ? &halves[1] : NULL, p->n_samples, err);
    return rc == 0 && two ? add_calls(&halves[0], &halves[1], err) : rc;
}

static void calls_release(struct calls *c)
{
    free(c->calls);
    free(c->divs);
    free(c->slots);
}

/* ---- the graph ----------------------------------------------------------------------------------------- */

/* Whether edges into a node are needed: its inlined calls may be heavy enough. */
static bool is_wanted(const struct graph *g, const struct node *n)
{
    return !g->options.only_inlined ||
           (n->inlined_bound > 0 && n->inlined_bound >= (uint64_t)g->options.min_edge_weight);
}

/* Numbers the kept nodes, the wanted ones first. Fills `numbers` (by node) and `nodes` (by number). Returns
 * the number of wanted nodes. */
static uint32_t number_kept(const struct graph *g, uint32_t *numbers, uint32_t *nodes)
{
    uint32_t n = 0, n_wanted = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        numbers[i] = WALK_NONE;
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t i = 0; i < g->n_nodes; i++) {
            if (!g->nodes[i].kept || is_wanted(g, &g->nodes[i]) != wanted)
                continue;
            numbers[i] = n;
            nodes[n++] = (uint32_t)i;
        }
        n_wanted = wanted ? n : n_wanted;
    }
    return n_wanted;
}

/* Whether a call becomes an edge. */
static bool is_edge(const struct graph *g, const struct call *call)
{
    return !g->options.only_inlined || measure_abs(call->weight) >= g->options.min_edge_weight;
}

/* Makes edges from the calls, and links them to their nodes. */
static int make_edges(struct graph *g, const struct calls *c, const uint32_t *nodes, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += is_edge(g, &c->calls[i]);
    g->n_edges = 0;
    if (array_reserve((void **)&g->edges, &g->cap_edges, n, sizeof *g->edges, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].first_in = g->nodes[i].first_out = GRAPH_NONE;
    for (size_t i = 0; i < c->n; i++) {
        const struct call *call = &c->calls[i];
        struct node *from = &g->nodes[nodes[call->from]], *to = &g->nodes[nodes[call->to]];
        if (!is_edge(g, call))
            continue;
        g->edges[g->n_edges] = (struct edge){.from = nodes[call->from],
                                             .to = nodes[call->to],
                                             .next_out = from->first_out,
                                             .next_in = to->first_in,
                                             .weight = call->weight,
                                             .weight_div = c->divs ? c->divs[i] : 0,
                                             .residual = call->residual,
                                             .inlined = call->inlined};
        from->first_out = to->first_in = (uint32_t)g->n_edges++;
    }
    return 0;
}

static int connect_kept(struct graph *g, uint32_t *numbers, uint32_t *nodes, struct err *err)
{
    struct walk walk;
    struct calls halves[2] = {
        {.g = g, .walk = &walk, .n_wanted = number_kept(g, numbers, nodes), .seed = hash_index_random()}};
    halves[1] = halves[0];
    int rc = walk_init(&walk, g, numbers, err);
    if (rc == 0)
        rc = count_calls(halves, err);
    if (rc == 0)
        rc = make_edges(g, &halves[0], nodes, err);
    for (int i = 0; i < 2; i++)
        calls_release(&halves[i]);
    walk_release(&walk);
    return rc;
}

int graph_connect(struct graph *g, struct err *err)
{
    if (g->options.tree) {
        graph_prune_tree(g);
        return 0;
    }
    uint32_t *numbers = malloc((g->n_nodes + 1) * sizeof *numbers);
    uint32_t *nodes = malloc((g->n_nodes + 1) * sizeof *nodes);
    int rc = numbers && nodes ? connect_kept(g, numbers, nodes, err) : err_nomem(err);
    free(numbers);
    free(nodes);
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
