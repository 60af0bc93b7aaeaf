#include "findings/growth.h"

#include "base/banned.h"

/* The counters of one process may fall by this part of the total, because Go scales its samples by a mean
 * size that changes. */
#define FALL 0.1

static bool is_counter(const struct growth *g, size_t type)
{
    static const char *const counters[] = {"alloc_objects", "alloc_space", "contentions", "delay"};
    struct str name = profile_str(g->both, g->both->sample_types[type].type);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (str_is(name, counters[i]))
            return true;
    return false;
}

/* The first mapping is the program itself. */
static struct str build_of(const struct profile *p)
{
    return p->n_mappings ? profile_str(p, p->mappings[0].build_id) : STR("");
}

static bool is_rebuilt(const struct profile *before, const struct profile *now)
{
    struct str a = build_of(before), b = build_of(now);
    return a.n > 0 && b.n > 0 && !str_equal(a, b);
}

int growth_make(struct growth *g, struct profile *before, struct profile *now, struct err *err)
{
    struct profile *profiles[] = {before, now};
    *g = (struct growth){.n_types = now->n_sample_types, .rebuilt = is_rebuilt(before, now)};
    if (now->time_ns > before->time_ns && before->time_ns > 0)
        g->between_ns = now->time_ns - before->time_ns;
    if (profile_compatible(before, now, err) < 0)
        return -1;
    profile_drop_labels(before);
    profile_drop_labels(now);
    if (profile_repeat_types(before, GROWTH_BEFORE, 2, err) < 0 ||
        profile_repeat_types(now, GROWTH_NOW, 2, err) < 0)
        return -1;
    return profile_merge(profiles, 2, &g->both, err);
}

void growth_release(struct growth *g)
{
    profile_free(g->both);
    *g = (struct growth){0};
}

/* ---- restarts ------------------------------------------------------------------------------------------ */

static bool has_fallen(const struct growth *g, size_t type)
{
    double before = 0, now = 0, fallen = 0;
    for (size_t i = 0; i < g->both->n_samples; i++) {
        const int64_t *values = g->both->values + i * 2 * g->n_types;
        double old = (double)values[type], new = (double)values[g->n_types + type];
        before += old;
        now += new;
        fallen += old > new ? old - new : 0;
    }
    return before > 0 && (now < before * (1 - FALL) || fallen > before * FALL);
}

const char *growth_restarted(const struct growth *g)
{
    if (g->rebuilt)
        return "the second snapshot is of another build";
    for (size_t i = 0; i < g->n_types; i++)
        if (is_counter(g, i) && has_fallen(g, i))
            return "its counters are smaller in the second snapshot";
    return NULL;
}

/* ---- subtracting --------------------------------------------------------------------------------------- */

/* A counter falls only by rounding. */
static int64_t difference_of(bool counter, int64_t before, int64_t now)
{
    int64_t by = 0;
    if (__builtin_sub_overflow(now, before, &by))
        by = now > before ? INT64_MAX : INT64_MIN;
    return counter && by < 0 ? 0 : by;
}

void growth_subtract(struct growth *g)
{
    struct profile *p = g->both;
    for (size_t type = 0; type < g->n_types; type++) {
        bool counter = is_counter(g, type);
        for (size_t i = 0; i < p->n_samples; i++) {
            int64_t *values = p->values + i * 2 * g->n_types;
            values[type] = difference_of(counter, values[type], values[g->n_types + type]);
        }
    }
    profile_keep_first_types(p, g->n_types);
    p->duration_ns = g->between_ns;
}
