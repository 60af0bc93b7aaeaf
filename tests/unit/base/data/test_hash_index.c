/* The hash table of base/data/hash_index.h, also with names that an attacker chose to collide. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

struct numbers {
    struct hash_index table;
    uint64_t *items;
    size_t n;
    size_t comparisons; /* calls of item_equals */
};

/* A number to find. */
struct query {
    struct numbers *numbers;
    uint64_t number;
};

static bool item_equals(const void *ctx, uint32_t index)
{
    const struct query *q = ctx;
    q->numbers->comparisons++;
    return q->numbers->items[index] == q->number;
}

static uint32_t find_number(struct numbers *n, uint64_t number)
{
    return hash_index_find(&n->table, hash_index_mix(hash_index_seed(&n->table), number), item_equals,
                           &(struct query){n, number});
}

/* Adds `count` multiples of `step` to a new table, and finds each again. */
static void add_and_find_numbers(struct numbers *n, size_t count, uint64_t step)
{
    struct err err = ERR_INIT;
    *n = (struct numbers){.items = calloc(count, sizeof *n->items)};
    assert_non_null(n->items);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = step * i;
        assert_int_equal(find_number(n, number), HASH_INDEX_NONE);
        n->items[n->n++] = number;
        assert_ok(hash_index_add(&n->table, hash_index_mix(hash_index_seed(&n->table), number), &err), &err);
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(find_number(n, step * i), i);
    assert_int_equal(find_number(n, step * count), HASH_INDEX_NONE);
}

static void numbers_release(struct numbers *n)
{
    free(n->items);
    hash_index_release(&n->table);
}

static void numbers_with_equal_low_bits_are_found_in_one_comparison(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift <= 48; shift += 8) {
        struct numbers n;
        add_and_find_numbers(&n, 20000, (uint64_t)1 << shift);
        assert_true(n.comparisons < 20000 + 1000);
        numbers_release(&n);
    }
}

/* Names with equal hashes in one table have different hashes in another table. */
static void each_table_has_its_own_seed(void **state)
{
    struct hash_index a = {0}, b = {0};
    (void)state;
    assert_true(hash_index_seed(&a) != 0 && hash_index_seed(&a) == hash_index_seed(&a));
    assert_true(hash_index_seed(&a) != hash_index_seed(&b));
}

/* FNV-1a, 64 bits: an earlier table of names had this hash, which has no seed. */
static uint64_t fnv_hash(const char *s)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h ^ h >> 32;
}

/* The number of chosen names, and the bits of a hash that choose one of 1024 slots. */
enum { CHOSEN = 500, SLOT_MASK = 1023 };

/* Names whose searches all begin at one slot of a table without a seed. */
static void choose_names(char names[CHOSEN][16])
{
    for (unsigned i = 0, n = 0; n < CHOSEN; i++) {
        snprintf(names[n], sizeof names[n], "Host-%u", i);
        n += (fnv_hash(names[n]) & SLOT_MASK) == 0;
    }
}

/* Counts the different slots at which the searches for the names begin. */
static size_t count_slots(const struct name_map *t)
{
    static bool seen[SLOT_MASK + 1];
    size_t n = 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < t->by_name.n_slots; i++) {
        bool *is_seen = &seen[t->by_name.slots[i].hash & SLOT_MASK];
        n += t->by_name.slots[i].index_plus_1 && !*is_seen;
        *is_seen = *is_seen || t->by_name.slots[i].index_plus_1;
    }
    return n;
}

static void fill_names(struct name_map *t, char names[CHOSEN][16])
{
    struct err err = ERR_INIT;
    for (size_t i = 0; i < CHOSEN; i++) {
        assert_null(name_map_get(t, names[i]));
        assert_ok(name_map_add(t, names[i], names[i], &err), &err);
    }
    for (size_t i = 0; i < CHOSEN; i++)
        assert_ptr_equal(name_map_get(t, names[i]), names[i]);
}

/* A table's own seed spreads names that collide without a seed, also in a table that ignores case. */
static void names_chosen_to_collide_start_at_different_slots(void **state)
{
    static char names[CHOSEN][16];
    struct name_map plain = {0}, folded = {.ignore_case = true};
    (void)state;
    choose_names(names);
    fill_names(&plain, names);
    fill_names(&folded, names);
    assert_true(count_slots(&plain) > CHOSEN / 2);
    assert_true(count_slots(&folded) > CHOSEN / 2);
    assert_true(plain.by_name.seed != folded.by_name.seed);
    names[0][0] = 'h';
    assert_ptr_equal(name_map_get(&folded, names[0]), names[0]);
    assert_null(name_map_get(&plain, "nobody"));
    name_map_release(&plain);
    name_map_release(&folded);
}

static void a_map_owns_copies_of_names(void **state)
{
    static const int value = 1, other = 2;
    struct name_map owner = {.copies_names = true}, borrower = {0};
    struct err err = ERR_INIT;
    char name[16];
    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "host-%d", i);
        assert_false(name_map_has(&owner, name));
        assert_ok(name_map_add(&owner, name, NULL, &err), &err);
    }
    assert_true(name_map_has(&owner, "host-0"));
    assert_null(name_map_get(&owner, "host-0"));
    assert_ok(name_map_set(&owner, name, &value, &err), &err);
    assert_ok(name_map_set(&borrower, name, &value, &err), &err);
    char same[] = "host-999";
    assert_ok(name_map_set(&borrower, same, &other, &err), &err);
    name[0] = 'x';
    assert_ptr_equal(name_map_get(&owner, "host-999"), &value);
    assert_ptr_equal(name_map_get(&borrower, "host-999"), &other);
    assert_int_equal(owner.n, 1000);
    assert_string_equal(owner.entries[999].name, "host-999");
    name_map_release(&owner);
    name_map_release(&borrower);
}

/* Because the seeds are random, names that collide in one run do not collide in the next. */
static void each_process_has_its_own_seeds(void **state)
{
    struct err err = ERR_INIT;
    int fds[2];
    uint64_t theirs = 0;
    struct hash_index ours = {0};
    (void)state;
    assert_ok(fd_pipe(fds, &err), &err);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct hash_index table = {0};
        uint64_t seed = hash_index_seed(&table);
        _exit(write(fds[1], &seed, sizeof seed) == sizeof seed ? 0 : 1);
    }
    fd_close(&fds[1]);
    assert_int_equal(read(fds[0], &theirs, sizeof theirs), sizeof theirs);
    fd_close(&fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(theirs != 0 && theirs != hash_index_seed(&ours));
}

static void texts_that_differ_have_different_hashes(void **state)
{
    static const char zeros[20];
    (void)state;
    for (size_t n = 0; n < sizeof zeros; n++)
        assert_true(hash_index_mix_str(1, (struct str){zeros, n}) !=
                    hash_index_mix_str(1, (struct str){zeros, n + 1}));
    assert_true(hash_index_mix_str(1, STR("abcdefghi")) != hash_index_mix_str(1, STR("abcdefghj")));
    assert_true(hash_index_mix_str(1, STR("abcdefghi")) != hash_index_mix_str(2, STR("abcdefghi")));
}

static void a_reserved_table_does_not_grow(void **state)
{
    struct hash_index table = {0};
    struct err err = ERR_INIT;
    (void)state;
    assert_ok(hash_index_reserve(&table, 1000, &err), &err);
    size_t slots = table.n_slots;
    for (uint64_t i = 0; i < 1000; i++)
        assert_ok(hash_index_add(&table, hash_index_mix(hash_index_seed(&table), i), &err), &err);
    assert_int_equal(table.n_slots, slots);
    assert_refused(hash_index_reserve(&table, HASH_INDEX_NONE, &err), &err, ERR_FAILED,
                   "more than 4294967294 entries in one table");
    hash_index_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_equal_low_bits_are_found_in_one_comparison),
        cmocka_unit_test(each_table_has_its_own_seed),
        cmocka_unit_test(names_chosen_to_collide_start_at_different_slots),
        cmocka_unit_test(a_map_owns_copies_of_names),
        cmocka_unit_test(each_process_has_its_own_seeds),
        cmocka_unit_test(texts_that_differ_have_different_hashes),
        cmocka_unit_test(a_reserved_table_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
