/*
 * Prepares profiles for merging and comparing: sample types, values, a label.
 *
 * Source: google/pprof profile/merge.go, profile.go.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/profile_store.h"
#include "base/banned.h"

int64_t profile_double_to_int(double v)
{
    return v >= 9223372036854775808.0 || v < -9223372036854775808.0 || isnan(v) ? INT64_MIN : (int64_t)v;
}

/* ---- sample types ---- */

static bool is_same_type(const struct profile *a, struct profile_value_type x, const struct profile *b,
                         struct profile_value_type y)
{
    return str_equal(profile_str(a, x.type), profile_str(b, y.type)) &&
           str_equal(profile_str(a, x.unit), profile_str(b, y.unit));
}

const char *profile_type_text(const struct profile *p, struct profile_value_type t,
                              char dst[PROFILE_TYPE_TEXT])
{
    char type[PROFILE_TYPE_TEXT / 4], unit[PROFILE_TYPE_TEXT / 4];
    struct str name = profile_str(p, t.type), unit_name = profile_str(p, t.unit);
    text_printable(type, sizeof type, name.p, name.n);
    text_printable(unit, sizeof unit, unit_name.p, unit_name.n);
    snprintf(dst, PROFILE_TYPE_TEXT, "{%s %s 0 0}", type, unit);
    return dst;
}

int profile_check_compatible(const struct profile *a, const struct profile *b, struct err *err)
{
    if (!is_same_type(a, a->period_type, b, b->period_type)) {
        char x[PROFILE_TYPE_TEXT], y[PROFILE_TYPE_TEXT];
        return err_set(err, ERR_FAILED, "incompatible period types &%s and &%s",
                       profile_type_text(a, a->period_type, x), profile_type_text(b, b->period_type, y));
    }
    bool same = a->n_sample_types == b->n_sample_types;
    for (size_t i = 0; same && i < a->n_sample_types; i++)
        same = is_same_type(a, a->sample_types[i], b, b->sample_types[i]);
    return same ? 0 : err_set(err, ERR_FAILED, "incompatible sample types");
}

/* Finds the first sample type of that name; SIZE_MAX if there is none. */
static size_t find_type(const struct profile *p, struct str name)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        if (str_equal(profile_str(p, p->sample_types[i].type), name))
            return i;
    return SIZE_MAX;
}

/* Counts the sample types of that name in all profiles. */
static size_t count_named(struct profile *const *profiles, size_t n, struct str name)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < profiles[i]->n_sample_types; k++)
            count += str_equal(profile_str(profiles[i], profiles[i]->sample_types[k].type), name);
    return count;
}

/* Reduces the sample types to those of `indices`. If the default type is not one of them, the first one
 * becomes the default. */
static int choose_types(struct profile *p, const size_t *indices, size_t n, struct err *err)
{
    struct profile_value_type *types = malloc((n + 1) * sizeof *types);
    int64_t *values = malloc((n + 1) * sizeof *values);
    bool has_default = false;
    if (!types || !values) {
        free(types);
        free(values);
        return err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        types[i] = p->sample_types[indices[i]];
        has_default = has_default || types[i].type == p->default_sample_type;
    }
    for (size_t s = 0; s < p->n_samples; s++) {
        for (size_t i = 0; i < n; i++)
            values[i] = p->values[s * p->n_sample_types + indices[i]];
        memcpy(p->values + s * n, values, n * sizeof *values);
    }
    memcpy(p->sample_types, types, n * sizeof *types);
    if (n > 0 && !has_default)
        p->default_sample_type = types[0].type;
    p->n_sample_types = n;
    free(types);
    free(values);
    return 0;
}

/* Reduces p to the n common types. `indices` is scratch memory for n indices. */
static int reduce_types(struct profile *p, const struct str *common, size_t n, size_t *indices,
                        struct err *err)
{
    bool same = n == p->n_sample_types;
    for (size_t i = 0; i < n; i++) {
        char name[64];
        indices[i] = find_type(p, common[i]);
        if (indices[i] == SIZE_MAX)
            return err_set(err, ERR_FAILED, "\"%s\" sample type is not found in profile",
                           text_printable(name, sizeof name, common[i].p, common[i].n));
        same = same && indices[i] == i;
    }
    return same ? 0 : choose_types(p, indices, n, err);
}

int profile_reduce_to_common_types(struct profile *const *profiles, size_t n, struct err *err)
{
    size_t n_types = n ? profiles[0]->n_sample_types : 0, n_common = 0;
    struct str *common = malloc((n_types + 1) * sizeof *common);
    size_t *indices = malloc((n_types + 1) * sizeof *indices);
    int rc = common && indices ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < n_types; i++) {
        struct str name = profile_str(profiles[0], profiles[0]->sample_types[i].type);
        if (count_named(profiles, n, name) == n)
            common[n_common++] = name;
    }
    if (rc == 0 && n_common == 0)
        rc = err_set(err, ERR_FAILED, "profiles have empty common sample type list");
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = reduce_types(profiles[i], common, n_common, indices, err);
    free(common);
    free(indices);
    return rc;
}

int profile_repeat_types(struct profile *p, size_t at, size_t times, struct err *err)
{
    size_t n = p->n_sample_types, wide = n * times, cap = p->n_samples * wide + 1;
    int64_t *values = calloc(cap, sizeof *values);
    if (!values)
        return err_nomem(err);
    for (size_t s = 0; s < p->n_samples; s++)
        memcpy(values + s * wide + at * n, p->values + s * n, n * sizeof *values);
    for (size_t i = n; i < wide; i++)
        if (profile_add_sample_type(p, p->sample_types[i - n], err) < 0) {
            p->n_sample_types = n;
            free(values);
            return -1;
        }
    free(p->values);
    p->values = values;
    p->store->cap_values = cap;
    return 0;
}

void profile_keep_first_types(struct profile *p, size_t n)
{
    for (size_t s = 0; s < p->n_samples; s++)
        memmove(p->values + s * n, p->values + s * p->n_sample_types, n * sizeof *p->values);
    p->n_sample_types = n;
}

/* ---- values ---- */

/* Scales the values. Returns whether a value with a ratio other than 1 is not 0. */
static bool scale_values(int64_t *values, const double *ratios, size_t n)
{
    bool is_nonzero = false;
    for (size_t i = 0; i < n; i++) {
        if (ratios[i] == 1)
            continue;
        values[i] = profile_double_to_int(round((double)values[i] * ratios[i]));
        is_nonzero = is_nonzero || values[i];
    }
    return is_nonzero;
}

void profile_scale(struct profile *p, const double *ratios)
{
    size_t n = p->n_sample_types, kept = 0;
    bool all_ones = true;
    for (size_t i = 0; i < n; i++)
        all_ones = all_ones && ratios[i] == 1;
    if (all_ones)
        return;
    for (size_t s = 0; s < p->n_samples; s++) {
        if (!scale_values(p->values + s * n, ratios, n))
            continue;
        memmove(p->values + kept * n, p->values + s * n, n * sizeof *p->values);
        p->samples[kept++] = p->samples[s];
    }
    p->n_samples = kept;
}

static void sum_values(const struct profile *p, int64_t *sums)
{
    size_t n = p->n_sample_types;
    for (size_t i = 0; i < n; i++)
        sums[i] = 0;
    for (size_t s = 0; s < p->n_samples; s++)
        for (size_t i = 0; i < n; i++)
            sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)p->values[s * n + i]);
}

int profile_normalize(struct profile *p, const struct profile *base, struct err *err)
{
    size_t n = p->n_sample_types;
    if (profile_check_compatible(p, base, err) < 0)
        return -1;
    int64_t *sums = malloc((2 * n + 1) * sizeof *sums);
    double *ratios = malloc((n + 1) * sizeof *ratios);
    if (!sums || !ratios) {
        free(sums);
        free(ratios);
        return err_nomem(err);
    }
    sum_values(p, sums);
    sum_values(base, sums + n);
    for (size_t i = 0; i < n; i++)
        ratios[i] = sums[i] ? (double)sums[n + i] / (double)sums[i] : 0;
    profile_scale(p, ratios);
    free(sums);
    free(ratios);
    return 0;
}

/* ---- labels ---- */

/* Copies a sample's labels except text labels with the key of `text`, and adds `text`. Returns the
 * number of labels. */
static uint32_t set_label(struct profile_label *to, const struct profile_label *from, uint32_t n,
                          const struct profile_label *text)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (from[i].is_number || from[i].key != text->key)
            to[kept++] = from[i];
    to[kept++] = *text;
    return kept;
}

void profile_drop_labels(struct profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++)
        p->samples[i].n_labels = 0;
}

int profile_set_label(struct profile *p, const char *key, const char *value, struct err *err)
{
    struct profile_label text = {0}, *labels = NULL;
    size_t n = p->n_samples, at = 0, cap = 0;
    if (profile_intern(p, key, strlen(key), &text.key, err) < 0 ||
        profile_intern(p, value, strlen(value), &text.str, err) < 0)
        return -1;
    for (size_t i = 0; i < p->n_samples; i++)
        n += p->samples[i].n_labels;
    if (n > UINT32_MAX)
        return err_set(err, ERR_FAILED, "more than %u labels", UINT32_MAX);
    if (array_reserve((void **)&labels, &cap, n + 1, sizeof *labels, err) < 0)
        return -1;
    for (size_t i = 0; i < p->n_samples; i++) {
        struct profile_sample *s = &p->samples[i];
        uint32_t count = set_label(labels + at, p->labels + s->label_at, s->n_labels, &text);
        s->label_at = (uint32_t)at;
        s->n_labels = count;
        at += count;
    }
    free(p->labels);
    p->labels = labels;
    p->n_labels = at;
    p->store->cap_labels = cap;
    return 0;
}

int profile_clean_path(struct profile *p, uint32_t path, uint32_t *ret, struct err *err)
{
    struct str s = profile_str(p, path);
    if (path_is_clean(s)) {
        *ret = path;
        return 0;
    }
    char *to = malloc(s.n + 2);
    if (!to)
        return err_nomem(err);
    int rc = profile_intern(p, to, path_clean(s, to), ret, err);
    free(to);
    return rc;
}

int profile_default_type(const struct profile *p, size_t *ret, struct err *err)
{
    if (p->n_sample_types == 0)
        return err_set(err, ERR_FAILED, "profile has no samples");
    size_t index = p->n_sample_types - 1;
    for (size_t i = p->n_sample_types; p->default_sample_type && i-- > 0;)
        if (p->sample_types[i].type == p->default_sample_type)
            index = i;
    *ret = index;
    return 0;
}
