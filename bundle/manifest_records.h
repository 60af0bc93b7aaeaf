/* The records of a manifest. */
#ifndef BUNDLE_MANIFEST_RECORDS_H
#define BUNDLE_MANIFEST_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/*
 * Strings may be NULL if unknown; the manifest then omits the key. All are copied when added; text from a
 * remote host is made printable. Times are UTC milliseconds; 0 means unknown.
 *
 * `source` is the JSON object that a struct was read from, if that object has keys without a member here,
 * else NULL. These keys are printed again.
 */

struct json_t;

struct manifest_info {
    const char *name; /* the bundle's */
    const char *version;
    const char *user; /* the collector */
    const char *workstation;
    const char *reason;
    int64_t started;
};

struct manifest_hop {
    const char *address;
    unsigned port;
    bool host_key_new; /* the host was unknown before and is now trusted */
    const char *user;
    const char *via; /* "libssh2 1.10.0", "OpenSSH_9.2p1" */
    const char *host_key_type;
    const char *host_key;       /* SHA256:base64 */
    const char *authentication; /* the method: "agent ssh-ed25519 SHA256:...", "key ~/.ssh/id_ed25519" */
    const struct json_t *source;
};

struct manifest_finding {
    const char *rule; /* "cpu-share" */
    const char *text;
    const struct json_t *source;
};

/* `cap_` members are the allocated lengths of lists; they are 0 in the records that callers add. */
struct manifest_host {
    const char *name;
    const char *address;
    const char *route; /* "direct" or "ssh" */
    bool is_baseline;  /* a healthy host, with which the selected hosts are compared */
    const struct manifest_hop *hops;
    size_t n_hops;
    const char *error; /* why nothing was fetched; after a resume, why nothing more was fetched */
    const struct manifest_finding *findings;
    size_t n_findings;
    struct manifest_service *services;
    size_t n_services, cap_services;
    const struct json_t *source;
};

struct manifest_listed_profile {
    const char *name;
    bool has_count;
    int64_t count; /* the number that the index page shows */
    const struct json_t *source;
};

struct manifest_planned {
    const char *kind;
    const char *argument;
    unsigned pair; /* as in an item */
    const struct json_t *source;
};

struct manifest_service {
    const char *host; /* only for adding the service: the name of a host added before */
    const char *name;
    const char *url;                              /* the address on its host */
    const struct manifest_listed_profile *offers; /* the profiles that the index page lists */
    size_t n_offers;
    bool has_clock_skew;
    int64_t clock_skew_ms;                  /* the target's clock minus ours */
    const struct manifest_planned *planned; /* in the order in which they are fetched */
    size_t n_planned;
    uint64_t estimate_bytes; /* with a plan: estimated bytes of all items */
    int64_t profiled_ms;     /* with a plan: how long the process profiles itself */
    const char *error;       /* why planning failed */
    const struct manifest_finding *findings;
    size_t n_findings;
    struct manifest_item *items;
    size_t n_items, cap_items;
    const char *go_version; /* the most precise Go version that its items show */
    const struct json_t *source;
};

enum manifest_status {
    MANIFEST_OK,
    MANIFEST_DAMAGED,     /* received, but a check failed: kept as NAME.damaged */
    MANIFEST_FAILED,      /* nothing usable was received */
    MANIFEST_INTERRUPTED, /* cancelled before or during the fetch */
    MANIFEST_LEFT_OUT,    /* not requested because of the budget */
    MANIFEST_UNKNOWN,     /* only in a manifest that was read: the status is missing, or of a newer version */
};

struct manifest_sample_type {
    const char *type;
    const char *unit;
    int64_t total;
    const struct json_t *source;
};

struct manifest_item {
    const char *host, *service; /* only for adding the item: its service; NULL for a local file */
    const char *go_version; /* only for adding the item: the Go version that it shows, "1.22" or ">= 1.21";
                               copied to its service */
    const char *kind;
    const char *argument; /* of KIND=ARGUMENT */
    unsigned pair;        /* 1: the first item of a pair; 2: the later one; 0: no pair */
    bool late;            /* it started after the common start time */
    bool has_sync_skew;
    int64_t sync_skew_ms; /* its start minus the common start time, by its target's clock */
    const char *request;  /* "GET /debug/pprof/heap" */
    enum manifest_status status;
    const char *error;        /* the reason if `status` is not MANIFEST_OK */
    const char *server_words; /* the server's message */
    const char *file;         /* path inside the bundle's directory; NULL without a file */
    int http_status;
    const char *content_type;
    int64_t started;
    int64_t duration_ms;
    uint64_t bytes;
    const char *sha256;
    bool has_profile; /* the next four members are set from the profile */
    uint64_t samples;
    const struct manifest_sample_type *sample_types;
    size_t n_sample_types;
    int64_t profile_duration_ns;
    const struct manifest_finding *findings;
    size_t n_findings;
    bool has_original; /* in a copy: redaction changed the file; the next two members describe the original */
    uint64_t original_bytes;
    const char *original_sha256;
    const char *status_text; /* the word for `status` in the manifest; set when the item is added or read */
    const struct json_t *source;
};

/*
 * The request, so that resume can repeat it: names, kinds, and addresses of services outside the inventory.
 * It has no path of a configuration, an inventory or a key, because a bundle must not choose the route to a
 * host.
 */
struct manifest_target {
    const char *host, *service;
    const char *address; /* of a host outside the inventory, as ssh accepts it; NULL: the inventory has it */
    const struct json_t *source;
};
struct manifest_request {
    struct strlist kinds; /* words of the command line; empty: the kinds of each service */
    const struct manifest_target *targets;
    size_t n_targets; /* grouped by host, each target once */
    unsigned port; /* this and the next three: as in struct selection, for a service outside the inventory */
    const char *unix_path;
    const char *path;
    bool https;
    struct strlist baseline_hosts; /* names of the baseline hosts */
    int64_t pair_ms;               /* 0: no pairs */
    size_t sample_of;              /* the number of hosts to choose from; 0: no sample */
    size_t sample_taken;           /* the number of chosen hosts */
};

/* The limits and the results of a run; 0 if not set. */
struct manifest_run {
    int64_t deadline_ms;
    bool deadline_reached; /* items are missing because of the deadline */
    uint64_t budget_bytes; /* limit for the bytes from one process */
    int64_t budget_ms;     /* limit for the time in which one process profiles itself */
    unsigned retries;
    int64_t sync_at; /* the common start time of the timed profiles; 0: without --sync, and the `sync_` values
                        of an earlier run stay */
    size_t sync_processes, sync_late; /* processes that took part; of these, late ones */
    bool has_sync_skew;
    int64_t sync_p50_ms, sync_p95_ms, sync_max_ms; /* percentiles of the absolute sync_skew_ms */
};

struct manifest_sentence {
    const char *rule; /* "gc-share" */
    const char *text;
    const char *file;    /* of the item that shows the finding */
    const char *look_at; /* a function to look at */
};

/* The page of the bundle; `file` is NULL if there is none. */
struct manifest_report {
    const char *file;
    uint64_t bytes;
    const char *sha256;
};

/* A later run that fetched missing items. */
struct manifest_resumption {
    const char *time; /* as text, 2026-11-21T07:48:00.000Z */
    const char *version, *user, *workstation;
    const struct json_t *source;
};

struct manifest_redaction {
    const char *file;
    const char *rule;
    int64_t count; /* the number of redacted values */
};

struct manifest_unsearched {
    const char *file;
    const char *reason;
};

/* In a copy: its hand-off. */
struct manifest_handoff {
    const char *time; /* as text, 2026-11-21T07:48:00.000Z */
    const char *user, *workstation;
    const char *const *recipients;
    size_t n_recipients;
    bool has_redactions; /* the copy was searched for secrets */
    const struct manifest_redaction *redactions;
    size_t n_redactions;
    const struct manifest_unsearched *unsearched;
    size_t n_unsearched;
};

/* The whole manifest. Every folder may read it; only the functions of bundle/manifest.h change it. */
struct manifest {
    const char *format; /* "profgrab-bundle" */
    unsigned version;   /* of the format */
    const char *name;
    const char *tool, *tool_version; /* the program */
    const char *user;                /* the collector */
    const char *workstation;
    const char *reason;
    const char *started, *finished; /* as text, 2026-11-21T07:48:00.000Z */
    bool interrupted, complete;
    bool has_request;
    struct manifest_request request;
    const struct manifest_resumption *resumed;
    size_t n_resumed;
    struct manifest_run run;
    const struct manifest_sentence *summary;
    size_t n_summary;
    struct manifest_host *hosts;
    size_t n_hosts, cap_hosts;
    struct manifest_item *files; /* local ones */
    size_t n_files, cap_files;
    struct manifest_report report;
    bool has_handoff; /* the bundle is a copy */
    struct manifest_handoff handoff;
    const struct json_t *source;
    struct manifest_index *index; /* only for the files of bundle/ */
};

#endif
