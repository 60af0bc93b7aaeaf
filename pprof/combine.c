/*
 * Merges several profiles into one.
 *
 * Source: google/pprof internal/driver/fetch.go (combineProfiles), internal/measurement (ScaleProfiles).
 */
#include <stdlib.h>

#include "pprof/pprof.h"
#include "base/banned.h"

/* A sample type or period type, and the profile that has its strings. */
struct profile_type {
    const struct profile *profile;
    struct profile_value_type type;
};

static struct str unit_of(struct profile_type t)
{
    return profile_str(t.profile, t.type.unit);
}

/* The type's name without a final s. */
static struct str singular_name(struct profile_type t)
{
    struct str s = profile_str(t.profile, t.type.type);
    if (s.n && s.p[s.n - 1] == 's')
        s.n--;
    return s;
}

/* The sample type at the index, or the period type for SIZE_MAX. */
static struct profile_type type_at(const struct profile *p, size_t index)
{
    return (struct profile_type){p, index == SIZE_MAX ? p->period_type : p->sample_types[index]};
}

/* Compares the profiles' types at the index. *ret is the one with the finest unit. */
static int find_finest(struct profile *const *profiles, size_t n, size_t index, struct profile_type *ret,
                       struct err *err)
{
    struct profile_type best = type_at(profiles[0], index);
    for (size_t i = 1; i < n; i++) {
        struct profile_type t = type_at(profiles[i], index);
        struct str unit;
        if (!str_equal(singular_name(best), singular_name(t)) ||
            !measure_are_compatible(unit_of(best), unit_of(t))) {
            char a[PROFILE_TYPE_TEXT], b[PROFILE_TYPE_TEXT];
            return err_set(err, ERR_FAILED, "%s: incompatible types: %s %s",
                           index == SIZE_MAX ? "period type" : "sample types",
                           profile_type_text(best.profile, best.type, a),
                           profile_type_text(t.profile, t.type, b));
        }
        if (measure_scale(1, unit_of(t), unit_of(best), &unit) < 1)
            best = t;
    }
    *ret = best;
    return 0;
}

/* Converts a profile to the units of `period` and `types`. `ratios` has room for a number for each type. */
static int convert_units(struct profile *p, struct profile_type period, const struct profile_type *types,
                         double *ratios, struct err *err)
{
    struct str unit, to = unit_of(period);
    p->period =
        profile_double_to_int(measure_scale(p->period, profile_str(p, p->period_type.unit), to, &unit));
    if (profile_intern(p, to.p, to.n, &p->period_type.unit, err) < 0)
        return -1;
    for (size_t i = 0; i < p->n_sample_types; i++) {
        to = unit_of(types[i]);
        ratios[i] = measure_scale(1, profile_str(p, p->sample_types[i].unit), to, &unit);
        if (profile_intern(p, to.p, to.n, &p->sample_types[i].unit, err) < 0)
            return -1;
    }
    profile_scale(p, ratios);
    return 0;
}

static int convert_to_common_units(struct profile *const *profiles, size_t n, struct err *err)
{
    size_t n_types = profiles[0]->n_sample_types;
    struct profile_type period, *types = malloc((n_types + 1) * sizeof *types);
    double *ratios = malloc((n_types + 1) * sizeof *ratios);
    int rc = types && ratios ? find_finest(profiles, n, SIZE_MAX, &period, err) : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < n_types; i++)
        rc = find_finest(profiles, n, i, &types[i], err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = convert_units(profiles[i], period, types, ratios, err);
    free(types);
    free(ratios);
    return rc;
}

int report_combine(struct profile **profiles, size_t n, struct profile **ret, struct err *err)
{
    int rc = profile_reduce_to_common_types(profiles, n, err);
    if (rc == 0 && n == 1) {
        *ret = profiles[0];
        return 0;
    }
    if (rc == 0)
        rc = convert_to_common_units(profiles, n, err);
    if (rc == 0)
        rc = profile_merge_and_free(profiles, n, ret, err);
    for (size_t i = 0; i < n; i++)
        profile_free(profiles[i]);
    return rc;
}
