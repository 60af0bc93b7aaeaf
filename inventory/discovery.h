/*
 * Discovery: services that are not in the inventory, but in other systems. The section `discovery` is a list
 * of sources. A source lists targets, a host and a port each, in jobs. A target belongs to the inventory's
 * host with its address, and becomes a service of that host. Sources add no hosts.
 *
 * The content of a source is untrusted: names are made valid for paths, addresses are checked, and the number
 * of its objects is limited. This module reads files itself; fetch/discovery.h sends the requests.
 */
#ifndef INVENTORY_DISCOVERY_H
#define INVENTORY_DISCOVERY_H

#include "inventory/inventory.h"

enum source_kind {
    SOURCE_PROMETHEUS,     /* the targets of a Prometheus: GET URL/api/v1/targets */
    SOURCE_HTTP_SD,        /* the URL of a Prometheus http_sd */
    SOURCE_FILE_SD,        /* files of Prometheus' file_sd, JSON or YAML */
    SOURCE_PARCA,          /* a parca.yaml */
    SOURCE_SCRAPE_CONFIGS, /* a prometheus.yml, or any file with its `scrape_configs` */
};
/* Its name in inventories and on the command line: "http_sd". */
const char *source_kind_name(enum source_kind kind);

#define SOURCE_MAX_AGE_MS (5 * 60 * INT64_C(1000))
#define SOURCE_MAX_BYTES ((size_t)64 << 20)
#define SOURCE_MAX_TARGETS 200000

/* A source of services. */
struct source {
    char *name; /* from the inventory, or its kind with `-2`, `-3`, ... if there are several */
    enum source_kind kind;
    char *place;                   /* the URL as written; a path, for file_sd perhaps a glob */
    struct service *ask;           /* its request; `path` includes the query. NULL: a file */
    struct strlist jobs;           /* only these; empty: all */
    const struct service *service; /* the template for all but the port; NULL: the job's name */
    const struct host *host;       /* the host of loopback targets; NULL: none */
    const struct host *through;    /* the host that sends the request; NULL: this machine */
    char *match;        /* a pattern that finds the host's name in a target's HOST:PORT; NULL: none */
    void *matcher;      /* the compiled pattern */
    bool for_run;       /* from the command line: the run uses only its services */
    size_t line;        /* of its entry in the inventory; 0: none */
    int64_t max_age_ms; /* the maximum age of a cached answer */
    int64_t at; /* from inventory_discover: the time of the answer, UTC in milliseconds; 0: no answer */
};

/* All sources, in the order of the file. */
const struct source *const *inventory_sources(const struct inventory *inv, size_t *ret_n);

/*
 * Finds the source with that name, or with the kind and place of `KIND:PLACE`. Creates a missing one from
 * `KIND:PLACE`; the inventory owns it. A relative path begins at the working directory. ERR_USAGE on failure.
 */
int inventory_source(struct inventory *inv, const char *text, const struct source **ret, struct err *err);

/*
 * Makes the source of that text (see inventory_source) the only one of the selection's run. Creates the hosts
 * that only the selection names, so that targets can belong to them. A single host becomes the host of
 * loopback targets. Call it before inventory_discover. ERR_USAGE on failure.
 */
int inventory_use_source(struct inventory *inv, const char *text, struct selection *sel, struct err *err);

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
    /* From inventory_discover: */
    bool meant;                    /* its job is selected */
    const struct host *host;       /* its host; NULL: none */
    const struct service *service; /* its service there, perhaps the inventory's own; NULL: withheld */
};

struct discovered {
    struct discovered_job *jobs;
    size_t n_jobs, cap_jobs;
    struct names *job_names; /* to the last job of that name; NULL: no job yet */
    struct discovered_target *targets;
    size_t n, cap;
    struct strlist *labels; /* sets of labels, each NAME=VALUE, visible text */
    size_t n_labels, cap_labels;
    size_t all_labels;    /* in all sets */
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
void discovered_reader_free(struct discovered_reader *r);

/* Reads the files of a source without a URL. ERR_FAILED or ERR_USAGE, with the place. */
int discovered_read(const struct source *source, struct discovered *ret, struct err *err);

/*
 * Its parsers, for the bytes of one file. `name` is for messages; relative paths in the file begin at `dir`.
 */
int discovered_parse_groups(const char *name, const void *p, size_t n, struct discovered *into,
                            struct err *err);
int discovered_parse_configs(const char *name, const char *dir, enum source_kind kind, const void *p,
                             size_t n, struct discovered *into, struct err *err);

/* Writes targets in http_sd's form for discovered_reader, without paths and kinds. */
int discovered_write(const struct discovered *f, struct buf *to, struct err *err);

/* ---- services from targets ----------------------------------------------------------------------------- */

/* Counts of a source's targets, without those of other jobs. */
struct discovered_counts {
    size_t n;        /* targets */
    size_t placed;   /* with a host */
    size_t by_hand;  /* of those: the inventory has its own service of that name there */
    size_t loopback; /* without a host: on loopback, and the source has no `host` */
    size_t strange;  /* without a host: no host has their address */
    size_t withheld; /* the service's secret would go to an address that only the source vouches for */
};

/*
 * Makes services of a source's targets, for their hosts. After all sources, inventory_discovered names the
 * services and adds them to the hosts. Do not use `f` for longer than this call. ERR_USAGE if all targets are
 * on loopback and the source has no `host`.
 */
int inventory_discover(struct inventory *inv, const struct source *source, struct discovered *f,
                       struct discovered_counts *ret, struct err *err);
int inventory_discovered(struct inventory *inv, struct err *err);

/* Keeps only the selected targets with the labels, in the form of selection.labels: the job as `job`, the
 * target's labels, or its host's. Call it after inventory_discover. ERR_USAGE if none remains. */
int discovered_filter(struct discovered *f, const struct strlist *labels, struct err *err);

/* The name of discovered service i, each name once, without names of the inventory's own services; NULL after
 * the last. */
const char *inventory_found_name(const struct inventory *inv, size_t i);

/* Notes that a source failed, for the error of a missing service. */
int inventory_source_failed(struct inventory *inv, const struct source *source, const char *why,
                            struct err *err);

#endif
