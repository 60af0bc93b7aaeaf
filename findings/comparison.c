#include "findings/comparison.h"

#include <math.h>

#include "base/banned.h"

/* Limits of stacks and frames for each side. */
#define MAX_SAMPLES 250000
#define MAX_FRAMES 10000000

/* Sample types whose values describe one moment. The others are counters. */
static const char *const momentary_types[] = {"inuse_objects", "inuse_space", "goroutine", "threadcreate",
                                              NULL};
/* Sample types of which only shares are comparable. */
static const char *const sampled_types[] = {"cpu", "samples", NULL};

static bool is_listed(struct str type, const char *const *list)
{
    while (*list && !str_is(type, *list))
        list++;
    return *list;
}

/* Sets the sample types by the first profile. */
static int set_types(struct comparison *comparison, struct profile *profile, struct err *err)
{
    comparison->n_types = profile->n_sample_types;
    if (profile_default_type(profile, &comparison->default_type, err) < 0)
        return -1;
    comparison->default_type = comparison->default_type < comparison->n_types ? comparison->default_type : 0;
    return 0;
}

/* Returns any part, or NULL if no profile was added. */
static const struct profile *find_any_part(const struct comparison *comparison)
{
    for (size_t i = 0; i < 2 * COMPARISON_PARTS; i++)
        if (comparison->sides[i / COMPARISON_PARTS].parts[i % COMPARISON_PARTS])
            return comparison->sides[i / COMPARISON_PARTS].parts[i % COMPARISON_PARTS];
    return NULL;
}

/* Merges the first n parts, and `profile` unless it is NULL, into part `at`. */
static int merge_parts(struct comparison_profiles *profiles, size_t n, struct profile *profile, size_t at,
                       struct err *err)
{
    struct profile *inputs[COMPARISON_PARTS + 1], *merged = NULL;
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (profiles->parts[i])
            inputs[found++] = profiles->parts[i];
    /* A single part is moved, not merged, because a merge would copy it. */
    bool is_single = found == 1 && !profile;
    if (profile)
        inputs[found++] = profile;
    if (found > 0 && !is_single && profile_merge(inputs, found, &merged, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!is_single)
            profile_free(profiles->parts[i]);
        profiles->parts[i] = NULL;
    }
    profiles->parts[at] = is_single ? inputs[0] : merged;
    return 0;
}

static bool fits_limits(const struct comparison_profiles *profiles)
{
    size_t samples = 0, frames = 0;
    for (size_t i = 0; i < COMPARISON_PARTS; i++) {
        samples += profiles->parts[i] ? profiles->parts[i]->n_samples : 0;
        frames += profiles->parts[i] ? profiles->parts[i]->n_stack : 0;
    }
    return samples <= MAX_SAMPLES && frames <= MAX_FRAMES;
}

/* Merges all parts if they have too many stacks, because each part has its own copy of stacks that other
 * parts have too. */
static int limit_stacks(struct comparison_profiles *profiles, struct err *err)
{
    if (fits_limits(profiles))
        return 0;
    if (merge_parts(profiles, COMPARISON_PARTS, NULL, COMPARISON_PARTS - 1, err) < 0)
        return -1;
    return fits_limits(profiles)
               ? 0
               : err_set(err, ERR_FAILED, "the merged profiles of its side have too many stacks");
}

/* Adds a profile like a binary counter adds one, so that each sample is merged only log2(n) times. */
static int add_part(struct comparison_profiles *profiles, struct profile *profile, struct err *err)
{
    size_t free_part = 0;
    while (profiles->parts[free_part])
        free_part++;
    return merge_parts(profiles, free_part, profile, free_part, err);
}

int comparison_add(struct comparison *comparison, enum comparison_side side, struct profile *profile,
                   struct err *err)
{
    struct comparison_profiles *profiles = &comparison->sides[side];
    const struct profile *first = find_any_part(comparison);
    int64_t duration = profile->duration_ns;
    if (profile->n_sample_types > COMPARISON_MAX_TYPES)
        profile_keep_first_types(profile, COMPARISON_MAX_TYPES);
    if (profile->n_sample_types == 0)
        return err_set(err, ERR_FAILED, "it has no sample types");
    profile_drop_labels(profile);
    if ((first ? profile_check_compatible(first, profile, err) : set_types(comparison, profile, err)) < 0 ||
        limit_stacks(profiles, err) < 0 || add_part(profiles, profile, err) < 0)
        return -1;
    profiles->n_processes++;
    profiles->n_timed += duration > 0;
    profiles->duration_ns += duration > 0 && duration < INT64_MAX - profiles->duration_ns ? duration : 0;
    return 0;
}

/* Merges one side and widens it to both sides' columns. *ret is NULL if the side is empty. */
static int merge_side(struct comparison_profiles *profiles, enum comparison_side side, struct profile **ret,
                      struct err *err)
{
    struct profile **last = &profiles->parts[COMPARISON_PARTS - 1];
    if (merge_parts(profiles, COMPARISON_PARTS, NULL, COMPARISON_PARTS - 1, err) < 0 ||
        (*last && profile_repeat_types(*last, side, 2, err) < 0))
        return -1;
    *ret = *last;
    *last = NULL;
    return 0;
}

int comparison_finish(struct comparison *comparison, struct err *err)
{
    struct profile *both[2] = {NULL, NULL};
    int rc = -1;
    if (merge_side(&comparison->sides[COMPARISON_TARGET], COMPARISON_TARGET, &both[COMPARISON_TARGET], err) ==
            0 &&
        merge_side(&comparison->sides[COMPARISON_BASELINE], COMPARISON_BASELINE, &both[COMPARISON_BASELINE],
                   err) == 0)
        rc = comparison_has_both(comparison) ? profile_merge_and_free(both, 2, &comparison->all, err) : 0;
    profile_free(both[COMPARISON_TARGET]);
    profile_free(both[COMPARISON_BASELINE]);
    /* The page draws `all` by the target's values. */
    if (comparison->all)
        comparison->all->default_sample_type = comparison->all->sample_types[comparison->default_type].type;
    return rc;
}

void comparison_release(struct comparison *comparison)
{
    profile_free(comparison->all);
    for (size_t i = 0; i < 2 * COMPARISON_PARTS; i++)
        profile_free(comparison->sides[i / COMPARISON_PARTS].parts[i % COMPARISON_PARTS]);
    *comparison = (struct comparison){0};
}

bool comparison_has_both(const struct comparison *comparison)
{
    return comparison->sides[COMPARISON_TARGET].n_processes > 0 &&
           comparison->sides[COMPARISON_BASELINE].n_processes > 0;
}

static bool has_durations(const struct comparison_profiles *profiles)
{
    return profiles->n_timed == profiles->n_processes && profiles->duration_ns > 0;
}

enum comparison_basis comparison_basis_of(const struct comparison *comparison, size_t type)
{
    struct str name = profile_str(comparison->all, comparison->all->sample_types[type].type);
    if (is_listed(name, sampled_types))
        return COMPARISON_SHARE;
    /* In a difference over time, the value is a change, not an amount. */
    if (is_listed(name, momentary_types) &&
        comparison->sides[COMPARISON_TARGET].n_timed + comparison->sides[COMPARISON_BASELINE].n_timed == 0)
        return COMPARISON_PROCESS;
    return has_durations(&comparison->sides[COMPARISON_TARGET]) &&
                   has_durations(&comparison->sides[COMPARISON_BASELINE])
               ? COMPARISON_SECOND
               : COMPARISON_SHARE;
}

static double sum_column(const struct comparison *comparison, size_t column)
{
    double total = 0;
    for (size_t i = 0; i < comparison->all->n_samples; i++)
        total += fabs((double)comparison->all->values[i * comparison->all->n_sample_types + column]);
    return total;
}

double comparison_scale(const struct comparison *comparison, size_t type, enum comparison_side side)
{
    const struct comparison_profiles *profiles = &comparison->sides[side];
    double divisor = 0;
    switch (comparison_basis_of(comparison, type)) {
    case COMPARISON_SHARE:
        divisor = sum_column(comparison, comparison_column(comparison, type, side));
        break;
    case COMPARISON_SECOND:
        divisor = (double)profiles->duration_ns / 1e9;
        break;
    case COMPARISON_PROCESS:
        divisor = (double)profiles->n_processes;
        break;
    }
    return divisor > 0 ? 1 / divisor : 0;
}
