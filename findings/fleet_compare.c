/*
 * Compares each host with the fleet. The comparison uses the medians of the values and of each function's
 * share, the usual distance of hosts from these medians, and the sampling error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "findings/fleet.h"
#include "findings/stats.h"
#include "findings/tally.h"
#include "base/banned.h"

/* Converts a median absolute deviation to a standard deviation. */
#define MAD_TO_DEVIATION 1.4826
/* The standard error of a median is about this multiple of that of a mean: sqrt(pi / 2). */
#define MEDIAN_ERROR_FACTOR 1.2533
/* An outlier's share differs from the median by at least MIN_SHARE_DIFFERENCE after subtracting two standard
 * errors, and by at least MIN_DEVIATIONS standard deviations. */
#define MIN_SHARE_DIFFERENCE 0.1
#define MIN_DEVIATIONS 4
/* The least factor between a value and the median. */
#define MIN_FACTOR 2
/* The least number of samples for shares. */
#define MIN_SAMPLES 20

/* For each figure, the least difference that is reported: cores, bytes, goroutines, bytes per second. */
static const double min_differences[FLEET_FIGURES] = {0.1, 10e6, 100, 1e6};

/* The fleet's median and standard deviation of one function's share, or of one figure. */
struct center {
    double median, deviation;
};

/* The centers of the shares of one figure. Only functions that at least half of the hosts have get a center,
 * so the centers of all hosts together are at most twice as many as their shares. */
struct centers {
    struct center *by_name; /* zeros for the other functions */
    uint32_t *names;        /* the names of the functions that have a center, in ascending order */
    size_t n;
};

static int compare_doubles(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static double find_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n == 0 ? 0 : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Overwrites the values. */
static struct center find_center(double *values, size_t n)
{
    struct center center = {.median = find_median(values, n)};
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - center.median);
    center.deviation = MAD_TO_DEVIATION * find_median(values, n);
    return center;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static bool is_far(const struct fleet_host *row, enum fleet_figure_kind kind, struct center center)
{
    double value = row->figures[kind].value, difference = fabs(value - center.median);
    bool is_multiple = value >= MIN_FACTOR * center.median || value * MIN_FACTOR <= center.median;
    /* The standard error of busy cores is value / sqrt(samples). The other figures have none. */
    double sampling_error =
        kind == FLEET_CPU && row->figures[kind].samples > 0 ? value / sqrt(row->figures[kind].samples) : 0;
    return is_multiple && difference >= min_differences[kind] &&
           difference >= MIN_DEVIATIONS * hypot(center.deviation, sampling_error);
}

static void compare_values(struct fleet *fleet, enum fleet_figure_kind kind, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->n; i++)
        if (fleet->rows[i].figures[kind].known)
            scratch[n++] = fleet->rows[i].figures[kind].value;
    struct center center = find_center(scratch, n);
    fleet->n_known[kind] = n;
    fleet->median[kind] = center.median;
    for (size_t i = 0; i < fleet->n && n >= FLEET_MIN_HOSTS; i++)
        fleet->rows[i].figures[kind].is_far =
            fleet->rows[i].figures[kind].known && is_far(&fleet->rows[i], kind, center);
}

/* ---- shares -------------------------------------------------------------------------------------------- */

static bool has_shares(const struct fleet_figure *f)
{
    return f->known && f->samples >= MIN_SAMPLES;
}

static double find_share(const struct fleet_figure *f, uint32_t name)
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

/* Counts, for each function, the hosts that have a share of it. The caller frees *ret. */
static int count_hosts(const struct fleet *fleet, enum fleet_figure_kind kind, size_t **ret, struct err *err)
{
    size_t *n_hosts = calloc(fleet->names.n + 1, sizeof *n_hosts);
    if (!n_hosts)
        return err_nomem(err);
    for (size_t i = 0; i < fleet->n; i++) {
        const struct fleet_figure *f = &fleet->rows[i].figures[kind];
        for (size_t k = 0; has_shares(f) && k < f->n_shares; k++)
            n_hosts[f->shares[k].name]++;
    }
    *ret = n_hosts;
    return 0;
}

static void centers_release(struct centers *centers)
{
    free(centers->by_name);
    free(centers->names);
}

/* Finds the center of a function's share. */
static struct center find_center_of_name(const struct fleet *fleet, enum fleet_figure_kind kind,
                                         uint32_t name, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->n; i++)
        if (has_shares(&fleet->rows[i].figures[kind]))
            scratch[n++] = find_share(&fleet->rows[i].figures[kind], name);
    return find_center(scratch, n);
}

static int find_centers(const struct fleet *fleet, enum fleet_figure_kind kind, double *scratch,
                        struct centers *ret, struct err *err)
{
    size_t *n_hosts = NULL;
    if (count_hosts(fleet, kind, &n_hosts, err) < 0)
        return -1;
    struct centers centers = {.by_name = calloc(fleet->names.n + 1, sizeof *centers.by_name),
                              .names = calloc(fleet->names.n + 1, sizeof *centers.names)};
    bool has_memory = centers.by_name && centers.names;
    for (uint32_t name = 0; has_memory && name < fleet->names.n; name++)
        if (n_hosts[name] * 2 >= fleet->n_with_shares[kind]) {
            centers.by_name[name] = find_center_of_name(fleet, kind, name, scratch);
            centers.names[centers.n++] = name;
        }
    free(n_hosts);
    if (!has_memory) {
        centers_release(&centers);
        return err_nomem(err);
    }
    *ret = centers;
    return 0;
}

/* Iterates over the functions of which the host has a share, or the fleet a center, in ascending order of
 * names. The host cannot differ from the fleet in other functions. Begins as {figure, centers}. */
struct name_iterator {
    const struct fleet_figure *figure;
    const struct centers *centers;
    size_t next_share, next_center;
};

/* Returns false after the last name. */
static bool next_name(struct name_iterator *it, uint32_t *ret)
{
    bool has_share = it->next_share < it->figure->n_shares, has_center = it->next_center < it->centers->n;
    uint32_t of_share = has_share ? it->figure->shares[it->next_share].name : UINT32_MAX;
    uint32_t of_center = has_center ? it->centers->names[it->next_center] : UINT32_MAX;
    uint32_t name = of_share < of_center ? of_share : of_center;
    if (!has_share && !has_center)
        return false;
    /* Different names of a profile can have one printable form, and thus one number. */
    while (it->next_share < it->figure->n_shares && it->figure->shares[it->next_share].name == name)
        it->next_share++;
    it->next_center += has_center && of_center == name;
    *ret = name;
    return true;
}

static struct stats_candidate make_candidate(const struct fleet *fleet, const struct fleet_difference *d)
{
    struct str name = str_of(fleet->names.items[d->name]);
    return (struct stats_candidate){functions_origin_of(name) == FUNCTION_OF_RUNTIME,
                                    fmax(d->share, d->median), name};
}

static bool is_outlier(const struct fleet_difference *d, const struct fleet_figure *f, struct center center,
                       size_t n_hosts)
{
    double difference = fabs(d->share - d->median), error = stats_standard_error(d->share, f->samples);
    double median_error =
        MEDIAN_ERROR_FACTOR * stats_standard_error(d->median, f->samples) / sqrt((double)n_hosts);
    return difference - 2 * hypot(error, median_error) >= MIN_SHARE_DIFFERENCE &&
           difference >= MIN_DEVIATIONS * hypot(center.deviation, error);
}

/* Returns the difference between a host and the fleet in one function. */
static struct fleet_difference difference_of(const struct fleet *fleet, const struct fleet_figure *f,
                                             enum fleet_figure_kind kind, uint32_t name, struct center center)
{
    struct fleet_difference d = {true, kind, name, find_share(f, name), center.median, false};
    d.outlier = fabs(d.share - d.median) >= MIN_SHARE_DIFFERENCE &&
                is_outlier(&d, f, center, fleet->n_with_shares[kind]);
    return d;
}

/* If one function of a host has a share above the median and another one a share below it, the first one
 * explains the difference better, because its larger share makes the shares of the others smaller. This
 * counts only if both differences have about the same size: the smaller is at least this part of the larger.
 */
#define MIN_COMPARABLE 0.5

static bool is_above_median(const struct fleet_difference *d)
{
    return d->share > d->median;
}

static bool is_better(const struct fleet *fleet, const struct fleet_difference *a,
                      const struct fleet_difference *b)
{
    if (!b->known)
        return true;
    struct stats_candidate one = make_candidate(fleet, a), other = make_candidate(fleet, b);
    double least = fmin(one.covers, other.covers), most = fmax(one.covers, other.covers);
    if (is_above_median(a) != is_above_median(b) && one.is_runtime == other.is_runtime &&
        least >= MIN_COMPARABLE * most)
        return is_above_median(a);
    return stats_is_better(&one, &other);
}

/* Finds the function that explains a host's difference best, among the outliers if there are any. */
static struct fleet_difference find_difference(const struct fleet *fleet, const struct fleet_figure *f,
                                               enum fleet_figure_kind kind, const struct centers *centers)
{
    struct fleet_difference best = {.known = false};
    struct name_iterator first = {f, centers, 0, 0}, second = first;
    uint32_t name;
    double most[2][2] = {{0}}; /* the largest difference, by outlier and is_above_median */
    while (next_name(&first, &name)) {
        struct fleet_difference d = difference_of(fleet, f, kind, name, centers->by_name[name]);
        double *entry = &most[d.outlier][is_above_median(&d)];
        *entry = fmax(*entry, fabs(d.share - d.median));
    }
    bool outlier = most[true][false] > 0 || most[true][true] > 0;
    double overall = fmax(most[outlier][false], most[outlier][true]);
    while (overall > 0 && next_name(&second, &name)) {
        struct fleet_difference d = difference_of(fleet, f, kind, name, centers->by_name[name]);
        double largest = most[outlier][is_above_median(&d)], difference = fabs(d.share - d.median);
        if (d.outlier == outlier && largest >= MIN_COMPARABLE * overall &&
            difference >= STATS_NEARLY_EQUAL * largest && is_better(fleet, &d, &best))
            best = d;
    }
    return best;
}

/* Returns whether a comes before b: outliers before others, then by the size of the difference. */
static bool differs_more(const struct fleet_difference *a, const struct fleet_difference *b)
{
    if (!b->known || a->outlier != b->outlier)
        return !b->known || a->outlier;
    return fabs(a->share - a->median) > fabs(b->share - b->median);
}

static int compare_shares(struct fleet *fleet, enum fleet_figure_kind kind, double *scratch, struct err *err)
{
    struct centers centers = {0};
    for (size_t i = 0; i < fleet->n; i++)
        fleet->n_with_shares[kind] += has_shares(&fleet->rows[i].figures[kind]);
    if (fleet->n_with_shares[kind] < FLEET_MIN_HOSTS)
        return 0;
    if (find_centers(fleet, kind, scratch, &centers, err) < 0)
        return -1;
    for (size_t i = 0; i < fleet->n; i++) {
        const struct fleet_figure *f = &fleet->rows[i].figures[kind];
        if (!has_shares(f))
            continue;
        struct fleet_difference d = find_difference(fleet, f, kind, &centers);
        if (d.known && differs_more(&d, &fleet->rows[i].difference))
            fleet->rows[i].difference = d;
    }
    centers_release(&centers);
    return 0;
}

int fleet_compare(struct fleet *fleet, struct err *err)
{
    double *scratch = calloc(fleet->n + 1, sizeof *scratch);
    int rc = scratch ? 0 : err_nomem(err);
    for (size_t kind = 0; kind < FLEET_FIGURES && rc == 0; kind++) {
        compare_values(fleet, (enum fleet_figure_kind)kind, scratch);
        if (kind != FLEET_ALLOCATED)
            rc = compare_shares(fleet, (enum fleet_figure_kind)kind, scratch, err);
    }
    free(scratch);
    return rc;
}
