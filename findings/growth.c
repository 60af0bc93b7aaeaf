#include "findings/growth.h"

#include "base/banned.h"

/* The counters of one process may fall by this part of their total, because Go multiplies the samples by a
 * mean size, which changes. */
#define MAX_FALL 0.1

static bool is_counter(const struct growth *growth, size_t type)
{
    static const char *const counters[] = {"alloc_objects", "alloc_space", "contentions", "delay"};
    struct str name = profile_str(growth->merged, growth->merged->sample_types[type].type);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (str_is(name, counters[i]))
            return true;
    return false;
}

/* The first mapping is the program itself. */
static struct str get_build_id(const struct profile *profile)
{
    return profile->n_mappings ? profile_str(profile, profile->mappings[0].build_id) : STR("");
}

static bool is_rebuilt(const struct profile *before, const struct profile *now)
{
    struct str a = get_build_id(before), b = get_build_id(now);
    return a.n > 0 && b.n > 0 && !str_equal(a, b);
}

int growth_make(struct growth *growth, struct profile *before, struct profile *now, struct err *err)
{
    struct profile *profiles[] = {before, now};
    *growth = (struct growth){.n_types = now->n_sample_types, .is_rebuilt = is_rebuilt(before, now)};
    if (now->time_ns > before->time_ns && before->time_ns > 0)
        growth->between_ns = now->time_ns - before->time_ns;
    if (profile_check_compatible(before, now, err) < 0)
        return -1;
    profile_drop_labels(before);
    profile_drop_labels(now);
    if (profile_repeat_types(before, GROWTH_BEFORE, 2, err) < 0 ||
        profile_repeat_types(now, GROWTH_NOW, 2, err) < 0)
        return -1;
    return profile_merge(profiles, 2, &growth->merged, err);
}

void growth_release(struct growth *growth)
{
    profile_free(growth->merged);
    *growth = (struct growth){0};
}

/* ---- restarts ------------------------------------------------------------------------------------------ */

static bool has_fallen(const struct growth *growth, size_t type)
{
    double before = 0, now = 0, fall = 0;
    for (size_t i = 0; i < growth->merged->n_samples; i++) {
        const int64_t *values = growth->merged->values + i * 2 * growth->n_types;
        double old = (double)values[type], new = (double)values[growth->n_types + type];
        before += old;
        now += new;
        fall += old > new ? old - new : 0;
    }
    return before > 0 && (now < before * (1 - MAX_FALL) || fall > before * MAX_FALL);
}

const char *growth_find_restart(const struct growth *growth)
{
    if (growth->is_rebuilt)
        return "the second snapshot is of another build";
    for (size_t i = 0; i < growth->n_types; i++)
        if (is_counter(growth, i) && has_fallen(growth, i))
            return "its counters are smaller in the second snapshot";
    return NULL;
}

/* ---- subtracting --------------------------------------------------------------------------------------- */

/* Returns now - before, limited to the range of int64_t. If a counter fell, returns 0, because the fall is a
 * sampling error. */
static int64_t subtract_value(bool only_grows, int64_t before, int64_t now)
{
    int64_t difference = 0;
    if (__builtin_sub_overflow(now, before, &difference))
        difference = now > before ? INT64_MAX : INT64_MIN;
    return only_grows && difference < 0 ? 0 : difference;
}

void growth_subtract(struct growth *growth)
{
    struct profile *p = growth->merged;
    for (size_t type = 0; type < growth->n_types; type++) {
        bool only_grows = is_counter(growth, type);
        for (size_t i = 0; i < p->n_samples; i++) {
            int64_t *values = p->values + i * 2 * growth->n_types;
            values[type] = subtract_value(only_grows, values[type], values[growth->n_types + type]);
        }
    }
    profile_keep_first_types(p, growth->n_types);
    p->duration_ns = growth->between_ns;
}
