/*
 * Hosts of one service, side by side: a few figures of each, and the function in which each differs most from
 * the group.
 *
 * For each host, struct fleet stores the shares of its heaviest functions (FLEET_MAX_SHARES of each kind of
 * profile), but no profile. Hosts are compared with the median of their group, which one outlier, or two of
 * five, change little. A host is an outlier if a function's share differs from the median by at least 10
 * percentage points after subtracting two standard errors of both, and by at least four times the usual
 * difference in the group (the median absolute deviation and the sampling error together). A group has at
 * least three hosts.
 */
#ifndef FINDINGS_FLEET_H
#define FINDINGS_FLEET_H

#include "proto/proto.h"

#define FLEET_MIN_HOSTS 3
#define FLEET_MAX_SHARES 200

/* The figures of a host, and the shares that they are divided into. */
enum fleet_figure_kind {
    FLEET_CPU,        /* busy cores; shares of the CPU time, by cum */
    FLEET_HEAP,       /* bytes in use; shares by the innermost function of the program */
    FLEET_GOROUTINES, /* number of goroutines; shares by the innermost function of the program */
    FLEET_ALLOCATED,  /* bytes allocated per second, if known; no shares */
};
#define FLEET_FIGURES 4

struct fleet_share {
    uint32_t name; /* index into the group's names */
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
    bool is_far; /* the value is far from the group's median */
};

/* The largest difference between a host and its group. */
struct fleet_difference {
    bool known;
    enum fleet_figure_kind kind;
    uint32_t name; /* index into the group's names */
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
    struct strlist names; /* names of functions, printable */
    struct hash_index by_name;
    double median[FLEET_FIGURES];        /* of the values */
    size_t n_known[FLEET_FIGURES];       /* hosts with a value */
    size_t n_with_shares[FLEET_FIGURES]; /* hosts with enough samples for shares */
};

/* The origin of a profile. */
struct fleet_member {
    const char *host;
    bool is_baseline;
    const char *file;
};

/* Adds a profile of a host. Ignores profiles without a figure, and the second profile of a kind. From a
 * difference over time, adds only the bytes allocated per second. */
int fleet_add(struct fleet *fleet, const struct fleet_member *from, const struct profile *profile,
              struct err *err);
void fleet_release(struct fleet *fleet);

/* Finds the medians, `is_far` and `difference` of each host. Call it after all fleet_add. */
int fleet_compare(struct fleet *fleet, struct err *err);

#endif
