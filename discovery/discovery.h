/*
 * Discovery of services that the inventory lacks. A source (inventory/source.h) lists targets in jobs; a
 * target is a host and a port. A target becomes a service of the host that has the target's address. Sources
 * do not add hosts.
 *
 * The content of a source is untrusted: names are made valid for paths, addresses are checked, and the number
 * of its objects is limited.
 *
 * The cache is $XDG_CACHE_HOME/profgrab (~/.cache/profgrab without that variable). The name of a cache file
 * is a hash of the source's kind, URL, credentials, host (`through`) and SSH settings. profgrab does not use
 * a file that other users can write, or that does not match the hash in its first line.
 */
#ifndef DISCOVERY_DISCOVERY_H
#define DISCOVERY_DISCOVERY_H

#include "inventory/inventory.h"

struct fetch_job;

#define SOURCE_MAX_BYTES ((size_t)64 << 20)
#define SOURCE_MAX_TARGETS 100000
#define SOURCE_MAX_LABELS 200000 /* of all targets; further labels are ignored */

/* ---- the content of a source --------------------------------------------------------------------------- */

struct discovered_job {
    char *name;           /* from the source; printable */
    char *path;           /* as in struct service; NULL: the default */
    char *query;          /* as in struct service; NULL: none */
    struct strlist kinds; /* the kinds to fetch if the user names none */
};

struct discovered_target {
    size_t job;       /* index of its job */
    size_t label_set; /* index of its label set plus one; 0: none */
    char *address;    /* a name in lower case, or an IP address, without brackets */
    unsigned port;
    bool https;
    /* discovery_add sets these: */
    bool is_selected;        /* the source selects its job */
    const struct host *host; /* its host; NULL: none */
    /* Its service; NULL: it is not selected, has no host, or is withheld (struct discovered_counts). */
    const struct service *service;
};

struct discovered {
    struct discovered_job *jobs;
    size_t n_jobs, cap_jobs;
    struct name_map *job_names; /* maps names to the last job of that name; NULL: no job yet */
    struct discovered_target *targets;
    size_t n, cap;
    struct strlist *label_sets; /* sets of labels, each NAME=VALUE, visible text */
    size_t n_label_sets, cap_label_sets;
    size_t n_target_labels; /* the number of labels of all targets */
    struct strlist notes;   /* on unsupported content, printable */
    int64_t at;             /* the time of the answer, UTC in milliseconds */
};
void discovered_release(struct discovered *found);

/* A parser for the answer of a source with a URL. discovered_reader_feed parses the next piece. ERR_FAILED
 * for an invalid answer. */
struct discovered_reader;
int discovered_reader_new(enum source_kind kind, struct discovered *into, struct discovered_reader **ret,
                          struct err *err);
/* Sets a function that masks, in place, the parts of a string that must not be printed or stored. The reader
 * passes each complete string of the answer to this function before it uses the string. */
void discovered_reader_set_mask(struct discovered_reader *r, void (*mask)(void *ctx, char *text), void *ctx);
int discovered_reader_feed(struct discovered_reader *r, const void *p, size_t n, struct err *err);
int discovered_reader_end(struct discovered_reader *r, struct err *err);
/* Returns whether the answer failed because it is not JSON. */
bool discovered_reader_is_malformed(const struct discovered_reader *r);
void discovered_reader_free(struct discovered_reader *r);

/* Reads the files of a source without a URL. ERR_FAILED for a missing file; ERR_FAILED or ERR_USAGE for an
 * invalid file, with the position. */
int discovered_read(const struct source *source, struct discovered *ret, struct err *err);

/* The bytes of one file of a source: groups of targets (SOURCE_FILE_SD), or a configuration. */
struct discovered_file {
    const char *name; /* for messages */
    const char *dir;  /* the directory of relative paths; NULL: the text must not name files */
    enum source_kind kind;
    struct str text;
};
/* Parses the text of one file. ERR_FAILED or ERR_USAGE if it is invalid, with the position. */
int discovered_parse(const struct discovered_file *file, struct discovered *into, struct err *err);

/* Writes the targets in the form of http_sd, which discovered_reader reads. Omits paths and kinds. */
int discovered_write(const struct discovered *found, struct buf *to, struct err *err);

/* ---- answers ------------------------------------------------------------------------------------------- */

/*
 * Queries a source that has a URL. Uses the grab's settings for opening hosts, its timeout_ms and cancel_fd,
 * and the functions `opening`, `step` and `host` of its observer for the host that sends the request. Limits:
 * SOURCE_MAX_BYTES, and two minutes. The caller releases *ret.
 */
int discovery_query(const struct source *source, const struct fetch_job *grab, struct discovered *ret,
                    struct err *err);

/* Writes an answer to the cache, without its notes. `ssh` (may be NULL) has the settings of the request, as
 * in fetch_access.ssh. */
int discovery_cache_store(const struct source *source, const struct ssh_settings *ssh,
                          const struct discovered *found, struct err *err);

/* Reads a cached answer of any age; `ret->at` is its time. ERR_NOT_FOUND if there is none, ERR_FAILED if the
 * file cannot be trusted. The caller releases *ret. */
int discovery_cache_load(const struct source *source, const struct ssh_settings *ssh, struct discovered *ret,
                         struct err *err);

/* ---- services from targets ----------------------------------------------------------------------------- */

/* Counts the targets of a source in the selected jobs. */
struct discovered_counts {
    size_t n;            /* targets */
    size_t with_host;    /* targets with a host */
    size_t in_inventory; /* targets with a host that has their service in the inventory already */
    size_t loopback;     /* targets without a host, on loopback, of a source without `host` */
    size_t unmatched;    /* targets without a host, because no host has their address */
    size_t withheld; /* unused targets: their secret would go to an address that is not in the inventory */
};

/* The limit of processor time for `match` on all targets of a source. 100,000 names of 50 bytes take less
 * than a second. Reading the source takes at most 4 s more, and a source may cost 10 s. */
#define DISCOVERY_MATCH_MS 5000

/* The services that the sources of one run list. */
struct candidate;
struct discovery {
    const struct inventory *inventory;
    struct targets *targets;      /* receives the services, and owns them */
    struct candidate *candidates; /* services that have no final names yet */
    size_t n, cap;
    struct name_map addresses; /* maps canonical addresses to struct host */
    struct strlist address_texts;
    int64_t max_match_ms; /* DISCOVERY_MATCH_MS; less in tests */
};
#define DISCOVERY_INIT(with_inventory, with_targets)                                                         \
    {                                                                                                        \
        .inventory = (with_inventory), .targets = (with_targets), .max_match_ms = DISCOVERY_MATCH_MS         \
    }
void discovery_release(struct discovery *d);

/*
 * Creates services from a source's targets. After all sources, discovery_finish names the services and adds
 * them to the hosts. Sets `use->answered_at` to the time of the answer. ERR_USAGE if all targets are on
 * loopback and the source has no `host`. ERR_LIMIT if `match` takes too long on the targets; then it creates
 * no service.
 */
int discovery_add(struct discovery *d, struct source_use *use, struct discovered *found,
                  struct discovered_counts *ret, struct err *err);
int discovery_finish(struct discovery *d, struct err *err);

/* Deselects the targets that lack the labels. `labels` has the form of selection.labels; a target has the
 * label `job`, its own labels and those of its host. Call it after discovery_add. ERR_USAGE if no selected
 * target remains. */
int discovered_filter(struct discovered *found, const struct strlist *labels, struct err *err);

/* ---- the sources of a run ------------------------------------------------------------------------------ */

enum discovery_policy {
    DISCOVERY_CACHED,    /* never query: use cached answers of any age */
    DISCOVERY_AS_NEEDED, /* query if the cached answer is too old or missing */
    DISCOVERY_REFRESH,   /* always query */
};

enum discovery_warning {
    DISCOVERY_NOT_CACHED,    /* the answer could not be written to the cache */
    DISCOVERY_OLD_ANSWER,    /* the query failed, so a cached answer is used, which may be too old */
    DISCOVERY_CACHE_DAMAGED, /* the cached answer cannot be used */
};

struct discovery_options {
    enum discovery_policy policy;   /* when to query sources with a URL */
    const struct ssh_settings *ssh; /* the settings of the requests, as in fetch_access.ssh */
    void *ctx;
    /* Queries a source with a URL, as discovery_query does. */
    int (*query)(void *ctx, const struct source *source, struct discovered *ret, struct err *err);
    /* The next callbacks may be NULL. `at` is the time of the old answer. */
    void (*warning)(void *ctx, const struct source *source, enum discovery_warning warning,
                    const struct err *why, int64_t at);
    /* Called after a source was read. `ok`: discovery_add succeeded. */
    void (*listed)(void *ctx, const struct source_use *use, const struct discovered *found,
                   const struct discovered_counts *counts, bool ok);
    /* Called after reading a source or adding its services failed. */
    void (*failed)(void *ctx, const struct source *source, const struct err *why);
};

/*
 * Adds the services of all sources of the inventory to the targets. If a source fails, its services are
 * missing, and errors of inventory_select name the source; *ret_failed is the number of such sources. -1 only
 * if the run was cancelled or memory ran out.
 */
int discovery_run(struct discovery *d, const struct discovery_options *o, size_t *ret_failed,
                  struct err *err);

/* Adds the services of one source. *ret (may be NULL) receives its targets, also if all of them are on
 * loopback, which is an ERR_USAGE; the caller releases it. Does not call `o->failed`. */
int discovery_run_one(struct discovery *d, struct source_use *use, const struct discovery_options *o,
                      struct discovered *ret, struct err *err);

#endif
