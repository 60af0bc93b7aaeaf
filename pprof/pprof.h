/*
 * Reports on profiles: byte for byte the reports of `go tool pprof`, from a profile in memory.
 *
 * Source: google/pprof internal/driver and internal/report, whose results are the standard. docs/pprof.md
 * lists the flags.
 *
 * A profile (proto/profile.h) is a few large arrays that refer to each other by index. A report passes the
 * profile through pprof's steps, and each step changes the profile in place:
 *
 *   load, merge, subtract    load.c, load_url.c, combine.c
 *   function names           symbolize/: symbolize_local.c and elf.c read binaries, symbolz.c asks servers
 *   drop_frames, prune_from  prune.c
 *   frames made of labels    tagroot.c
 *   focus, ignore            filter.c, tagfilter.c
 *   granularity              aggregate.c
 *   nodes, edges, sorting    graph/
 *   cutoffs, units           trim.c, proto/measure.c
 *   output                   a file for each format, and a row in report.c; machine/ has the formats with
 *                            machine code
 */
#ifndef PPROF_PPROF_H
#define PPROF_PPROF_H

#include "proto/proto.h"
#include "pprof/load.h"

enum report_format {
    REPORT_TEXT,
    REPORT_TREE,
    REPORT_PEEK,
    REPORT_LIST,
    REPORT_TRACES,
    REPORT_TAGS,
    REPORT_RAW,
    REPORT_COMMENTS,
    REPORT_DOT,
    REPORT_CALLGRIND,
    REPORT_PROTO,
    REPORT_TOPPROTO,
    REPORT_FOLDED,     /* not in pprof: folded stacks */
    REPORT_SPEEDSCOPE, /* not in pprof: speedscope's JSON */
    REPORT_TOP_JSON,   /* the rows of REPORT_TEXT, for the page of -http */
    REPORT_TAGS_JSON,  /* the rows of REPORT_TAGS, for the page of -http */
    REPORT_DISASM,     /* this format and the next ones need report_callbacks.machine */
    REPORT_WEBLIST,
    REPORT_SOURCE, /* not in pprof: the data of weblist as JSON, for at most 50 files */
};

enum report_granularity {
    REPORT_BY_FUNCTION,
    REPORT_BY_FILEFUNCTION,
    REPORT_BY_FILE,
    REPORT_BY_LINE,
    REPORT_BY_ADDRESS,
};

/* A text in place of a source file. */
struct report_pasted {
    const char *path;
    struct str text;
};

/* The part of the labels that REPORT_TAGS_JSON writes. */
struct report_tags {
    const char *key;   /* NULL: all keys */
    size_t from, most; /* of each key, `most` values from this one on, the heaviest first; most = 0: all */
};

/* The options of pprof, under pprof's names. Strings may be NULL. */
struct report_settings {
    enum report_format format;
    const char *symbol; /* the regular expression of peek, list, disasm and weblist */

    bool call_tree, relative_percentages, compact_labels, mean, normalize, cum;
    const char *unit; /* a unit such as "ms", or "minimum" (the default) */
    const char *source_path, *trim_path;
    const struct report_pasted *pasted; /* for the reports of machine code */
    size_t n_pasted;
    const char *sample_index;
    double divide_by;

    const char *tagroot, *tagleaf;

    bool drop_negative, trim, noinlines, showcolumns;
    bool intel_syntax;    /* of machine code */
    size_t most_routines; /* of -disasm, the heaviest first; 0: all, by name */
    long nodecount;       /* -1: the format's default */
    double nodefraction, edgefraction;
    const char *focus, *ignore, *prune_from, *hide, *show, *show_from;
    const char *tagfocus, *tagignore, *tagshow, *taghide;
    struct report_tags tags;
    enum report_granularity granularity;
};

#define REPORT_SETTINGS_INIT                                                                                 \
    {                                                                                                        \
        .unit = "minimum", .divide_by = 1, .trim = true, .nodecount = -1, .nodefraction = 0.005,             \
        .edgefraction = 0.001                                                                                \
    }

/* Receives the next bytes of the report. If the sink returns -1, the report fails with the sink's error. */
typedef int report_sink_fn(void *ctx, const void *p, size_t n, struct err *err);
/* Receives a message for the user, such as a warning: one line without a line end. */
typedef void report_say_fn(void *ctx, const char *line);

/* The formats with machine code (machine_write of pprof/machine), and the function that runs programs on
 * binaries. */
struct report;
struct report_machine {
    int (*write)(struct report *report);
    symbolize_run_fn *run;
    void *ctx; /* of `run` */
};

struct report_callbacks {
    report_sink_fn *sink;
    report_say_fn *say; /* NULL: drops the messages */
    void *ctx;
    const struct report_machine *machine; /* NULL: no format with machine code */
};

/*
 * Merges several profiles as pprof does: keeps the sample types that all profiles have, each in the finest
 * unit that a profile uses. Takes ownership of the profiles, even on failure. A single profile becomes *ret
 * itself.
 */
int report_combine(struct profile **profiles, size_t n, struct profile **ret, struct err *err);

/* Cuts each stack. A frame is droppable if it matches the profile's drop_frames and not its keep_frames. From
 * the root towards the leaf: keeps all frames up to the first one that is not droppable. After that, removes
 * the first droppable frame and all frames that it called. Ignores invalid expressions, as upstream does. */
int report_prune(struct profile *p, struct err *err);

/* Keeps the samples for which `keep` returns true, in order. `keep` may change the sample. */
typedef bool report_keep_fn(void *ctx, struct profile *p, struct profile_sample *s);
void report_keep(struct profile *p, report_keep_fn *keep, void *ctx);

/* Finds the index of the sample type with that name or number, by pprof's rules (NULL or empty: the profile's
 * default). The errors are pprof's. */
int report_sample_index(const struct profile *p, const char *index, size_t *ret, struct err *err);

/* Writes the heading of a report, which the interactive shell prints when it starts. *ret_empty: the total of
 * the report is 0. */
int report_heading(const struct profile *p, const struct report_settings *settings,
                   const struct report_callbacks *callbacks, bool *ret_empty, struct err *err);

/* Changes the profile as a report does before its output: adds the frames of tagroot and tagleaf, applies the
 * filters, merges the places that the granularity does not distinguish, and shortens the names of files.
 * Applies and removes drop_frames and keep_frames. */
int report_filter(struct profile *p, const struct report_settings *settings,
                  const struct report_callbacks *callbacks, struct err *err);

/* Writes the total of each sample type of a profile, to which a report's percentages refer. */
void report_totals(const struct profile *p, const struct report_settings *settings, int64_t *ret);

/* Makes a function of each place that the granularity of report_filter distinguishes, for a picture that
 * identifies functions by name and file: "main.f:12" for a line, "/src/f.go" for a file. */
int report_name_places(struct profile *p, struct err *err);

/* Writes the report. Changes the profile, which the caller may only free afterwards. */
int report_make(struct profile *p, const struct report_settings *settings,
                const struct report_callbacks *callbacks, struct err *err);

#endif
