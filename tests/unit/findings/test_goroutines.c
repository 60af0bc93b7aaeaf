/* Dumps of goroutines in their three forms: groups, cut dumps, hostile content. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/pprof.h"
#include "findings/findings.h"
#include "tests/unit/damage.h"

#include "base/banned.h"

#define STACKS                                                                                               \
    "goroutine 1 [running]:\n"                                                                               \
    "main.take({0x51585e, 0x9}, 0x2)\n"                                                                      \
    "\t/src/main.go:164 +0x87\n"                                                                             \
    "main.main()\n"                                                                                          \
    "\t/src/main.go:196 +0x91\n"                                                                             \
    "\n"                                                                                                     \
    "goroutine 52 [chan receive, 12 minutes]:\n"                                                             \
    "main.(*pool).wait(0xc000010000, ...)\n"                                                                 \
    "\t/src/pool.go:133 +0x1d fp=0xc00 sp=0xc01 pc=0x45\n"                                                   \
    "created by main.park in goroutine 1\n"                                                                  \
    "\t/src/main.go:138 +0xb9\n"                                                                             \
    "\n"                                                                                                     \
    "goroutine 53 gp=0xc0 m=nil mp=0x0 [chan receive, 2 minutes, locked to thread]:\n"                       \
    "main.(*pool).wait(0xc000020000, ...)\n"                                                                 \
    "\t/src/pool.go:133\n"                                                                                   \
    "created by main.park in goroutine 17\n"                                                                 \
    "\t/src/main.go:138 +0xb9\n"                                                                             \
    "\n"                                                                                                     \
    "goroutine 54 [chan receive]:\n"                                                                         \
    "main.(*pool).wait(0xc000020000, ...)\n"                                                                 \
    "\t/src/pool.go:133 +0x1d\n"                                                                             \
    "created by main.park\n"                                                                                 \
    "\t/src/main.go:138 +0xb9\n"                                                                             \
    "[originating from goroutine 1]:\n"                                                                      \
    "main.elsewhere(...)\n"                                                                                  \
    "\t/src/main.go:1 +0x1\n"

#define GROUPED                                                                                              \
    "goroutine profile: total 6\n"                                                                           \
    "3 @ 0x43e1d6 0x44d4f2 0x46ab81\n"                                                                       \
    "# labels: {\"tenant\":\"t0\"}\n"                                                                        \
    "#\t0x44d4f1\tmain.(*pool).wait+0x31\t\t\t/src/pool.go:133\n"                                            \
    "\n"                                                                                                     \
    "2 @ 0x43e1d6 0x44d4f2 0x46ab81\n"                                                                       \
    "# labels: {\"tenant\":\"t1\"}\n"                                                                        \
    "#\t0x44d4f1\tmain.(*pool).wait+0x31\t/src/pool.go:133\n"                                                \
    "\n"                                                                                                     \
    "1 @ 0x1 0x2\n"                                                                                          \
    "#\t0x43e1d5\truntime.gopark+0x35\t/go/proc.go:1\n"                                                      \
    "#\t0x44d4f1\tmain.take+0x87\t/src/main.go:164\n"                                                        \
    "#\t0x44d4f1\tmain.main+0x31\t/src/main.go:196\n"                                                        \
    "#\t0x44d4f1\truntime.main+0x31\t/go/proc.go:290\n"

/* Reads n dumps, 1 or 2; `b` is ignored if n is 1. */
static struct goroutines *read_dumps(struct str a, struct str b, size_t n)
{
    static const char *const names[] = {"a", "b"};
    struct str dumps[] = {a, b};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){dumps, names, n, 1 << 20}, &g, &err) < 0)
        fail_msg("%s", err.msg);
    return g;
}

static struct goroutines *read_one(const char *text)
{
    return read_dumps(str_of(text), STR(""), 1);
}

static void assert_str(struct str s, const char *text)
{
    if (!str_is(s, text))
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.p, text);
}

static void assert_frame(struct goroutine_frame frame, const char *function, const char *file_line)
{
    assert_str(frame.function, function);
    assert_str(frame.file_line, file_line);
}

static void a_dump_of_stacks_is_read(void **state)
{
    (void)state;
    struct goroutines *g = read_one("panic: what came before\n\n" STACKS);
    assert_int_equal(g->dumps[0].form, GOROUTINES_STACKS);
    assert_int_equal(g->dumps[0].total, 4);
    assert_false(g->dumps[0].cut);
    assert_int_equal(g->n_groups, 2);
    const struct goroutine_group *group = &g->groups[0];
    assert_int_equal(group->count[1], 3);
    assert_str(group->state, "chan receive");
    assert_int_equal(group->n_frames, 1);
    assert_frame(g->frames[group->first_frame], "main.(*pool).wait", "/src/pool.go:133");
    assert_frame(group->creator, "main.park", "/src/main.go:138");
    assert_int_equal(group->wait_min, 0);
    assert_int_equal(group->wait_median, 2);
    assert_int_equal(group->wait_max, 12);
    assert_str(g->groups[1].state, "running");
    assert_int_equal(g->groups[1].n_frames, 2);
    assert_int_equal(g->groups[1].creator.function.n, 0);
    goroutines_free(g);
}

static void a_grouped_dump_is_read(void **state)
{
    (void)state;
    struct goroutines *g = read_one(GROUPED);
    assert_int_equal(g->dumps[0].form, GOROUTINES_GROUPED);
    assert_int_equal(g->dumps[0].total, 6);
    assert_false(g->dumps[0].cut);
    assert_int_equal(g->n_groups, 2);
    const struct goroutine_group *group = &g->groups[0];
    assert_int_equal(group->count[1], 5);
    const struct goroutine_label_set *label = &g->labels[group->first_label];
    assert_str(label->text, "{\"tenant\":\"t0\"}");
    assert_int_equal(label->count, 3);
    assert_int_equal(g->labels[label->next].count, 2);
    /* The runtime's frames at both ends are left out. */
    assert_int_equal(g->groups[1].n_frames, 2);
    assert_frame(g->frames[g->groups[1].first_frame], "main.take", "/src/main.go:164");
    goroutines_free(g);
}

static void addresses_replace_missing_names(void **state)
{
    (void)state;
    struct goroutines *g = read_one("goroutine profile: total 2\n1 @ 0x1 0x2\n\n1 @ 0x1 0x3\n#\t0x3\n");
    assert_int_equal(g->n_groups, 2);
    assert_frame(g->frames[g->groups[0].first_frame], "0x1 0x2", "");
    assert_frame(g->frames[g->groups[1].first_frame], "0x3", "");
    goroutines_free(g);
}

static void a_cut_dump_is_marked(void **state)
{
    (void)state;
    struct goroutines *g = read_dumps((struct str){STACKS, sizeof STACKS - 10}, STR(""), 1);
    assert_true(g->dumps[0].cut);
    assert_int_equal(g->dumps[0].total, 3);
    goroutines_free(g);
    g = read_one("goroutine profile: total 9\n2 @ 0x1\n#\t0x1\tmain.f+0x1\t/f.go:1\n");
    assert_true(g->dumps[0].cut);
    assert_int_equal(g->dumps[0].total, 2);
    goroutines_free(g);
}

static void unusual_lines_are_read(void **state)
{
    (void)state;
    struct goroutines *g = read_one("goroutine 7 [sleep, 99999999999 minutes]{\"k\":\"]\"}:\r\n"
                                    "\tgoroutine running on other thread; stack unavailable\r\n\r\n"
                                    "goroutine x [no number]:\n"
                                    "goroutine 8 no brackets:\n"
                                    "goroutine 9 []:\n"
                                    "main.f[...](0x1)\n"
                                    "...additional frames elided...\n"
                                    "created by main.g\n");
    assert_int_equal(g->n_groups, 2);
    assert_int_equal(g->groups[0].wait_max, UINT32_MAX);
    assert_str(g->labels[g->groups[0].first_label].text, "{\"k\":\"]\"}");
    assert_frame(g->frames[g->groups[0].first_frame], "goroutine running on other thread; stack unavailable",
                 "");
    assert_frame(g->frames[g->groups[1].first_frame], "main.f[...]", "");
    assert_frame(g->frames[g->groups[1].first_frame + 1], "...additional frames elided...", "");
    assert_frame(g->groups[1].creator, "main.g", "");
    goroutines_free(g);
}

static void growth_between_two_dumps_is_counted(void **state)
{
    (void)state;
    struct goroutines *g =
        read_dumps(STR("goroutine 5 [select]:\nmain.gone()\n\t/src/main.go:1\n\n"
                       "goroutine 6 [chan receive]:\nmain.(*pool).wait()\n\t/src/pool.go:133\n"
                       "created by main.park in goroutine 8\n\t/src/main.go:138 +0x1\n"),
                   STR(STACKS), 2);
    assert_int_equal(g->n_groups, 3);
    assert_int_equal(g->groups[0].count[0], 1);
    assert_int_equal(g->groups[0].count[1], 3);
    assert_int_equal(g->groups[1].count[1], 1);
    assert_str(g->groups[2].state, "select");
    assert_int_equal(g->groups[2].count[0], 1);
    assert_int_equal(g->groups[2].count[1], 0);
    goroutines_free(g);
}

static void growth_between_two_forms_is_counted(void **state)
{
    (void)state;
    struct goroutines *g = read_dumps(STR(STACKS), STR(GROUPED), 2);
    assert_int_equal(g->n_groups, 2);
    assert_int_equal(g->groups[0].count[0], 3);
    assert_int_equal(g->groups[0].count[1], 5);
    assert_int_equal(g->groups[0].state.n, 0);
    assert_int_equal(g->groups[1].count[0], 1);
    assert_int_equal(g->groups[1].count[1], 1);
    goroutines_free(g);
}

/* Many groups, and more labels in one of them than the maximum. */
static void many_groups_are_read_and_labels_limited(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(1 << 20);
    buf_adds(&text, "goroutine profile: total 3000\n");
    for (int i = 0; i < 1000; i++)
        buf_addf(&text,
                 "2 @ 0x1\n#\t0x1\tmain.f%d+0x1\t/f.go:1\n\n1 @ 0x1\n# labels: {\"id\":\"%d\"}\n"
                 "#\t0x1\tmain.same+0x1\t/f.go:1\n\n",
                 i, i);
    struct goroutines *g = read_one(buf_str(&text));
    assert_int_equal(g->dumps[0].total, 3000);
    assert_int_equal(g->n_groups, 1001);
    assert_int_equal(g->groups[0].count[1], 1000);
    assert_int_equal(g->groups[0].more_labels, 1000 - GOROUTINES_MAX_LABELS);
    goroutines_free(g);
    buf_release(&text);
}

/* ---- profiles ---------------------------------------------------------------------------------------- */

/* Three goroutines in main.wait, called by main.run, with the label k. */
static const char profile[] = "\x0a\x04\x08\x01\x10\x02"
                              "\x12\x0d\x0a\x02\x01\x02\x12\x01\x03\x1a\x04\x08\x07\x10\x08"
                              "\x22\x08\x08\x01\x22\x04\x08\x01\x10\x0c"
                              "\x22\x08\x08\x02\x22\x04\x08\x02\x10\x0d"
                              "\x2a\x06\x08\x01\x10\x03\x20\x05"
                              "\x2a\x06\x08\x02\x10\x04\x20\x05"
                              "\x32\x00"
                              "\x32\x09goroutine"
                              "\x32\x05"
                              "count"
                              "\x32\x09main.wait"
                              "\x32\x08main.run"
                              "\x32\x04m.go"
                              "\x32\x01x"
                              "\x32\x01k"
                              "\x32\x03v\"w";

static void a_goroutine_profile_is_read(void **state)
{
    (void)state;
    struct goroutines *g = read_dumps((struct str){profile, sizeof profile - 1}, STR(""), 1);
    assert_int_equal(g->dumps[0].form, GOROUTINES_PROFILE);
    assert_int_equal(g->n_groups, 1);
    assert_int_equal(g->groups[0].count[1], 3);
    assert_frame(g->frames[g->groups[0].first_frame], "main.wait", "m.go:12");
    assert_frame(g->frames[g->groups[0].first_frame + 1], "main.run", "m.go:13");
    assert_str(g->labels[g->groups[0].first_label].text, "{\"k\":\"v\\\"w\"}");
    goroutines_free(g);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const char cpu[] = "\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03"
                              "cpu\x32\x02ns";
    static const char *const names[] = {"some.file"};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    struct str dump = {cpu, sizeof cpu - 1};
    assert_int_equal(goroutines_read(&(struct goroutines_input){&dump, names, 1, 1000}, &g, &err), -1);
    assert_string_equal(err.msg, "some.file: this is a profile, but not of goroutines");
    assert_int_equal(err.kind, ERR_UNSUPPORTED);
    err = (struct err)ERR_INIT;
    dump = STR("hello\n");
    assert_int_equal(goroutines_read(&(struct goroutines_input){&dump, names, 1, 1000}, &g, &err), -1);
    assert_string_equal(err.msg, "some.file: not a dump of goroutines");
    assert_null(g);
}

/* ---- damaged ----------------------------------------------------------------------------------------- */

static void read_damaged(void *ctx, const struct damaged *s)
{
    static const char *const names[] = {"a"};
    struct str dump = {s->p, s->n};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    (void)ctx;
    if (goroutines_read(&(struct goroutines_input){&dump, names, 1, 1 << 20}, &g, &err) == 0) {
        uint64_t sum = 0;
        for (size_t i = 0; i < g->n_groups; i++)
            sum += g->groups[i].count[1];
        assert_true(sum == g->dumps[0].total);
    }
    goroutines_free(g);
}

static void damaged_dumps_have_consistent_totals(void **state)
{
    (void)state;
    damage_everywhere(STACKS, sizeof STACKS - 1, read_damaged, NULL);
    damage_everywhere(GROUPED, sizeof GROUPED - 1, read_damaged, NULL);
    damage_everywhere(profile, sizeof profile - 1, read_damaged, NULL);
}

/* Asserts that a dump of `head` and the text of n calls of `add` is refused with this message. */
static void assert_many_refused(const char *head, void (*add)(struct buf *to, unsigned i), unsigned n,
                                const char *message)
{
    static const char *const name = "a";
    struct buf text = BUF_INIT(64u << 20);
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    buf_adds(&text, head);
    for (unsigned i = 0; i < n; i++)
        add(&text, i);
    struct str dump = {buf_str(&text), text.len};
    assert_int_equal(goroutines_read(&(struct goroutines_input){&dump, &name, 1, 1 << 20}, &g, &err), -1);
    assert_string_equal(err.msg, message);
    buf_release(&text);
}

static void add_short_frame(struct buf *to, unsigned i)
{
    (void)i;
    buf_adds(to, "a\n");
}

static void add_stack_of_one_frame(struct buf *to, unsigned i)
{
    buf_addf(to, "goroutine 1 [x]:\n%x\n\n", i);
}

static void add_stack_of_many_frames(struct buf *to, unsigned i)
{
    buf_addf(to, "goroutine 1 [%u]:\n", i);
    for (int k = 0; k < 60000; k++)
        buf_adds(to, "a\n");
    buf_adds(to, "\n");
}

static void too_large_dumps_are_refused(void **state)
{
    (void)state;
    assert_many_refused("goroutine 1 [x]:\n", add_short_frame, GOROUTINES_MAX_DEPTH + 1,
                        "a: a goroutine of the dump has more than 65536 frames");
    assert_many_refused("", add_stack_of_one_frame, GOROUTINES_MAX_GROUPS + 1,
                        "a: the dump has more than 200000 different stacks");
    assert_many_refused("", add_stack_of_many_frames, 17,
                        "a: the stacks of the dump have more than 1000000 frames");
}

/* Each part of a state between commas is read on its own, whatever the other parts contain. */
static void the_parts_of_a_state_are_read_one_by_one(void **state)
{
    struct goroutines *g = read_one("goroutine 1 [a,, ,\t, 7 minutes ,b, 3 minutesx,]:\nmain.main()\n\n");
    (void)state;
    assert_str(g->groups[0].state, "a");
    assert_int_equal(g->groups[0].wait_max, 3);
    goroutines_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_of_stacks_is_read),
        cmocka_unit_test(a_grouped_dump_is_read),
        cmocka_unit_test(a_cut_dump_is_marked),
        cmocka_unit_test(addresses_replace_missing_names),
        cmocka_unit_test(unusual_lines_are_read),
        cmocka_unit_test(growth_between_two_dumps_is_counted),
        cmocka_unit_test(many_groups_are_read_and_labels_limited),
        cmocka_unit_test(growth_between_two_forms_is_counted),
        cmocka_unit_test(a_goroutine_profile_is_read),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(damaged_dumps_have_consistent_totals),
        cmocka_unit_test(too_large_dumps_are_refused),
        cmocka_unit_test(the_parts_of_a_state_are_read_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
