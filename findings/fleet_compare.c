/*
 * Differences from the group: medians of the values and of each function's share, the usual distance of hosts
 * from them, and the sampling error of a share.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "findings/fleet.h"
#include "findings/stats.h"
#include "findings/tally.h"
#include "base/banned.h"

/* Converts a median absolute deviation to a standard deviation. */
#define DEVIATION 1.4826
/* The least difference of a share after subtracting two standard errors, and the least in deviations. */
#define SHARE 0.1
#define DEVIATIONS 4
/* The least factor between a value and the median. */
#define TIMES 2
/* The least number of samples for shares. */
#define SAMPLES 20

/* The least differences of values that matter: cores, bytes, goroutines, bytes a second. */
static const double floors[FLEET_OF] = {0.1, 10e6, 100, 1e6};

/* The group's median and deviation of one function or value. */
struct center {
    double median, deviation;
};

static int compare_doubles(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n == 0 ? 0 : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Overwrites the values. */
static struct center center_of(double *values, size_t n)
{
    struct center m = {.median = median_of(values, n)};
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - m.median);
    m.deviation = DEVIATION * median_of(values, n);
    return m;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static bool is_far(const struct fleet_host *row, enum fleet_of of, struct center m)
{
    double value = row->of[of].value, by = fabs(value - m.median);
    bool times = value >= TIMES * m.median || value * TIMES <= m.median;
    /* CPU error is value/sqrt(samples). */
    double chance = of == FLEET_CPU && row->of[of].samples > 0 ? value / sqrt(row->of[of].samples) : 0;
    return times && by >= floors[of] && by >= DEVIATIONS * hypot(m.deviation, chance);
}

static void compare_values(struct fleet *h, enum fleet_of of, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        if (h->rows[i].of[of].known)
            room[n++] = h->rows[i].of[of].value;
    struct center m = center_of(room, n);
    h->known[of] = n;
    h->median[of] = m.median;
    for (size_t i = 0; i < h->n && n >= FLEET_LEAST; i++)
        h->rows[i].of[of].exceeds = h->rows[i].of[of].known && is_far(&h->rows[i], of, m);
}

/* ---- shares -------------------------------------------------------------------------------------------- */

static bool has_shares(const struct fleet_figure *f)
{
    return f->known && f->samples >= SAMPLES;
}

static double share_of(const struct fleet_figure *f, uint32_t name)
{
    const struct fleet_share *found = NULL;
    size_t from = 0, to = f->n_shares;
    while (from < to && !found) {
        size_t at = from + (to - from) / 2;
        if (f->shares[at].name == name)
            found = &f->shares[at];
        else if (f->shares[at].name < name)
            from = at + 1;
        else
            to = at;
    }
    return found ? found->share : 0;
}

/* The number of hosts that have each function. The caller frees *ret. */
static int find_seen(const struct fleet *h, enum fleet_of of, size_t **ret, struct err *err)
{
    size_t *seen = calloc(h->names.n + 1, sizeof *seen);
    if (!seen)
        return err_nomem(err);
    for (size_t i = 0; i < h->n; i++) {
        const struct fleet_figure *f = &h->rows[i].of[of];
        for (size_t k = 0; has_shares(f) && k < f->n_shares; k++)
            seen[f->shares[k].name]++;
    }
    *ret = seen;
    return 0;
}

/* The group's median of each function; 0 if fewer than half of the hosts have it. The caller frees *ret. */
static int find_centers(const struct fleet *h, enum fleet_of of, double *room, struct center **ret,
                        struct err *err)
{
    size_t *seen = NULL;
    if (find_seen(h, of, &seen, err) < 0)
        return -1;
    struct center *centers = calloc(h->names.n + 1, sizeof *centers);
    for (uint32_t name = 0; centers && name < h->names.n; name++) {
        size_t n = 0;
        if (seen[name] * 2 < h->with_shares[of])
            continue;
        for (size_t i = 0; i < h->n; i++)
            if (has_shares(&h->rows[i].of[of]))
                room[n++] = share_of(&h->rows[i].of[of], name);
        centers[name] = center_of(room, n);
    }
    free(seen);
    *ret = centers;
    return centers ? 0 : err_nomem(err);
}

static struct stats_candidate make_candidate(const struct fleet *h, const struct fleet_difference *d)
{
    struct str name = str_of(h->names.items[d->name]);
    return (struct stats_candidate){functions_origin_of(name) == FUNCTION_OF_RUNTIME,
                                    fmax(d->share, d->median), name};
}

static bool is_outlier(const struct fleet_difference *d, const struct fleet_figure *f, struct center m,
                       size_t n)
{
    double by = fabs(d->share - d->median), error = stats_error(d->share, f->samples);
    double of_median = 1.2533 * stats_error(d->median, f->samples) / sqrt((double)n);
    return by - 2 * hypot(error, of_median) >= SHARE && by >= DEVIATIONS * hypot(m.deviation, error);
}

/* The difference between a host and the group in one function. */
static struct fleet_difference difference_of(const struct fleet *h, const struct fleet_figure *f,
                                             enum fleet_of of, uint32_t name, struct center m)
{
    struct fleet_difference d = {true, of, name, share_of(f, name), m.median, false};
    d.outlier = fabs(d.share - d.median) >= SHARE && is_outlier(&d, f, m, h->with_shares[of]);
    return d;
}

/* A function that the host calls more than the others explains a difference better than one that it calls
 * less in consequence, if it covers at least this part of it. */
#define COMPARABLE 0.5

static bool is_above_median(const struct fleet_difference *d)
{
    return d->share > d->median;
}

static bool explains_better(const struct fleet *h, const struct fleet_difference *a,
                            const struct fleet_difference *b)
{
    if (!b->known)
        return true;
    struct stats_candidate one = make_candidate(h, a), other = make_candidate(h, b);
    double least = fmin(one.covers, other.covers), most = fmax(one.covers, other.covers);
    if (is_above_median(a) != is_above_median(b) && one.runtime == other.runtime &&
        least >= COMPARABLE * most)
        return is_above_median(a);
    return stats_explains_more(&one, &other);
}

/* The function that explains a host's difference best; among outliers if there is any. */
static struct fleet_difference find_difference(const struct fleet *h, const struct fleet_figure *f,
                                               enum fleet_of of, const struct center *centers)
{
    struct fleet_difference best = {.known = false};
    double most[2][2] = {{0}}; /* [is outlier][is more] */
    for (uint32_t name = 0; name < h->names.n; name++) {
        struct fleet_difference d = difference_of(h, f, of, name, centers[name]);
        double *to = &most[d.outlier][is_above_median(&d)];
        *to = fmax(*to, fabs(d.share - d.median));
    }
    bool outlier = most[true][false] > 0 || most[true][true] > 0;
    double all = fmax(most[outlier][false], most[outlier][true]);
    for (uint32_t name = 0; name < h->names.n && all > 0; name++) {
        struct fleet_difference d = difference_of(h, f, of, name, centers[name]);
        double same = most[outlier][is_above_median(&d)], by = fabs(d.share - d.median);
        if (d.outlier == outlier && same >= COMPARABLE * all && by >= STATS_NEARLY * same &&
            explains_better(h, &d, &best))
            best = d;
    }
    return best;
}

/* An outlier precedes the others, then the larger difference. */
static bool differs_more(const struct fleet_difference *a, const struct fleet_difference *b)
{
    if (!b->known || a->outlier != b->outlier)
        return !b->known || a->outlier;
    return fabs(a->share - a->median) > fabs(b->share - b->median);
}

static int compare_shares(struct fleet *h, enum fleet_of of, double *room, struct err *err)
{
    struct center *centers = NULL;
    for (size_t i = 0; i < h->n; i++)
        h->with_shares[of] += has_shares(&h->rows[i].of[of]);
    if (h->with_shares[of] < FLEET_LEAST)
        return 0;
    if (find_centers(h, of, room, &centers, err) < 0)
        return -1;
    for (size_t i = 0; i < h->n; i++) {
        const struct fleet_figure *f = &h->rows[i].of[of];
        if (!has_shares(f))
            continue;
        struct fleet_difference d = find_difference(h, f, of, centers);
        if (d.known && differs_more(&d, &h->rows[i].differs))
            h->rows[i].differs = d;
    }
    free(centers);
    return 0;
}

int fleet_compare(struct fleet *h, struct err *err)
{
    double *room = calloc(h->n + 1, sizeof *room);
    int rc = room ? 0 : err_nomem(err);
    for (size_t of = 0; of < FLEET_OF && rc == 0; of++) {
        compare_values(h, (enum fleet_of)of, room);
        if (of != FLEET_ALLOCATED)
            rc = compare_shares(h, (enum fleet_of)of, room, err);
    }
    free(room);
    return rc;
}
