/* The state of a report that is being made. All steps and formats share it. */
#ifndef PPROF_REPORT_H
#define PPROF_REPORT_H

#include "pprof/out.h"
#include "pprof/regex.h"
#include "pprof/pprof.h"

struct report {
    struct profile *profile;
    const struct report_settings *settings;
    const struct report_callbacks *callbacks;
    struct out *out;
    struct err *err;

    /* The settings, adapted to the format. */
    long nodecount; /* 0: all */
    double nodefraction, edgefraction;
    enum report_granularity granularity;
    bool noinlines;

    size_t value_index; /* index of the sample type */
    struct str sample_unit, output_unit;
    double ratio; /* multiplies each value before it is written */
    int64_t total;

    struct regex_budget *budget; /* for all of the user's expressions */
    struct regex *symbol;        /* settings->symbol; NULL: none */
    uint32_t *label_units;       /* by key of a numeric label: the string of its unit; 0: none */
    size_t n_label_units;

    /* Set by trim_graph: the number of nodes before the limit nodecount, and of nodes and edges below the
     * cutoffs. */
    size_t nodes_before_limit, nodes_dropped, edges_dropped;
};

/* Writes a value with the report's unit. */
void report_format_value(const struct report *report, char dst[MEASURE_TEXT], int64_t value);
/* Sends a message about the report to the user. */
void report_message(const struct report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The most bytes of a name, or of a heading. */
#define REPORT_NAME_MAX ((size_t)64 << 20)

#endif
