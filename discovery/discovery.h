/*
 * Discovery: services that are not in the inventory, but in other systems. A source (inventory/source.h)
 * lists targets, a host and a port each, in jobs. A target belongs to the host with its address, and becomes
 * a service of that host. Sources add no hosts.
 *
 * The content of a source is untrusted: names are made valid for paths, addresses are checked, and the number
 * of its objects is limited.
 *
 * The cache is $XDG_CACHE_HOME/profgrab (~/.cache/profgrab without that variable). It has one file for each
 * set of kind, URL, the host that profgrab asks through with its SSH settings, and credentials. A file that
 * others can write, or whose hash is wrong, is not used.
 */
#ifndef DISCOVERY_DISCOVERY_H
#define DISCOVERY_DISCOVERY_H

#include "inventory/inventory.h"

struct fetch_grab;

#define SOURCE_MAX_BYTES ((size_t)64 << 20)
#define SOURCE_MAX_TARGETS 100000
#define SOURCE_MAX_LABELS 200000 /* of all targets; further ones are left out */

/* ---- the content of a source --------------------------------------------------------------------------- */

struct discovered_job {
    char *name;           /* from the source; printable */
    char *path;           /* as in struct service; NULL: the default */
    char *query;          /* as in struct service; NULL: none */
    struct strlist kinds; /* the kinds to fetch if the user names none */
};

struct discovered_target {
    size_t job;    /* its index */
    size_t labels; /* index of its label set plus one; 0: none */
    char *address; /* a name in lower case, or an IP address, without brackets */
    unsigned port;
    bool https;
    /* discovery_add sets these: */
    bool meant;                    /* its job is selected */
    const struct host *host;       /* its host; NULL: none */
    const struct service *service; /* its service there, perhaps the inventory's own; NULL: withheld. struct
                                      targets owns it */
};

struct discovered {
    struct discovered_job *jobs;
    size_t n_jobs, cap_jobs;
    struct names *job_names; /* to the last job of that name; NULL: no job yet */
    struct discovered_target *targets;
    size_t n, cap;
    struct strlist *labels; /* sets of labels, each NAME=VALUE, visible text */
    size_t n_labels, cap_labels;
    size_t all_labels;    /* of all targets */
    struct strlist notes; /* unsupported content that is missing; printable */
    int64_t at;           /* the time of the answer, UTC in milliseconds */
};
void discovered_release(struct discovered *f);

/* Parses the answer of a source with a URL, in pieces. ERR_FAILED for an invalid answer. */
struct discovered_reader;
int discovered_reader_new(enum source_kind kind, struct discovered *into, struct discovered_reader **ret,
                          struct err *err);
/* Passes each whole text of the answer through `mask` before any other use. The mask removes in place the
 * parts that must not be shown or stored. */
void discovered_reader_mask(struct discovered_reader *r, void (*mask)(void *ctx, char *text), void *ctx);
int discovered_reader_feed(struct discovered_reader *r, const void *p, size_t n, struct err *err);
int discovered_reader_end(struct discovered_reader *r, struct err *err);
/* Returns whether the answer failed because it is not JSON. */
bool discovered_reader_is_malformed(const struct discovered_reader *r);
void discovered_reader_free(struct discovered_reader *r);

/* Reads the files of a source without a URL. ERR_FAILED or ERR_USAGE, with the place. */
int discovered_read(const struct source *source, struct discovered *ret, struct err *err);

/* The bytes of one file of a source: groups of targets (SOURCE_FILE_SD), or a configuration. */
struct discovered_file {
    const char *name; /* for messages */
    const char *dir;  /* where relative paths in a configuration begin; NULL: it may not name files */
    enum source_kind kind;
    struct str text;
};
/* Parses the text of a configuration file. ERR_FAILED or ERR_USAGE, with the place. */
int discovered_parse(const struct discovered_file *file, struct discovered *into, struct err *err);

/* Writes targets in http_sd's form for discovered_reader, without paths and kinds. */
int discovered_write(const struct discovered *f, struct buf *to, struct err *err);

/* ---- answers ------------------------------------------------------------------------------------------- */

/*
 * Asks a source that has a URL. Uses the grab's settings for opening hosts, timeout_ms and cancel_fd; of its
 * observer `opening`, `step` and `host`, for the host that profgrab asks through. Limits: SOURCE_MAX_BYTES,
 * and two minutes. The caller releases *ret.
 */
int discovery_ask(const struct source *source, const struct fetch_grab *grab, struct discovered *ret,
                  struct err *err);

/* Caches an answer, without its notes. `ssh` (may be NULL) are the settings of the request, as
 * fetch_grab.ssh. */
int discovery_cache_store(const struct source *source, const struct ssh_settings *ssh,
                          const struct discovered *f, struct err *err);

/* Reads a cached answer of any age; `ret->at` is its time. ERR_NOT_FOUND if there is none, ERR_FAILED if the
 * file cannot be trusted. The caller releases *ret. */
int discovery_cache_load(const struct source *source, const struct ssh_settings *ssh, struct discovered *ret,
                         struct err *err);

/* ---- services from targets ----------------------------------------------------------------------------- */

/* Counts of a source's targets, without those of other jobs. */
struct discovered_counts {
    size_t n;        /* targets */
    size_t placed;   /* with a host */
    size_t by_hand;  /* targets among them for which the inventory has its own service of that name */
    size_t loopback; /* without a host: on loopback, and the source has no `host` */
    size_t strange;  /* without a host: no host has their address */
    size_t withheld; /* the service's secret would go to an address that only the source vouches for */
};

/* The services that the sources of one run make. */
struct candidate;
struct discovery {
    const struct inventory *inventory;
    struct targets *targets;      /* receives the services, and owns them */
    struct candidate *candidates; /* services without final names */
    size_t n, cap;
    struct names addresses; /* canonical address to struct host */
    struct strlist address_texts;
};
#define DISCOVERY_INIT(of, to)                                                                               \
    {                                                                                                        \
        .inventory = (of), .targets = (to)                                                                   \
    }
void discovery_release(struct discovery *d);

/*
 * Makes services of a source's targets. After all sources, discovery_finish names the services and adds them
 * to the hosts. Sets `use->answered_at` to the time of the answer. ERR_USAGE if all targets are on loopback
 * and the source has no `host`.
 */
int discovery_add(struct discovery *d, struct source_use *use, struct discovered *f,
                  struct discovered_counts *ret, struct err *err);
int discovery_finish(struct discovery *d, struct err *err);

/* Keeps only the selected targets with the labels, in the form of selection.labels: the job as `job`, the
 * target's labels, or its host's. Call it after discovery_add. ERR_USAGE if none remains. */
int discovered_filter(struct discovered *f, const struct strlist *labels, struct err *err);

/* ---- the sources of a run ------------------------------------------------------------------------------ */

enum discovery_when {
    DISCOVERY_CACHED,    /* never: uses cached answers of any age */
    DISCOVERY_AS_NEEDED, /* if the cached answer is too old or missing */
    DISCOVERY_REFRESH,   /* always */
};

enum discovery_warning {
    DISCOVERY_NOT_CACHED,    /* the answer could not be written to the cache */
    DISCOVERY_OLD_ANSWER,    /* the source did not answer: uses a cached answer, which may be too old */
    DISCOVERY_CACHE_DAMAGED, /* the cached answer cannot be used */
};

struct discovery_options {
    enum discovery_when when;       /* when to ask sources with a URL */
    const struct ssh_settings *ssh; /* the settings of the requests, as fetch_access.ssh */
    void *ctx;
    /* Asks a source with a URL, as discovery_ask does. */
    int (*ask)(void *ctx, const struct source *source, struct discovered *ret, struct err *err);
    /* Each of these may be NULL. `at` is the time of the old answer. */
    void (*warning)(void *ctx, const struct source *source, enum discovery_warning warning,
                    const struct err *why, int64_t at);
    void (*listed)(void *ctx, const struct source_use *use, const struct discovered *f,
                   const struct discovered_counts *counts, bool ok);
    void (*failed)(void *ctx, const struct source *source, const struct err *why);
};

/*
 * Adds the services of all sources of the inventory to the targets. A source that fails is missing, and
 * inventory_select names it in its errors; *ret_failed is the number of such sources. -1 only if the run was
 * cancelled, or without memory.
 */
int discovery_run(struct discovery *d, const struct discovery_options *o, size_t *ret_failed,
                  struct err *err);

/* Adds the services of one source. *ret (may be NULL) receives its targets, even with an ERR_USAGE if all of
 * them are on loopback; the caller releases it. `o->failed` is not called. */
int discovery_run_one(struct discovery *d, struct source_use *use, const struct discovery_options *o,
                      struct discovered *ret, struct err *err);

#endif
