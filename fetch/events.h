/* The events of a run, which an observer receives: hosts, services, items, steps and progress. */
#ifndef FETCH_EVENTS_H
#define FETCH_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "findings/findings.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"
#include "proto/proto.h"

enum fetch_status {
    FETCH_OK,
    FETCH_DAMAGED,     /* received, but a check failed: kept as NAME.damaged */
    FETCH_FAILED,      /* nothing usable was received */
    FETCH_INTERRUPTED, /* cancelled before or during the fetch */
    FETCH_LEFT_OUT,    /* not requested because of the budget */
};

/* The findings that are added when an event occurs, not by the check of a body. */
enum fetch_finding {
    FETCH_FINDING_RENEWED = 1,
    FETCH_FINDING_ADOPTED,
    FETCH_FINDING_RETRIED,
    FETCH_FINDING_SYNC_LATE,
    FETCH_FINDING_BUILD_CHANGED,
    FETCH_FINDING_NO_INDEX,
    FETCH_FINDING_TEXT_GUARDED,
    FETCH_FINDING_TEXT_UNGUARDED,
    FETCH_FINDING_CLOCK_SKEW,
    FETCH_FINDING_SAME_ADDRESS,
    FETCH_FINDING_TLS_UNCHECKED,
    FETCH_FINDING_END /* one more than the last finding */
};

/* Adds the finding. `first` and `second` replace {0} and {1} of its sentence; NULL: the sentence has none. */
int fetch_finding_add(struct findings *findings, enum fetch_finding number, const char *first,
                      const char *second, struct err *err);

/* Returns row i of the table of rules on items and services; NULL after the last. */
const struct finding_rule *fetch_rule(size_t i);

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
    bool permanent; /* a retry cannot succeed: there is no such profile, or its format is wrong */
    bool late;      /* with `sync`: it began after the others */
    bool has_sync_skew;
    int64_t sync_skew_ms; /* the time from the common instant to the start of the profile, by the target's
                             clock. A known clock error of 2 s or more is subtracted; the result is then exact
                             to about a second */
    char sha256[SHA256_HEX];
    bool has_profile;
    struct profile_summary profile;
    char go_version[32]; /* the Go version of the program, as far as the item shows it: "1.22", ">= 1.21" */
    struct findings findings;
};

/* A profile that the index page lists. */
struct fetch_offer {
    const char *name;
    int64_t count; /* -1: not known */
};

/* An item of the plan, and its estimated cost (fetch/estimate.h). */
struct fetch_planned {
    const char *kind;
    const char *argument;        /* empty for none */
    unsigned pair;               /* as struct fetch_item has it */
    uint64_t bytes;              /* the estimate */
    int64_t timed_ms;            /* how long the process profiles itself; 0: a snapshot */
    int64_t count;               /* records in the index page; -1: not known */
    bool already_collected;      /* an earlier run has fetched it (fetch_observer.is_collected): skip it */
    bool absent;                 /* the program lacks this profile: skip it */
    const char *left_out_reason; /* the budget's reason to skip it; NULL: fetch it */
};

/* A planned service, or a service from which nothing is fetched (`failure`). */
struct fetch_service_report {
    const struct fetch_offer *offers;
    size_t n_offers;
    const struct fetch_planned *planned; /* in the order in which they are fetched */
    size_t n_items;
    bool has_clock_skew;
    int64_t clock_skew_ms;     /* the target's clock minus ours, exact to about a second */
    const struct err *failure; /* NULL, or the reason why nothing is fetched from it */
    const struct findings *findings;
};

/* A step before or between the profiles, reported at its end. */
enum fetch_step_kind {
    FETCH_STEP_CONFIG, /* the route: ssh's configuration */
    FETCH_STEP_SHARED, /* a hop over a session that is already open */
    FETCH_STEP_VIA,    /* another program carries this hop; always_print is set */
    FETCH_STEP_CONNECT,
    FETCH_STEP_HANDSHAKE,
    FETCH_STEP_HOST_KEY,
    FETCH_STEP_AUTH,
    FETCH_STEP_DIAL,     /* a connection to the service */
    FETCH_STEP_INDEX,    /* the service's index page */
    FETCH_STEP_EXPOSURE, /* whether the service answers on other addresses; only in a probe */
    FETCH_STEP_REQUEST,  /* any other request */
    FETCH_STEP_RETRY,    /* a failure before a retry; always_print is set */
};
/* Returns the name of a step for output and JSON, as "handshake". */
const char *fetch_step_name(enum fetch_step_kind kind);
struct fetch_step {
    enum fetch_step_kind kind;
    size_t hop, n_hops; /* for the steps of SSH */
    char detail[512];   /* printable, may be empty */
    int64_t duration_ms;
    bool warning;              /* the step succeeded, but found a problem */
    bool always_print;         /* print the step without --verbose too */
    const struct err *failure; /* NULL: success */
};

/* The current state of an item. */
struct fetch_progress {
    const char *kind;
    uint64_t bytes;
    int64_t elapsed_ms;
    int64_t timed_ms;    /* the duration of the profile; 0: a snapshot */
    const char *cost;    /* its cost for the process, reported before the fetch; NULL: none worth reporting */
    const char *waiting; /* the reason for waiting; NULL: it does not wait */
    bool wait_is_usual;  /* the wait is normal: print no line for it */
    size_t index;        /* the item's position in the plan, from 0 on */
    size_t n_items;
};

/*
 * The fetching threads call these functions, but never two at once (`save` excepted), so an observer needs no
 * locks. The pointers are valid during the call; the targets are the caller's. Every member may be NULL.
 */
struct fetch_observer {
    void *ctx;
    /* The host is about to be opened. */
    void (*opening)(void *ctx, const struct host *host);
    /* The host is open (gateway set) or failed (failure set). */
    void (*host)(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure);
    void (*service)(void *ctx, const struct target *target, const struct fetch_service_report *s);
    void (*item)(void *ctx, const struct target *target, const struct fetch_item *item);
    void (*progress)(void *ctx, const struct target *target, const struct fetch_progress *p);
    /* `service` is NULL for steps of the host. */
    void (*step)(void *ctx, const struct host *host, const struct service *service,
                 const struct fetch_step *step);
    /*
     * For a run that resumes an earlier one in its work directory: returns whether the earlier run has
     * recorded the item as complete and good, so that this run skips the item. *ret_started is the time of
     * the item in UTC milliseconds, or 0. If the item is not recorded, this run adopts a complete file; it
     * replaces a damaged file only by a complete one, or by a larger damaged one. NULL: the directory is new.
     */
    bool (*is_collected)(void *ctx, const struct target *target, const struct fetch_planned *item,
                         int64_t *ret_started);
    /*
     * Called after each `item` and before each `progress`, without the lock: several threads may call it at
     * once, and a call that waits for a disk delays no other call. `before_timed_item`: the next event
     * announces a profile that takes time.
     */
    void (*save)(void *ctx, bool before_timed_item);
};

#endif
