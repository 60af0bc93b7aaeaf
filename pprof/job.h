/* A report while it is made: the state that its parts share. */
#ifndef PPROF_JOB_H
#define PPROF_JOB_H

#include "pprof/graph.h"
#include "pprof/out.h"
#include "pprof/regex.h"
#include "pprof/pprof.h"

struct job {
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

    struct regex_budget budget; /* for all of the user's expressions */
    struct regex *symbol;       /* for peek and list; otherwise NULL */
    uint32_t *label_units;      /* by the string of a numeric label's key; 0: none */
    size_t n_label_units;

    /* Counts of the graph after trimming. */
    size_t nodes_before, nodes_dropped, edges_dropped;
};

/* Writes a value with the report's unit. */
void job_label(const struct job *j, char dst[MEASURE_TEXT], int64_t value);
/* Sends a message about the report to the user. */
void job_say(const struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The most labels for which samples with different units give a message. */
#define LABEL_CONFLICTS 100
/* Finds the units of numeric labels. Call it before any change of the samples. */
int label_units_find(struct job *j);
/* The unit of this label's values; empty if none of them is a number. */
struct str label_unit(const struct job *j, uint32_t key);

/* The most bytes of a name, or of a heading. */
#define JOB_NAME_MAX ((size_t)64 << 20)

/* The lines above a report. */
struct heading {
    struct buf text;
    size_t n, first; /* the number of lines, and the bytes of the first without its end */
};
#define HEADING_INIT                                                                                         \
    {                                                                                                        \
        .text = BUF_INIT(JOB_NAME_MAX)                                                                       \
    }
/* Adds the lines about the profile. */
void labels_profile(const struct job *j, struct heading *to);
/* Adds the lines about a picture and its legend. */
void labels_picture(const struct job *j, const struct graph *g, struct heading *to);
/* Writes the lines above other reports on a graph. */
int labels_write(struct job *j, const struct graph *g);

/* Makes the graph of the report without its smallest parts, and chooses the unit. Call graph_release even
 * after a failure. */
int trim_graph(struct job *j, struct graph *g);
/* Does the same for pictures: adds tags, counts them in the limit, and drops redundant edges. Call
 * graph_tags_release even after a failure. */
struct graph_tags;
int trim_picture(struct job *j, struct graph *g, struct graph_tags *tags);

/* Adds frames made from labels: tagroot and tagleaf. */
int tagroots_add(struct job *j);
/* Applies focus, ignore, hide, show, show_from, prune_from and the filters of labels, in pprof's order.
 * Reports the expressions without a match. */
int filter_samples(struct job *j);

/* Merges places of the profile that are equal at the report's granularity. */
void aggregate(struct job *j);
/* Applies trim_path and source_path to the functions' files. */
int trim_paths(struct job *j);

/* Each format writes itself to j->out. */
int text_write(struct job *j);
int tree_write(struct job *j); /* also peek, with settings->symbol */
int tags_write(struct job *j);
int traces_write(struct job *j);
int raw_write(struct job *j);
int comments_write(struct job *j);
int dot_write(struct job *j);
int callgrind_write(struct job *j);
int proto_write(struct job *j);
int topproto_write(struct job *j);
/* Writes a profile as a report, in gzip. */
int proto_write_profile(struct job *j, const struct profile *p);
int list_write(struct job *j);
/* Formats that pprof does not have. */
int folded_write(struct job *j);
int speedscope_write(struct job *j);

#endif
