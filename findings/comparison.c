#include "findings/comparison.h"

#include <math.h>

#include "base/banned.h"

/* Limits of stacks and frames for each side. */
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
static int set_types(struct comparison *s, struct profile *p, struct err *err)
{
    s->n_types = p->n_sample_types;
    if (profile_default_type(p, &s->default_type, err) < 0)
        return -1;
    s->default_type = s->default_type < s->n_types ? s->default_type : 0;
    return 0;
}

/* Any profile that was added, or NULL. */
static const struct profile *any_part(const struct comparison *s)
{
    for (size_t i = 0; i < 2 * COMPARISON_PARTS; i++)
        if (s->of[i / COMPARISON_PARTS].parts[i % COMPARISON_PARTS])
            return s->of[i / COMPARISON_PARTS].parts[i % COMPARISON_PARTS];
    return NULL;
}

/* Merges the first n parts, and p unless it is NULL, into part `at`. */
static int merge_parts(struct comparison_half *of, size_t n, struct profile *p, size_t at, struct err *err)
{
    struct profile *some[COMPARISON_PARTS + 1], *merged = NULL;
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (of->parts[i])
            some[found++] = of->parts[i];
    /* A single part needs no merge. A merge would copy it for each further profile once the side is full. */
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

static bool has_room(const struct comparison_half *of)
{
    size_t samples = 0, frames = 0;
    for (size_t i = 0; i < COMPARISON_PARTS; i++) {
        samples += of->parts[i] ? of->parts[i]->n_samples : 0;
        frames += of->parts[i] ? of->parts[i]->n_stack : 0;
    }
    return samples <= MAX_SAMPLES && frames <= MAX_FRAMES;
}

/* Merges all parts if there are too many stacks, because parts repeat the stacks that they share. */
static int limit_stacks(struct comparison_half *of, struct err *err)
{
    if (has_room(of))
        return 0;
    if (merge_parts(of, COMPARISON_PARTS, NULL, COMPARISON_PARTS - 1, err) < 0)
        return -1;
    return has_room(of) ? 0
                        : err_set(err, ERR_FAILED, "the merged profiles of its side have too many stacks");
}

/* Works like a binary counter: a sample is merged again only when its part doubles. */
static int add_part(struct comparison_half *of, struct profile *p, struct err *err)
{
    size_t free_part = 0;
    while (of->parts[free_part])
        free_part++;
    return merge_parts(of, free_part, p, free_part, err);
}

int comparison_add(struct comparison *s, enum comparison_side side, struct profile *p, struct err *err)
{
    struct comparison_half *of = &s->of[side];
    const struct profile *model = any_part(s);
    int64_t duration = p->duration_ns;
    if (p->n_sample_types > COMPARISON_MAX_TYPES)
        profile_keep_first_types(p, COMPARISON_MAX_TYPES);
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
static int merge_side(struct comparison_half *of, enum comparison_side side, struct profile **ret,
                      struct err *err)
{
    struct profile **last = &of->parts[COMPARISON_PARTS - 1];
    if (merge_parts(of, COMPARISON_PARTS, NULL, COMPARISON_PARTS - 1, err) < 0 ||
        (*last && profile_repeat_types(*last, side, 2, err) < 0))
        return -1;
    *ret = *last;
    *last = NULL;
    return 0;
}

int comparison_finish(struct comparison *s, struct err *err)
{
    struct profile *both[2] = {NULL, NULL};
    int rc = -1;
    if (merge_side(&s->of[COMPARISON_TARGET], COMPARISON_TARGET, &both[COMPARISON_TARGET], err) == 0 &&
        merge_side(&s->of[COMPARISON_BASELINE], COMPARISON_BASELINE, &both[COMPARISON_BASELINE], err) == 0)
        rc = comparison_has_both(s) ? profile_merge_all(both, 2, &s->all, err) : 0;
    profile_free(both[COMPARISON_TARGET]);
    profile_free(both[COMPARISON_BASELINE]);
    /* `all` is drawn by the target's values, so its default type is the target's. */
    if (s->all)
        s->all->default_sample_type = s->all->sample_types[s->default_type].type;
    return rc;
}

void comparison_release(struct comparison *s)
{
    profile_free(s->all);
    for (size_t i = 0; i < 2 * COMPARISON_PARTS; i++)
        profile_free(s->of[i / COMPARISON_PARTS].parts[i % COMPARISON_PARTS]);
    *s = (struct comparison){0};
}

bool comparison_has_both(const struct comparison *s)
{
    return s->of[COMPARISON_TARGET].processes > 0 && s->of[COMPARISON_BASELINE].processes > 0;
}

static bool is_timed(const struct comparison_half *s)
{
    return s->timed == s->processes && s->duration_ns > 0;
}

enum comparison_basis comparison_basis_of(const struct comparison *s, size_t type)
{
    struct str name = profile_str(s->all, s->all->sample_types[type].type);
    if (is_one_of(name, sampled))
        return COMPARISON_SHARE;
    /* In a difference over time, the value is a change, not an amount. */
    if (is_one_of(name, standing) && s->of[COMPARISON_TARGET].timed + s->of[COMPARISON_BASELINE].timed == 0)
        return COMPARISON_PROCESS;
    return is_timed(&s->of[COMPARISON_TARGET]) && is_timed(&s->of[COMPARISON_BASELINE]) ? COMPARISON_SECOND
                                                                                        : COMPARISON_SHARE;
}

static double total_of(const struct comparison *s, size_t column)
{
    double total = 0;
    for (size_t i = 0; i < s->all->n_samples; i++)
        total += fabs((double)s->all->values[i * s->all->n_sample_types + column]);
    return total;
}

double comparison_scale(const struct comparison *s, size_t type, enum comparison_side side)
{
    const struct comparison_half *of = &s->of[side];
    double whole = 0;
    switch (comparison_basis_of(s, type)) {
    case COMPARISON_SHARE:
        whole = total_of(s, comparison_column(s, type, side));
        break;
    case COMPARISON_SECOND:
        whole = (double)of->duration_ns / 1e9;
        break;
    case COMPARISON_PROCESS:
        whole = (double)of->processes;
        break;
    }
    return whole > 0 ? 1 / whole : 0;
}
