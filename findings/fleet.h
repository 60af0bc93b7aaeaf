/*
 * Hosts of one service, side by side: a few figures of each, and the function in which each differs most from
 * the group.
 *
 * Each host keeps the shares of its heaviest functions (FLEET_MAX_SHARES of each kind), but no profile. The
 * group is the median of its hosts, so that one outlier, or two of five, do not change it much. A host is an
 * outlier if a function's share differs from the median by at least 10 percentage points after subtracting
 * two standard errors of both, and by at least four times the usual difference in the group (the median
 * absolute deviation and the sampling error together). A group has at least three hosts.
 */
#ifndef FINDINGS_FLEET_H
#define FINDINGS_FLEET_H

#include "proto/proto.h"

#define FLEET_LEAST 3
#define FLEET_MAX_SHARES 200

enum fleet_of {
    FLEET_CPU,        /* busy cores; shares of the CPU time, by cum */
    FLEET_HEAP,       /* bytes in use; shares by the innermost function of the program */
    FLEET_GOROUTINES, /* number of goroutines; shares by the innermost function of the program */
    FLEET_ALLOCATED,  /* bytes in a second, if known; no shares */
};
#define FLEET_OF 4

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
    bool exceeds; /* true: the value is far from the group's */
};

/* The largest difference between a host and its group. */
struct fleet_difference {
    bool known;
    enum fleet_of of;
    uint32_t name;
    double share, median;
    bool outlier;
};

struct fleet_host {
    char *host;
    bool is_baseline; /* true: a host of the baseline */
    struct fleet_figure of[FLEET_OF];
    struct fleet_difference differs;
};

/* Begins as {0}. All members are read-only. */
struct fleet {
    struct fleet_host *rows;
    size_t n, cap;
    struct strlist names; /* names of functions, printable */
    struct finder by_name;
    double median[FLEET_OF]; /* medians of the values */
    size_t known[FLEET_OF],
        with_shares[FLEET_OF]; /* the number of hosts with a value, and with enough samples for shares */
};

/* The origin of a profile. */
struct fleet_member {
    const char *host;
    bool is_baseline;
    const char *file;
};

/* Adds a profile of a host. Ignores other kinds, and the second profile of a kind. A difference over time
 * gives only the allocation in a second. */
int fleet_add(struct fleet *h, const struct fleet_member *from, const struct profile *p, struct err *err);
void fleet_release(struct fleet *h);

/* Compares the hosts. Call it after all fleet_add. */
int fleet_compare(struct fleet *h, struct err *err);

#endif
