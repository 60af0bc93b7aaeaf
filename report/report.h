/*
 * Reading profiles: what `go tool pprof` shows, with its words, from a profile in memory.
 *
 * Source: google/pprof internal/driver and internal/report, whose results are the standard. docs/pprof.md has
 * the flags.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "proto/proto.h"
#include "report/goroutines.h"
#include "report/page.h"
#include "report/symbolize.h"
#include "report/words.h"

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
    REPORT_FOLDED,     /* ours: folded stacks */
    REPORT_SPEEDSCOPE, /* ours: speedscope's JSON */
};

enum report_granularity {
    REPORT_BY_FUNCTION,
    REPORT_BY_FILEFUNCTION,
    REPORT_BY_FILE,
    REPORT_BY_LINE,
    REPORT_BY_ADDRESS,
};

/* pprof's own settings, by its names. A text that is not set is NULL. */
struct report_settings {
    enum report_format format;
    const char *symbol; /* the regular expression of peek and list */

    bool call_tree, relative_percentages, compact_labels, mean, normalize, cum;
    const char *unit; /* "minimum" */
    const char *source_path, *trim_path;
    const char *sample_index;
    double divide_by;

    const char *tagroot, *tagleaf;

    bool drop_negative, trim, noinlines, showcolumns;
    long nodecount; /* -1: the format's own */
    double nodefraction, edgefraction;
    const char *focus, *ignore, *prune_from, *hide, *show, *show_from;
    const char *tagfocus, *tagignore, *tagshow, *taghide;
    enum report_granularity granularity;
};

#define REPORT_SETTINGS_INIT                                                                                 \
    {                                                                                                        \
        .unit = "minimum", .divide_by = 1, .trim = true, .nodecount = -1, .nodefraction = 0.005,             \
        .edgefraction = 0.001                                                                                \
    }

/* Takes the report's bytes, in order. -1 ends it, with err as it was left. */
typedef int report_sink_fn(void *ctx, const void *p, size_t n, struct err *err);
/* Told what pprof says beside a report: one line, without an end. */
typedef void report_say_fn(void *ctx, const char *line);

struct report_callbacks {
    report_sink_fn *sink;
    report_say_fn *say;
    void *ctx;
};

/*
 * One profile of all, as pprof fetches several: with the sample types that all have, in the finest of their
 * units. Takes the profiles, whatever it says; the only one is *ret itself.
 */
int report_combine(struct profile **profiles, size_t n, struct profile **ret, struct err *err);

/* Takes off each stack what the profile itself calls uninteresting (drop_frames, keep_frames). Expressions
 * that are none are passed over, as upstream does it. */
int report_prune(struct profile *p, struct err *err);

/* Which sample type a name or number means, by pprof's rules (NULL or empty: the profile's own choice): its
 * index. Errors in pprof's words. */
int report_sample_index(const struct profile *p, const char *index, size_t *ret, struct err *err);

/* The lines that a shell greets with: what the profile says of itself, as above a report. *ret_empty: its
 * samples add up to nothing. */
int report_heading(const struct profile *p, const struct report_settings *settings,
                   const struct report_callbacks *callbacks, bool *ret_empty, struct err *err);

/* Makes the report. The profile is changed on the way: it is good for nothing but profile_free then. */
int report_make(struct profile *p, const struct report_settings *settings,
                const struct report_callbacks *callbacks, struct err *err);

#endif
