/* JSON within limits: the estimate of a tree's memory is never below jansson's allocations, and a text
 * beyond a limit is refused before a tree is built. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>
#include <malloc.h>

#include "base/base.h"
#include "tests/unit/damage.h"
#include "base/banned.h"

#define REPEATS 20000

/* Bytes: at the moment, and at most since the start of a parse. */
static size_t allocated, max_allocated;

/* Counts each block with the eight bytes that malloc adds to it. */
static void *count_malloc(size_t n)
{
    void *p = malloc(n);
    allocated += p ? malloc_usable_size(p) + 8 : 0;
    max_allocated = allocated > max_allocated ? allocated : max_allocated;
    return p;
}

static void count_free(void *p)
{
    allocated -= p ? malloc_usable_size(p) + 8 : 0;
    free(p);
}

static const struct json_limits roomy = {.what = "it",
                                         .max_bytes = SIZE_MAX,
                                         .max_memory = SIZE_MAX,
                                         .max_depth = 100,
                                         .accept_any_value = true,
                                         .accept_repeated_keys = true};

/* Asserts that parsing allocates at most the estimate, and that a lower limit refuses the text without an
 * allocation. */
static void assert_estimate(const char *name, const struct buf *text)
{
    struct json_measure m = json_measure(buf_str(text), text->len);
    struct json_limits tight = roomy;
    json_t *root = NULL;
    struct err err = ERR_INIT;
    allocated = max_allocated = 0;
    json_set_alloc_funcs(count_malloc, count_free);
    tight.max_memory = m.memory - 1;
    assert_int_equal(json_parse(&tight, buf_str(text), text->len, &root, &err), -1);
    assert_non_null(strstr(err.msg, "it is too large: it would take more than "));
    assert_true(max_allocated == 0 && !root);
    int rc = json_parse(&roomy, buf_str(text), text->len, &root, &err);
    json_decref(root);
    json_set_alloc_funcs(malloc, free);
    if (rc < 0)
        fail_msg("%s: %s", name, err.msg);
    if (max_allocated + text->len > m.memory)
        fail_msg("%s: %zu bytes were estimated, and %zu allocated", name, m.memory - text->len,
                 max_allocated);
}

static void the_memory_estimate_is_never_too_low(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "{}",
        "[]",
        "0",
        "-1.5e3",
        "true",
        "\"\"",
        "\"aaaaaaaaaaaaaaaaaaaaaaaaa\"",
        "\"\\u20ac\\n\"",
        "{\"\":0}",
        "[0]",
        "[[[[[[[[0]]]]]]]]",
        "[0,0,0,0,0,0,0,0,0]",
        "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0}",
        "{\"a\":{\"b\":{\"c\":{}}}}",
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT(16u << 20);
        buf_adds(&text, "[");
        for (size_t k = 0; k < REPEATS; k++)
            buf_addf(&text, "%s%s", k ? "," : "", pieces[i]);
        buf_adds(&text, "]");
        assert_estimate(pieces[i], &text);
        buf_release(&text);
    }
}

static void the_memory_estimate_covers_large_objects_and_long_texts(void **state)
{
    (void)state;
    struct buf keys = BUF_INIT(16u << 20), plain = BUF_INIT(16u << 20), escaped = BUF_INIT(16u << 20);
    buf_adds(&keys, "{");
    for (unsigned i = 0; i < REPEATS; i++)
        buf_addf(&keys, "%s\"%x\":0", i ? "," : "", i);
    buf_adds(&keys, "}");
    assert_estimate("keys", &keys);
    buf_adds(&plain, "\"");
    buf_adds(&escaped, "\"");
    for (unsigned i = 0; i < REPEATS; i++) {
        buf_adds(&plain, "abcdefghij");
        buf_adds(&escaped, "\\u20ac");
    }
    buf_adds(&plain, "\"");
    buf_adds(&escaped, "\"");
    assert_estimate("plain", &plain);
    assert_estimate("escaped", &escaped);
    buf_release(&keys);
    buf_release(&plain);
    buf_release(&escaped);
}

static void assert_parse_refused(const struct json_limits *limits, const char *text, const char *message)
{
    struct err err = ERR_INIT;
    json_t *root = NULL;
    assert_int_equal(json_parse(limits, text, strlen(text), &root, &err), -1);
    assert_null(root);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_string_equal(err.msg, message);
}

static void texts_beyond_the_size_memory_or_depth_limit_are_refused(void **state)
{
    (void)state;
    const struct json_limits limits = {.what = "it", .max_bytes = 20, .max_memory = 1000, .max_depth = 2};
    json_t *root = NULL;
    assert_int_equal(json_parse(&limits, "[[1],{\"]\":2}]", 13, &root, NULL), 0);
    json_decref(root);
    assert_parse_refused(&limits, "[0,0,0,0,0,0,0,0,0,0]", "it is larger than 20 B");
    assert_parse_refused(&limits, "[[[]]]", "it is nested deeper than 2 levels");
    assert_parse_refused(&limits, "[{},{},{},{}]",
                         "it is too large: it would take more than 1.0 kB of memory");
    assert_parse_refused(&limits, "1", "it is malformed: line 1: '[' or '{' expected near '1'");
    assert_parse_refused(&limits, "{\"a\":1,\"a\":2}",
                         "it is malformed: line 1: duplicate object key near '\"a\"'");
    assert_parse_refused(&limits, "", "it is malformed: line 1: '[' or '{' expected near end of file");
    assert_parse_refused(&limits, "[\"\\", "it is malformed: line 1: invalid escape near '\"\\'");
    assert_parse_refused(&(struct json_limits){.what = "it"}, "[]", "it is larger than 0 B");
    struct json_limits short_texts = limits;
    short_texts.max_string = 4;
    assert_int_equal(json_parse(&short_texts, "[\"abc\",1234]", 12, &root, NULL), 0);
    json_decref(root);
    assert_parse_refused(&short_texts, "[\"abcde\"]", "it contains a string of more than 4 B");
    assert_parse_refused(&short_texts, "[12345]", "it contains a string of more than 4 B");
}

static void parse_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct err err = ERR_INIT;
    json_t *root = NULL;
    if (json_parse(&roomy, (const char *)s->p, s->n, &root, &err) < 0)
        assert_true(!root && err.msg[0]);
    json_decref(root);
}

static void damaged_json_is_parsed_or_refused_with_a_message(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, -2.5e3, true, null, \"\\u20ac\\\"\"], \"b\": {\"c\": {}}}";
    damage_everywhere(text, sizeof text - 1, parse_damaged, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_estimate_is_never_too_low),
        cmocka_unit_test(the_memory_estimate_covers_large_objects_and_long_texts),
        cmocka_unit_test(texts_beyond_the_size_memory_or_depth_limit_are_refused),
        cmocka_unit_test(damaged_json_is_parsed_or_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
