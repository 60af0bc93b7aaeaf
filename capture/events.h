/* The events of a capture, and its outcome. */
#ifndef CAPTURE_EVENTS_H
#define CAPTURE_EVENTS_H

#include "capture/counts.h"
#include "capture/outcomes.h"
#include "fetch/fetch.h"
#include "inventory/inventory.h"

enum capture_end {
    CAPTURE_NOT_STARTED, /* the capture fetched nothing; err has the reason */
    CAPTURE_NOTHING,     /* the capture collected nothing, so there is no new bundle */
    CAPTURE_NOT_PACKED,  /* err has the reason; everything collected is in the work directory */
    CAPTURE_PACKED,      /* there is a bundle; capture_is_complete returns whether it has everything */
};

struct capture_outcome {
    enum capture_end end;
    bool cancelled; /* before the bundle was packed */
    struct capture_counts counts;
    struct outcomes targets;
    char *bundle;    /* its path, owned; NULL: there is none */
    char *directory; /* the path of the work directory if it stays, owned; NULL: it was removed */
};

enum capture_event_kind {
    CAPTURE_EARLIER_DAMAGED, /* the archive of an earlier bundle is damaged: resume uses its intact files */
    CAPTURE_EARLIER_CHANGED, /* a file of an earlier run differs from its manifest: resume fetches it again */
    CAPTURE_EARLIER_NOT_IN_INVENTORY, /* the inventory lacks a target of an earlier run: resume skips it */
    CAPTURE_BEGUN,                    /* there is a work directory */
    CAPTURE_FEWER_HOSTS,              /* the limit of open files allows fewer hosts at a time */
    CAPTURE_OPENING,                  /* a host is about to be opened */
    CAPTURE_HOST,                     /* the host is open, or failed */
    CAPTURE_STEP,                     /* a step before or between the profiles has ended */
    CAPTURE_SERVICE,                  /* a service was planned, or failed */
    CAPTURE_ESTIMATE, /* the cost for each process, by the first plan; only with a budget, or for several
                         targets with timed profiles */
    CAPTURE_ITEM,     /* an item was fetched, or failed */
    CAPTURE_PROGRESS, /* an item is being fetched */
    CAPTURE_FETCHED,  /* no thread fetches any more */
    CAPTURE_NO_PAGE,  /* report.html could not be made */
    CAPTURE_BUNDLED,  /* the bundle is complete on disk */
};

/* The comment of a member names the kinds of event that set it. */
struct capture_event {
    enum capture_event_kind kind;
    const char *path;              /* changed: the file; begun: the work directory; bundled: the bundle */
    const char *difference;        /* changed */
    const struct host *host;       /* opening, host, step */
    const struct target *target;   /* service, estimate, item, progress */
    const struct gateway *gateway; /* host; NULL: it failed */
    const struct err *failure; /* damaged, not in inventory, host, service, no page: the reason; else NULL */
    const struct fetch_service_report *planned_service; /* service */
    const struct fetch_item *item;                      /* item */
    const struct fetch_progress *progress;              /* progress */
    const struct service *service;                      /* step; NULL: a step of the host */
    const struct fetch_step *step;                      /* step */
    uint64_t bytes;                                     /* estimate */
    int64_t timed_ms;                                   /* estimate: how long the process profiles itself */
    unsigned parallel;                                  /* fewer hosts: the hosts at a time */
    size_t open_files;                                  /* fewer hosts: the limit of open files */
    const struct capture_outcome *outcome;              /* fetched: its counts and targets so far */
};

/* Threads of the capture call `event`, never two at once. The pointers are valid during the call. */
struct capture_observer {
    void *ctx;
    void (*event)(void *ctx, const struct capture_event *event); /* may be NULL */
};

#endif
