/*
 * Fetching: plans the items to request from a service and their order over one connection, streams each body
 * to disk, hashes it and checks it.
 *
 * At most `parallel` threads take one host each: they open its gateway, run its services, and close the
 * gateway. The services of a host run side by side, in threads of their own (fetch/grab.c). For each service
 * a thread reads the index page, plans, and fetches one item after the other. An observer receives the
 * events.
 */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "fetch/events.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"
#include "proto/proto.h"

/* ---- kinds --------------------------------------------------------------------------------------------- */

struct fetch_kind_help {
    const char *name;
    const char *argument; /* "[=30s]" or "" */
    const char *help;
};
/* Fills in row i of the table of kinds and sets, for help and completions. Returns -1 after the last. */
int fetch_kind_help(size_t i, struct fetch_kind_help *ret);

/* Returns whether a word is a kind of the table, with or without an argument, a set, or a path. Only the
 * index page of a service can resolve other words. */
bool fetch_is_known_word(const char *word);
/* Adds the names of kinds, their aliases and the sets to the candidates for the hint "did you mean". */
void fetch_suggest_kinds(struct nearest *near);

/*
 * Checks the words for kinds (`cpu=30s`, `incident`, `/debug/vars`) as far as possible without a target.
 * *ret_longest_ms is the longest duration of a profile. Fails with ERR_USAGE.
 */
int fetch_check_kinds(const struct strlist *words, int64_t *ret_longest_ms, struct err *err);

/*
 * Returns the words that apply to a service: `words`, or the service's own if `words` is NULL or empty. An
 * empty result means the set `default`.
 */
const struct strlist *fetch_service_kinds(const struct strlist *words, const struct service *service);

/* Estimates the number of items that the words request from each service. Counts `all` as cpu and every
 * snapshot of the table of kinds. */
int fetch_count_items(const struct strlist *words, size_t *ret, struct err *err);
/* The caller asks the user to confirm profiles that take longer than this. */
#define FETCH_LONG_MS (5 * 60 * INT64_C(1000))
/* Adds the words, as "cpu=30s", for items that slow a process down or stop it, each once: cpu, traces,
 * deltas, other profiles with a duration, and the full text of goroutines. */
int fetch_add_costly_kinds(const struct strlist *words, struct strlist *into, struct err *err);
/* Checks that at least one word names a kind of snapshot that can be one of a pair: heap, allocs, goroutines,
 * block, mutex. ERR_USAGE lists these. */
int fetch_check_pair(const struct strlist *words, struct err *err);

/* The result of a run, beyond the observer's events. */
struct fetch_outcome {
    bool out_of_time; /* deadline_ms ended before all items were fetched */
    /* With `sync`: the timed profiles that began together. */
    int64_t sync_at;       /* the common instant in UTC milliseconds; 0: none of them began */
    size_t sync_processes; /* processes that took part */
    size_t sync_late;      /* processes that were late */
    size_t sync_measured;  /* the number of profiles whose sync_skew_ms is known, because the host's clock
                              could be compared */
    int64_t sync_p50_ms, sync_p95_ms, sync_max_ms; /* percentiles of the absolute sync_skew_ms */
};

/* ---- a run --------------------------------------------------------------------------------------------- */

/* How to reach the hosts and their services. */
struct fetch_access {
    const struct ssh_settings *ssh; /* of the command line, which override the inventory's; may be NULL */
    int64_t timeout_ms;             /* the longest time without data, in addition to a profile's duration */
    int64_t connect_timeout_ms;     /* for each step of opening a host: ssh's configuration, a connection, the
                                       handshake, authentication; 0: the smaller of FETCH_CONNECT_TIMEOUT_MS and
                                       timeout_ms */
    int64_t ask_ms;                 /* this and the next five: as in gateway_options */
    const char *askpass;
    ask_fn *ask; /* called without the observer's lock */
    void *ask_ctx;
    struct keyring *keyring;
    bool ask_keys_only;
    int cancel_fd; /* ends the fetching when it becomes readable; -1: none */
};

/* How to collect: in parallel or together, how often, how long, how much. */
struct fetch_options {
    unsigned parallel; /* hosts at a time */
    bool concurrent;   /* fetch the timed profiles of a process at the same time */
    bool sync;         /* the timed profiles of all processes begin at one instant; opens all hosts at once,
                          regardless of `parallel` */
    unsigned retries;  /* the number of retries after a temporary failure */
    int64_t sync_deadline_ms; /* how long the first ready process waits for the others */
    int64_t pair_ms;          /* fetch each item of fetch_check_pair twice, this long apart; 0: once */
    int64_t deadline_ms;      /* for the whole run; 0: none */
    uint64_t max_bytes;       /* of one body; 0: the limit of its kind */
    uint64_t budget_bytes;    /* the limit of bytes received from one process; 0: none */
    int64_t budget_ms;        /* the limit of the time for which one process profiles itself; 0: none */
};

struct fetch_job {
    const struct targets *targets; /* grouped by host */
    const struct strlist *kinds;   /* the words of fetch_check_kinds; NULL or empty: each service's own */
    const struct dir *directory;   /* the work directory; items are written to HOST/SERVICE/ below it. Only
                                          fetch_run needs it */
    struct fetch_access access;
    struct fetch_options options;
    const struct fetch_observer *observer; /* may be NULL */
};
#define FETCH_TIMEOUT_MS 30000
#define FETCH_CONNECT_TIMEOUT_MS GATEWAY_STEP_TIMEOUT_MS
#define FETCH_PARALLEL 16
#define FETCH_SYNC_DEADLINE_MS 30000

/* Returns the number of hosts that fetch_run opens at a time: `parallel`, or all with `sync`; at most the
 * number of hosts. */
size_t fetch_hosts_at_once(const struct fetch_job *grab);
/* Returns about how many descriptors the run needs. */
size_t fetch_count_descriptors(const struct fetch_job *grab);
/* Returns the number of hosts at a time for which `descriptors` are enough, from 1 to `parallel`. */
unsigned fetch_affordable_hosts(const struct fetch_job *grab, size_t descriptors);

/* Fetches everything that it can. -1 only if it could not start; the observer receives the failures of hosts,
 * services and items. *ret (may be NULL) is set even then. */
int fetch_run(const struct fetch_job *grab, struct fetch_outcome *ret, struct err *err);
/* Opens the hosts, connects, reads the index pages, and checks whether other machines can connect to the
 * services. Fetches nothing; uses neither `kinds` nor `directory`. */
int fetch_probe(const struct fetch_job *grab, struct err *err);
/* Opens the hosts, reads the index pages, and reports the plans. Fetches nothing; does not use `directory`.
 */
int fetch_plan(const struct fetch_job *grab, struct err *err);

/*
 * Opens a host as fetch_run does, without fetching. Uses only the grab's `access`, and `opening`, `step` and
 * `host` of its observer. `shared` must outlive the gateway.
 */
int fetch_open(const struct fetch_job *grab, const struct host *host, struct gateway_shared *shared,
               struct gateway **ret, struct err *err);

/* One GET request for a path of a service, sent from its host. */
struct fetch_get_request {
    const struct host *host;
    const struct service *service;
    int64_t limit_ms; /* for the whole request */
    void *ctx;
    /* Called before the body if the service has a secret. The caller may keep `redact`, which masks the
     * secret in a text in place, until fetch_get returns. */
    void (*on_secret)(void *ctx, void (*redact)(void *redact_ctx, char *text), void *redact_ctx);
    /* Receives the body of a 200; -1 ends the transfer with err. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
};
/*
 * Opens the host, sends the request and closes the host. Uses the grab as fetch_open does. Loads the
 * service's secret. An answer other than a 200 is an error. *ret_status is set on failure too: the status of
 * the answer, or 0 without an answer. `redact` is valid until fetch_get returns.
 */
int fetch_get(const struct fetch_job *grab, const struct fetch_get_request *r, int *ret_status,
              struct err *err);

/* An item that a killed run planned, but did not record. */
struct fetch_unrecorded {
    const struct dir *directory; /* the work directory */
    const struct target *target;
    const struct fetch_planned *item;
    int cancel_fd; /* -1: none */
};
/*
 * Finds the file that the killed run left for the item: a complete file, or the largest partial one, renamed
 * to NAME.damaged. Opens no connection. ERR_NOT_FOUND if there is no file. Ignores a partial body of a
 * service with a secret, because the body may repeat the secret. After ERR_CANCELLED the files are unchanged.
 * The caller releases *ret.
 */
int fetch_find_unrecorded(const struct fetch_unrecorded *query, struct fetch_item *ret, struct err *err);

/* Returns the address of a service, as its host sees it: its URL, or `unix:PATH` and the URL's path. */
char *fetch_service_url(const struct service *service, char *dst, size_t cap);

/* ---- local files --------------------------------------------------------------------------------------- */

/* A local file to examine. */
struct fetch_local_file {
    int fd;           /* at its beginning; the caller closes it and copy_fd */
    int copy_fd;      /* receives a copy of the bytes; -1: none */
    int cancel_fd;    /* -1: it cannot be cancelled */
    const char *path; /* for messages, and for the kind */
};
/*
 * Examines a local file (`bundle create`) like a fetched body: hash, size, and the facts of its content.
 * Derives ret->kind from the content and the name; never sets FETCH_FAILED. -1 if the file is not readable,
 * or if cancel_fd becomes readable (ERR_CANCELLED).
 */
int fetch_examine_file(const struct fetch_local_file *file, struct fetch_item *ret, struct err *err);

void fetch_item_release(struct fetch_item *item);

#endif
