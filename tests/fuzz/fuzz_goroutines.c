/* Dumps of goroutines: a dump alone, and a comparison with its own first half. */
#include "tests/fuzz/fuzz.h"

#include "pprof/pprof.h"
#include "findings/findings.h"

#include "base/banned.h"

/* The groups' counts add up to the dump's, and every index is valid. */
static void expect_consistent(const struct goroutines *g)
{
    uint64_t sum = 0, before = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct goroutine_group *group = &g->groups[i];
        uint64_t labelled = group->more_labels;
        sum += group->count[1];
        before += group->count[0];
        assert(group->wait_min <= group->wait_median && group->wait_median <= group->wait_max);
        for (size_t l = group->first_label; l != GOROUTINES_NONE; l = g->labels[l].next)
            labelled += g->labels[l].count;
        assert(labelled <= group->count[1] || g->dumps[0].form != GOROUTINES_STACKS);
        for (size_t f = 0; f < group->n_frames; f++)
            assert(g->frames[group->first_frame + f].function.n + 1 > 0);
    }
    assert(sum == g->dumps[g->n_dumps - 1].total);
    assert(g->n_dumps == 1 ? before == 0 : before == g->dumps[0].total);
}

static void read_dumps(const struct str *dumps, size_t n)
{
    static const char *const names[] = {"a", "b"};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){dumps, names, n, 1 << 20}, &g, &err) == 0)
        expect_consistent(g);
    else
        fuzz_expect_err(&err);
    goroutines_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct str whole = {(const char *)p, n}, half = {(const char *)p, n / 2};
    read_dumps((struct str[]){whole}, 1);
    read_dumps((struct str[]){half, whole}, 2);
    return 0;
}
