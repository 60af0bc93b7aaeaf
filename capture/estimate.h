/* The dry run of a capture: the hosts and items that it would open and fetch, and their cost. */
#ifndef CAPTURE_ESTIMATE_H
#define CAPTURE_ESTIMATE_H

#include "capture/events.h"
#include "capture/request.h"

/* An item that the capture would fetch or skip. The estimate owns the strings. */
struct estimate_item {
    char *kind;
    char *argument; /* "" for none */
    unsigned pair;  /* as in struct fetch_planned */
    uint64_t bytes;
    int64_t timed_ms;
    int64_t count;         /* records in the index page; -1: not known */
    bool absent;           /* the program lacks this profile */
    char *left_out_reason; /* the reason why the budget excludes the item; NULL: it does not */
};

/* The estimate of one target. `bytes`, `profiled_ms` and `duration_ms` do not count skipped items. */
struct estimate {
    const struct target *target;
    bool planned;      /* the index page was read */
    int64_t began;     /* clock_now() when the opening of the host began */
    int64_t opened_ms; /* from `began` to the plan */
    char route[400];   /* "direct", "ssh", or "ssh through BASTION" */
    struct estimate_item *items;
    size_t n_items;
    size_t n_to_fetch; /* items that neither the budget nor the program excludes */
    size_t n_left_out; /* items that the budget excludes */
    size_t n_absent;   /* items that the program lacks */
    uint64_t bytes;
    int64_t profiled_ms; /* how long the process profiles itself */
    int64_t duration_ms; /* from the first request to the end of the last */
    struct err failure;  /* the reason why nothing would be fetched; ERR_NONE: none */
};

/* The sums over all targets, and the largest values of one process. */
struct estimate_total {
    size_t targets, hosts, items, n_left_out, n_absent, failures, n_wrong_requests;
    uint64_t bytes;
    uint64_t max_process_bytes;
    int64_t duration_ms; /* of the capture: hosts are fetched in parallel */
    int64_t max_process_profiled_ms;
};

struct estimates {
    struct estimate *items; /* one for each target of the request */
    size_t n;
    size_t hosts_at_once; /* the limit of hosts that are open at a time */
    bool cancelled;
    struct estimate_total total;
};

/* Opens the hosts and reads the index pages; fetches nothing. Sends the events of hosts, steps and services.
 * The caller releases *ret in every case. */
int capture_estimate(const struct capture_request *request, const struct capture_observer *observer,
                     int cancel_fd, struct estimates *ret, struct err *err);
void estimates_release(struct estimates *e);

#endif
