/*
 * Sources of services: other systems that list targets, such as a Prometheus server. The section `discovery`
 * of an inventory configures them, and --from names one for a run. discovery/ reads them.
 */
#ifndef INVENTORY_SOURCE_H
#define INVENTORY_SOURCE_H

#include <stdint.h>

#include "inventory/host.h"

enum source_kind {
    SOURCE_PROMETHEUS,     /* the targets of a Prometheus: GET URL/api/v1/targets */
    SOURCE_HTTP_SD,        /* the URL of a Prometheus http_sd */
    SOURCE_FILE_SD,        /* files of Prometheus' file_sd, JSON or YAML */
    SOURCE_PARCA,          /* a parca.yaml */
    SOURCE_SCRAPE_CONFIGS, /* a prometheus.yml, or any file with its `scrape_configs` */
};
/* Returns the kind's name in inventories and on the command line: "http_sd". */
const char *source_kind_name(enum source_kind kind);

#define SOURCE_MAX_AGE_MS (5 * 60 * INT64_C(1000))

/* The configuration of a source. */
struct source {
    char *name; /* from the inventory, or its kind with `-2`, `-3`, ... if there are several */
    enum source_kind kind;
    char *url_or_path;             /* the URL as written; a path, for file_sd perhaps a glob */
    size_t n_literal;              /* of a path: the length of the directory that profgrab put before the path
                                    as written; this part is no glob */
    struct service *endpoint;      /* the server to ask; `path` includes the query. NULL: a file */
    struct strlist jobs;           /* use only targets of these jobs; empty: all */
    const struct service *service; /* the template for the name and all settings but the port; NULL: none */
    const struct host *host;       /* targets with a loopback address belong to it; NULL: they are left out */
    const struct host *through;    /* the host that sends the request; NULL: this machine */
    char *match;        /* a pattern that finds the host's name in a target's HOST:PORT; NULL: none */
    void *matcher;      /* the compiled pattern (pcre2_code) */
    size_t line;        /* the line of its entry in the inventory; 0: none */
    int64_t max_age_ms; /* the maximum age of a cached answer */
};

/* A source in one run. struct targets owns it. */
struct source_use {
    const struct source *source;
    const struct host *host; /* targets with a loopback address belong to it; NULL: they are left out */
    bool is_only;            /* --from names this source: the run uses only its services */
    int64_t answered_at;     /* the time of the answer, UTC in milliseconds; 0: no answer */
};

struct inventory;
struct selection;
struct targets;

/* Returns all sources, in the order of the file. */
const struct source *const *inventory_sources(const struct inventory *inv, size_t *ret_n);

/* Finds the first match of the source's pattern in an address. Copies the first group of the pattern to ret,
 * or the whole match if the pattern has no group. Returns false if there is no match, if the copy does not
 * fit in `cap` bytes, or if the search takes too many steps. One call may take 20 ms of processor time,
 * because the source chose the address: the caller limits the time of all calls. */
bool source_match(const struct source *s, const char *address, char *ret, size_t cap);

/* Returns the use of a source of the inventory in this run; the first call creates the use. `t` owns it. */
int targets_use_source(struct targets *t, const struct source *source, struct source_use **ret,
                       struct err *err);

/*
 * Finds a source by its name, or by `[KIND:]URL` or `[KIND:]FILE`, and returns its use. If no source has
 * that kind and URL or path, creates one, which `t` owns. Guesses a missing kind from the URL or the file. A
 * relative path begins at the working directory. ERR_USAGE on failure.
 */
int targets_find_source(const struct inventory *inv, struct targets *t, const char *text,
                        struct source_use **ret, struct err *err);

/*
 * Makes the source `text` (see targets_find_source) the only source of the run. Creates the hosts of the
 * selection that are not in the inventory, so that the source's targets can belong to them. If the selection
 * names a single host, loopback targets belong to that host. Call it before discovery. ERR_USAGE on failure.
 */
int targets_select_source(const struct inventory *inv, struct targets *t, const char *text,
                          struct selection *sel, struct err *err);

#endif
