/* Profiles for tests: a few stacks, given by the names of their functions. */
#ifndef TESTS_UNIT_PROFILE_STACKS_H
#define TESTS_UNIT_PROFILE_STACKS_H

#include "proto/proto.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)
#define MB INT64_C(1048576)

static inline uint32_t intern(struct profile *p, const char *s)
{
    struct err err = ERR_INIT;
    uint32_t ret = 0;
    assert_ok(profile_intern(p, s, strlen(s), &ret, &err), &err);
    return ret;
}

/* Returns an empty profile. `types` has the type and the unit of each sample type, and ends in NULL. */
static inline struct profile *profile_with_types(const char *const *types)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    for (; types[0]; types += 2)
        assert_ok(profile_add_sample_type(
                      p, (struct profile_value_type){intern(p, types[0]), intern(p, types[1])}, &err),
                  &err);
    return p;
}

/* Adds a sample. `stack` is "leaf caller root"; the same name is always the same location. `label` is the
 * value of the sample's label "user"; NULL: the sample has no label. */
static inline void add_sample(struct profile *p, const char *stack, const int64_t *values, const char *label)
{
    struct err err = ERR_INIT;
    uint32_t locations[16];
    size_t depth = 0;
    char *copy = strdup(stack), *rest = NULL;
    for (char *at = strtok_r(copy, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
        uint32_t name = intern(p, at), found = UINT32_MAX;
        for (uint32_t i = 0; i < p->n_functions; i++)
            found = p->functions[i].name == name ? i : found;
        if (found == UINT32_MAX) {
            struct profile_function f = {.id = p->n_functions + 1, .name = name};
            struct profile_line line = {.function = (uint32_t)p->n_functions};
            struct profile_location l = {.id = p->n_locations + 1, .mapping = PROFILE_NONE, .n_lines = 1};
            found = (uint32_t)p->n_functions;
            assert_ok(profile_add_function(p, &f, &err), &err);
            assert_ok(profile_add_location(p, &l, &line, &err), &err);
        }
        locations[depth++] = found;
    }
    struct profile_label user = {.key = intern(p, "user"), .str = intern(p, label ? label : "x")};
    assert_ok(profile_add_sample(
                  p, &(struct profile_new_sample){locations, depth, values, &user, label ? 1 : 0}, &err),
              &err);
    free(copy);
}

static inline struct profile *cpu_profile(void)
{
    struct profile *p =
        profile_with_types((const char *const[]){"samples", "count", "cpu", "nanoseconds", NULL});
    p->duration_ns = 10 * SECOND;
    return p;
}

/* Adds samples of a CPU profile, ten milliseconds each. */
static inline void add_cpu_samples(struct profile *p, const char *stack, int64_t samples)
{
    add_sample(p, stack, (const int64_t[]){samples, samples * 10000000}, "carol");
}

/* A CPU profile with `of` samples below main.main: `hot` of main.hot, the others of main.cold. */
static inline struct profile *hot_profile(int64_t hot, int64_t of)
{
    struct profile *p = cpu_profile();
    add_cpu_samples(p, "main.hot main.main", hot);
    add_cpu_samples(p, "main.cold main.main", of - hot);
    return p;
}

static inline struct profile *heap_profile(int64_t time_ns)
{
    struct profile *p =
        profile_with_types((const char *const[]){"alloc_objects", "count", "alloc_space", "bytes",
                                                 "inuse_objects", "count", "inuse_space", "bytes", NULL});
    p->period = 524288;
    p->time_ns = time_ns;
    return p;
}

/* Adds a sample of a heap profile: `allocated` objects, of which `used` are in use. Each has one megabyte. */
static inline void add_heap_sample(struct profile *p, const char *stack, int64_t allocated, int64_t used)
{
    add_sample(p, stack, (const int64_t[]){allocated, allocated * MB, used, used * MB}, NULL);
}

#endif
