/*
 * Discovery: services that the inventory does not name, but that others know of. The section `discovery` is a
 * list of sources; what a source says are targets, a host and a port each, in jobs. A target belongs to the
 * inventory's host whose address it has, and becomes a service of it. No host comes from a source.
 *
 * Whatever a source says is hostile: names are made fit for paths, addresses have to be some, and what a
 * source can make of it is bounded. Getting the bytes is not done here (fetch/discovery.h), but for files.
 */
#ifndef INVENTORY_DISCOVERY_H
#define INVENTORY_DISCOVERY_H

#include "inventory/inventory.h"

enum source_kind {
    SOURCE_PROMETHEUS,     /* the targets of a Prometheus: GET URL/api/v1/targets */
    SOURCE_HTTP_SD,        /* what Prometheus' http_sd gets from a URL */
    SOURCE_FILE_SD,        /* files of Prometheus' file_sd, JSON or YAML */
    SOURCE_PARCA,          /* a parca.yaml */
    SOURCE_SCRAPE_CONFIGS, /* a prometheus.yml, or whatever has its `scrape_configs` */
};
/* The word for it in inventories and on the command line: "http_sd". */
const char *source_kind_name(enum source_kind kind);

#define SOURCE_MAX_AGE_MS (5 * 60 * INT64_C(1000))
#define SOURCE_MAX_BYTES ((size_t)64 << 20)
#define SOURCE_MAX_TARGETS 200000

/* A source of services. */
struct source {
    char *name; /* of the inventory, or its kind's word with `-2`, `-3`, ... where there are several */
    enum source_kind kind;
    char *place;         /* the URL as it was written; a path, of file_sd maybe a glob */
    struct service *ask; /* how the URL is asked: port, TLS, who asks; `path` with the query. NULL: a file */
    struct strlist jobs; /* only these; empty: all */
    const struct service *service; /* gives all but the port; NULL: named after the job */
    const struct host *host;       /* to which loopback targets belong; NULL: none */
    const struct host *through;    /* the URL is asked from there; NULL: from here */
    char *match;                   /* a pattern that finds the host's name in a target's HOST:PORT; NULL */
    void *matcher;                 /* the same, compiled */
    bool for_run;                  /* the command line names it: the run takes its services alone */
    size_t line;                   /* of its entry in the inventory; 0: it has none */
    int64_t max_age_ms;            /* how old an answer may be that is kept */
    int64_t
        at; /* from inventory_discover: when it said what it said, UTC in milliseconds; 0: it was not heard */
};

/* All sources, in the order of the file. */
const struct source *const *inventory_sources(const struct inventory *inv, size_t *ret_n);

/* The source of that name, or, of `KIND:PLACE`, the one with that kind and place; one that the inventory does
 * not have is made of `KIND:PLACE` and belongs to it. A relative path begins at the working directory.
 * ERR_USAGE. */
int inventory_source(struct inventory *inv, const char *text, const struct source **ret, struct err *err);

/* Makes the source of that text (as inventory_source has it) the one of the selection's run: hosts that only
 * the selection names are made, so that targets can belong to them, and a single one is the host of targets
 * on loopback. Before inventory_discover. ERR_USAGE. */
int inventory_use_source(struct inventory *inv, const char *text, struct selection *sel, struct err *err);

/* ---- what a source says -------------------------------------------------------------------------------- */

struct found_job {
    char *name;           /* as the source has it; printable */
    char *path;           /* where pprof lives, as struct service has it; NULL: the default */
    char *query;          /* as struct service has it; NULL: none */
    struct strlist kinds; /* what to fetch when no kind is named */
};

struct found_target {
    size_t job;    /* its index */
    size_t labels; /* its set's index plus one; 0: it has none */
    char *address; /* a name in lower case, or an IP address, without brackets */
    unsigned port;
    bool https;
    /* From inventory_discover: */
    bool meant;                    /* its job is */
    const struct host *host;       /* whose it is; NULL: nobody's */
    const struct service *service; /* what it is there, maybe by hand; NULL: it was withheld */
};

struct found {
    struct found_job *jobs;
    size_t n_jobs, cap_jobs;
    struct names *job_names; /* to the last job of that name; NULL: there is no job */
    struct found_target *targets;
    size_t n, cap;
    struct strlist *labels; /* sets of labels, each NAME=VALUE, visible text */
    size_t n_labels, cap_labels;
    size_t all_labels;    /* in all sets */
    struct strlist notes; /* what was not understood, and so is missing; printable */
    int64_t at;           /* when the source said so, UTC in milliseconds */
};
void found_release(struct found *f);

/* Reads what a source with a URL says, in pieces. ERR_FAILED for what is no such answer. */
struct found_reader;
int found_reader_new(enum source_kind kind, struct found *into, struct found_reader **ret, struct err *err);
/* From now on each text of the answer goes through `mask`, whole and before anything else is done with it:
 * what must neither be shown nor kept is taken out in place. */
void found_reader_mask(struct found_reader *r, void (*mask)(void *ctx, char *text), void *ctx);
int found_reader_feed(struct found_reader *r, const void *p, size_t n, struct err *err);
int found_reader_end(struct found_reader *r, struct err *err);
void found_reader_free(struct found_reader *r);

/* Reads the file, or files, of a source that has no URL. ERR_FAILED or ERR_USAGE, with the place. */
int found_read(const struct source *source, struct found *ret, struct err *err);

/* The parsers behind it, over the bytes of one file; `name` stands in messages and `dir` is where relative
 * paths in it begin. */
int found_parse_groups(const char *name, const void *p, size_t n, struct found *into, struct err *err);
int found_parse_configs(const char *name, const char *dir, enum source_kind kind, const void *p, size_t n,
                        struct found *into, struct err *err);

/* Writes targets as http_sd has them, so that found_reader reads them again; paths and kinds are left out. */
int found_write(const struct found *f, struct buf *to, struct err *err);

/* ---- what becomes of it -------------------------------------------------------------------------------- */

/* What was made of a source's targets. Those of jobs that are not meant are not counted. */
struct discovered {
    size_t n;        /* targets */
    size_t placed;   /* that belong to a host, */
    size_t by_hand;  /* of them: the inventory itself has a service of that name there */
    size_t loopback; /* that belong to nobody, since nothing says whose loopback it is */
    size_t strange;  /* that belong to nobody, since no host has their address */
    size_t withheld; /* whose service has a secret that would go to an address only the source vouches for */
};

/*
 * Makes services of a source's targets, for the hosts they belong to; inventory_discovered gives them names
 * and puts them there, once all sources were heard. `f` must live no longer than this call. ERR_USAGE if all
 * targets are on loopback, and the source has no `host`.
 */
int inventory_discover(struct inventory *inv, const struct source *source, struct found *f,
                       struct discovered *ret, struct err *err);
int inventory_discovered(struct inventory *inv, struct err *err);

/* Of the targets that are meant, only those stay so that have the labels, as selection.labels has them: their
 * job as `job`, their own, or their host's. After inventory_discover. ERR_USAGE if none is left. */
int found_narrow(struct found *f, const struct strlist *labels, struct err *err);

/* The name of found service number i, once each, those of the inventory's own services left out; NULL behind
 * the last. */
const char *inventory_found_name(const struct inventory *inv, size_t i);

/* Notes that a source failed, so that whoever misses something is told. */
int inventory_source_failed(struct inventory *inv, const struct source *source, const char *why,
                            struct err *err);

#endif
