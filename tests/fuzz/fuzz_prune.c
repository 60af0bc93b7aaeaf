/*
 * drop_frames, keep_frames, and names of functions, each on a line. A profile with them is pruned as a report
 * does it, or refused. Pruning takes no more steps than its budget has, and the functions stay.
 */
#include "tests/fuzz/fuzz.h"

#include "pprof/filter.h"
#include "base/banned.h"

/* A smaller budget than a profile has, because steps are slow under the sanitizers. */
enum { NAMES_MAX = 200, STEPS = 50000 };

static struct str next_line(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    struct str line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t taken = line.n + (end != NULL);
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return line;
}

static uint32_t intern_str(struct profile *p, struct str s)
{
    uint32_t index = 0;
    assert(profile_intern(p, s.p, s.n, &index, NULL) == 0);
    return index;
}

/* Adds one function, one location and one sample for the name; every stack contains all earlier functions. */
static void add_function(struct profile *p, struct str name, uint32_t *stack)
{
    struct profile_function f = {.id = p->n_functions + 1, .name = intern_str(p, name)};
    assert(profile_add_function(p, &f, NULL) == 0);
    struct profile_line line = {.function = (uint32_t)p->n_functions - 1, .line = 1};
    struct profile_location l = {.id = p->n_locations + 1, .mapping = PROFILE_NONE, .n_lines = 1};
    assert(profile_add_location(p, &l, &line, NULL) == 0);
    size_t depth = p->n_locations;
    int64_t value = 1;
    for (size_t i = 0; i < depth; i++)
        stack[i] = (uint32_t)(depth - 1 - i);
    assert(profile_add_sample(p, &(struct profile_new_sample){stack, depth, &value, NULL, 0}, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = {(const char *)data, n};
    struct profile *p = n < 20000 ? profile_new(NULL) : NULL;
    struct err err = ERR_INIT;
    uint32_t stack[NAMES_MAX];
    if (!p)
        return 0;
    struct profile_value_type type = {intern_str(p, STR("samples")), intern_str(p, STR("count"))};
    assert(profile_add_sample_type(p, type, NULL) == 0);
    p->drop_frames = intern_str(p, next_line(&rest));
    p->keep_frames = intern_str(p, next_line(&rest));
    while (rest.n && p->n_functions < NAMES_MAX)
        add_function(p, next_line(&rest), stack);
    size_t functions = p->n_functions, samples = p->n_samples;
    struct regex_budget *budget = regex_budget_new(STEPS);
    int rc = prune_by_own_patterns(p, budget, &err);
    assert(regex_budget_left(budget) <= STEPS);
    /* A failure leaves less of the budget than the most expensive step costs. */
    if (rc < 0)
        assert(err.kind == ERR_FAILED && err.hint[0] && regex_budget_left(budget) <= 1 + n / 32);
    assert(p->n_functions == functions && p->n_samples == samples);
    regex_budget_free(budget);
    profile_free(p);
    return 0;
}
