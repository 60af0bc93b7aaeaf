/* A report being made: what all its parts know. */
#ifndef REPORT_JOB_H
#define REPORT_JOB_H

#include "report/graph.h"
#include "report/measure.h"
#include "report/out.h"
#include "report/regex.h"
#include "report/report.h"

struct job {
    struct profile *profile;
    const struct report_settings *settings;
    const struct report_callbacks *callbacks;
    struct out *out;
    struct err *err;

    /* The settings, as the format has them. */
    long nodecount; /* 0: all */
    double nodefraction, edgefraction;
    enum report_granularity granularity;
    bool noinlines;

    size_t value_index;
    struct str sample_unit, output_unit;
    double ratio;
    int64_t total;

    struct regex_budget budget; /* of all expressions that were asked for */
    struct regex *symbol;       /* of peek and list; NULL for the others */
    uint32_t *label_units;      /* by the string that is a numeric label's key; 0: it is none */
    size_t n_label_units;

    /* Of the graph, once it was trimmed. */
    size_t nodes_before, nodes_dropped, edges_dropped;
};

/* What a value is called in this report. */
void job_label(const struct job *j, char dst[MEASURE_TEXT], int64_t value);
/* Says something beside the report. */
void job_say(const struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says for how many labels, at most, that samples do not agree on their unit. */
#define LABEL_CONFLICTS 100
/* Finds the units of numeric labels, which is due before anything is done with samples. */
int label_units_find(struct job *j);
/* The unit in which values of this label are counted; empty if none of them is a number. */
struct str label_unit(const struct job *j, uint32_t key);

/* The most that a name or what stands above a report may take, in bytes. */
#define JOB_NAME_MAX ((size_t)64 << 20)

/* What stands above a report: lines. */
struct heading {
    struct buf text;
    size_t n, first; /* how many lines, and the bytes of the first without its end */
};
#define HEADING_INIT                                                                                         \
    {                                                                                                        \
        .text = BUF_INIT(JOB_NAME_MAX)                                                                       \
    }
/* Adds the profile's own lines. */
void labels_profile(const struct job *j, struct heading *to);
/* Adds those of a picture, and how to read it. */
void labels_picture(const struct job *j, const struct graph *g, struct heading *to);
/* Writes those of another report on a graph. */
int labels_write(struct job *j, const struct graph *g);

/* Makes the graph of the report, without what is too small to be shown, and chooses the unit. graph_release
 * is due. */
int trim_graph(struct job *j, struct graph *g);
/* The same for pictures, which have tags, a limit that counts them, and no edges that say nothing new.
 * graph_tags_release is due. */
struct graph_tags;
int trim_picture(struct job *j, struct graph *g, struct graph_tags *tags);

/* Stack frames made of labels: tagroot and tagleaf. */
int tagroots_add(struct job *j);
/* focus, ignore, hide, show, show_from, prune_from and those of labels, in pprof's order; says which matched
 * nothing. */
int filter_samples(struct job *j);

/* Makes samples refer to what the granularity tells apart. */
void aggregate(struct job *j);
/* Cuts what trim_path and source_path say off the functions' files. */
int trim_paths(struct job *j);

/* The formats: each writes itself to j->out. */
int text_write(struct job *j);
int tree_write(struct job *j); /* peek too: with settings->symbol */
int tags_write(struct job *j);
int traces_write(struct job *j);
int raw_write(struct job *j);
int comments_write(struct job *j);
int dot_write(struct job *j);
int callgrind_write(struct job *j);
int proto_write(struct job *j);
int topproto_write(struct job *j);
/* A profile as a report, gzip'ed. */
int proto_write_profile(struct job *j, const struct profile *p);
int list_write(struct job *j);
/* Ours, for other people's tools. */
int folded_write(struct job *j);
int speedscope_write(struct job *j);

#endif
