#include "report/sides.h"

#include <math.h>

#include "base/banned.h"

/* Limits of each side, so that neither takes the other's memory. */
#define MAX_SAMPLES 250000
#define MAX_FRAMES 10000000

/* Types whose values describe one moment. The others count from some start. */
static const char *const standing[] = {"inuse_objects", "inuse_space", "goroutine", "threadcreate", NULL};
/* Types with a sampling rate, where only shares are comparable. */
static const char *const sampled[] = {"cpu", "samples", NULL};

static bool is_one_of(struct str type, const char *const *list)
{
    while (*list && !str_is(type, *list))
        list++;
    return *list;
}

/* Takes the sample types from the first profile. */
static int set_types(struct sides *s, struct profile *p, struct err *err)
{
    s->n_types = p->n_sample_types;
    if (profile_default_type(p, &s->default_type, err) < 0)
        return -1;
    s->default_type = s->default_type < s->n_types ? s->default_type : 0;
    return 0;
}

/* Any profile that was added, or NULL. */
static const struct profile *any_part(const struct sides *s)
{
    for (size_t i = 0; i < 2 * SIDES_PARTS; i++)
        if (s->of[i / SIDES_PARTS].parts[i % SIDES_PARTS])
            return s->of[i / SIDES_PARTS].parts[i % SIDES_PARTS];
    return NULL;
}

/* Merges the first n parts, and p unless it is NULL, into part `at`. */
static int merge_parts(struct sides_side *of, size_t n, struct profile *p, size_t at, struct err *err)
{
    struct profile *some[SIDES_PARTS + 1], *merged = NULL;
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (of->parts[i])
            some[found++] = of->parts[i];
    /* A single part needs no merge: a full side would otherwise copy it for each further profile. */
    bool alone = found == 1 && !p;
    if (p)
        some[found++] = p;
    if (found > 0 && !alone && profile_merge(some, found, &merged, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!alone)
            profile_free(of->parts[i]);
        of->parts[i] = NULL;
    }
    of->parts[at] = alone ? some[0] : merged;
    return 0;
}

static bool has_room(const struct sides_side *of)
{
    size_t samples = 0, frames = 0;
    for (size_t i = 0; i < SIDES_PARTS; i++) {
        samples += of->parts[i] ? of->parts[i]->n_samples : 0;
        frames += of->parts[i] ? of->parts[i]->n_stack : 0;
    }
    return samples <= MAX_SAMPLES && frames <= MAX_FRAMES;
}

/* Merges all parts if there are too many stacks, because parts repeat the stacks that they share. */
static int limit_stacks(struct sides_side *of, struct err *err)
{
    if (has_room(of))
        return 0;
    if (merge_parts(of, SIDES_PARTS, NULL, SIDES_PARTS - 1, err) < 0)
        return -1;
    return has_room(of) ? 0 : err_set(err, ERR_FAILED, "its side has too many stacks already");
}

/* Works like a binary counter: a sample is merged again only when its part doubles. */
static int add_part(struct sides_side *of, struct profile *p, struct err *err)
{
    size_t free_part = 0;
    while (of->parts[free_part])
        free_part++;
    return merge_parts(of, free_part, p, free_part, err);
}

int sides_add(struct sides *s, enum side side, struct profile *p, struct err *err)
{
    struct sides_side *of = &s->of[side];
    const struct profile *model = any_part(s);
    int64_t duration = p->duration_ns;
    if (p->n_sample_types > SIDES_MAX_TYPES)
        profile_narrow(p, SIDES_MAX_TYPES);
    if (p->n_sample_types == 0)
        return err_set(err, ERR_FAILED, "it has no sample types");
    profile_drop_labels(p);
    if ((model ? profile_compatible(model, p, err) : set_types(s, p, err)) < 0 || limit_stacks(of, err) < 0 ||
        add_part(of, p, err) < 0)
        return -1;
    of->processes++;
    of->timed += duration > 0;
    of->duration_ns += duration > 0 && duration < INT64_MAX - of->duration_ns ? duration : 0;
    return 0;
}

/* Merges one side and widens it to both sides' columns. *ret is NULL if the side is empty. */
static int merge_side(struct sides_side *of, enum side side, struct profile **ret, struct err *err)
{
    struct profile **last = &of->parts[SIDES_PARTS - 1];
    if (merge_parts(of, SIDES_PARTS, NULL, SIDES_PARTS - 1, err) < 0 ||
        (*last && profile_widen(*last, side, 2, err) < 0))
        return -1;
    *ret = *last;
    *last = NULL;
    return 0;
}

int sides_finish(struct sides *s, struct err *err)
{
    struct profile *both[2] = {NULL, NULL};
    int rc = -1;
    if (merge_side(&s->of[SIDE_HERE], SIDE_HERE, &both[SIDE_HERE], err) == 0 &&
        merge_side(&s->of[SIDE_THERE], SIDE_THERE, &both[SIDE_THERE], err) == 0)
        rc = sides_are_two(s) ? profile_merge_all(both, 2, &s->all, err) : 0;
    profile_free(both[SIDE_HERE]);
    profile_free(both[SIDE_THERE]);
    /* A picture of all starts with the heaviest stacks of here. */
    if (s->all)
        s->all->default_sample_type = s->all->sample_types[s->default_type].type;
    return rc;
}

void sides_release(struct sides *s)
{
    profile_free(s->all);
    for (size_t i = 0; i < 2 * SIDES_PARTS; i++)
        profile_free(s->of[i / SIDES_PARTS].parts[i % SIDES_PARTS]);
    *s = (struct sides){0};
}

bool sides_are_two(const struct sides *s)
{
    return s->of[SIDE_HERE].processes > 0 && s->of[SIDE_THERE].processes > 0;
}

static bool is_timed(const struct sides_side *s)
{
    return s->timed == s->processes && s->duration_ns > 0;
}

enum sides_basis sides_basis_of(const struct sides *s, size_t type)
{
    struct str name = profile_str(s->all, s->all->sample_types[type].type);
    if (is_one_of(name, sampled))
        return SIDES_SHARE;
    /* In a difference over time, the value is a change, not an amount. */
    if (is_one_of(name, standing) && s->of[SIDE_HERE].timed + s->of[SIDE_THERE].timed == 0)
        return SIDES_PROCESS;
    return is_timed(&s->of[SIDE_HERE]) && is_timed(&s->of[SIDE_THERE]) ? SIDES_SECOND : SIDES_SHARE;
}

static double total_of(const struct sides *s, size_t column)
{
    double total = 0;
    for (size_t i = 0; i < s->all->n_samples; i++)
        total += fabs((double)s->all->values[i * s->all->n_sample_types + column]);
    return total;
}

double sides_scale(const struct sides *s, size_t type, enum side side)
{
    const struct sides_side *of = &s->of[side];
    double whole = 0;
    switch (sides_basis_of(s, type)) {
    case SIDES_SHARE:
        whole = total_of(s, sides_column(s, type, side));
        break;
    case SIDES_SECOND:
        whole = (double)of->duration_ns / 1e9;
        break;
    case SIDES_PROCESS:
        whole = (double)of->processes;
        break;
    }
    return whole > 0 ? 1 / whole : 0;
}
