/*
 * Compares the hosts of a fleet: a few figures of each host, and the function in which the host differs most
 * from the fleet.
 *
 * For each host, struct fleet stores the shares of its heaviest functions (FLEET_MAX_SHARES for each figure),
 * but no profile. Each host is compared with the median of the fleet, because a few outliers (one of three
 * hosts, two of five) hardly change it. A host is an outlier if the difference between a function's share and
 * the median meets two conditions. The difference minus two standard errors is at least 10 percentage points.
 * The difference is at least four times the usual difference: the root of the sum of squares of the fleet's
 * deviation (from the median absolute deviation) and the sampling error. A comparison needs at least three
 * hosts.
 */
#ifndef FINDINGS_FLEET_H
#define FINDINGS_FLEET_H

#include "proto/proto.h"

#define FLEET_MIN_HOSTS 3
#define FLEET_MAX_SHARES 200

/* The figures of a host. Most of them also have shares: the part of the figure that each function accounts
 * for. */
enum fleet_figure_kind {
    FLEET_CPU,        /* busy cores; shares of the CPU time, by cum */
    FLEET_HEAP,       /* bytes in use; shares by the innermost function of the program */
    FLEET_GOROUTINES, /* number of goroutines; shares by the innermost function of the program */
    FLEET_ALLOCATED,  /* bytes allocated per second, if known; no shares */
};
#define FLEET_FIGURES 4

struct fleet_share {
    uint32_t name; /* index into the fleet's names */
    double share;
};

/* One figure of a host. */
struct fleet_figure {
    bool known;
    double value;
    double samples; /* the number of samples behind the shares; may be an estimate */
    char *file;
    struct fleet_share *shares; /* sorted by name */
    size_t n_shares;
    bool is_far; /* the value is far from the fleet's median */
};

/* The function in which a host differs most from the fleet. */
struct fleet_difference {
    bool known;
    enum fleet_figure_kind kind;
    uint32_t name; /* index into the fleet's names */
    double share, median;
    bool outlier;
};

struct fleet_host {
    char *host;
    bool is_baseline; /* a host of --against */
    struct fleet_figure figures[FLEET_FIGURES];
    struct fleet_difference difference;
};

/* Begins as {0}. All members are read-only. */
struct fleet {
    struct fleet_host *rows;
    size_t n, cap;
    struct strlist names;                /* names of functions, printable */
    struct hash_index by_name, by_host;  /* give indices of `names` and `rows` */
    double median[FLEET_FIGURES];        /* of the values */
    size_t n_known[FLEET_FIGURES];       /* hosts with a value */
    size_t n_with_shares[FLEET_FIGURES]; /* hosts with enough samples for shares */
};

/* The origin of a profile. */
struct fleet_origin {
    const char *host;
    bool is_baseline;
    const char *file;
};

/* Adds a profile of a host. Ignores a profile that gives no figure, and a further profile for a figure that
 * the host already has. A CPU profile gives FLEET_CPU. Of the others, a profile with a duration gives
 * FLEET_ALLOCATED, one without a duration FLEET_HEAP or FLEET_GOROUTINES. */
int fleet_add(struct fleet *fleet, const struct fleet_origin *from, const struct profile *profile,
              struct err *err);
void fleet_release(struct fleet *fleet);

/* Finds the medians, `is_far` and `difference` of each host. Call it after all fleet_add. */
int fleet_compare(struct fleet *fleet, struct err *err);

#endif
