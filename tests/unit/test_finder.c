/* Finding among numbered things: also where somebody chose them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

struct numbers {
    struct finder f;
    uint64_t *items;
    size_t n;
    size_t looked; /* how often two were compared */
};

struct wanted {
    struct numbers *in;
    uint64_t v;
};

static bool is_wanted(const void *ctx, uint32_t number)
{
    const struct wanted *w = ctx;
    w->in->looked++;
    return w->in->items[number] == w->v;
}

static uint32_t find(struct numbers *n, uint64_t v)
{
    return finder_find(&n->f, finder_mix(finder_seed(&n->f), v), is_wanted, &(struct wanted){n, v});
}

/* Adds those that `step` lies between, and finds each again. */
static void fill(struct numbers *n, size_t count, uint64_t step)
{
    struct err err = ERR_INIT;
    *n = (struct numbers){.items = calloc(count, sizeof *n->items)};
    assert_non_null(n->items);
    for (size_t i = 0; i < count; i++) {
        uint64_t v = step * i;
        assert_int_equal(find(n, v), FINDER_NONE);
        n->items[n->n++] = v;
        ok(finder_add(&n->f, finder_mix(finder_seed(&n->f), v), &err), &err);
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(find(n, step * i), i);
    assert_int_equal(find(n, step * count), FINDER_NONE);
}

static void done(struct numbers *n)
{
    free(n->items);
    finder_release(&n->f);
}

/* Numbers that are alike in half their bits are as far from each other as any. */
static void chosen(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift <= 48; shift += 8) {
        struct numbers n;
        fill(&n, 20000, (uint64_t)1 << shift);
        assert_true(n.looked < 20000 + 1000);
        done(&n);
    }
}

/* What has one hash in one table has not in another. */
static void seeds(void **state)
{
    struct finder a = {0}, b = {0};
    (void)state;
    assert_true(finder_seed(&a) != 0 && finder_seed(&a) == finder_seed(&a));
    assert_true(finder_seed(&a) != finder_seed(&b));
}

static void texts(void **state)
{
    static const char zeros[20];
    (void)state;
    for (size_t n = 0; n < sizeof zeros; n++)
        assert_true(finder_mix_str(1, (struct str){zeros, n}) !=
                    finder_mix_str(1, (struct str){zeros, n + 1}));
    assert_true(finder_mix_str(1, STR("abcdefghi")) != finder_mix_str(1, STR("abcdefghj")));
    assert_true(finder_mix_str(1, STR("abcdefghi")) != finder_mix_str(2, STR("abcdefghi")));
}

static void room(void **state)
{
    struct finder f = {0};
    struct err err = ERR_INIT;
    (void)state;
    ok(finder_reserve(&f, 1000, &err), &err);
    size_t slots = f.n_slots;
    for (uint64_t i = 0; i < 1000; i++)
        ok(finder_add(&f, finder_mix(finder_seed(&f), i), &err), &err);
    assert_int_equal(f.n_slots, slots);
    refused(finder_reserve(&f, FINDER_NONE, &err), &err, ERR_FAILED, "more than 4294967294 of a kind");
    finder_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen),
        cmocka_unit_test(seeds),
        cmocka_unit_test(texts),
        cmocka_unit_test(room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
