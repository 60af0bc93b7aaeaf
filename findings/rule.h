/*
 * The engine of findings. A rule is one row of a table, with its function, its sentence and its
 * documentation, which `profgrab help` and docs/reading.md print. A new rule is a function and a row. For a
 * rule on profiles, the function is in findings/rules_TOPIC.c with its declaration in findings/rules.h, and
 * the row in findings/rules.c; for a rule on a fetched body, both are in fetch/finding.c.
 */
#ifndef FINDINGS_RULE_H
#define FINDINGS_RULE_H

#include "proto/proto.h"

enum finding_severity {
    FINDING_FACT,    /* a description, not a problem */
    FINDING_SUSPECT, /* a problem by the rule's threshold */
    FINDING_NOTE,    /* recorded, but printed during the run only with -v */
};

/* The kind of input that a rule checks. */
enum finding_topic {
    FINDING_TOPIC_CPU,
    FINDING_TOPIC_HEAP,
    FINDING_TOPIC_BLOCK,
    FINDING_TOPIC_MUTEX,
    FINDING_TOPIC_GOROUTINES,
    FINDING_TOPIC_COMPARISON,
    FINDING_TOPIC_GROWTH,
    FINDING_TOPIC_RESTART,
    FINDING_TOPIC_FLEET,
    FINDING_TOPIC_BODY, /* one fetched body, or the service that sent it */
    FINDING_TOPIC_NONE, /* no rule applies */
};

/* Returns the topic's name in the documentation: "CPU", "two snapshots". */
const char *finding_topic_name(enum finding_topic topic);

/* The files that a finding or a picture is made from: one file, the files of two sides, or two snapshots. */
enum finding_input { FINDING_FROM_ONE, FINDING_FROM_COMPARISON, FINDING_FROM_GROWTH };

#define SENTENCE_MAX_ARGUMENTS 6
/* The size of a name in a sentence, and of one argument, with the NUL. */
#define SENTENCE_NAME_SIZE 160
#define SENTENCE_ARGUMENT_SIZE 400

struct finding_case;
struct finding_rule;
/* Checks whether the rule applies, and if so adds its finding by finding_case_add. Returns -1 if memory is
 * exhausted. */
typedef int finding_rule_fn(struct finding_case *c, const struct finding_rule *rule);

struct finding_rule {
    const char *id; /* "gc-share": the key `rule` of the manifest */
    enum finding_topic topic;
    enum finding_severity severity;
    enum finding_input input;
    int number;                         /* enum fetch_finding; 0 if `apply` is not NULL */
    finding_rule_fn *apply;             /* NULL if fetch/finding.c adds the finding by its `number` */
    const char *const *in, *const *out; /* for rules on functions: see struct tally_choice */
    double percent;                     /* the smallest reported percentage */
    const char *sentence;               /* with the placeholders {0} to {5} for its arguments */
    /* The names of {0} to {5} in the documentation: "share". The name of an optional clause begins as the
     * clause does: "; function allocates most". NULL: the sentence has fewer. */
    const char *arguments[SENTENCE_MAX_ARGUMENTS];
    const char *evidence;
    const char *threshold; /* NULL: `percent` is the threshold */
    const char *look;      /* where to look next: "that function"; NULL for FINDING_TOPIC_BODY */
    const char *look_type; /* the sample type to look at; NULL: the profile's default type */
    bool per_service;      /* a terminal shows the finding once for each service */
    const char *source;
};

/* Returns the rule's sentence with the names of its arguments: "CPU was {share} % busy". NULL if memory is
 * exhausted. */
char *finding_rule_describe(const struct finding_rule *rule);

/* The values that a rule fills in: the arguments of its sentence, and values for members of struct finding.
 */
struct finding_values {
    char arguments[SENTENCE_MAX_ARGUMENTS][SENTENCE_ARGUMENT_SIZE];
    double weight;
    struct str look_at; /* the function to look at; empty: none */
    bool names_host;
    int duplicate_key, detail;
};

/* The origin of a profile or a dump. NULL and "" mean unknown. */
struct finding_subject {
    const char *host, *service;
    const char *kind; /* "mutex"; tells block from mutex profiles, whose sample types are the same */
    const char *file; /* the bundle's member, or a path */
    const char *target, *baseline; /* the hosts of two sides: "file-03, file-04" */
    int64_t between_ns;            /* the time between two dumps; 0: unknown */
};

/* One finding. Unknown members are NULL. */
struct finding {
    const struct finding_rule *rule;
    char *text;
    char *file;
    char *look_at; /* the full name of the function to look at */
    /* Suspects are sorted by weight, and so are the facts of one rule. Of a suspect: the part of the total
     * that the finding is about (0 to 1), plus 1 if it must be listed before the findings on a single
     * profile. */
    double weight;
    char *host, *service;
    bool names_host;   /* the text names the host */
    int duplicate_key; /* findings of one rule on one service are duplicates if their keys are equal */
    int detail;        /* of duplicates, the one with the largest detail is kept */
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

/* The input of a rule's function. Members that the topic does not use are NULL. */
struct finding_case {
    struct findings *findings;
    const struct finding_subject *subject; /* NULL: unknown */
    enum finding_topic topic;
    struct err *err;
    const void *evidence; /* FINDING_TOPIC_BODY: the struct that the rules of fetch/finding.c read */
    const struct profile *profile;
    const struct stack_filter *filter;
    const struct tally *all; /* all samples of CPU time or of delays; NULL for other topics */
    const struct goroutines *goroutines;
    const struct comparison *comparison;
    const struct growth *growth;
    const struct fleet *fleet;
    const char *restart_evidence;
};

/* Checks the rules with the case's topic, in the order of the table. */
int finding_case_apply(struct finding_case *c, const struct finding_rule *rules, size_t n);
/* Adds the rule's finding with these values to the case's list. */
int finding_case_add(struct finding_case *c, const struct finding_rule *rule,
                     const struct finding_values *values);

void finding_release(struct finding *f);
void findings_release(struct findings *findings);
/* Moves all findings of `from` to the end of the list. If memory is exhausted, drops them. */
void findings_move(struct findings *findings, struct findings *from);

#endif
