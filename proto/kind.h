/*
 * Profile kinds in one table. A new kind is a new row.
 *
 * Source of the endpoints and their parameters: Go's net/http/pprof.
 */
#ifndef PROTO_KIND_H
#define PROTO_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* The format of a response body. */
enum body_format {
    BODY_PPROF, /* profile.proto, gzip-compressed or not */
    BODY_TRACE, /* an execution trace */
    BODY_TEXT,  /* lines of text */
    BODY_RAW,   /* anything that is neither empty nor an HTML page */
    BODY_ANY,   /* anything that is not empty */
};

/* The order in which the items of one process are fetched: snapshots first, because they show the incident
 * unchanged; then items that slow the process or take long. */
enum kind_rank { RANK_SNAPSHOT, RANK_INTRUSIVE, RANK_DELTA, RANK_CPU, RANK_TRACE };

/* Block and mutex profiles have the same sample types, so only the kind's name tells their delays apart. */
enum kind_delay { KIND_DELAY_NONE, KIND_DELAY_BLOCK, KIND_DELAY_MUTEX };

/* The arguments that a kind accepts on the command line, as in `cpu=30s` or `heap=gc`. */
enum {
    KIND_ARG_SECONDS = 1 << 0,    /* a duration: the length of the profile */
    KIND_ARG_FRACTION = 1 << 1,   /* the duration may have a fraction of a second */
    KIND_ARG_DELTA = 1 << 2,      /* a duration: the profile is the difference over that time */
    KIND_ARG_TEXT = 1 << 3,       /* `text`: debug=1 */
    KIND_ARG_GC = 1 << 4,         /* `gc`: run a garbage collection first */
    KIND_ARG_TEXT_FORMS = 1 << 5, /* `text` (debug=2), `grouped` (debug=1), `proto` */
};

/* The approximate size of a response body, for the estimate in a dry run; measured on pprof profiles of Go
 * services. */
struct kind_size {
    unsigned base_bytes;   /* bytes of a body without records */
    unsigned record_bytes; /* bytes for each record in the index */
    /* The most records that add to the size: further ones repeat the stacks of others, so they add nothing;
     * 0: no maximum. */
    unsigned max_records;
    unsigned second_bytes; /* bytes for each second of a timed profile */
};

struct kind {
    const char *name;
    const char *alias;     /* another common name, or NULL */
    const char *endpoint;  /* relative to the service's path, or an absolute path with a leading slash */
    const char *file_name; /* the name of the item's file, without the suffix */
    enum kind_rank rank;
    enum body_format format;
    enum kind_delay delay;
    unsigned arguments;          /* KIND_ARG_* */
    unsigned seconds;            /* profgrab's default duration; 0 for snapshots */
    unsigned handler_seconds;    /* the handler's default, for a request without `seconds` */
    const char *sample_types[2]; /* a profile with one of these types is of this kind; NULL: the types do not
                                    identify the kind */
    bool standard;               /* if the index page cannot be used, `all` includes this kind */
    bool in_index;               /* Go's index page lists it if the program has it */
    bool only_by_name;           /* costs or reveals more than other kinds: never part of `all` */
    bool can_be_compared;        /* the difference of two profiles of this kind shows what changed */
    struct kind_size size;
    unsigned max_mb;  /* limit of its body in MiB, far larger than real bodies */
    const char *cost; /* its cost for the process, reported before the fetch; NULL: the cost is small */
    const char *help;
};
/* The limit in MiB for a profile that is not in this table: one that an index page lists or whose path the
 * user gave. */
#define KIND_OTHER_MAX_MB 512

/* Returns row i of the table, NULL after the last. */
const struct kind *kind_at(size_t i);
/* Returns the row with that name or alias; NULL if there is none. */
const struct kind *kind_find(const char *name);
/* Returns the row with that endpoint; NULL if there is none. `endpoint` has no leading slash, as on an index
 * page: `fgprof` finds the endpoint `/fgprof`. */
const struct kind *kind_of_endpoint(const char *endpoint);

/* Returns the name of the kind whose profiles have samples of this type. Returns "contention" for
 * "contentions", which block and mutex share, and NULL if no kind has the type. */
const char *kind_of_sample_type(const char *sample_type);

#endif
