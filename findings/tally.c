/*
 * Counts by function over the chosen samples of a profile. Functions of one name are one, as in every report
 * by functions, so the string of the name is the index of a counter.
 */
#include <stdlib.h>

#include "findings/tally.h"
#include "base/banned.h"

/* ---- the stack filter
 * ----------------------------------------------------------------------------------------- */

static void add_list(struct stack_filter *s, const char *const *list)
{
    for (size_t i = 0; i < s->n_lists; i++)
        if (s->lists[i] == list)
            return;
    if (list && s->n_lists < STACK_FILTER_LISTS)
        s->lists[s->n_lists++] = list;
}

static uint64_t bit_of(const struct stack_filter *s, const char *const *list)
{
    for (size_t i = 0; i < s->n_lists; i++)
        if (s->lists[i] == list)
            return UINT64_C(1) << i;
    return 0;
}

static uint64_t bits_of(const struct stack_filter *s, struct str name)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < s->n_lists; i++)
        bits |= functions_listed(name, s->lists[i]) ? UINT64_C(1) << i : 0;
    return bits;
}

/* Finds the bits of each function, then of each location, then of each sample. */
static int find_bits(struct stack_filter *s, struct err *err)
{
    const struct profile *p = s->profile;
    uint64_t *functions = calloc(p->n_functions + 1, sizeof *functions);
    uint64_t *locations = calloc(p->n_locations + 1, sizeof *locations);
    s->of = calloc(p->n_samples + 1, sizeof *s->of);
    int rc = functions && locations && s->of ? 0 : err_nomem(err);
    for (size_t i = 0; i < p->n_functions && rc == 0; i++)
        functions[i] = bits_of(s, profile_str(p, p->functions[i].name));
    for (size_t i = 0; i < p->n_locations && rc == 0; i++)
        for (size_t l = p->locations[i].line_at; l < p->locations[i].line_at + p->locations[i].n_lines; l++)
            locations[i] |= p->lines[l].function == PROFILE_NONE ? 0 : functions[p->lines[l].function];
    for (size_t i = 0; i < p->n_samples && rc == 0; i++) {
        struct profile_walk walk = profile_walk(p, &p->samples[i]);
        for (uint32_t location; profile_walk_next(&walk, &location);)
            s->of[i] |= locations[location];
    }
    free(functions);
    free(locations);
    return rc;
}

int stack_filter_init(struct stack_filter *s, const struct profile *p, const char *const *const *lists,
                      size_t n, struct err *err)
{
    *s = (struct stack_filter){.profile = p, .origins = calloc(profile_n_strings(p) + 1, sizeof *s->origins)};
    if (!s->origins)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_functions; i++)
        s->origins[p->functions[i].name] =
            (unsigned char)functions_origin_of(profile_str(p, p->functions[i].name));
    for (size_t i = 0; i < n; i++)
        add_list(s, lists[i]);
    add_list(s, functions_idle_workers);
    add_list(s, functions_allocator);
    add_list(s, functions_profilers);
    return find_bits(s, err);
}

void stack_filter_release(struct stack_filter *s)
{
    free(s->origins);
    free(s->of);
    *s = (struct stack_filter){0};
}

/* ---- counts -------------------------------------------------------------------------------------------- */

/* The names on a stack, from the leaf to the root. */
struct sample_names {
    const struct profile *profile;
    struct profile_walk walk;
    uint32_t at, end; /* lines of the current location */
};

static struct sample_names walk_names(const struct profile *p, size_t sample)
{
    return (struct sample_names){p, profile_walk(p, &p->samples[sample]), 0, 0};
}

static bool names_next(struct sample_names *n, uint32_t *ret)
{
    const struct profile *p = n->profile;
    uint32_t location;
    while (n->at == n->end) {
        if (!profile_walk_next(&n->walk, &location))
            return false;
        n->at = p->locations[location].line_at;
        n->end = n->at + p->locations[location].n_lines;
    }
    uint32_t function = p->lines[n->at++].function;
    *ret = function == PROFILE_NONE ? 0 : p->functions[function].name;
    return true;
}

static bool is_profiling(const struct stack_filter *s, size_t sample)
{
    return s->of[sample] & bit_of(s, functions_profilers);
}

static bool is_chosen(const struct stack_filter *s, size_t sample, const struct tally_choice *choice)
{
    if (choice->in && (!(s->of[sample] & bit_of(s, choice->in)) || is_profiling(s, sample)))
        return false;
    return !choice->out || !(s->of[sample] & bit_of(s, choice->out));
}

size_t tally_type(const struct profile *p, const char *type, const char *unit)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        if (str_is(profile_str(p, p->sample_types[i].type), type) &&
            str_is(profile_str(p, p->sample_types[i].unit), unit))
            return i;
    return TALLY_NONE;
}

static int64_t value_of(const struct tally *t, size_t sample, size_t type)
{
    const struct profile *p = t->profile;
    int64_t v = type == TALLY_NONE ? 0 : p->values[sample * p->n_sample_types + type];
    return v > 0 ? v : 0;
}

/* Adds with saturation. */
static void add_saturated(int64_t *to, int64_t v)
{
    if (__builtin_add_overflow(*to, v, to))
        *to = INT64_MAX;
}

/* The outermost profiler on the stack, which the request names. A handler of net/http/pprof only counts if
 * there is no other profiler. */
static uint32_t profiler_of(const struct tally *t, size_t sample)
{
    static const char *const handlers[] = {"net/http/pprof.*", NULL};
    struct sample_names n = walk_names(t->profile, sample);
    uint32_t profiler = 0, handler = 0;
    for (uint32_t name; names_next(&n, &name);) {
        if (t->filter->origins[name] != FUNCTION_OF_PROFILERS)
            continue;
        if (functions_listed(profile_str(t->profile, name), handlers))
            handler = name;
        else
            profiler = name;
    }
    return profiler ? profiler : handler;
}

static void count_profiling(struct tally *t, size_t sample, int64_t value, int64_t objects)
{
    struct tally_count *c = &t->of[profiler_of(t, sample)];
    add_saturated(&t->profilers, value);
    add_saturated(&c->flat, value);
    add_saturated(&c->cum, value);
    add_saturated(&c->own, value);
    add_saturated(&c->objects, objects);
}

/* Charges the innermost function of the program. On a stack without one, charges the outermost function
 * outside the runtime. */
static void count_sample(struct tally *t, size_t sample, int64_t value, int64_t objects)
{
    struct sample_names n = walk_names(t->profile, sample);
    uint32_t own = 0;
    bool leaf = true, found = false;
    for (uint32_t name; names_next(&n, &name); leaf = false) {
        struct tally_count *c = &t->of[name];
        unsigned origin = t->filter->origins[name];
        if (leaf)
            add_saturated(&c->flat, value);
        if (leaf && origin == FUNCTION_OF_RUNTIME)
            add_saturated(&t->in_runtime, value);
        if (c->seen != sample + 1)
            add_saturated(&c->cum, value);
        c->seen = sample + 1;
        own = found || origin == FUNCTION_OF_RUNTIME ? own : name;
        found = found || origin == FUNCTION_OF_PROGRAM;
    }
    add_saturated(&t->of[own].own, value);
    add_saturated(&t->of[own].objects, objects);
}

int64_t tally_sum(const struct tally *like, const struct tally_choice *choice)
{
    int64_t total = 0;
    for (size_t i = 0; i < like->profile->n_samples; i++)
        if (is_chosen(like->filter, i, choice))
            add_saturated(&total, value_of(like, i, like->type));
    return total;
}

int tally_make(struct tally *t, const struct stack_filter *s, struct tally_types types,
               const struct tally_choice *choice, struct err *err)
{
    const struct profile *p = s->profile;
    *t = (struct tally){.filter = s, .profile = p, .type = types.values, .counts = types.counts};
    t->of = calloc(profile_n_strings(p) + 1, sizeof *t->of);
    if (!t->of)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t value = value_of(t, i, t->type), objects = value_of(t, i, t->counts);
        if ((value == 0 && objects == 0) || !is_chosen(s, i, choice))
            continue;
        add_saturated(&t->total, value);
        add_saturated(&t->objects, objects);
        if (is_profiling(s, i))
            count_profiling(t, i, value, objects);
        else
            count_sample(t, i, value, objects);
    }
    return 0;
}

void tally_release(struct tally *t)
{
    free(t->of);
    *t = (struct tally){0};
}

/* ---- the heaviest -------------------------------------------------------------------------------------- */

/* Whether a precedes b by name, so that equal profiles give equal findings. */
static bool precedes(const struct tally *t, uint32_t a, uint32_t b)
{
    return b == TALLY_NONE || str_compare(profile_str(t->profile, a), profile_str(t->profile, b)) < 0;
}

/* The name of function i; 0 if it has none. */
static uint32_t name_at(const struct tally *t, size_t i)
{
    return t->profile->functions[i].name;
}

static enum functions_origin origin_at(const struct tally *t, uint32_t name)
{
    return (enum functions_origin)t->filter->origins[name];
}

/* The function with the largest own, of the profilers or of all others. */
static uint32_t top_own(const struct tally *t, bool profilers)
{
    uint32_t top = TALLY_NONE;
    int64_t most = 0;
    for (size_t i = 0; i < t->profile->n_functions; i++) {
        uint32_t name = name_at(t, i);
        int64_t v = t->of[name].own;
        if (name == 0 || v <= 0 || v < most || (v == most && !precedes(t, name, top)) ||
            (origin_at(t, name) == FUNCTION_OF_PROFILERS) != profilers)
            continue;
        top = name;
        most = v;
    }
    return top;
}

uint32_t tally_top_own(const struct tally *t)
{
    return top_own(t, false);
}

uint32_t tally_top_profilers(const struct tally *t)
{
    return top_own(t, true);
}

uint32_t tally_top_flat(const struct tally *t, enum functions_origin at_least)
{
    uint32_t top = TALLY_NONE;
    int64_t most = 0;
    for (size_t i = 0; i < t->profile->n_functions; i++) {
        uint32_t name = name_at(t, i);
        int64_t v = t->of[name].flat;
        if (name == 0 || origin_at(t, name) < at_least || v <= 0 || v < most ||
            (v == most && !precedes(t, name, top)))
            continue;
        top = name;
        most = v;
    }
    return top;
}

/* Whether a covers half better than b, see tally_top_cum. */
static bool covers_better(const struct tally *t, uint32_t a, uint32_t b)
{
    int64_t half = t->total - t->total / 2, of_a = t->of[a].cum;
    if (b == TALLY_NONE)
        return of_a > 0;
    int64_t of_b = t->of[b].cum;
    if ((of_a >= half) != (of_b >= half))
        return of_a >= half;
    if (of_a != of_b)
        return of_a >= half ? of_a < of_b : of_a > of_b;
    return t->of[a].flat != t->of[b].flat ? t->of[a].flat > t->of[b].flat : precedes(t, a, b);
}

uint32_t tally_top_cum(const struct tally *t)
{
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < t->profile->n_functions; i++) {
        uint32_t name = name_at(t, i);
        if (name != 0 && origin_at(t, name) == FUNCTION_OF_PROGRAM && name != top &&
            covers_better(t, name, top))
            top = name;
    }
    return top;
}
