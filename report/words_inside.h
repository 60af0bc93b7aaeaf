/* The parts that the rules of the findings share: the table, counts by function, and sentences. */
#ifndef REPORT_WORDS_INSIDE_H
#define REPORT_WORDS_INSIDE_H

#include "report/words.h"

/* The subject of a rule. */
enum words_of {
    WORDS_OF_CPU,
    WORDS_OF_HEAP,
    WORDS_OF_BLOCK,
    WORDS_OF_MUTEX,
    WORDS_OF_GOROUTINES,
    WORDS_OF_SIDES,
    WORDS_OF_GROWTH,
    WORDS_OF_RESTART,
    WORDS_OF_PEERS,
    WORDS_OF_NOTHING, /* no rule applies */
};

/* ---- names of functions (words_names.c) ---------------------------------------------------------------- */

enum words_origin {
    WORDS_RUNTIME,   /* package runtime and its internal packages */
    WORDS_PROFILERS, /* code that takes profiles: runtime/pprof, runtime/trace, net/http/pprof */
    WORDS_STANDARD,  /* the rest of Go's standard library */
    WORDS_OWN,       /* everything else: the program and its modules */
};

enum words_origin words_origin_of(struct str function);
/* Whether a function is in a list that ends in NULL. An entry that ends in `*` matches every name with that
 * prefix. */
bool words_listed(struct str function, const char *const *list);

/* Lists that several rules use. */
extern const char *const words_idle_workers[], *const words_allocator[], *const words_profilers[];

/* ---- counts (words_tally.c) ---------------------------------------------------------------------------- */

#define TALLY_NONE UINT32_MAX

/* The counts of one function name in a profile. */
struct tally_count {
    int64_t flat, cum;
    int64_t own;     /* samples whose innermost function of the program is this one */
    int64_t objects; /* like own, in the sample type that counts objects; 0 without one */
    size_t seen;     /* the last sample that was counted, from 1 */
};

#define SIEVE_LISTS 64

/* Which samples pass through which lists of functions, computed once for all rules. */
struct sieve {
    const struct profile *profile;
    unsigned char *origins; /* by the string of the function's name */
    const char *const *lists[SIEVE_LISTS];
    size_t n_lists;
    uint64_t *of; /* by sample, one bit for each list; NULL: no lists */
};

/* Reads the lists of all rules on that subject. Call sieve_release even after a failure. */
int sieve_make(struct sieve *s, const struct profile *p, enum words_of of, struct err *err);
void sieve_release(struct sieve *s);

struct tally {
    const struct sieve *sieve;
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
int tally_make(struct tally *t, const struct sieve *s, size_t type, size_t counts,
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
uint32_t tally_top_flat(const struct tally *t, enum words_origin at_least);
/* Of the program's functions that cover at least half, the one with the smallest cum. If none does, the one
 * with the largest cum. */
uint32_t tally_top_cum(const struct tally *t);

/* ---- cases and sentences (words.c) --------------------------------------------------------------------- */

/* The input of the rules. Inputs that the subject does not have are NULL. */
struct words_case {
    struct words *words;
    const struct words_subject *subject;
    enum words_of of;
    const struct profile *profile;
    struct sieve sieve;
    struct tally all; /* every sample of CPU time or of delays; empty for heaps */
    const struct goroutines *goroutines;
    /* At most one of these is set. */
    const struct sides *sides;
    const struct growth *growth;
    const struct peers *hosts;
    const char *restarted; /* the evidence of a restart */
    struct err *err;
};

struct words_rule;
/* Checks a rule and adds its finding if the rule applies. Returns -1 without memory. */
typedef int words_rule_fn(struct words_case *c, const struct words_rule *rule);

struct words_rule {
    const char *name;
    enum words_of of;
    bool suspect;
    words_rule_fn *apply;
    /* For rules on functions: the choice of samples, and the least percentage of all that is reported. */
    const char *const *in, *const *out;
    double percent;
    const char *sentence;
    const char *evidence;
    const char *threshold; /* a text; NULL: only `percent` applies */
    const char *look;
    const char *source;
};

#define WORDS_ARGUMENTS 6
/* The most bytes of a name in a sentence, and of one argument. */
#define WORDS_NAME 160
#define WORDS_ARGUMENT 400

/* The arguments {0} to {5} of a sentence, and the finding's other members. */
struct words_said {
    char of[WORDS_ARGUMENTS][WORDS_ARGUMENT];
    double weight;
    struct str look; /* empty: no function */
    bool names_host; /* the sentence names the host */
    int part, detail;
};

int words_say(struct words_case *c, const struct words_rule *rule, const struct words_said *finding);

/* Block and mutex profiles have the same types. Returns the one that the subject is, or WORDS_OF_NOTHING if
 * unknown. */
enum words_of words_delay_of(const struct words_subject *s);
/* Writes " (mutex profile)" or the like into an argument, and sets `part` to keep the two kinds apart. */
void words_tell_delay(const struct words_case *c, struct words_said *finding, size_t argument);

/* Reports the profilers' part `caused` of `total`, whose name is `of` ("the CPU time"), if it reaches the
 * rule's percentage. `t` gives the heaviest profiler. {0} share, {1} of which total, {2} profiler. */
struct words_profiling {
    const struct tally *t;
    int64_t caused, total;
    const char *of;
    int part;
};
int words_tell_profilers(struct words_case *c, const struct words_rule *rule,
                         const struct words_profiling *how);

/* Each function writes one argument: a percentage without its sign, a printable name, a number of bytes, a
 * number of objects, a time. */
void words_percent(char dst[WORDS_ARGUMENT], double share);
void words_name(char dst[WORDS_ARGUMENT], struct str name);
void words_bytes(char dst[WORDS_ARGUMENT], int64_t n);
void words_count(char dst[WORDS_ARGUMENT], uint64_t n, const char *one, const char *many);
void words_time(char dst[WORDS_ARGUMENT], int64_t ns);
/* Writes ", and main.handle with all that it calls 80 %", or nothing if that function is `named` already. */
void words_with_calls(char dst[WORDS_ARGUMENT], const struct tally *t, uint32_t named);

/* A part of a whole; 0 if the whole is 0. */
static inline double words_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* One standard error of a share of n samples. It is not 0 for a share of 0, since one more sample could have
 * hit. */
double words_error(double share, double n);
/* The bytes that one sample of a heap stands for. */
double words_heap_rate(const struct profile *p);
/* A computed figure as an integer, within the range of int64_t. */
int64_t words_whole(double v);
/* The growth in an hour, from the growth within a time; 0 if the time is unknown. */
double words_per_hour(double grown, int64_t within_ns);
/* Whether a share of n samples is at least a percentage after subtracting two standard errors. */
bool words_above(double share, uint64_t n, double percent);

/* Functions whose difference is at least this part of the largest one count as equal. One of them is
 * reported. */
#define WORDS_NEARLY 0.8
struct words_candidate {
    bool runtime;
    double covers; /* a share, or a value */
    struct str name;
};
/* Whether a explains more than b. A function outside the runtime explains more than one of the runtime.
 * Otherwise the one that covers less explains more. */
bool words_tells_more(const struct words_candidate *a, const struct words_candidate *b);

/* ---- the rules ----------------------------------------------------------------------------------------- */

/* Returns rule i of the table, or NULL after the last. */
const struct words_rule *words_rule_at(size_t i);

words_rule_fn words_cpu_hot, words_cpu_spread, words_cpu_idle, words_cpu_share, words_cpu_gc;
words_rule_fn words_heap_in_use, words_heap_allocated, words_delay;
words_rule_fn words_profilers_caused, words_profilers_between;
words_rule_fn words_sides_cpu, words_sides_alike, words_sides_heap, words_sides_allocated,
    words_sides_goroutines, words_sides_waits;
words_rule_fn words_growth_heap, words_growth_held, words_growth_allocated, words_growth_waited,
    words_restarted;
words_rule_fn words_host_differs, words_host_exceeds;
words_rule_fn words_goroutines_leak, words_goroutines_grown, words_goroutines_locked, words_goroutines_states;

#endif
