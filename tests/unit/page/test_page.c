/* Call trees and the page: sums under folding, valid JSON for all names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <openssl/evp.h>

#include "page/flame.h"
#include "page/jsontext.h"
#include "page/writer.h"
#include "page/data.h"
#include "page/web.h"
#include "pprof/pprof.h"
#include "findings/findings.h"
#include "tests/unit/profile_make.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

/* ---- profiles ---------------------------------------------------------------------------------------- */

static uint32_t intern(struct profile *p, const char *s)
{
    struct err err = ERR_INIT;
    uint32_t ret = 0;
    assert_ok(profile_intern(p, s, strlen(s), &ret, &err), &err);
    return ret;
}

static struct profile *new_profile(size_t n_types)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    for (size_t i = 0; i < n_types; i++) {
        char name[32];
        snprintf(name, sizeof name, "type%zu", i);
        assert_ok(profile_add_sample_type(p, (struct profile_value_type){intern(p, name), intern(p, "count")},
                                          &err),
                  &err);
    }
    return p;
}

static uint32_t add_function(struct profile *p, const char *name, const char *file)
{
    struct err err = ERR_INIT;
    struct profile_function f = {
        .id = p->n_functions + 1, .name = intern(p, name), .filename = intern(p, file), .start_line = 7};
    assert_ok(profile_add_function(p, &f, &err), &err);
    return (uint32_t)p->n_functions - 1;
}

/* A location with these functions, the innermost first. */
static uint32_t add_location(struct profile *p, const uint32_t *functions, uint32_t n)
{
    struct err err = ERR_INIT;
    struct profile_location l = {.id = p->n_locations + 1, .mapping = PROFILE_NONE, .n_lines = n};
    struct profile_line *lines = calloc(n + 1, sizeof *lines);
    assert_non_null(lines);
    for (uint32_t i = 0; i < n; i++)
        lines[i].function = functions[i];
    assert_ok(profile_add_location(p, &l, lines, &err), &err);
    free(lines);
    return (uint32_t)p->n_locations - 1;
}

static void add_sample(struct profile *p, const uint32_t *stack, size_t depth, const int64_t *values)
{
    struct err err = ERR_INIT;
    assert_ok(profile_add_sample(p, &(struct profile_new_sample){stack, depth, values, NULL, 0}, &err), &err);
}

/* Makes a profile whose call tree is wide and deep, with values of any sign. */
static struct profile *large_profile(size_t n_samples, uint64_t seed)
{
    struct profile *p = new_profile(3);
    uint32_t locations[60];
    for (uint32_t i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "main.f%u", (unsigned)i);
        uint32_t f = add_function(p, name, "/src/f.go");
        locations[i] = add_location(p, &f, 1);
    }
    for (size_t i = 0; i < n_samples; i++) {
        uint32_t stack[12];
        size_t depth = random_below(&seed, 12);
        for (size_t k = 0; k < depth; k++)
            stack[k] = locations[random_below(&seed, 60)];
        add_sample(
            p, stack, depth,
            (const int64_t[]){1, (int64_t)random_below(&seed, 100000) - 1000, (int64_t)random_number(&seed)});
    }
    return p;
}

static uint64_t profile_sum(const struct profile *p, size_t type)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += (uint64_t)p->values[i * p->n_sample_types + type];
    return sum;
}

/* ---- call trees -------------------------------------------------------------------------------------- */

/* Checks sums, preorder, and references within the tree. Returns the number of nodes that others were
 * folded into. */
static size_t assert_tree(const struct profile *p, const struct flame *f, size_t max_nodes)
{
    size_t n_folded = 0;
    assert_in_range(f->n_nodes, 1, max_nodes);
    assert_int_equal(f->depth[0], 0);
    assert_true(f->function[0] == FLAME_ROOT);
    for (size_t i = 1; i < f->n_nodes; i++) {
        assert_in_range(f->depth[i], 1, f->depth[i - 1] + 1);
        assert_true(f->depth[i] <= FLAME_MAX_DEPTH);
        assert_true(f->function[i] < f->n_functions || f->function[i] == FLAME_FOLDED);
        assert_true(f->function[i - 1] != FLAME_FOLDED || f->depth[i] <= f->depth[i - 1]);
        n_folded += f->function[i] == FLAME_FOLDED;
    }
    for (size_t type = 0; type < f->n_types; type++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < f->n_nodes; i++)
            sum += (uint64_t)f->self[i * f->n_types + type];
        assert_true(sum == profile_sum(p, type));
    }
    return n_folded;
}

/* Returns a node's value of the default type, with all its callees. */
static int64_t node_weight(const struct flame *f, size_t node)
{
    uint64_t sum = 0;
    size_t i = node;
    do
        sum += (uint64_t)f->self[i * f->n_types + f->default_type];
    while (++i < f->n_nodes && f->depth[i] > f->depth[node]);
    return (int64_t)sum;
}

static struct flame *draw_flame(struct profile *p, size_t max_nodes)
{
    struct err err = ERR_INIT;
    struct flame *f = NULL;
    assert_ok(flame_new(p, &(struct page_tree){.with_sums = true}, max_nodes, &f, &err), &err);
    return f;
}

static void a_tree_has_each_path_once_with_inlined_calls(void **state)
{
    struct profile *p = new_profile(2);
    uint32_t root = add_function(p, "main.main", "/m.go"), in = add_function(p, "main.in", "/m.go"),
             out = add_function(p, "main.out", "/m.go"), same = add_function(p, "main.in", "/other.go");
    uint32_t main_at = add_location(p, &root, 1), both = add_location(p, (const uint32_t[]){in, out}, 2),
             alone = add_location(p, &same, 1), nameless = add_location(p, NULL, 0);
    (void)state;
    add_sample(p, (const uint32_t[]){both, main_at}, 2, (const int64_t[]){1, 10});
    add_sample(p, (const uint32_t[]){both, main_at}, 2, (const int64_t[]){2, 20});
    add_sample(p, (const uint32_t[]){alone, main_at}, 2, (const int64_t[]){4, 50});
    add_sample(p, (const uint32_t[]){nameless}, 1, (const int64_t[]){8, 1});
    struct flame *f = draw_flame(p, 100);
    assert_int_equal(assert_tree(p, f, 100), 0);
    /* root, main.main, main.in of the other file, main.out, main.in, <unknown> */
    assert_int_equal(f->n_nodes, 6);
    assert_int_equal(f->default_type, 1);
    static const uint32_t depths[] = {0, 1, 2, 2, 3, 1};
    static const char *const names[] = {"main.main", "main.in", "main.out", "main.in", "<unknown>"};
    static const int64_t selves[] = {0, 0, 50, 0, 30, 1};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(f->depth[i], depths[i]);
        assert_int_equal(f->self[i * 2 + 1], selves[i]);
        if (i > 0)
            assert_true(str_is(profile_str(p, f->functions[f->function[i]].name), names[i - 1]));
    }
    assert_true(f->function[2] != f->function[4]);
    assert_int_equal(f->functions[f->function[1]].line, 7);
    flame_free(f);
    profile_free(p);
}

static void the_heaviest_nodes_are_first(void **state)
{
    struct profile *p = large_profile(2000, 42);
    struct flame *f = draw_flame(p, 1000000);
    (void)state;
    assert_int_equal(assert_tree(p, f, 1000000), 0);
    for (size_t i = 1; i < f->n_nodes; i++) {
        size_t next = i + 1;
        while (next < f->n_nodes && f->depth[next] > f->depth[i])
            next++;
        if (next < f->n_nodes && f->depth[next] == f->depth[i])
            assert_true(llabs(node_weight(f, i)) >= llabs(node_weight(f, next)));
    }
    flame_free(f);
    profile_free(p);
}

/* Nodes are folded in one step, or in many steps while the tree grows. */
static void folding_preserves_sums(void **state)
{
    static const size_t max_nodes[] = {3, 4, 10, 100, 1000, 5000};
    (void)state;
    for (size_t i = 0; i < sizeof max_nodes / sizeof *max_nodes; i++) {
        struct profile *p = large_profile(5000, 7 + i);
        struct flame *f = draw_flame(p, max_nodes[i]);
        assert_true(assert_tree(p, f, max_nodes[i]) > 0);
        /* The tree has at least half as many nodes as allowed. */
        assert_true(f->n_nodes >= max_nodes[i] / 2);
        flame_free(f);
        profile_free(p);
    }
}

/* Adds up the flat and cumulative values of a function over the stacks of a profile. */
static void add_up(const struct profile *p, const struct flame_function *function, size_t type,
                   uint64_t *flat, uint64_t *cum)
{
    *flat = *cum = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint64_t value = (uint64_t)p->values[i * p->n_sample_types + type];
        bool is_innermost = true, is_in = false;
        for (uint32_t frame = 0; frame < s->depth; frame++) {
            const struct profile_location *l = &p->locations[profile_frame(p, s, frame)];
            for (uint32_t line = 0; line < l->n_lines; line++) {
                const struct profile_function *known = &p->functions[p->lines[l->line_at + line].function];
                bool is_it = known->name == function->name && known->filename == function->file;
                *flat += is_it && is_innermost ? value : 0;
                is_in = is_in || is_it;
                is_innermost = false;
            }
        }
        *cum += is_in ? value : 0;
    }
}

static void the_sums_of_functions_have_folded_calls(void **state)
{
    struct profile *p = large_profile(500, 3);
    struct flame *f = draw_flame(p, 50);
    size_t n_known = 0;
    (void)state;
    assert_true(f->is_folded);
    assert_in_range(f->n_functions, 2, 50);
    for (size_t i = 0; i < f->n_functions; i++)
        for (size_t type = 0; type < f->n_types; type++) {
            uint64_t flat, cum;
            add_up(p, &f->functions[i], type, &flat, &cum);
            if (str_begins(profile_str(p, f->functions[i].name), "["))
                continue;
            assert_true((uint64_t)f->flat[i * f->n_types + type] == flat);
            assert_true((uint64_t)f->cum[i * f->n_types + type] == cum);
            n_known += cum != 0;
        }
    assert_true(n_known > 10);
    flame_free(f);
    profile_free(p);
}

/* The numbers of functions are the same in each tree of a profile. */
static void a_tree_has_the_wanted_samples(void **state)
{
    struct profile *p = new_profile(1);
    uint32_t root = add_function(p, "main.main", ""), a = add_function(p, "main.a", ""),
             b = add_function(p, "main.b", "");
    uint32_t root_at = add_location(p, &root, 1), a_at = add_location(p, &a, 1),
             b_at = add_location(p, (const uint32_t[]){b, a}, 2);
    struct err err = ERR_INIT;
    struct flame *f = NULL;
    (void)state;
    add_sample(p, (const uint32_t[]){a_at, root_at}, 2, (const int64_t[]){1});
    add_sample(p, (const uint32_t[]){b_at, root_at}, 2, (const int64_t[]){2});
    add_sample(p, (const uint32_t[]){root_at}, 1, (const int64_t[]){4});
    add_sample(p, (const uint32_t[]){b_at}, 1, (const int64_t[]){8});
    const uint32_t path[] = {0, 1};
    assert_ok(flame_new(p, &(struct page_tree){.under = path, .n_under = 2}, 100, &f, &err), &err);
    assert_int_equal(node_weight(f, 0), 3);
    assert_int_equal(f->functions[f->function[2]].number, 1);
    flame_free(f);
    assert_ok(flame_new(p, &(struct page_tree){.through = &(uint32_t){2}}, 100, &f, &err), &err);
    assert_int_equal(node_weight(f, 0), 2);
    flame_free(f);
    assert_ok(flame_new(p, &(struct page_tree){.under = &(uint32_t){7}, .n_under = 1}, 100, &f, &err), &err);
    assert_int_equal(f->n_nodes, 1);
    flame_free(f);
    profile_free(p);
}

static struct profile *new_namesakes(void)
{
    static const struct {
        const char *name, *file;
    } functions[] = {{"cmp", "a.c"}, {"cmp", "b.c"}, {"cmp.x", ""}, {"[unnamed file]", ""}};
    struct profile *p = new_profile(1);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uint32_t function = add_function(p, functions[i].name, functions[i].file),
                 at = add_location(p, &function, 1);
        add_sample(p, &at, 1, &(int64_t){(int64_t)1 << i});
    }
    return p;
}

/* A text without a file names all functions of this name. */
static void a_tree_has_the_samples_through_a_name(void **state)
{
    static const struct {
        const char *name;
        uint64_t weight;
    } cases[] = {{"cmp", 3}, {"cmp b.c", 2}, {"cmp a.c", 1}, {"cmp.x", 4}, {"[unnamed file]", 8}};
    static const char *const unknown[] = {"", "cm", "cmp c.c", "cmp ", "cmp b.c ", "cmp.x a.c"};
    struct err err = ERR_INIT;
    struct flame *f = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = new_namesakes();
        assert_ok(flame_new(p, &(struct page_tree){.through_name = cases[i].name}, 100, &f, &err), &err);
        assert_int_equal(node_weight(f, 0), cases[i].weight);
        flame_free(f);
        profile_free(p);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct profile *p = new_namesakes();
        assert_int_equal(flame_new(p, &(struct page_tree){.through_name = unknown[i]}, 100, &f, &err), -1);
        assert_int_equal(err.kind, ERR_NOT_FOUND);
        profile_free(p);
    }
}

static void light_nodes_are_folded(void **state)
{
    struct profile *p = new_profile(1);
    uint32_t heavy = add_function(p, "main.heavy", ""), heavy_at = add_location(p, &heavy, 1);
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "main.f%d", i);
        uint32_t light = add_function(p, name, ""), light_at = add_location(p, &light, 1);
        add_sample(p, (const uint32_t[]){light_at, heavy_at}, 2, (const int64_t[]){i == 500 ? 1000 : 1});
    }
    struct flame *f = draw_flame(p, 5);
    assert_int_equal(assert_tree(p, f, 5), 1);
    assert_true(str_is(profile_str(p, f->functions[f->function[1]].name), "main.heavy"));
    assert_true(str_is(profile_str(p, f->functions[f->function[2]].name), "main.f500"));
    assert_int_equal(f->self[2], 1000);
    assert_int_equal(f->n_functions, 5);
    flame_free(f);
    profile_free(p);
}

static void stacks_too_deep_are_folded(void **state)
{
    enum { DEPTH = 3 * FLAME_MAX_DEPTH };
    struct profile *p = new_profile(1);
    uint32_t f0 = add_function(p, "main.f", ""), at = add_location(p, &f0, 1);
    uint32_t *stack = malloc(DEPTH * sizeof *stack);
    (void)state;
    assert_non_null(stack);
    for (size_t i = 0; i < DEPTH; i++)
        stack[i] = at;
    for (size_t depth = DEPTH - 3; depth < DEPTH; depth++)
        add_sample(p, stack, depth, (const int64_t[]){5});
    add_sample(p, stack, 5000, (const int64_t[]){3});
    struct flame *f = draw_flame(p, 50000);
    assert_int_equal(assert_tree(p, f, 50000), 1);
    assert_int_equal(f->depth[f->n_nodes - 1], FLAME_MAX_DEPTH);
    assert_int_equal(f->self[f->n_nodes - 1], 15);
    assert_int_equal(f->self[5000], 3);
    flame_free(f);
    profile_free(p);
    free(stack);
}

/* A location of a great many inlined calls, on a deep stack. */
static void many_inlined_calls_are_drawn_within_twenty_seconds(void **state)
{
    enum { INLINED = 20000, DEPTH = 5000 };
    struct profile *p = new_profile(1);
    uint32_t f0 = add_function(p, "main.f", "");
    uint32_t *functions = calloc(INLINED, sizeof *functions), *stack = calloc(DEPTH, sizeof *stack);
    (void)state;
    assert_non_null(functions);
    assert_non_null(stack);
    for (size_t i = 0; i < INLINED; i++)
        functions[i] = f0;
    uint32_t at = add_location(p, functions, INLINED);
    for (size_t i = 0; i < DEPTH; i++)
        stack[i] = at;
    int64_t begun = clock_now();
    for (size_t i = 0; i < 1000; i++)
        add_sample(p, stack, 1 + i * 4, (const int64_t[]){1});
    struct flame *f = draw_flame(p, 50000);
    assert_tree(p, f, 50000);
    assert_true(clock_now() - begun < 20000);
    flame_free(f);
    profile_free(p);
    free(functions);
    free(stack);
}

static void no_samples_and_no_values_are_a_root(void **state)
{
    struct profile *p = new_profile(1);
    struct flame *f = draw_flame(p, 100);
    (void)state;
    assert_int_equal(assert_tree(p, f, 1), 0);
    flame_free(f);
    profile_free(p);
    p = large_profile(100, 3);
    memset(p->values, 0, p->n_samples * p->n_sample_types * sizeof *p->values);
    f = draw_flame(p, 20);
    assert_tree(p, f, 20);
    flame_free(f);
    profile_free(p);
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static json_t *parse_json(const struct buf *b)
{
    json_error_t error;
    struct err err = ERR_INIT;
    assert_ok(buf_check(b, "JSON", &err), &err);
    json_t *root = json_loadb(b->data, b->len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!root)
        fail_msg("%s at %d: %.200s", error.text, error.position, b->data);
    return root;
}

static void texts_are_json_without_markup(void **state)
{
    static const char *const names[] = {"",
                                        "main.f",
                                        "</script><script>alert(1)</script>",
                                        "<!-- <script>",
                                        "a\"b\\c\\\"",
                                        "\xff\xfe\x80",
                                        "&amp;",
                                        "\342\200\250\342\200\251\342\200\256",
                                        "tab\tnew\nline\1",
                                        "\xe2\x80"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf b = BUF_INIT(100000);
        jsontext_name(&b, str_of(names[i]));
        json_t *s = parse_json(&b);
        assert_true(json_is_string(s));
        assert_null(strpbrk(buf_str(&b), "<>&\n"));
        char shown[1000];
        assert_string_equal(json_string_value(s),
                            text_printable(shown, sizeof shown, names[i], strlen(names[i])));
        json_decref(s);
        buf_release(&b);
    }
}

static void copied_json_keeps_its_meaning(void **state)
{
    const char *text = "{\"a\": \"<script>&\\\"\342\200\250\342\200\251\", \"b\": [1, \"\342\200\"]}";
    struct buf b = BUF_INIT(1000);
    (void)state;
    jsontext_json(&b, STR("{\"a\": \"<script>&\\\"\342\200\250\342\200\251x\", \"b\": [1]}"));
    assert_string_equal(b.data, "{\"a\": \"\\u003cscript\\u003e\\u0026\\\"\\u2028\\u2029x\", \"b\": [1]}");
    json_decref(parse_json(&b));
    buf_clear(&b);
    /* A cut character is copied unchanged. */
    jsontext_json(&b, str_of(text + strlen(text) - 6));
    buf_release(&b);
}

static void strings_of_any_length_keep_their_characters(void **state)
{
    static const char text[] = "a\0b\n\t\"\\<\303\274\377\342\200\250";
    struct buf b = BUF_INIT(10000);
    char long_text[5000];
    (void)state;
    jsontext_string(&b, (struct str){text, sizeof text - 1});
    assert_string_equal(b.data, "\"a\\u0000b\\u000a\\u0009\\\"\\\\\\u003c\303\274\\ufffd\\u2028\"");
    buf_clear(&b);
    memset(long_text, 'x', sizeof long_text);
    jsontext_string(&b, (struct str){long_text, sizeof long_text});
    assert_int_equal(b.len, sizeof long_text + 2);
    buf_release(&b);
}

static void numbers_of_any_size_are_printed(void **state)
{
    static const int64_t numbers[] = {0, 1, -1, 9, 10, 1234567890123, INT64_MAX, INT64_MIN};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct buf b = BUF_INIT(100);
        char expected[32];
        snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
        jsontext_number(&b, numbers[i]);
        assert_string_equal(buf_str(&b), expected);
        buf_release(&b);
    }
}

static size_t list_length(const json_t *o, const char *key)
{
    return json_array_size(json_object_get(o, key));
}

static json_t *profile_json(struct profile *p)
{
    struct buf b = BUF_INIT(64 << 20);
    struct err err = ERR_INIT;
    assert_ok(page_data_profile(p, &(struct page_tree){.with_sums = true}, &b, &err), &err);
    json_t *root = parse_json(&b);
    buf_release(&b);
    return root;
}

/* The page's script relies on these properties. */
static void assert_profile_json(const struct profile *p, const json_t *root)
{
    const json_t *nodes = json_object_get(root, "nodes"), *functions = json_object_get(root, "functions");
    size_t n = list_length(nodes, "depth"), n_functions = list_length(functions, "name"),
           n_strings = list_length(root, "strings");
    assert_in_range(n, 1, PAGE_MAX_NODES);
    assert_int_equal(list_length(nodes, "function"), n);
    assert_int_equal(list_length(functions, "file"), n_functions);
    assert_int_equal(list_length(functions, "line"), n_functions);
    assert_int_equal(list_length(nodes, "self"), list_length(root, "types"));
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "strings"), 0)), "");
    for (size_t i = 0; i < n_functions; i++) {
        assert_true((size_t)json_integer_value(json_array_get(json_object_get(functions, "name"), i)) <
                    n_strings);
        assert_true((size_t)json_integer_value(json_array_get(json_object_get(functions, "file"), i)) <
                    n_strings);
    }
    for (size_t i = 0; i < n; i++) {
        json_int_t f = json_integer_value(json_array_get(json_object_get(nodes, "function"), i));
        assert_true(i == 0 ? f == -1 : f == -2 || (f >= 0 && (size_t)f < n_functions));
    }
    for (size_t type = 0; type < list_length(root, "types"); type++) {
        const json_t *self = json_array_get(json_object_get(nodes, "self"), type);
        uint64_t sum = 0;
        assert_int_equal(json_array_size(self), n);
        for (size_t i = 0; i < n; i++)
            sum += (uint64_t)json_integer_value(json_array_get(self, i));
        assert_true(sum == profile_sum(p, type));
    }
}

static void a_profile_becomes_json(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct profile *p = large_profile(3000, seed);
        json_t *root = profile_json(p);
        assert_profile_json(p, root);
        json_decref(root);
        profile_free(p);
    }
}

static void any_name_becomes_valid_json(void **state)
{
    struct profile *p = new_profile(1);
    char *long_name = malloc(10001);
    uint64_t seed = 5;
    (void)state;
    assert_non_null(long_name);
    memset(long_name, 'x', 10000);
    long_name[10000] = '\0';
    for (int i = 0; i < 300; i++) {
        char name[40];
        for (size_t k = 0; k < sizeof name - 1; k++)
            name[k] = (char)(1 + random_below(&seed, 255));
        name[sizeof name - 1] = '\0';
        uint32_t f = add_function(p, i == 0 ? long_name : name, name), at = add_location(p, &f, 1);
        add_sample(p, &at, 1, (const int64_t[]){1});
    }
    json_t *root = profile_json(p);
    assert_profile_json(p, root);
    for (size_t i = 0; i < list_length(root, "strings"); i++)
        assert_true(json_string_length(json_array_get(json_object_get(root, "strings"), i)) <
                    JSONTEXT_MAX_NAME);
    json_decref(root);
    profile_free(p);
    free(long_name);
}

/* ---- goroutines -------------------------------------------------------------------------------------- */

static json_t *dump_json(const char *text)
{
    struct err err = ERR_INIT;
    struct goroutines *g = NULL;
    struct str dump = str_of(text);
    const char *name = "dump";
    struct buf b = BUF_INIT(64 << 20);
    assert_ok(goroutines_read(&(struct goroutines_input){&dump, &name, 1, 1 << 20}, &g, &err), &err);
    assert_ok(page_data_goroutines(g, &b, &err), &err);
    json_t *root = parse_json(&b);
    goroutines_free(g);
    buf_release(&b);
    return root;
}

static const char *string_at(const json_t *root, json_int_t i)
{
    return json_string_value(json_array_get(json_object_get(root, "strings"), (size_t)i));
}

static void a_dump_becomes_json(void **state)
{
    json_t *root =
        dump_json("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:12 +0x1d\n\n"
                  "goroutine 5 [chan receive, 7 minutes]:\nmain.wait(0x1)\n\t/src/main.go:30 +0x1\n"
                  "created by main.main in goroutine 1\n\t/src/main.go:11 +0x2\n\n"
                  "goroutine 6 [chan receive, 9 minutes]:\nmain.wait(0x2)\n\t/src/main.go:30 +0x1\n"
                  "created by main.main in goroutine 1\n\t/src/main.go:11 +0x2\n");
    const json_t *group = json_array_get(json_object_get(root, "groups"), 0),
                 *frames = json_object_get(root, "frames");
    (void)state;
    assert_string_equal(json_string_value(json_object_get(root, "form")), "stacks");
    assert_int_equal(json_integer_value(json_object_get(root, "total")), 3);
    assert_true(json_is_false(json_object_get(root, "cut")));
    assert_int_equal(list_length(root, "groups"), 2);
    assert_int_equal(json_integer_value(json_object_get(group, "count")), 2);
    assert_string_equal(string_at(root, json_integer_value(json_object_get(group, "state"))), "chan receive");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(group, "wait"), 2)), 9);
    json_int_t frame = json_integer_value(json_array_get(json_object_get(group, "frames"), 0));
    json_int_t place = json_integer_value(json_array_get(json_object_get(frames, "place"), (size_t)frame));
    assert_string_equal(string_at(root, place), "/src/main.go:30");
    json_int_t creator = json_integer_value(json_object_get(group, "creator"));
    json_int_t name =
        json_integer_value(json_array_get(json_object_get(frames, "function"), (size_t)creator));
    assert_string_equal(string_at(root, name), "main.main");
    json_decref(root);
}

static void groups_beyond_the_limit_are_counted(void **state)
{
    struct buf text = BUF_INIT(8 << 20);
    (void)state;
    for (int i = 0; i < PAGE_MAX_GROUPS + 300; i++)
        buf_addf(&text, "goroutine %d [select]:\nmain.f%d()\n\t/src/main.go:%d +0x1d\n\n", i + 1, i, i);
    json_t *root = dump_json(buf_str(&text));
    const json_t *hidden = json_object_get(root, "hidden");
    assert_int_equal(list_length(root, "groups"), PAGE_MAX_GROUPS);
    assert_int_equal(json_integer_value(json_object_get(hidden, "groups")), 300);
    assert_int_equal(json_integer_value(json_object_get(hidden, "goroutines")), 300);
    json_decref(root);
    buf_release(&text);
}

static void labels_are_left_out(void **state)
{
    json_t *root = dump_json("goroutine profile: total 2\n2 @ 0x1 0x2\n# labels: {\"user\":\"carol\"}\n"
                             "#\t0x1\tmain.f+0x1\t/src/f.go:1\n");
    char *text = json_dumps(root, 0);
    (void)state;
    assert_non_null(text);
    assert_non_null(strstr(text, "main.f"));
    assert_null(strstr(text, "carol"));
    free(text);
    json_decref(root);
}

/* ---- the page ---------------------------------------------------------------------------------------- */

static const struct page_entry an_entry = {.title = "</script><img src=x onerror=alert(1)>",
                                           .file = "h/s/cpu.pb.gz",
                                           .kind = "cpu",
                                           .host = "h",
                                           .service = "s"};

static void finish_page(struct page_writer *page)
{
    struct err err = ERR_INIT;
    const struct page_sentence sentences[] = {
        {.rule = "cpu-busy", .text = "it is <busy>", .file = "h/s/cpu.pb.gz", .look_at = "main.f"},
        {.rule = "other", .text = "&", .file = "not/there"}};
    struct page_bundle bundle = {.tool = "profgrab 0",
                                 .name = "<b>",
                                 .made = "2026",
                                 .manifest = STR("{\"reason\": \"</script>\"}"),
                                 .summary = sentences,
                                 .n_summary = 2};
    assert_ok(page_writer_finish(page, &bundle, &err), &err);
    page_writer_free(page);
}

/* Parses the manifest in the page's text. */
static json_t *bundle_json(const struct buf *page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"bundle\">";
    struct buf b = BUF_INIT(1 << 20);
    const char *from = strstr(buf_str(page), begin);
    assert_non_null(from);
    from += sizeof begin - 1;
    const char *end = strstr(from, "</script>");
    assert_non_null(end);
    buf_add(&b, from, (size_t)(end - from));
    json_t *root = parse_json(&b);
    buf_release(&b);
    return root;
}

static size_t count_text(const struct buf *page, const char *what)
{
    size_t n = 0;
    for (const char *at = buf_str(page); (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* Checks that the policy allows the text as a script or a style. */
static void assert_allowed(const struct buf *page, const char *directive, struct str text)
{
    unsigned char digest[32];
    struct buf source = BUF_INIT(256);
    assert_int_equal(EVP_Digest(text.p, text.n, digest, NULL, EVP_sha256(), NULL), 1);
    buf_addf(&source, "; %s 'sha256-", directive);
    base64_add(&source, BASE64_PADDED, digest, sizeof digest);
    buf_adds(&source, "'; ");
    assert_int_equal(count_text(page, buf_str(&source)), 1);
    buf_release(&source);
}

static void a_page_holds_its_entries_as_data(void **state)
{
    struct buf out = BUF_INIT(16 << 20);
    struct err err = ERR_INIT;
    struct page_writer *page = NULL;
    struct profile *p = large_profile(100, 1);
    (void)state;
    assert_ok(page_writer_new(add_bytes, &out, UINT64_MAX, &page, &err), &err);
    assert_ok(page_writer_add_undrawn(page, &(struct page_entry){.title = "t"}, "too <large>", &err), &err);
    assert_ok(page_writer_add_profile(page, &an_entry, p, &err), &err);
    finish_page(page);
    json_t *root = bundle_json(&out);
    const json_t *data = json_object_get(root, "data"), *summary = json_object_get(root, "summary");
    assert_int_equal(json_array_size(data), 2);
    assert_true(json_is_null(json_object_get(json_array_get(data, 0), "id")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(data, 0), "why")), "too <large>");
    assert_string_equal(json_string_value(json_object_get(json_array_get(data, 1), "id")), "data-0");
    assert_string_equal(json_string_value(json_object_get(json_array_get(data, 1), "title")), an_entry.title);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(summary, 0), "data")), 1);
    assert_true(json_is_null(json_object_get(json_array_get(summary, 1), "data")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "manifest"), "reason")),
                        "</script>");
    /* One script runs, two contain data; the text begins or ends no other element. */
    assert_int_equal(count_text(&out, "<script"), 3);
    assert_int_equal(count_text(&out, "</script"), 3);
    assert_int_equal(count_text(&out, "<img"), 0);
    assert_int_equal(count_text(&out, "<style>"), 1);
    assert_int_equal(count_text(&out, "Content-Security-Policy"), 1);
    assert_allowed(&out, "script-src", page_web.script);
    assert_allowed(&out, "style-src", page_web.style);
    assert_int_equal(count_text(&out, "<!--"), 0);
    assert_string_equal(buf_str(&out) + out.len - strlen("</html>\n"), "</html>\n");
    json_decref(root);
    profile_free(p);
    buf_release(&out);
}

static void a_full_page_refuses_one_entry_and_goes_on(void **state)
{
    struct buf out = BUF_INIT(16 << 20);
    struct err err = ERR_INIT;
    struct page_writer *page = NULL;
    struct profile *p = large_profile(100, 1);
    (void)state;
    assert_ok(page_writer_new(add_bytes, &out, 1000, &page, &err), &err);
    assert_int_equal(page_writer_add_profile(page, &an_entry, p, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_ok(page_writer_add_undrawn(page, &an_entry, err.msg, &err), &err);
    finish_page(page);
    json_t *root = bundle_json(&out);
    assert_int_equal(list_length(root, "data"), 1);
    assert_int_equal(count_text(&out, "data-0"), 0);
    json_decref(root);
    profile_free(p);
    buf_release(&out);
}

static int refuse_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    size_t *left = ctx;
    (void)p;
    if (n > *left)
        return err_set(err, ERR_LOCAL_IO, "no room");
    *left -= n;
    return 0;
}

/* If a page does not fit, the error is that of the sink. */
static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    for (size_t room = 0; room < page_web.script.n + 200000; room += 5000) {
        struct err err = ERR_INIT;
        struct page_writer *page = NULL;
        struct profile *p = large_profile(500, 1);
        size_t left = room;
        int rc = page_writer_new(refuse_bytes, &left, UINT64_MAX, &page, &err);
        if (rc == 0)
            rc = page_writer_add_profile(page, &an_entry, p, &err);
        if (rc == 0)
            rc = page_writer_finish(page, &(struct page_bundle){.name = "b"}, &err);
        page_writer_free(page);
        profile_free(p);
        if (rc == 0)
            return;
        assert_string_equal(err.msg, "no room");
    }
    fail_msg("it never fits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_has_each_path_once_with_inlined_calls),
        cmocka_unit_test(the_heaviest_nodes_are_first),
        cmocka_unit_test(folding_preserves_sums),
        cmocka_unit_test(the_sums_of_functions_have_folded_calls),
        cmocka_unit_test(a_tree_has_the_wanted_samples),
        cmocka_unit_test(a_tree_has_the_samples_through_a_name),
        cmocka_unit_test(light_nodes_are_folded),
        cmocka_unit_test(stacks_too_deep_are_folded),
        cmocka_unit_test(many_inlined_calls_are_drawn_within_twenty_seconds),
        cmocka_unit_test(no_samples_and_no_values_are_a_root),
        cmocka_unit_test(texts_are_json_without_markup),
        cmocka_unit_test(copied_json_keeps_its_meaning),
        cmocka_unit_test(strings_of_any_length_keep_their_characters),
        cmocka_unit_test(numbers_of_any_size_are_printed),
        cmocka_unit_test(a_profile_becomes_json),
        cmocka_unit_test(any_name_becomes_valid_json),
        cmocka_unit_test(a_dump_becomes_json),
        cmocka_unit_test(groups_beyond_the_limit_are_counted),
        cmocka_unit_test(labels_are_left_out),
        cmocka_unit_test(a_page_holds_its_entries_as_data),
        cmocka_unit_test(a_full_page_refuses_one_entry_and_goes_on),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
