/*
 * Several hosts that run the same service, side by side: of each a few figures, and which function it differs
 * in most from the group.
 *
 * Of each host the shares of the heaviest functions are kept (PEERS_MAX_SHARES of each kind), and no profile.
 * The group is the median of its hosts, so that one of them, or two of five, do not shift it. A host is an
 * outlier if a function's share differs from the median by at least 10 percentage points when two standard
 * errors of both are taken off, and by four times what hosts of this group differ from it otherwise (the
 * median absolute deviation and the error of sampling together). Fewer than three hosts are no group.
 */
#ifndef REPORT_PEERS_H
#define REPORT_PEERS_H

#include "proto/proto.h"

#define PEERS_LEAST 3
#define PEERS_MAX_SHARES 200

enum peers_of {
    PEERS_CPU,        /* cores busy; shares of the CPU time, with all that a function calls */
    PEERS_HEAP,       /* bytes in use; shares of it, by the innermost function that is the program's own */
    PEERS_GOROUTINES, /* how many; where they stand, likewise */
    PEERS_ALLOCATED,  /* bytes in a second, where that is known; no shares */
};
#define PEERS_OF 4

struct peer_share {
    uint32_t name; /* of the group's names */
    double share;
};

/* A kind of a host's profiles. */
struct peer_figure {
    bool known;
    double value;
    double samples; /* that the shares are from; may be estimated */
    char *file;
    struct peer_share *shares; /* by name */
    size_t n_shares;
    bool exceeds; /* the value is far from the group's */
};

/* Where a host differs most from its group. */
struct peer_difference {
    bool known;
    enum peers_of of;
    uint32_t name;
    double share, median;
    bool outlier;
};

struct peer {
    char *host;
    bool against; /* one of the healthy */
    struct peer_figure of[PEERS_OF];
    struct peer_difference differs;
};

/* Begins as {0}. Everything is read only. */
struct peers {
    struct peer *rows;
    size_t n, cap;
    struct strlist names; /* of functions, printable */
    struct finder by_name;
    double median[PEERS_OF]; /* of the values */
    size_t known[PEERS_OF],
        with_shares[PEERS_OF]; /* how many hosts have one; and samples enough for shares */
};

/* Adds what a profile of a host says; one of another kind says nothing. The second of a kind is passed over.
 * Of a difference over time nothing is known but what was allocated in a second of it. */
int peers_add(struct peers *h, const char *host, bool against, const char *file, const struct profile *p,
              struct err *err);
void peers_release(struct peers *h);

/* Compares them, at the end. */
int peers_compare(struct peers *h, struct err *err);

#endif
