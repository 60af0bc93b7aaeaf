/*
 * Fetching: the items to request from a service, their order over one connection, and each body streamed to
 * disk, hashed and checked.
 *
 * One thread grabs a host: it opens the gateway, then for each service (side by side) reads the index page,
 * plans, fetches one item after the other, and closes. An admission limit bounds the number of these threads.
 * An observer receives the events.
 */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "fetch/url.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"
#include "proto/proto.h"

/* ---- kinds --------------------------------------------------------------------------------------------- */

struct fetch_kind_help {
    const char *name;
    const char *argument; /* "[=30s]" or "" */
    const char *help;
};
/* Row i of the kinds and sets, for help and completions; -1 behind the last. */
int fetch_kind_help(size_t i, struct fetch_kind_help *ret);

/* Whether a word is a kind of the table, with or without an argument, a set, or a path. Only the index page
 * of a service can resolve other words. */
bool fetch_is_kind(const char *word);
/* Offers the names of kinds, their aliases and the sets. */
void fetch_offer_kinds(struct nearest *near);

/*
 * Checks the words for kinds (`cpu=30s`, `incident`, `/debug/vars`) as far as possible without a target.
 * *ret_longest_ms: the longest time by design of an item. ERR_USAGE.
 */
int fetch_check_kinds(const struct strlist *words, int64_t *ret_longest_ms, struct err *err);

/* About how many items the words request of each service; `all` counts every kind of the table. */
int fetch_count_items(const struct strlist *words, size_t *ret, struct err *err);
/* Ask the user to confirm longer profiles. */
#define FETCH_LONG_MS (5 * 60 * INT64_C(1000))
/* Adds the words, as "cpu=30s", for items that slow a process down or stop it, each once: cpu, traces,
 * deltas, other items that take time by design, and the full text of goroutines. */
int fetch_costly(const struct strlist *words, struct strlist *into, struct err *err);
/* Checks that a word is for a snapshot of which two show the change in between: heap, allocs, goroutines,
 * block, mutex. ERR_USAGE lists these. */
int fetch_check_pair(const struct strlist *words, struct err *err);

/* ---- results ------------------------------------------------------------------------------------------- */

enum fetch_status {
    FETCH_OK,
    FETCH_DAMAGED,     /* received, but a check failed: kept as NAME.damaged */
    FETCH_FAILED,      /* nothing usable was received */
    FETCH_INTERRUPTED, /* cancelled before or during the fetch */
    FETCH_LEFT_OUT,    /* not requested because of the budget */
};

/* A finding: a plain sentence on a service or an item. */
struct verdict {
    const char *rule; /* its name in the table of rules: "cpu-share"; static */
    bool note;        /* worth knowing, but not worth a line during the run */
    char text[400];
};
struct verdicts {
    struct verdict *items;
    size_t n;
    size_t cap;
};

/* Adds the sentence of the rule `rule`; `first` and `second` replace {0} and {1}, NULL if the sentence lacks
 * them. */
int verdicts_add(struct verdicts *l, const char *rule, const char *first, const char *second,
                 struct err *err);
void verdicts_release(struct verdicts *l);

/* A row of the table of rules, for help and documentation; -1 behind the last. */
struct fetch_rule_help {
    const char *name;
    const char *sentence; /* {0}, {1}, {2} are placeholders */
    const char *evidence;
    const char *source;
};
int fetch_rule_help(size_t i, struct fetch_rule_help *ret);

/* An item, fetched or not. All text is printable; unknown strings are empty. */
struct fetch_item {
    char kind[256];
    char argument[32];
    char request[600]; /* "GET /debug/pprof/heap" */
    enum fetch_status status;
    struct err err;         /* the reason if it is not OK */
    char server_words[512]; /* the beginning of an answer that was not a profile */
    char file[800];         /* HOST/SERVICE/NAME below the work directory; empty without a file */
    int http_status;        /* 0: there was no answer */
    char content_type[128];
    int64_t started; /* UTC milliseconds */
    int64_t duration_ms;
    uint64_t bytes;
    unsigned pair;  /* of a pair: 1 for the first, 2 for the later one; else 0 */
    bool transient; /* a retry may succeed */
    bool lasting; /* a retry cannot succeed: the service lacks the profile, or answers with another format */
    bool late;    /* with `sync`: it began after the others */
    bool has_sync_skew;
    int64_t sync_skew_ms; /* how much later than the common instant it began, by its target's clock; if that
                             clock is known to be 2 s or more off, its error is subtracted, and the result is
                             good to about a second */
    char sha256[SHA256_HEX];
    bool has_profile;
    struct profile_summary profile;
    char go_version[32]; /* the Go version of the program, as far as the item shows it: "1.22", ">= 1.21" */
    struct verdicts verdicts;
};

struct fetch_offer {
    const char *name;
    int64_t count; /* -1: not known */
};

/* An item of the plan, and its estimated cost (fetch/estimate.h). */
struct fetch_planned {
    const char *kind;
    const char *argument;   /* empty for none */
    unsigned pair;          /* as struct fetch_item has it */
    uint64_t bytes;         /* the estimate */
    int64_t timed_ms;       /* how long the process profiles itself; 0: a snapshot */
    int64_t count;          /* records in the index page; -1: not known */
    bool already_collected; /* an earlier run has fetched it (fetch_grab.have): skip it */
    bool absent;            /* the program lacks this profile: skip it */
    const char *left_out;   /* the budget's reason to skip it; NULL: fetch it */
};

/* A service after planning, or whose index could not be read. */
struct fetch_service {
    const struct fetch_offer *offers;
    size_t n_offers;
    const struct fetch_planned *planned; /* in the order in which they are fetched */
    size_t n_items;
    bool has_clock_skew;
    int64_t clock_skew_ms;     /* the target's clock minus ours, good to about a second */
    const struct err *failure; /* NULL, or the reason why nothing is fetched from it */
    const struct verdicts *verdicts;
};

/* A step before or between the profiles, reported at its end. */
enum fetch_step_kind {
    FETCH_STEP_CONFIG, /* the route: ssh's configuration */
    FETCH_STEP_SHARED, /* a hop over a session that is already open */
    FETCH_STEP_VIA,    /* another program carries this hop: print a line */
    FETCH_STEP_CONNECT,
    FETCH_STEP_HANDSHAKE,
    FETCH_STEP_HOST_KEY,
    FETCH_STEP_AUTH,
    FETCH_STEP_DIAL,     /* a connection to the service */
    FETCH_STEP_INDEX,    /* its index page */
    FETCH_STEP_EXPOSURE, /* whether it answers on other addresses; only in a probe */
    FETCH_STEP_REQUEST,  /* any other request */
    FETCH_STEP_RETRY,    /* a failure before a retry: print a line */
};
/* The name of a step for output and JSON, as "handshake". */
const char *fetch_step_name(enum fetch_step_kind kind);
struct fetch_step {
    enum fetch_step_kind kind;
    size_t hop, n_hops; /* for the steps of SSH */
    char detail[512];   /* printable, may be empty */
    int64_t duration_ms;
    bool warning;              /* the step succeeded, but found a problem */
    bool news;                 /* print it also without --verbose */
    const struct err *failure; /* NULL: success */
};

/* The current state of an item. */
struct fetch_progress {
    const char *kind;
    uint64_t bytes;
    int64_t elapsed_ms;
    int64_t timed_ms;    /* how long the server takes by design */
    const char *cost;    /* its cost for the process, reported before the fetch; NULL: none worth reporting */
    const char *waiting; /* the reason for waiting; NULL: it does not wait */
    bool usual;          /* the wait is normal: print no line for it */
    size_t index;        /* of n_items */
    size_t n_items;
};

/*
 * The fetching threads call these functions, but never two at once, so an observer needs no locks. The
 * pointers are valid during the call; the targets are the caller's.
 */
struct fetch_observer {
    void *ctx;
    /* The host is about to be opened. */
    void (*opening)(void *ctx, const struct host *host);
    /* The host is open (gateway set) or failed (failure set). */
    void (*host)(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure);
    void (*service)(void *ctx, const struct target *target, const struct fetch_service *s);
    void (*item)(void *ctx, const struct target *target, const struct fetch_item *item);
    void (*progress)(void *ctx, const struct target *target, const struct fetch_progress *p);
    /* `service` is NULL for steps of the host. */
    void (*step)(void *ctx, const struct host *host, const struct service *service,
                 const struct fetch_step *step);
};

/* The result of a run, beyond the observer's events. */
struct fetch_outcome {
    bool out_of_time; /* deadline_ms ended before all items were fetched */
    /* With `sync`: the timed profiles that began together. */
    int64_t sync_at;     /* UTC of their release; 0: none was released */
    size_t sync_targets; /* processes that took part */
    size_t sync_late;    /* processes that were late */
    size_t sync_known;   /* the number of profiles whose sync_skew_ms is known from a good clock */
    int64_t sync_p50_ms, sync_p95_ms, sync_max_ms; /* percentiles of its absolute value */
};

/* ---- the grab ------------------------------------------------------------------------------------------ */

struct fetch_grab {
    const struct targets *targets;   /* grouped by host */
    const struct strlist *kinds;     /* empty: each service's own, else the set `default` */
    const struct ssh_settings *ssh;  /* the command line's, overriding the inventory's; may be NULL */
    const struct beneath *directory; /* the work directory; items are written to HOST/SERVICE/ below it */
    unsigned parallel;               /* hosts at a time */
    int64_t timeout_ms;              /* of silence, beyond the time that a profile takes by design */
    int64_t connect_timeout_ms; /* for each step of opening a host: ssh's configuration, a connection, the
                                   handshake, authentication; 0: FETCH_CONNECT_TIMEOUT_MS or timeout_ms, the
                                   lesser */
    int64_t ask_ms;             /* as in gateway_options */
    uint64_t max_bytes;         /* of one body; 0: the limit of its kind */
    bool concurrent;            /* fetch the timed profiles of a process at the same time */
    int64_t pair_ms;            /* fetch each item of fetch_check_pair twice, at this distance; 0: once */
    unsigned retries;           /* the number of retries after a failure that may pass */
    int64_t deadline_ms;        /* for the whole run; 0: none */
    uint64_t budget_bytes;      /* received from one process; 0: no limit, as for budget_ms */
    int64_t budget_ms;          /* the time for which one process profiles itself */
    bool sync; /* the timed profiles of all processes begin at one instant; opens all hosts at once, whatever
                  `parallel` is */
    int64_t sync_deadline_ms;      /* how long the first ready process waits for the others */
    struct fetch_outcome *outcome; /* fetch_run fills it; may be NULL */
    bool probe;    /* probe: open, connect, read the index, check for exposure; fetch nothing */
    bool plan;     /* dry run: open, read the index, report the plan; fetch nothing */
    int cancel_fd; /* readable: stop fetching; -1 for none */
    const struct fetch_observer *observer; /* with every member set */
    /* For a run that resumes an earlier one in its work directory: returns whether the earlier run has
     * recorded the item as complete and good, so that this run skips it. *ret_started is its time in UTC
     * milliseconds, or 0. The rules of the observer apply, with its ctx. Of an unrecorded item, this run
     * adopts a complete file; it replaces a damaged file only by a complete one, or by a larger damaged one.
     * NULL: the directory is new. */
    bool (*have)(void *ctx, const struct target *target, const struct fetch_planned *item,
                 int64_t *ret_started);
    const char *askpass; /* as in gateway_options */
    /* As in gateway_options; called without the observer's lock. */
    ask_fn *ask;
    void *ask_ctx;
    bool ask_keys_only; /* as in gateway_options */
};
#define FETCH_TIMEOUT_MS 30000
#define FETCH_CONNECT_TIMEOUT_MS GATEWAY_STEP_TIMEOUT_MS
#define FETCH_PARALLEL 16
#define FETCH_SYNC_DEADLINE_MS 30000

/* The number of hosts that such a run opens at a time: `parallel`, or all with `sync`; at most the number of
 * hosts. */
size_t fetch_at_once(const struct fetch_grab *grab);
/* About how many descriptors the run needs; and for how many hosts at a time `descriptors` are enough, from 1
 * to `parallel`. */
size_t fetch_descriptors(const struct fetch_grab *grab);
unsigned fetch_affordable(const struct fetch_grab *grab, size_t descriptors);

/* Fetches everything that it can. -1 only if it could not start; the observer receives the failures of hosts,
 * services and items. */
int fetch_run(const struct fetch_grab *grab, struct err *err);

/*
 * Opens a host as fetch_run does, without fetching. Uses only the grab's settings for hosts, and `opening`,
 * `step` and `host` of its observer. The pool must outlive the gateway.
 */
int fetch_open(const struct fetch_grab *grab, const struct host *host, struct gateway_pool *pool,
               struct gateway **ret, struct err *err);

/*
 * Finds the unrecorded files of an item after a killed run: a complete file, or the largest partial one,
 * renamed to NAME.damaged. Opens no connection. ERR_NOT_FOUND if there is none. Ignores a partial body of a
 * service with a secret, because the body may repeat it. The caller releases *ret.
 */
int fetch_find_left(const struct beneath *directory, const struct target *target,
                    const struct fetch_planned *item, struct fetch_item *ret, struct err *err);

/* The address of a service, as its host sees it: its URL, or `unix:PATH` and the URL's path. */
char *fetch_service_url(const struct service *service, char *dst, size_t cap);

/* Set up and release libcurl's global state: before the first thread starts, and after the last has ended. */
int fetch_global_init(struct err *err);
void fetch_global_cleanup(void);

/* ---- local files --------------------------------------------------------------------------------------- */

/*
 * Examines a local file (`bundle create`) as a fetched body: hash, size, and findings. Derives item->kind
 * from content and name; never sets FETCH_FAILED. -1 if the file is not readable. `fd` is the file, open at
 * its beginning; `path` is its name in messages. Copies the bytes to copy_fd unless it is -1. The caller
 * closes both descriptors.
 */
int fetch_look(int fd, const char *path, int copy_fd, struct fetch_item *ret, struct err *err);

/* The kind whose profiles have samples of this type, as "cpu" of cpu; NULL if there are several or none. */
const char *fetch_kind_of(const char *sample_type);
void fetch_item_release(struct fetch_item *item);

/* ---- discovery ----------------------------------------------------------------------------------------- */

#include "fetch/discovery.h"

#endif
