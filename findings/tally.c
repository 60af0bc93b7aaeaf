/* Functions of the same name are counted as one, so the string of the name is the index of a tally_count. */
#include <stdlib.h>

#include "findings/tally.h"
#include "base/banned.h"

/* ---- the stack filter ---------------------------------------------------------------------------------- */

static void add_list(struct stack_filter *filter, const char *const *list)
{
    for (size_t i = 0; i < filter->n_lists; i++)
        if (filter->lists[i] == list)
            return;
    if (list && filter->n_lists < STACK_FILTER_LISTS)
        filter->lists[filter->n_lists++] = list;
}

static uint64_t find_bit(const struct stack_filter *filter, const char *const *list)
{
    for (size_t i = 0; i < filter->n_lists; i++)
        if (filter->lists[i] == list)
            return UINT64_C(1) << i;
    return 0;
}

static uint64_t find_function_bits(const struct stack_filter *filter, struct str name)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < filter->n_lists; i++)
        bits |= functions_is_listed(name, filter->lists[i]) ? UINT64_C(1) << i : 0;
    return bits;
}

/* Finds the lists that match each function, then each location, then each sample. */
static int find_sample_bits(struct stack_filter *filter, struct err *err)
{
    const struct profile *p = filter->profile;
    uint64_t *functions = calloc(p->n_functions + 1, sizeof *functions);
    uint64_t *locations = calloc(p->n_locations + 1, sizeof *locations);
    filter->matches = calloc(p->n_samples + 1, sizeof *filter->matches);
    int rc = functions && locations && filter->matches ? 0 : err_nomem(err);
    for (size_t i = 0; i < p->n_functions && rc == 0; i++)
        functions[i] = find_function_bits(filter, profile_str(p, p->functions[i].name));
    for (size_t i = 0; i < p->n_locations && rc == 0; i++)
        for (size_t l = p->locations[i].line_at; l < p->locations[i].line_at + p->locations[i].n_lines; l++)
            locations[i] |= p->lines[l].function == PROFILE_NONE ? 0 : functions[p->lines[l].function];
    for (size_t i = 0; i < p->n_samples && rc == 0; i++) {
        struct profile_walk walk = profile_walk(p, &p->samples[i]);
        for (uint32_t location; profile_walk_next(&walk, &location);)
            filter->matches[i] |= locations[location];
    }
    free(functions);
    free(locations);
    return rc;
}

int stack_filter_init(struct stack_filter *filter, const struct profile *profile,
                      const char *const *const *lists, size_t n, struct err *err)
{
    *filter = (struct stack_filter){
        .profile = profile, .origins = calloc(profile_n_strings(profile) + 1, sizeof *filter->origins)};
    if (!filter->origins)
        return err_nomem(err);
    for (size_t i = 0; i < profile->n_functions; i++)
        filter->origins[profile->functions[i].name] =
            (unsigned char)functions_origin_of(profile_str(profile, profile->functions[i].name));
    for (size_t i = 0; i < n; i++)
        add_list(filter, lists[i]);
    add_list(filter, functions_idle_gc);
    add_list(filter, functions_allocator);
    add_list(filter, functions_profilers);
    return find_sample_bits(filter, err);
}

void stack_filter_release(struct stack_filter *filter)
{
    free(filter->origins);
    free(filter->matches);
    *filter = (struct stack_filter){0};
}

/* ---- counts -------------------------------------------------------------------------------------------- */

/* The names on a stack, from the leaf to the root. */
struct sample_names {
    const struct profile *profile;
    struct profile_walk walk;
    uint32_t at, end; /* lines of the current location */
};

static struct sample_names walk_names(const struct profile *profile, size_t sample)
{
    return (struct sample_names){profile, profile_walk(profile, &profile->samples[sample]), 0, 0};
}

static bool next_name(struct sample_names *names, uint32_t *ret)
{
    const struct profile *p = names->profile;
    uint32_t location;
    while (names->at == names->end) {
        if (!profile_walk_next(&names->walk, &location))
            return false;
        names->at = p->locations[location].line_at;
        names->end = names->at + p->locations[location].n_lines;
    }
    uint32_t function = p->lines[names->at++].function;
    *ret = function == PROFILE_NONE ? 0 : p->functions[function].name;
    return true;
}

static bool has_profiler(const struct stack_filter *filter, size_t sample)
{
    return filter->matches[sample] & find_bit(filter, functions_profilers);
}

static bool is_chosen(const struct stack_filter *filter, size_t sample, const struct tally_choice *choice)
{
    if (choice->in &&
        (!(filter->matches[sample] & find_bit(filter, choice->in)) || has_profiler(filter, sample)))
        return false;
    return !choice->out || !(filter->matches[sample] & find_bit(filter, choice->out));
}

size_t tally_find_type(const struct profile *profile, const char *type, const char *unit)
{
    for (size_t i = 0; i < profile->n_sample_types; i++)
        if (str_is(profile_str(profile, profile->sample_types[i].type), type) &&
            str_is(profile_str(profile, profile->sample_types[i].unit), unit))
            return i;
    return TALLY_NONE;
}

static int64_t get_value(const struct tally *tally, size_t sample, size_t type)
{
    const struct profile *p = tally->profile;
    int64_t v = type == TALLY_NONE ? 0 : p->values[sample * p->n_sample_types + type];
    return v > 0 ? v : 0;
}

/* Adds with saturation. */
static void add_saturated(int64_t *to, int64_t v)
{
    if (__builtin_add_overflow(*to, v, to))
        *to = INT64_MAX;
}

/* Finds the outermost profiler on the stack. It shows which profile was requested. A handler of
 * net/http/pprof is chosen only if there is no other profiler. */
static uint32_t find_profiler(const struct tally *tally, size_t sample)
{
    static const char *const handlers[] = {"net/http/pprof.*", NULL};
    struct sample_names names = walk_names(tally->profile, sample);
    uint32_t profiler = 0, handler = 0;
    for (uint32_t name; next_name(&names, &name);) {
        if (tally->filter->origins[name] != FUNCTION_OF_PROFILERS)
            continue;
        if (functions_is_listed(profile_str(tally->profile, name), handlers))
            handler = name;
        else
            profiler = name;
    }
    return profiler ? profiler : handler;
}

static void count_profiler_sample(struct tally *tally, size_t sample, int64_t value, int64_t objects)
{
    struct tally_count *c = &tally->by_name[find_profiler(tally, sample)];
    add_saturated(&tally->profilers, value);
    add_saturated(&c->flat, value);
    add_saturated(&c->cum, value);
    add_saturated(&c->own, value);
    add_saturated(&c->objects, objects);
}

/* Adds a sample to `own` of the innermost function of the program. On a stack without one, uses the outermost
 * function outside the runtime. */
static void count_sample(struct tally *tally, size_t sample, int64_t value, int64_t objects)
{
    struct sample_names names = walk_names(tally->profile, sample);
    uint32_t own = 0;
    bool is_leaf = true, found = false;
    for (uint32_t name; next_name(&names, &name); is_leaf = false) {
        struct tally_count *c = &tally->by_name[name];
        unsigned origin = tally->filter->origins[name];
        if (is_leaf)
            add_saturated(&c->flat, value);
        if (is_leaf && origin == FUNCTION_OF_RUNTIME)
            add_saturated(&tally->in_runtime, value);
        if (c->last_sample != sample + 1)
            add_saturated(&c->cum, value);
        c->last_sample = sample + 1;
        own = found || origin == FUNCTION_OF_RUNTIME ? own : name;
        found = found || origin == FUNCTION_OF_PROGRAM;
    }
    add_saturated(&tally->by_name[own].own, value);
    add_saturated(&tally->by_name[own].objects, objects);
}

int64_t tally_sum(const struct tally *tally, const struct tally_choice *choice)
{
    int64_t total = 0;
    for (size_t i = 0; i < tally->profile->n_samples; i++)
        if (is_chosen(tally->filter, i, choice))
            add_saturated(&total, get_value(tally, i, tally->value_type));
    return total;
}

int tally_make(struct tally *tally, const struct stack_filter *filter, struct tally_types types,
               const struct tally_choice *choice, struct err *err)
{
    const struct profile *p = filter->profile;
    *tally = (struct tally){
        .filter = filter, .profile = p, .value_type = types.values, .count_type = types.counts};
    tally->by_name = calloc(profile_n_strings(p) + 1, sizeof *tally->by_name);
    if (!tally->by_name)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t value = get_value(tally, i, tally->value_type),
                objects = get_value(tally, i, tally->count_type);
        if ((value == 0 && objects == 0) || !is_chosen(filter, i, choice))
            continue;
        add_saturated(&tally->total, value);
        add_saturated(&tally->objects, objects);
        if (has_profiler(filter, i))
            count_profiler_sample(tally, i, value, objects);
        else
            count_sample(tally, i, value, objects);
    }
    return 0;
}

void tally_release(struct tally *tally)
{
    free(tally->by_name);
    *tally = (struct tally){0};
}

/* ---- the heaviest -------------------------------------------------------------------------------------- */

/* Decides between functions of equal weight, so that equal profiles give equal findings. */
static bool is_before(const struct tally *tally, uint32_t a, uint32_t b)
{
    return b == TALLY_NONE || str_compare(profile_str(tally->profile, a), profile_str(tally->profile, b)) < 0;
}

/* Returns the name of function i; 0 if it has none. */
static uint32_t get_name(const struct tally *tally, size_t i)
{
    return tally->profile->functions[i].name;
}

static enum functions_origin get_origin(const struct tally *tally, uint32_t name)
{
    return (enum functions_origin)tally->filter->origins[name];
}

/* Finds the function with the largest own, among the profilers or among all others. */
static uint32_t find_top_own(const struct tally *tally, bool among_profilers)
{
    uint32_t top = TALLY_NONE;
    int64_t most = 0;
    for (size_t i = 0; i < tally->profile->n_functions; i++) {
        uint32_t name = get_name(tally, i);
        int64_t v = tally->by_name[name].own;
        if (name == 0 || v <= 0 || v < most || (v == most && !is_before(tally, name, top)) ||
            (get_origin(tally, name) == FUNCTION_OF_PROFILERS) != among_profilers)
            continue;
        top = name;
        most = v;
    }
    return top;
}

uint32_t tally_top_own(const struct tally *tally)
{
    return find_top_own(tally, false);
}

uint32_t tally_top_profiler(const struct tally *tally)
{
    return find_top_own(tally, true);
}

uint32_t tally_top_flat(const struct tally *tally, enum functions_origin at_least)
{
    uint32_t top = TALLY_NONE;
    int64_t most = 0;
    for (size_t i = 0; i < tally->profile->n_functions; i++) {
        uint32_t name = get_name(tally, i);
        int64_t v = tally->by_name[name].flat;
        if (name == 0 || get_origin(tally, name) < at_least || v <= 0 || v < most ||
            (v == most && !is_before(tally, name, top)))
            continue;
        top = name;
        most = v;
    }
    return top;
}

/* Returns whether tally_top_cum prefers a to b. */
static bool is_better_cum(const struct tally *tally, uint32_t a, uint32_t b)
{
    int64_t half = tally->total - tally->total / 2, cum_a = tally->by_name[a].cum;
    if (b == TALLY_NONE)
        return cum_a > 0;
    int64_t cum_b = tally->by_name[b].cum;
    if ((cum_a >= half) != (cum_b >= half))
        return cum_a >= half;
    if (cum_a != cum_b)
        return cum_a >= half ? cum_a < cum_b : cum_a > cum_b;
    return tally->by_name[a].flat != tally->by_name[b].flat ? tally->by_name[a].flat > tally->by_name[b].flat
                                                            : is_before(tally, a, b);
}

uint32_t tally_top_cum(const struct tally *tally)
{
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < tally->profile->n_functions; i++) {
        uint32_t name = get_name(tally, i);
        if (name != 0 && get_origin(tally, name) == FUNCTION_OF_PROGRAM && name != top &&
            is_better_cum(tally, name, top))
            top = name;
    }
    return top;
}
