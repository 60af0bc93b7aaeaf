/* Profiles for tests of reports, made from stacks that are written as text. */
#ifndef TESTS_UNIT_PPROF_STACK_PROFILE_H
#define TESTS_UNIT_PPROF_STACK_PROFILE_H

#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"

static inline uint32_t intern(struct profile *p, const char *s)
{
    struct err err = ERR_INIT;
    uint32_t ret = 0;
    assert_int_equal(profile_intern(p, s, strlen(s), &ret, &err), 0);
    return ret;
}

/* Returns the function of that name; adds it if there is none. */
static inline uint32_t find_or_add_function(struct profile *p, const char *name)
{
    struct err err = ERR_INIT;
    uint32_t string = intern(p, name);
    for (size_t i = 0; i < p->n_functions; i++)
        if (p->functions[i].name == string)
            return (uint32_t)i;
    struct profile_function f = {.id = p->n_functions + 1, .name = string};
    assert_int_equal(profile_add_function(p, &f, &err), 0);
    return (uint32_t)p->n_functions - 1;
}

/* Adds a location: "a" in the function a, or "b<a" with b inlined into a. Changes the text. */
static inline uint32_t add_location(struct profile *p, char *text)
{
    struct err err = ERR_INIT;
    struct profile_line lines[8] = {0};
    struct profile_location l = {.id = p->n_locations + 1, .mapping = PROFILE_NONE};
    char *rest = NULL;
    for (char *name = strtok_r(text, "<", &rest); name; name = strtok_r(NULL, "<", &rest))
        lines[l.n_lines++].function = find_or_add_function(p, name);
    assert_int_equal(profile_add_location(p, &l, lines, &err), 0);
    return (uint32_t)p->n_locations - 1;
}

/* Adds a sample. `stack` has its locations, leaf first: "leaf caller root". */
static inline void add_sample(struct profile *p, const char *stack, int64_t value,
                              const struct profile_label *labels, size_t n_labels)
{
    struct err err = ERR_INIT;
    uint32_t locations[64];
    size_t depth = 0;
    char *copy = strdup(stack), *rest = NULL;
    assert_non_null(copy);
    for (char *at = strtok_r(copy, " ", &rest); at; at = strtok_r(NULL, " ", &rest))
        locations[depth++] = add_location(p, at);
    assert_int_equal(
        profile_add_sample(p, &(struct profile_new_sample){locations, depth, &value, labels, n_labels}, &err),
        0);
    free(copy);
}

static inline struct profile *new_profile(void)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    struct profile_value_type type = {intern(p, "cpu"), intern(p, "count")};
    assert_int_equal(profile_add_sample_type(p, type, &err), 0);
    return p;
}

#endif
