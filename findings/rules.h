/* The parts that the rules of the findings share: the table, counts by function, and sentences. */
#ifndef FINDINGS_RULES_H
#define FINDINGS_RULES_H

#include "findings/findings.h"

/* The subject of a rule. */
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
    FINDING_TOPIC_NONE, /* no rule applies */
};

/* ---- names of functions (words_names.c) ---------------------------------------------------------------- */

enum functions_origin {
    FUNCTION_OF_RUNTIME,   /* package runtime and its internal packages */
    FUNCTION_OF_PROFILERS, /* code that takes profiles: runtime/pprof, runtime/trace, net/http/pprof */
    FUNCTION_OF_STANDARD,  /* the rest of Go's standard library */
    FUNCTION_OF_PROGRAM,   /* everything else: the program and its modules */
};

enum functions_origin functions_origin_of(struct str function);
/* Whether a function is in a list that ends in NULL. An entry that ends in `*` matches every name with that
 * prefix. */
bool functions_listed(struct str function, const char *const *list);

/* Lists that several rules use. */
extern const char *const functions_idle_workers[], *const functions_allocator[], *const functions_profilers[];

/* ---- counts (words_tally.c) ---------------------------------------------------------------------------- */

#define TALLY_NONE UINT32_MAX

/* The counts of one function name in a profile. */
struct tally_count {
    int64_t flat, cum;
    int64_t own;     /* samples whose innermost function of the program is this one */
    int64_t objects; /* like own, in the sample type that counts objects; 0 without one */
    size_t seen;     /* the last sample that was counted, from 1 */
};

#define STACK_FILTER_LISTS 64

/* Which samples pass through which lists of functions, computed once for all rules. */
struct stack_filter {
    const struct profile *profile;
    unsigned char *origins; /* by the string of the function's name */
    const char *const *lists[STACK_FILTER_LISTS];
    size_t n_lists;
    uint64_t *of; /* by sample, one bit for each list; NULL: no lists */
};

/* Reads the lists of all rules on that subject. Call stack_filter_release even after a failure. */
int stack_filter_init(struct stack_filter *s, const struct profile *p, enum finding_topic of,
                      struct err *err);
void stack_filter_release(struct stack_filter *s);

struct tally {
    const struct stack_filter *sieve;
    const struct profile *profile;
    size_t type, counts;    /* sample types: of the values, and of their number or TALLY_NONE */
    int64_t total, objects; /* of the counted samples */
    int64_t in_runtime;     /* the part of total whose leaves are the runtime's */
    int64_t profilers;      /* the part of total that the profilers spent, see below */
    struct tally_count *of; /* by the string of the name */
};

/*
 * Samples that pass through any function of `in` and none of `out`, anywhere on the stack. NULL `in` means
 * all samples, NULL `out` excludes none.
 *
 * A sample with a profiler on its stack is the cost of taking profiles, so no function of the service gets
 * it. No `in` matches such a sample. All of it counts for one function, the outermost profiler
 * (runtime/pprof.StartCPUProfile). Only tally_top_profilers returns that function.
 */
struct tally_choice {
    const char *const *in, *const *out;
};

/* Counts the chosen samples. Negative values count as zero. Call tally_release even after a failure. */
int tally_make(struct tally *t, const struct stack_filter *s, size_t type, size_t counts,
               const struct tally_choice *choice, struct err *err);
/* The sum of the chosen samples' values. */
int64_t tally_sum(const struct tally *like, const struct tally_choice *choice);
void tally_release(struct tally *t);

/* The index of the sample type with that name and unit, or TALLY_NONE. */
size_t tally_type(const struct profile *p, const char *type, const char *unit);

/* The function with the largest own or flat (of origin at_least or later), as a string; TALLY_NONE if all are
 * 0. */
uint32_t tally_top_own(const struct tally *t);
uint32_t tally_top_profilers(const struct tally *t);
uint32_t tally_top_flat(const struct tally *t, enum functions_origin at_least);
/* Of the program's functions that cover at least half, the one with the smallest cum. If none does, the one
 * with the largest cum. */
uint32_t tally_top_cum(const struct tally *t);

/* ---- cases and sentences (words.c) --------------------------------------------------------------------- */

/* The input of the rules. Inputs that the subject does not have are NULL. */
struct finding_case {
    struct findings *words;
    const struct finding_subject *subject;
    enum finding_topic of;
    const struct profile *profile;
    struct stack_filter sieve;
    struct tally all; /* every sample of CPU time or of delays; empty for heaps */
    const struct goroutines *goroutines;
    /* At most one of these is set. */
    const struct comparison *sides;
    const struct growth *growth;
    const struct fleet *hosts;
    const char *restarted; /* the evidence of a restart */
    struct err *err;
};

struct finding_rule;
/* Checks a rule and adds its finding if the rule applies. Returns -1 without memory. */
typedef int finding_rule_fn(struct finding_case *c, const struct finding_rule *rule);

struct finding_rule {
    const char *name;
    enum finding_topic of;
    bool suspect;
    finding_rule_fn *apply;
    /* For rules on functions: the choice of samples, and the least percentage of all that is reported. */
    const char *const *in, *const *out;
    double percent;
    const char *sentence;
    const char *evidence;
    const char *threshold; /* a text; NULL: only `percent` applies */
    const char *look;
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

int finding_case_add(struct finding_case *c, const struct finding_rule *rule,
                     const struct finding_values *finding);

/* Block and mutex profiles have the same types. Returns the one that the subject is, or FINDING_TOPIC_NONE if
 * unknown. */
enum finding_topic finding_topic_of_delay(const struct finding_subject *s);
/* Writes " (mutex profile)" or the like into an argument, and sets `part` to keep the two kinds apart. */
void finding_name_delay(const struct finding_case *c, struct finding_values *finding, size_t argument);

/* Reports the profilers' part `caused` of `total`, whose name is `of` ("the CPU time"), if it reaches the
 * rule's percentage. `t` gives the heaviest profiler. {0} share, {1} of which total, {2} profiler. */
struct finding_profiling {
    const struct tally *t;
    int64_t caused, total;
    const char *of;
    int part;
};
int finding_case_add_profilers(struct finding_case *c, const struct finding_rule *rule,
                               const struct finding_profiling *how);

/* Each function writes one argument: a percentage without its sign, a printable name, a number of bytes, a
 * number of objects, a time. */
void sentence_percent(char dst[SENTENCE_ARGUMENT], double share);
void sentence_name(char dst[SENTENCE_ARGUMENT], struct str name);
void sentence_bytes(char dst[SENTENCE_ARGUMENT], int64_t n);
void sentence_count(char dst[SENTENCE_ARGUMENT], uint64_t n, const char *one, const char *many);
void sentence_time(char dst[SENTENCE_ARGUMENT], int64_t ns);
/* Writes ", and main.handle with all that it calls 80 %", or nothing if that function is `named` already. */
void sentence_with_calls(char dst[SENTENCE_ARGUMENT], const struct tally *t, uint32_t named);

/* A part of a whole; 0 if the whole is 0. */
static inline double stats_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* One standard error of a share of n samples. It is not 0 for a share of 0, since one more sample could have
 * hit. */
double stats_error(double share, double n);
/* The bytes that one sample of a heap stands for. */
double stats_heap_rate(const struct profile *p);
/* A computed figure as an integer, within the range of int64_t. */
int64_t stats_whole(double v);
/* The growth in an hour, from the growth within a time; 0 if the time is unknown. */
double stats_per_hour(double grown, int64_t within_ns);
/* Whether a share of n samples is at least a percentage after subtracting two standard errors. */
bool stats_above(double share, uint64_t n, double percent);

/* Functions whose difference is at least this part of the largest one count as equal. One of them is
 * reported. */
#define FINDING_NEARLY 0.8
struct finding_candidate {
    bool runtime;
    double covers; /* a share, or a value */
    struct str name;
};
/* Whether a explains more than b. A function outside the runtime explains more than one of the runtime.
 * Otherwise the one that covers less explains more. */
bool finding_explains_more(const struct finding_candidate *a, const struct finding_candidate *b);

/* ---- the rules ----------------------------------------------------------------------------------------- */

/* Returns rule i of the table, or NULL after the last. */
const struct finding_rule *finding_rule_at(size_t i);

finding_rule_fn rule_cpu_hot, rule_cpu_spread, rule_cpu_idle, rule_cpu_share, rule_cpu_gc;
finding_rule_fn rule_heap_in_use, rule_heap_allocated, rule_delay;
finding_rule_fn rule_profilers_caused, rule_profilers_between;
finding_rule_fn rule_comparison_cpu, rule_comparison_alike, rule_comparison_heap, rule_comparison_allocated,
    rule_comparison_goroutines, rule_comparison_waits;
finding_rule_fn rule_growth_heap, rule_growth_held, rule_growth_allocated, rule_growth_waited, rule_restarted;
finding_rule_fn rule_host_differs, rule_host_exceeds;
finding_rule_fn rule_goroutines_leak, rule_goroutines_grown, rule_goroutines_locked, rule_goroutines_states;

#endif
