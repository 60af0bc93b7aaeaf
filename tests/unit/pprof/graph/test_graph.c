/* Graphs and trees of small profiles with numbers computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/graph/graph.h"
#include "tests/unit/pprof/stack_profile.h"

static struct graph make_graph(struct profile *p, const struct graph_options *options)
{
    struct err err = ERR_INIT;
    struct graph g = {0};
    assert_int_equal(graph_init(&g, p, options, &err), 0);
    assert_int_equal(graph_count(&g, &err), 0);
    return g;
}

static void connect_graph(struct graph *g)
{
    struct err err = ERR_INIT;
    assert_int_equal(graph_connect(g, &err), 0);
}

/* Returns the n-th node of that name, counted from 0 in the order of the graph. */
static uint32_t nth_node(const struct graph *g, const char *name, size_t n)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (str_is(profile_str(g->profile, g->nodes[i].info.name), name) && n-- == 0)
            return (uint32_t)i;
    fail_msg("no node %s", name);
    return GRAPH_NONE;
}

static void assert_node(const struct graph *g, const char *name, int64_t flat, int64_t cum)
{
    const struct node *n = &g->nodes[nth_node(g, name, 0)];
    assert_int_equal(n->flat, flat);
    assert_int_equal(n->cum, cum);
}

static const struct edge *edge_between(const struct graph *g, const char *from, const char *to)
{
    uint32_t caller = nth_node(g, from, 0);
    for (uint32_t at = g->nodes[nth_node(g, to, 0)].first_in; at != GRAPH_NONE; at = g->edges[at].next_in)
        if (!g->edges[at].gone && g->edges[at].from == caller)
            return &g->edges[at];
    return NULL;
}

static void flat_and_cumulative_values_are_counted(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "c b a", 3, NULL, 0);
    add_sample(p, "b a", 4, NULL, 0);
    add_sample(p, "b b b a", 5, NULL, 0); /* recursion counts once */
    add_sample(p, "", 100, NULL, 0);
    add_sample(p, "d a", 0, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){0});
    assert_node(&g, "a", 0, 12);
    assert_node(&g, "b", 9, 12);
    assert_node(&g, "c", 3, 3);
    assert_int_equal(g.n_order, 3); /* d has no value to show */
    connect_graph(&g);
    assert_int_equal(edge_between(&g, "a", "b")->weight, 12);
    assert_int_equal(edge_between(&g, "b", "c")->weight, 3);
    assert_null(edge_between(&g, "b", "b"));
    graph_release(&g);
    profile_free(p);
}

static void edges_over_hidden_nodes_are_residual(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "c b a", 10, NULL, 0);
    add_sample(p, "c x a", 1, NULL, 0);
    add_sample(p, "x b", 1, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){0});
    assert_int_equal(graph_keep(&g, 3), 1);
    connect_graph(&g);
    assert_true(edge_between(&g, "a", "c")->residual);
    assert_int_equal(edge_between(&g, "a", "c")->weight, 1);
    assert_false(edge_between(&g, "a", "b")->residual);
    struct err err = ERR_INIT;
    assert_int_equal(graph_drop_redundant(&g, &err), 0);
    assert_null(edge_between(&g, "a", "c")); /* b is on the path as well */
    assert_non_null(edge_between(&g, "b", "c"));
    assert_int_equal(graph_drop_edges(&g, 11), 2);
    assert_null(edge_between(&g, "a", "b"));
    graph_release(&g);
    profile_free(p);
}

static void edges_of_inlined_calls_are_marked(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "c<b a", 1, NULL, 0);
    add_sample(p, "d<a", 1, NULL, 0);
    add_sample(p, "d a", 1, NULL, 0);
    for (int only = 0; only < 2; only++) {
        struct graph g = make_graph(p, &(struct graph_options){.only_inlined = only});
        connect_graph(&g);
        assert_true(edge_between(&g, "b", "c")->inlined);
        assert_false(edge_between(&g, "a", "d")->inlined); /* not always */
        if (only)
            assert_null(edge_between(&g, "a", "b"));
        else
            assert_false(edge_between(&g, "a", "b")->inlined);
        graph_release(&g);
    }
    profile_free(p);
}

/* If a stack has the same call twice, the sample counts once for the edge. The call nearest to the root
 * decides whether the edge is inlined. */
static void an_edge_counts_once_in_a_sample(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "b a c b<a", 1, NULL, 0);
    add_sample(p, "e<d c e d", 1, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){0});
    connect_graph(&g);
    assert_true(edge_between(&g, "a", "b")->weight == 1 && edge_between(&g, "a", "b")->inlined);
    assert_true(edge_between(&g, "d", "e")->weight == 1 && !edge_between(&g, "d", "e")->inlined);
    graph_release(&g);
    profile_free(p);
}

/* In the graph without `gone`, the caller of `gone` calls its callee. */
static void a_call_inlined_into_a_hidden_function_is_not_inlined(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "b<gone a", 1, NULL, 0);
    add_sample(p, "d gone<gone c", 1, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){0});
    g.nodes[nth_node(&g, "gone", 0)].kept = false;
    connect_graph(&g);
    assert_int_equal(g.n_edges, 2);
    assert_true(edge_between(&g, "a", "b")->inlined && edge_between(&g, "a", "b")->residual);
    assert_true(!edge_between(&g, "c", "d")->inlined && edge_between(&g, "c", "d")->residual);
    graph_release(&g);
    profile_free(p);
}

/* The stacks have more frames than the graph processes at a time. */
static void deep_stacks_are_counted_whole(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    char text[4000] = "";
    size_t n = 0;
    for (unsigned i = 0; i < 60; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "f%u<f%u<f%u<f%u ", 4 * i, 4 * i + 1, 4 * i + 2,
                              4 * i + 3);
    add_sample(p, text, 3, NULL, 0);
    add_sample(p, text, 4, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){0});
    connect_graph(&g);
    assert_int_equal(g.n_edges, 239);
    for (unsigned i = 0; i < 239; i++) {
        char callee[20], caller[20];
        snprintf(callee, sizeof callee, "f%u", i);
        snprintf(caller, sizeof caller, "f%u", i + 1);
        const struct edge *e = edge_between(&g, caller, callee);
        assert_true(e && e->weight == 7 && e->inlined == (i % 4 != 3) && !e->residual);
    }
    assert_node(&g, "f0", 7, 7);
    assert_node(&g, "f239", 0, 7);
    graph_release(&g);
    profile_free(p);
}

static void negative_values_are_dropped(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "b a", -5, NULL, 0);
    add_sample(p, "c a", 2, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){.drop_negative = true});
    assert_int_equal(g.n_order, 1);
    connect_graph(&g); /* hidden nodes still exist */
    assert_int_equal(edge_between(&g, "a", "c")->weight, 2);
    graph_release(&g);
    profile_free(p);
}

static void a_tree_has_a_node_for_each_path(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "c b a", 10, NULL, 0);
    add_sample(p, "c x<b a", 2, NULL, 0);
    add_sample(p, "c", 7, NULL, 0);
    struct graph g = make_graph(p, &(struct graph_options){.tree = true});
    assert_int_equal(g.n_nodes, 6);
    assert_node(&g, "a", 0, 12);
    assert_node(&g, "b", 0, 12);
    assert_int_equal(g.nodes[nth_node(&g, "c", 0)].cum, 10);
    assert_int_equal(g.nodes[nth_node(&g, "c", 1)].cum, 2);
    assert_int_equal(g.nodes[nth_node(&g, "c", 2)].cum, 7);
    assert_true(edge_between(&g, "b", "x")->inlined);
    /* Without x, the caller of c is b. Without a, b has no caller. */
    for (size_t i = 0; i < g.n_order; i++)
        if (g.order[i] == nth_node(&g, "x", 0) || g.order[i] == nth_node(&g, "a", 0))
            g.order[i--] = g.order[--g.n_order];
    graph_keep_first(&g, g.n_order);
    connect_graph(&g);
    const struct edge *e = &g.edges[g.nodes[nth_node(&g, "c", 1)].first_in];
    assert_int_equal(e->from, nth_node(&g, "b", 0));
    assert_true(e->residual);
    assert_false(e->inlined);
    assert_true(g.edges[g.nodes[nth_node(&g, "b", 0)].first_in].gone);
    graph_release(&g);
    profile_free(p);
}

/* For many stacks, two threads give the same result as one, with edges in the same order. */
static void two_threads_give_the_result_of_one(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    for (unsigned i = 0; i < 3000; i++) {
        char text[100];
        snprintf(text, sizeof text, "f%u f%u<f%u f%u main", i % 17, i % 5, i % 7, i % 41);
        add_sample(p, text, (int64_t)(i % 13) - 2, NULL, 0);
    }
    struct graph one = make_graph(p, &(struct graph_options){.threads = 1});
    struct graph two = make_graph(p, &(struct graph_options){.threads = 2});
    connect_graph(&one);
    connect_graph(&two);
    assert_int_equal(one.n_edges, two.n_edges);
    assert_true(one.n_edges > 100);
    for (size_t i = 0; i < one.n_nodes; i++)
        assert_true(one.nodes[i].cum == two.nodes[i].cum && one.nodes[i].flat == two.nodes[i].flat);
    for (size_t i = 0; i < one.n_edges; i++) {
        const struct edge *a = &one.edges[i], *b = &two.edges[i];
        assert_true(a->from == b->from && a->to == b->to && a->weight == b->weight &&
                    a->inlined == b->inlined && a->residual == b->residual);
    }
    graph_release(&one);
    graph_release(&two);
    profile_free(p);
}

/* Returns 0, 1 or 2 if none, some or all of the edges into a node are inlined. Counts only edges whose weight
 * is at least `min_weight`. */
static int classify_inlining(const struct graph *g, size_t n, int64_t min_weight)
{
    bool some = false, all = true;
    for (uint32_t at = g->nodes[n].first_in; at != GRAPH_NONE; at = g->edges[at].next_in) {
        if (measure_abs(g->edges[at].weight) < min_weight)
            continue;
        some = some || g->edges[at].inlined;
        all = all && g->edges[at].inlined;
    }
    return !some ? 0 : all ? 2 : 1;
}

static void assert_same_inlining(struct profile *p, unsigned threads, int64_t min_weight)
{
    struct graph all = make_graph(p, &(struct graph_options){.threads = threads});
    struct graph some = make_graph(
        p, &(struct graph_options){.threads = threads, .only_inlined = true, .min_edge_weight = min_weight});
    size_t seen[3] = {0}, dropped = graph_keep(&all, 300);
    assert_true(dropped > 0 && graph_keep(&some, 300) == dropped);
    connect_graph(&all);
    connect_graph(&some);
    assert_true(some.n_edges > 0 && some.n_edges < all.n_edges / 2);
    for (size_t i = 0; i < all.n_nodes; i++) {
        int expected = classify_inlining(&all, i, min_weight);
        assert_int_equal(classify_inlining(&some, i, min_weight), expected);
        seen[expected]++;
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    graph_release(&all);
    graph_release(&some);
}

/* With only_inlined, the graph leaves out edges, but the inlining of heavy edges is the same as in a full
 * graph. */
static void light_edges_are_left_out_if_only_inlining_counts(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    for (unsigned i = 0; i < 60000; i++) {
        char text[100];
        unsigned a = i / 4 % 23, c = i % 41;
        if (i % 4 == 0)
            snprintf(text, sizeof text, "x%u<f%u f%u main", a, a % 7, c);
        else if (i % 4 == 1)
            snprintf(text, sizeof text, "x%u f%u f%u main", a % 11, a % 5, c);
        else if (i % 4 == 2 && i < 20000) /* only in the first third */
            snprintf(text, sizeof text, "y%u<z%u f%u main", a, a, a % 13);
        else
            snprintf(text, sizeof text, "q%u x%u<q%u main", i % 1009, c, a % 3);
        add_sample(p, text, i % 3 ? (int64_t)(i % 13) : -(int64_t)(i % 7), NULL, 0);
    }
    for (unsigned threads = 1; threads <= 2; threads++)
        for (int64_t min_weight = 0; min_weight <= 1500; min_weight += 100)
            assert_same_inlining(p, threads, min_weight);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_and_cumulative_values_are_counted),
        cmocka_unit_test(edges_over_hidden_nodes_are_residual),
        cmocka_unit_test(edges_of_inlined_calls_are_marked),
        cmocka_unit_test(an_edge_counts_once_in_a_sample),
        cmocka_unit_test(a_call_inlined_into_a_hidden_function_is_not_inlined),
        cmocka_unit_test(deep_stacks_are_counted_whole),
        cmocka_unit_test(negative_values_are_dropped),
        cmocka_unit_test(a_tree_has_a_node_for_each_path),
        cmocka_unit_test(two_threads_give_the_result_of_one),
        cmocka_unit_test(light_edges_are_left_out_if_only_inlining_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
