/*
 * The engine of findings: a rule is one row of a table. The row has the rule's function, its sentence and its
 * documentation: `profgrab help` and docs/reading.md are made from the tables. A new finding is one function
 * and one row, in findings/rules.c for the summary, in fetch/finding.c for a fetched body.
 */
#ifndef FINDINGS_RULE_H
#define FINDINGS_RULE_H

#include "proto/proto.h"

enum finding_severity {
    FINDING_FACT,    /* always reported */
    FINDING_SUSPECT, /* a problem by the rule's threshold */
    FINDING_NOTE,    /* worth recording, but not worth a line during the run */
};

/* The subject of a rule: the kind of input that it checks. */
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

/* Returns the name of a topic for documentation: "CPU", "two snapshots". */
const char *finding_topic_name(enum finding_topic topic);

/* The input of a figure or a picture: one file, two sides of several files, or two snapshots. */
enum finding_input { FINDING_FROM_ONE, FINDING_FROM_COMPARISON, FINDING_FROM_GROWTH };

struct finding_case;
struct finding_rule;
/* Checks a rule and adds its finding by finding_case_add if the rule applies. Returns -1 without memory. */
typedef int finding_rule_fn(struct finding_case *c, const struct finding_rule *rule);

struct finding_rule {
    const char *id; /* "gc-share": the key `rule` of the manifest */
    enum finding_topic topic;
    enum finding_severity severity;
    enum finding_input input;
    int number;             /* of a finding that other code adds: the value of its enum; else 0 */
    finding_rule_fn *apply; /* NULL if other code adds the finding */
    /* For rules on functions: samples with a function of `in` and none of `out` count (struct tally_choice);
     * the smallest reported percentage. */
    const char *const *in, *const *out;
    double percent;
    /* In the sentence, {0} to {5} are replaced by figures and names. */
    const char *sentence;
    const char *evidence;
    const char *threshold; /* a text; NULL: only `percent` applies */
    const char *look;      /* NULL for FINDING_TOPIC_BODY */
    bool per_service;      /* on a body: concerns its service, so a terminal shows it once for each service */
    const char *source;
};

#define SENTENCE_ARGUMENTS 6
/* The most bytes of a name in a sentence, and of one argument. */
#define SENTENCE_NAME 160
#define SENTENCE_ARGUMENT 400

/* The arguments {0} to {5} of a sentence, and the finding's other members. */
struct finding_values {
    char of[SENTENCE_ARGUMENTS][SENTENCE_ARGUMENT];
    double weight;
    struct str look; /* empty: no function */
    bool names_host; /* the sentence names the host */
    int part, detail;
};

/* The origin of a profile or a dump. NULL and "" both mean unknown. */
struct finding_subject {
    const char *host, *service;
    const char *kind;              /* the request's kind, "mutex"; block and mutex profiles look alike */
    const char *file;              /* the bundle's member, or a path */
    const char *target, *baseline; /* for two sides: the hosts of each, "file-03, file-04" */
    int64_t between_ns;            /* for two dumps: the time between them; 0: unknown */
};

/* One finding. Unknown members are NULL. */
struct finding {
    const struct finding_rule *rule;
    char *text;
    char *file;
    char *look; /* a function's full name */
    /* The part of the total that the finding concerns, 0 to 1. Suspects are sorted by it. */
    double weight;

    char *host, *service;
    bool names_host; /* the text names the host */
    int part;        /* separates findings of one rule on different subjects, which are not duplicates */
    int detail;      /* if findings are duplicates for one service, the one with the largest detail stays */
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

/* The input of a rule's function. Inputs that the topic does not have are NULL. */
struct finding_case {
    struct findings *findings;
    const struct finding_subject *subject; /* NULL: unknown */
    enum finding_topic topic;
    struct err *err;
    const void *evidence; /* FINDING_TOPIC_BODY: the facts that the rules of fetch/finding.c read */
    const struct profile *profile;
    const struct stack_filter *filter;
    const struct tally *all; /* every sample of CPU time or of delays; NULL for heaps */
    const struct goroutines *goroutines;
    const struct comparison *comparison;
    const struct growth *growth;
    const struct fleet *fleet;
    const char *restarted; /* the evidence of a restart */
};

/* Checks those of the n rules that have the case's topic, in order. */
int finding_case_apply(struct finding_case *c, const struct finding_rule *rules, size_t n);
/* Adds the rule's finding with these values to the case's list. */
int finding_case_add(struct finding_case *c, const struct finding_rule *rule,
                     const struct finding_values *values);

void finding_release(struct finding *f);
void findings_release(struct findings *w);
/* Moves all of `from` to the end. Without memory, drops them. */
void findings_move(struct findings *w, struct findings *from);

#endif
