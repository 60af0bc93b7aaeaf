/*
 * Profile kinds: what can be asked for, as one table. Adding a kind is adding a row to it.
 *
 * Source of the endpoints and their parameters: Go's net/http/pprof.
 */
#ifndef FETCH_KIND_H
#define FETCH_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "fetch/check.h"

/* The order in which the items of one process are fetched: snapshots show the incident as it is, what
 * disturbs or takes long comes later. */
enum kind_rank { RANK_SNAPSHOT, RANK_DISTURBING, RANK_DELTA, RANK_CPU, RANK_TRACE };

/* What may stand behind KIND=. */
enum {
    ARG_SECONDS = 1 << 0,  /* a duration: how long it is taken */
    ARG_FRACTION = 1 << 1, /* the duration may have a fraction of a second */
    ARG_DELTA = 1 << 2,    /* a duration: the difference over that time */
    ARG_TEXT = 1 << 3,     /* `text`: debug=1 */
    ARG_GC = 1 << 4,       /* `gc`: run a garbage collection first */
    ARG_FORM = 1 << 5,     /* `text` (debug=2), `grouped` (debug=1), `proto` */
};

/* About how large a body is, as pprof profiles of Go services measure: for fetch/estimate.h. */
struct kind_size {
    unsigned base;    /* bytes: of one without a record */
    unsigned record;  /* bytes for each record that the index counts, */
    unsigned records; /* up to so many: beyond, they share their stacks; 0: all */
    unsigned second;  /* bytes for each second it takes by design */
};

struct kind {
    const char *name;
    const char *alias;    /* another name people use, or NULL */
    const char *endpoint; /* below the service's path; with a leading slash: beside it */
    const char *stem;     /* of the file's name */
    enum kind_rank rank;
    enum check_format format;
    unsigned arguments;
    unsigned seconds;  /* when none are given; 0 for kinds that take no time */
    bool standard;     /* part of `all` even where there is no index */
    bool listed;       /* Go's index page names it whenever the program has it */
    bool only_by_name; /* costs or reveals more: never part of `all` */
    bool pairs;        /* two of it tell what happened in between */
    struct kind_size size;
    unsigned max_mb;  /* MiB its body may have: far more than a real one, so that none goes on for ever */
    const char *cost; /* what it costs the process, said before it is taken; NULL: not worth a word */
    const char *help;
};
/* For a profile of the index or a raw path. */
#define KIND_OTHER_MAX_MB 512

/* Row i of the table, NULL behind the last. */
const struct kind *kind_at(size_t i);
/* The row of that name or alias, or of that endpoint (`fgprof` is also that of a kind beside the path, for a
 * page that lists it below); NULL for none. */
const struct kind *kind_find(const char *name);
const struct kind *kind_of_endpoint(const char *endpoint);

#endif
