/* What the rules of the words share: the table, counts by function, and how a sentence is said. */
#ifndef REPORT_WORDS_INSIDE_H
#define REPORT_WORDS_INSIDE_H

#include "report/words.h"

/* What a rule is about. */
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
    WORDS_OF_NOTHING, /* no rule knows it */
};

/* ---- names of functions (words_names.c) ------------------------------------------------------------------
 */

enum words_origin {
    WORDS_RUNTIME,   /* package runtime and what is inside of it */
    WORDS_PROFILERS, /* what takes profiles, ours too: runtime/pprof, runtime/trace, net/http/pprof */
    WORDS_STANDARD,  /* the rest of Go's standard library */
    WORDS_OWN,       /* everything else: the program and its modules */
};

enum words_origin words_origin_of(struct str function);
/* Whether a function is in a list that ends in NULL; what ends in `*` stands for all that begin so. */
bool words_listed(struct str function, const char *const *list);

/* Lists that no rule has alone. */
extern const char *const words_idle_workers[], *const words_allocator[], *const words_profilers[];

/* ---- counts (words_tally.c) ------------------------------------------------------------------------------
 */

#define TALLY_NONE UINT32_MAX

/* Of a function's name, in a profile. */
struct tally_count {
    int64_t flat, cum;
    int64_t own;     /* of samples in which it is the innermost function that is the program's own */
    int64_t objects; /* of own, in the sample type that counts; 0 where there is none */
    size_t seen;     /* the sample that counted last, from 1 */
};

#define SIEVE_LISTS 64

/* Which samples pass through which lists of functions: found once, for all rules. */
struct sieve {
    const struct profile *profile;
    unsigned char *origins; /* by the string that is a function's name */
    const char *const *lists[SIEVE_LISTS];
    size_t n_lists;
    uint64_t *of; /* by sample, a bit for each list; NULL: there are no lists */
};

/* Of all lists that the rules of that kind have. sieve_release is due whatever it says. */
int sieve_make(struct sieve *s, const struct profile *p, enum words_of of, struct err *err);
void sieve_release(struct sieve *s);

struct tally {
    const struct sieve *sieve;
    const struct profile *profile;
    size_t type, counts;    /* sample types: the values; how many there were, or TALLY_NONE */
    int64_t total, objects; /* of the samples that were counted */
    int64_t in_runtime;     /* of total: its leaves are the runtime's */
    int64_t profilers;      /* of total: spent by the profilers, see below */
    struct tally_count *of; /* by the string that is the name */
};

/*
 * Samples that pass through any of `in` and none of `out`; NULL: all, none. Their leaf side decides nothing:
 * anywhere on the stack.
 *
 * A sample with a profiler on its stack is the cost of taking profiles, and none of the service's functions
 * is to be blamed for it: it is no sample of any `in`, and all of it counts for one function, the outermost
 * of the profilers' (runtime/pprof.StartCPUProfile), which no tally_top_* but that of the profilers gives.
 */
struct tally_choice {
    const char *const *in, *const *out;
};

/* Counts the chosen samples; what is negative counts for nothing. tally_release is due whatever it says. */
int tally_make(struct tally *t, const struct sieve *s, size_t type, size_t counts,
               const struct tally_choice *choice, struct err *err);
/* The values of such samples. */
int64_t tally_sum(const struct tally *like, const struct tally_choice *choice);
void tally_release(struct tally *t);

/* The sample type of that name and unit, or TALLY_NONE. */
size_t tally_type(const struct profile *p, const char *type, const char *unit);

/* The function with the most of one column (own; flat, of at least that origin): its string, or TALLY_NONE if
 * all have nothing. */
uint32_t tally_top_own(const struct tally *t);
uint32_t tally_top_profilers(const struct tally *t);
uint32_t tally_top_flat(const struct tally *t, enum words_origin at_least);
/* The own function with the smallest cum of those that cover at least half; if none does, the one with the
 * largest. */
uint32_t tally_top_cum(const struct tally *t);

/* ---- cases and sentences (words.c) -----------------------------------------------------------------------
 */

/* What the rules are held against. What it is not of is NULL. */
struct words_case {
    struct words *words;
    const struct words_subject *subject;
    enum words_of of;
    const struct profile *profile;
    struct sieve sieve;
    struct tally all; /* every sample: of CPU time, or of delays; of heaps nothing */
    const struct goroutines *goroutines;
    /* One of these, of what is compared. */
    const struct sides *sides;
    const struct growth *growth;
    const struct peers *hosts;
    const char *restarted; /* why that is known */
    struct err *err;
};

struct words_rule;
/* Looks, and says the sentence if there is something to say. -1: no memory. */
typedef int words_rule_fn(struct words_case *c, const struct words_rule *rule);

struct words_rule {
    const char *name;
    enum words_of of;
    bool suspect;
    words_rule_fn *apply;
    /* Of those that look for functions: which samples, and the percentage of all from which on it is said. */
    const char *const *in, *const *out;
    double percent;
    const char *sentence;
    const char *evidence;
    const char *threshold; /* in words; NULL: `percent` is all */
    const char *look;
    const char *source;
};

#define WORDS_ARGUMENTS 6
/* As much of a name is in a sentence, in bytes, and as much stands for one place of it. */
#define WORDS_NAME 160
#define WORDS_ARGUMENT 400

/* What stands for {0} to {5}, and what goes with the sentence. */
struct words_said {
    char of[WORDS_ARGUMENTS][WORDS_ARGUMENT];
    double weight;
    struct str look; /* empty: no function */
    bool names_host; /* the sentence does */
    int part, detail;
};

int words_say(struct words_case *c, const struct words_rule *rule, const struct words_said *said);

/* Block and mutex profiles have the same types: which it is, or WORDS_OF_NOTHING, which is not known. */
enum words_of words_delay_of(const struct words_subject *s);
/* " (mutex profile)" behind what is said of either; and tells the two apart. */
void words_tell_delay(const struct words_case *c, struct words_said *said, size_t argument);

/* Says that the profilers caused so much of `total`, which is `of` ("the CPU time"), if it is the rule's
 * share of it; `t` names the heaviest of them. {0} how much, {1} of what, {2} who. */
struct words_profiling {
    const struct tally *t;
    int64_t caused, total;
    const char *of;
    int part;
};
int words_tell_profilers(struct words_case *c, const struct words_rule *rule,
                         const struct words_profiling *how);

/* Each writes an argument: a percentage without its sign, a name made printable, how many there are of
 * something, a time. */
void words_percent(char dst[WORDS_ARGUMENT], double share);
void words_name(char dst[WORDS_ARGUMENT], struct str name);
void words_bytes(char dst[WORDS_ARGUMENT], int64_t n);
void words_count(char dst[WORDS_ARGUMENT], uint64_t n, const char *one, const char *many);
void words_time(char dst[WORDS_ARGUMENT], int64_t ns);
/* Of a tally: ", and main.handle with all that it calls 80 %", unless that is the function already named. */
void words_with_calls(char dst[WORDS_ARGUMENT], const struct tally *t, uint32_t named);

/* A part of a whole; 0 of none. */
static inline double words_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* One standard error of a share of n samples; of none seen too, since one more sample could have shown it. */
double words_error(double share, double n);
/* The bytes that one sample of a heap stands for. */
double words_heap_rate(const struct profile *p);
/* A figure that was worked out, as the nearest to it that there is. */
int64_t words_whole(double v);
/* What it would be in an hour, of so much within a time; 0 where that is not known. */
double words_per_hour(double grown, int64_t within_ns);
/* Whether a share of n samples is at least a percentage when two standard errors are taken off it. */
bool words_above(double share, uint64_t n, double percent);

/* Of functions that differ about as much one is told: of those that differ by so much of the most. */
#define WORDS_NEARLY 0.8
struct words_candidate {
    bool runtime;
    double covers; /* a share, or a value */
    struct str name;
};
/* Whether a tells more than b: the runtime's own only if nothing else differs as much; then what covers less.
 */
bool words_tells_more(const struct words_candidate *a, const struct words_candidate *b);

/* ---- the rules -------------------------------------------------------------------------------------------
 */

/* Rule i of the table; NULL behind the last. */
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
