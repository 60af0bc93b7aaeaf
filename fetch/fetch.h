/*
 * Fetching: what to ask a service for, in which order, over one connection; each body streamed to disk,
 * hashed and checked on the way.
 *
 * A grab of a host is straight-line code in one thread: open the gateway, then for each service (side by
 * side) read the index page, plan, fetch one item after the other, close. Many hosts are many such threads
 * under an admission limit. What happens is told to an observer.
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

/* Whether a word is a kind of the table, with or without an argument, a set, or a path; of any other only the
 * index page of a service can tell what it is. */
bool fetch_is_kind(const char *word);
/* Offers the names of kinds, their aliases and the sets. */
void fetch_offer_kinds(struct nearest *near);

/* Checks the words for kinds (`cpu=30s`, `incident`, `/debug/vars`) as far as they can be without a target.
 * *ret_longest_ms: the longest time one of them takes by design. ERR_USAGE. */
int fetch_check_kinds(const struct strlist *words, int64_t *ret_longest_ms, struct err *err);

/* How many items the words ask each service for, about: of `all` every kind counts that the table has. */
int fetch_count_items(const struct strlist *words, size_t *ret, struct err *err);
/* What takes longer should be asked for twice. */
#define FETCH_LONG_MS (5 * 60 * INT64_C(1000))
/* Adds those of the words, as "cpu=30s", that slow a process down while they are taken, or stop it: cpu,
 * traces, deltas and whatever else takes a time by design, and the full text of goroutines; each once. */
int fetch_costly(const struct strlist *words, struct strlist *into, struct err *err);
/* Whether any of the words is for a snapshot of which two tell what happened in between: heap, allocs,
 * goroutines, block, mutex. ERR_USAGE says which can. */
int fetch_check_pair(const struct strlist *words, struct err *err);

/* ---- what happened ------------------------------------------------------------------------------------- */

enum fetch_status {
    FETCH_OK,
    FETCH_DAMAGED,     /* it came, but a check failed: kept under NAME.damaged */
    FETCH_FAILED,      /* nothing usable came */
    FETCH_INTERRUPTED, /* cancelled before or while it was fetched */
    FETCH_LEFT_OUT,    /* the budget did not allow it: it was not asked for */
};

/* A plain sentence on what a service or an item shows about itself. */
struct verdict {
    const char *rule; /* its name in the table of rules: "cpu-share"; static */
    bool note;        /* worth knowing, but nothing anybody must be told while it runs */
    char text[400];
};
struct verdicts {
    struct verdict *items;
    size_t n;
    size_t cap;
};

/* Adds the sentence of the rule of that name; `first` and `second` stand for its {0} and {1}, NULL where it
 * has none. */
int verdicts_add(struct verdicts *l, const char *rule, const char *first, const char *second,
                 struct err *err);
void verdicts_release(struct verdicts *l);

/* A row of the table of rules, for help and documentation; -1 behind the last. */
struct fetch_rule_help {
    const char *name;
    const char *sentence; /* {0}, {1}, {2} stand for what was found */
    const char *evidence;
    const char *source;
};
int fetch_rule_help(size_t i, struct fetch_rule_help *ret);

/* A fetched, or not fetched, item. All text is printable; unknown strings are empty. */
struct fetch_item {
    char kind[256];
    char argument[32];
    char request[600]; /* "GET /debug/pprof/heap" */
    enum fetch_status status;
    struct err err;         /* why it is not OK */
    char server_words[512]; /* the beginning of an answer that was no profile */
    char file[800];         /* HOST/SERVICE/NAME below the work directory; empty when nothing was kept */
    int http_status;        /* 0: there was no answer */
    char content_type[128];
    int64_t started; /* UTC milliseconds */
    int64_t duration_ms;
    uint64_t bytes;
    unsigned pair; /* 1 and 2: the first and the later one of a pair; else 0 */
    bool passing;  /* why it failed may be over when it is asked for again */
    bool lasting;  /* why it is not OK stays so: the service has no such profile, or answers that request with
                      something else */
    bool late;     /* with `sync`: it began behind the others */
    bool has_sync_skew;
    int64_t
        sync_skew_ms; /* how much later than the common instant it began, by its target's clock; where that
                         is known to be 2 s or more off, without that, and then good to about a second */
    char sha256[SHA256_HEX];
    bool has_profile;
    struct profile_summary profile;
    char go_version[32]; /* what it shows of the Go that built the program: "1.22", ">= 1.21" */
    struct verdicts verdicts;
};

struct fetch_offer {
    const char *name;
    int64_t count; /* -1: not known */
};

/* An item that is about to be fetched unless it is there, and what it is expected to cost (fetch/estimate.h).
 */
struct fetch_planned {
    const char *kind;
    const char *argument; /* empty for none */
    unsigned pair;        /* as struct fetch_item has it */
    uint64_t bytes;       /* about so many come */
    int64_t timed_ms;     /* how long the process profiles itself for it; 0: a snapshot */
    int64_t count;        /* records, as the index page has it; -1: not known */
    bool had;             /* an earlier run has it (fetch_grab.have): it is left alone */
    bool absent;          /* the program has no such profile: it is not asked for */
    const char *left_out; /* why it is not fetched: the budget; NULL: it is */
};

/* A service whose items are about to be fetched, or whose index could not be read. */
struct fetch_service {
    const struct fetch_offer *offers;
    size_t n_offers;
    const struct fetch_planned *planned; /* in the order in which they are fetched */
    size_t n_items;
    bool has_clock_skew;
    int64_t clock_skew_ms;     /* the target's clock minus ours, good to about a second */
    const struct err *failure; /* NULL, or why nothing is fetched from it */
    const struct verdicts *verdicts;
};

/* A step on the way to the profiles, told when it has ended. */
enum fetch_step_kind {
    FETCH_STEP_CONFIG, /* the route: ssh's configuration */
    FETCH_STEP_SHARED, /* a hop whose session is open already */
    FETCH_STEP_VIA,    /* another program carries this hop: worth a line */
    FETCH_STEP_CONNECT,
    FETCH_STEP_HANDSHAKE,
    FETCH_STEP_HOST_KEY,
    FETCH_STEP_AUTH,
    FETCH_STEP_DIAL,     /* a connection to the service */
    FETCH_STEP_INDEX,    /* its index page */
    FETCH_STEP_EXPOSURE, /* whether it answers on other addresses than asked; only when looking */
    FETCH_STEP_REQUEST,  /* any other request */
    FETCH_STEP_RETRY,    /* something failed, and is tried again: worth a line */
};
/* "handshake", for people and programs. */
const char *fetch_step_name(enum fetch_step_kind kind);
struct fetch_step {
    enum fetch_step_kind kind;
    size_t hop, n_hops; /* of the steps of SSH */
    char detail[512];   /* printable, may be empty */
    int64_t duration_ms;
    bool warning;              /* it went well, but what it found is not */
    bool news;                 /* also for those who did not ask for details */
    const struct err *failure; /* NULL: it went well */
};

/* What an item is doing right now. */
struct fetch_progress {
    const char *kind;
    uint64_t bytes;
    int64_t elapsed_ms;
    int64_t timed_ms;    /* how long the server takes by design */
    const char *cost;    /* what it costs the process, to be said before; NULL: nothing worth a word */
    const char *waiting; /* for what; NULL: it does not wait */
    bool usual;          /* that it waits is as it should be: not worth a line of its own */
    size_t index;        /* of n_items */
    size_t n_items;
};

/*
 * Called from the threads that fetch, but never two at a time, so an observer needs no locks. The pointers
 * are valid during the call; the targets are the caller's own.
 */
struct fetch_observer {
    void *ctx;
    /* The host is about to be opened. */
    void (*opening)(void *ctx, const struct host *host);
    /* The host could be opened (gateway set) or not (failure set). */
    void (*host)(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure);
    void (*service)(void *ctx, const struct target *target, const struct fetch_service *s);
    void (*item)(void *ctx, const struct target *target, const struct fetch_item *item);
    void (*progress)(void *ctx, const struct target *target, const struct fetch_progress *p);
    /* `service` is NULL for the steps to the host. */
    void (*step)(void *ctx, const struct host *host, const struct service *service,
                 const struct fetch_step *step);
};

/* What a whole run came to, beyond what its observer was told. */
struct fetch_outcome {
    bool out_of_time; /* deadline_ms was over before everything was fetched */
    /* With `sync`: the timed profiles that began together. */
    int64_t sync_at;     /* when they were released, in UTC; 0: none ever were */
    size_t sync_targets; /* processes that took part */
    size_t sync_late;    /* of these */
    size_t sync_known;   /* of how many profiles sync_skew_ms is known and was measured by a good clock */
    int64_t sync_p50_ms, sync_p95_ms, sync_max_ms; /* of its size */
};

/* ---- the grab ------------------------------------------------------------------------------------------ */

struct fetch_grab {
    const struct targets *targets;   /* grouped by host */
    const struct strlist *kinds;     /* empty: each service's own, else the set `default` */
    const struct ssh_settings *ssh;  /* the command line's, over the inventory's; may be NULL */
    const struct beneath *directory; /* the work directory; items go to HOST/SERVICE/ below it */
    unsigned parallel;               /* hosts at a time */
    int64_t timeout_ms;              /* of silence, beyond the time a profile takes by design */
    int64_t connect_timeout_ms;    /* for each step of opening a host: ssh's configuration, a connection, the
                                      handshake, authentication; 0: FETCH_CONNECT_TIMEOUT_MS or timeout_ms, the
                                      lesser */
    int64_t ask_ms;                /* as gateway_options has it */
    uint64_t max_bytes;            /* of one body; 0: as its kind says */
    bool concurrent;               /* the timed profiles of a process at the same time */
    int64_t pair_ms;               /* what can be (fetch_check_pair) is taken twice, so far apart; 0: once */
    unsigned retries;              /* of what failed for a reason that may pass: so often */
    int64_t deadline_ms;           /* for the whole run: what has not come by then is given up; 0: none */
    uint64_t budget_bytes;         /* that are taken from one process; 0: no bound; and so on */
    int64_t budget_ms;             /* for which one process profiles itself */
    bool sync;                     /* the timed profiles of all processes begin at one instant; every host is
                                      opened at once, whatever `parallel` says */
    int64_t sync_deadline_ms;      /* how long the first that is ready waits for the others */
    struct fetch_outcome *outcome; /* filled in by fetch_run; may be NULL */
    bool look;                     /* fetch nothing: open, dial, read the index, look for exposure */
    bool plan;                     /* fetch nothing: open, read the index, tell what would be fetched */
    int cancel_fd;                 /* readable: stop fetching; -1 for none */
    const struct fetch_observer *observer; /* every member set */
    /* A run that goes on in the work directory of an earlier one: whether that has the item, whole and good,
     * so that it is left alone; *ret_started is when it was taken, in UTC milliseconds, or 0. Called as the
     * observer is, with its ctx. Of what else lies in the place of an item, a whole file is taken as it is,
     * and a damaged one is given up only for something better: whole, or of two damaged ones the larger.
     * NULL: the directory is new. */
    bool (*have)(void *ctx, const struct target *target, const struct fetch_planned *item,
                 int64_t *ret_started);
    const char *askpass; /* as gateway_options has it */
    /* As gateway_options has it; not called under the observer. */
    ask_fn *ask;
    void *ask_ctx;
    bool ask_keys_only; /* ... */
};
#define FETCH_TIMEOUT_MS 30000
#define FETCH_CONNECT_TIMEOUT_MS GATEWAY_STEP_TIMEOUT_MS
#define FETCH_PARALLEL 16
#define FETCH_SYNC_DEADLINE_MS 30000

/* How many hosts such a run has open at a time: `parallel`, with `sync` all; not more than there are. */
size_t fetch_at_once(const struct fetch_grab *grab);
/* How many descriptors that takes, about; and how many hosts at a time, at least 1 and at most `parallel`, so
 * many descriptors are enough for. */
size_t fetch_descriptors(const struct fetch_grab *grab);
unsigned fetch_affordable(const struct fetch_grab *grab, size_t descriptors);

/* Fetches everything it can. -1 only if it could not even start; what failed at a host, service or item goes
 * to the observer. */
int fetch_run(const struct fetch_grab *grab, struct err *err);

/*
 * Opens the way to one host as fetch_run does, for whoever fetches nothing: of the grab only what concerns
 * hosts counts, of its observer `opening`, `step` and `host`. The pool must outlive the gateway.
 */
int fetch_open(const struct fetch_grab *grab, const struct host *host, struct gateway_pool *pool,
               struct gateway **ret, struct err *err);

/*
 * What an earlier run that was killed left of an item in its work directory, beside what it has written down:
 * a whole file, or the larger part of one as NAME.damaged. Nothing is opened. ERR_NOT_FOUND: there is
 * nothing; nor is half a body taken of a service that wants a secret, which it may repeat. The caller
 * releases *ret.
 */
int fetch_find_left(const struct beneath *directory, const struct target *target,
                    const struct fetch_planned *item, struct fetch_item *ret, struct err *err);

/* Where a service is, as its host sees it: its URL, or with a Unix socket `unix:PATH` and the URL's path. */
char *fetch_service_url(const struct service *service, char *dst, size_t cap);

/* Global state of libcurl: before any thread starts, and after the last has ended. */
int fetch_global_init(struct err *err);
void fetch_global_cleanup(void);

/* ---- local files --------------------------------------------------------------------------------------- */

/*
 * Looks at a file that is already there (`bundle create`) as it would at a body: hash, size, and what its
 * content shows it to be. Fills in item->kind by the content and name, never status FETCH_FAILED: -1 if it
 * cannot be read at all. `fd` is the file, open at its beginning, and `path` its name, for messages. If
 * copy_fd is not -1 the bytes are written there too. The caller closes both descriptors.
 */
int fetch_look(int fd, const char *path, int copy_fd, struct fetch_item *ret, struct err *err);

/* What kind of profile has samples of that type, "cpu" of cpu; NULL: several kinds may, or none is known.
 */
const char *fetch_kind_of(const char *sample_type);
void fetch_item_release(struct fetch_item *item);

/* ---- discovery ----------------------------------------------------------------------------------------- */

#include "fetch/discovery.h"

#endif
