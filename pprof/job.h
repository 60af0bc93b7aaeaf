/* The state of a report that is being made. All steps and formats share it. */
#ifndef PPROF_JOB_H
#define PPROF_JOB_H

#include "pprof/out.h"
#include "pprof/regex.h"
#include "pprof/pprof.h"

struct pprof_job {
    struct profile *profile;
    const struct report_settings *settings;
    const struct report_callbacks *callbacks;
    struct out *out;
    struct err *err;

    /* The settings that apply to the format. */
    long nodecount; /* 0: all */
    double nodefraction, edgefraction;
    enum report_granularity granularity;
    bool noinlines;

    size_t value_index;
    struct str sample_unit, output_unit;
    double ratio;
    int64_t total;

    struct regex_budget *budget; /* for all of the user's expressions */
    struct regex *symbol;        /* for peek and list; otherwise NULL */
    uint32_t *label_units;       /* by the string of a numeric label's key; 0: none */
    size_t n_label_units;

    /* Counts of the graph after trimming. */
    size_t nodes_before, nodes_dropped, edges_dropped;
};

/* Writes a value with the report's unit. */
void job_format_value(const struct pprof_job *j, char dst[MEASURE_TEXT], int64_t value);
/* Sends a message about the report to the user. */
void job_message(const struct pprof_job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The most bytes of a name, or of a heading. */
#define JOB_NAME_MAX ((size_t)64 << 20)

#endif
