/*
 * Findings: the few sentences that an expert would write about profiles. Each finding has its figure, its
 * file and the function to look at. One table of rules (rules.c) gives each rule's evidence, threshold,
 * sentence, function to look at and source. docs/reading.md is made from this table.
 *
 * A share is above its threshold only if it still is after subtracting two standard errors, so a handful of
 * samples proves nothing.
 *
 * Sentences name functions, files, hosts and services, all made printable, but never labels' values or
 * command lines.
 */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

#include "proto/proto.h"
#include "findings/goroutines.h"
#include "findings/growth.h"
#include "findings/fleet.h"
#include "findings/comparison.h"

/* The origin of a profile or a dump. NULL and "" both mean unknown. */
struct finding_subject {
    const char *host, *service;
    const char *kind;         /* the request's kind, "mutex"; block and mutex profiles look alike */
    const char *file;         /* the bundle's member, or a path */
    const char *here, *there; /* for two sides: the hosts of each, "file-03, file-04" */
    int64_t between_ns;       /* for two dumps: the time between them; 0: unknown */
};

/* One finding. Unknown members are NULL. */
struct finding {
    const char *rule; /* the rule's name */
    char *text;
    char *file;
    char *look;   /* a function's full name */
    bool suspect; /* true: a problem by the rule's threshold; false: always reported */
    /* The part of the whole that is at stake. Suspects are ordered by it. */
    double weight;

    char *host, *service;
    bool names_host; /* the text names the host */
    int part;        /* separates findings of one rule on different subjects, which are not duplicates */
    int detail;      /* of duplicates for one service, the most detailed one stays */
};

/* A growing list of findings. */
struct findings {
    struct finding *items;
    size_t n, cap;
};

#define FINDINGS_INIT                                                                                        \
    {                                                                                                        \
        0                                                                                                    \
    }

/* The most findings that findings_finish leaves. */
#define FINDINGS_MAX 8

/* Adds the findings on a profile; none for an unknown kind. Use findings_add_goroutines for dumps. Memory
 * grows with the number of functions, time with a few walks over the samples. */
int findings_add_profile(struct findings *w, const struct profile *p, const struct finding_subject *subject,
                         struct err *err);
/* Adds the findings on a dump of goroutines, or on two dumps of one process, the older one first. */
int findings_add_goroutines(struct findings *w, const struct goroutines *g,
                            const struct finding_subject *subject, struct err *err);

/* Adds the differences between two sides; nothing if there is only one side. */
int findings_add_comparison(struct findings *w, const struct comparison *s,
                            const struct finding_subject *subject, struct err *err);
/* findings_add_growth adds what has grown in a process and its activity meanwhile. findings_add_restart adds
 * that the process was restarted, and the evidence `why`. */
int findings_add_growth(struct findings *w, const struct growth *g, const struct finding_subject *subject,
                        struct err *err);
int findings_add_restart(struct findings *w, const char *why, const struct finding_subject *subject,
                         struct err *err);
/* Adds the hosts that differ from their group. Call fleet_compare first. */
int findings_add_fleet(struct findings *w, const struct fleet *h, const struct finding_subject *subject,
                       struct err *err);

/* The input of a figure or a picture: one file, two sides of several files, or two snapshots. */
enum finding_input { FINDING_FROM_ONE, FINDING_FROM_COMPARISON, FINDING_FROM_GROWTH };
/* The input of a rule's figure. */
enum finding_input finding_input_of(const char *rule);

/*
 * Sorts the list: suspects first, the heaviest first; then CPU, memory and waiting. At most FINDINGS_MAX
 * findings stay. The heaviest of each other rule takes precedence over a fifth suspect. The same finding on
 * the same function of several hosts becomes one sentence. If there are several hosts or services, each
 * sentence names its own. Call it once, at the end.
 */
int findings_finish(struct findings *w, struct err *err);
void findings_release(struct findings *w);

/* One rule for documentation. In the sentence, {0} and the like stand for figures and names. */
struct finding_rule_help {
    const char *name;
    const char *of; /* "CPU", "heap", … */
    bool suspect;
    const char *sentence;
    const char *evidence;
    double percent;        /* of the whole; 0: none */
    const char *threshold; /* a text; NULL: only the percentage applies */
    const char *look;
    const char *source;
};
/* Returns rule i of the table, or -1 after the last. */
int finding_rule_help(size_t i, struct finding_rule_help *ret);

#endif
