/* What one side does and the other does not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/words_inside.h"
#include "base/banned.h"

/* With fewer samples nothing is said of functions. */
#define SAMPLES 20
/* Of functions that differ about as much the innermost is named: those that differ by so much of the most. */
#define NEARLY 0.8
/* Go's sampling of the heap, where the profile does not say it. */
#define HEAP_RATE 524288
/* So many goroutines more. */
#define GOROUTINES 100
/* What was more before all suspects of one host. */
#define FIRST 1.0

/* Both sides of one sample type. */
struct both {
    struct tally of[2];
    double scale[2];
    bool found; /* there is that type, and both have some of it */
};

/* A function on both sides, in the type's own values. */
struct differing {
    uint32_t name;
    double here, there;
};

static int both_make(struct both *b, struct words_case *c, const char *type, const char *unit,
                     const char *counts)
{
    const struct sides *s = c->sides;
    size_t at = tally_type(s->all, type, unit), counts_at = tally_type(s->all, counts, "count");
    *b = (struct both){.found = at < s->n_types};
    for (int side = SIDE_HERE; side <= SIDE_THERE && b->found; side++) {
        size_t column = sides_column(s, at, (enum side)side);
        size_t beside = counts_at < s->n_types ? sides_column(s, counts_at, (enum side)side) : TALLY_NONE;
        if (tally_make(&b->of[side], &c->sieve, column, beside, &(struct tally_choice){0}, c->err) < 0)
            return -1;
        b->scale[side] = sides_scale(s, at, (enum side)side);
    }
    b->found = b->found && b->of[SIDE_HERE].total > 0 && b->of[SIDE_THERE].total > 0;
    return 0;
}

static void both_release(struct both *b)
{
    tally_release(&b->of[SIDE_HERE]);
    tally_release(&b->of[SIDE_THERE]);
}

/* ---- the function ----------------------------------------------------------------------------------------
 */

static struct differing differing_of(const struct both *b, uint32_t name, bool cum)
{
    const struct tally_count *here = &b->of[SIDE_HERE].of[name], *there = &b->of[SIDE_THERE].of[name];
    return (struct differing){name, (double)(cum ? here->cum : here->own) * b->scale[SIDE_HERE],
                              (double)(cum ? there->cum : there->own) * b->scale[SIDE_THERE]};
}

static bool is_runtime(const struct both *b, uint32_t name)
{
    return b->of[SIDE_HERE].sieve->origins[name] == WORDS_RUNTIME;
}

/* Whether a tells more than b: the runtime's own only if nothing else differs as much; then what covers less.
 */
static bool tells_more(const struct both *b, struct differing x, struct differing y)
{
    const struct profile *p = b->of[SIDE_HERE].profile;
    if (is_runtime(b, x.name) != is_runtime(b, y.name))
        return !is_runtime(b, x.name);
    if (x.here != y.here)
        return x.here < y.here;
    return str_compare(profile_str(p, x.name), profile_str(p, y.name)) < 0;
}

/* The function of which there is most more here: with all that it calls, or its own. No name: there is none.
 */
static struct differing most_more(const struct both *b, bool cum)
{
    const struct profile *p = b->of[SIDE_HERE].profile;
    struct differing best = {0};
    double most = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct differing d = differing_of(b, p->functions[i].name, cum);
        most = d.name ? fmax(most, d.here - d.there) : most;
    }
    for (size_t i = 0; i < p->n_functions && most > 0; i++) {
        struct differing d = differing_of(b, p->functions[i].name, cum);
        bool near = d.name && d.here - d.there >= (cum ? NEARLY : 1) * most;
        if (near && (!best.name || tells_more(b, d, best)))
            best = d;
    }
    return best;
}

/* ---- saying ----------------------------------------------------------------------------------------------
 */

/* "file-03 spends", "file-03, file-04 spend" */
static void tell_who(const struct words_case *c, struct words_said *said, const char *one, const char *many)
{
    char here[WORDS_ARGUMENT];
    words_name(here, str_of(c->subject->here));
    snprintf(said->of[0], sizeof said->of[0], "%.160s %s", here,
             c->sides->of[SIDE_HERE].processes == 1 ? one : many);
    words_name(said->of[3], str_of(c->subject->there));
}

static void tell_function(const struct words_case *c, struct words_said *said, uint32_t name)
{
    said->look = profile_str(c->profile, name);
    words_name(said->of[2], said->look);
}

static double error_of(double share, double n)
{
    double p = (share * n + 1) / (n + 2);
    return sqrt(p * (1 - p) / n);
}

/* How far a difference of two shares is beyond two standard errors of both. */
static double surely(struct differing d, double here, double there)
{
    return d.here - d.there - 2 * hypot(error_of(d.here, here), error_of(d.there, there));
}

/* A side's samples, or how often something was counted. */
static double counted(const struct both *b, enum side side)
{
    return (double)b->of[side].objects;
}

static bool is_counted(const struct both *b)
{
    return b->found && counted(b, SIDE_HERE) >= SAMPLES && counted(b, SIDE_THERE) >= SAMPLES;
}

/* {1} and {4}: shares. */
static int say_shares(struct words_case *c, const struct words_rule *rule, struct words_said *said,
                      struct differing d)
{
    said->weight += d.here - d.there;
    tell_function(c, said, d.name);
    words_percent(said->of[1], d.here);
    words_percent(said->of[4], d.there);
    return words_say(c, rule, said);
}

/* " (CPU 390 % busy here, 110 % there)", of a process each. */
static void tell_busy(const struct words_case *c, const struct both *b, char dst[WORDS_ARGUMENT])
{
    char here[WORDS_ARGUMENT], there[WORDS_ARGUMENT];
    const struct sides_side *of = c->sides->of;
    *dst = '\0';
    if (of[SIDE_HERE].duration_ns <= 0 || of[SIDE_THERE].duration_ns <= 0)
        return;
    words_percent(here, words_share(b->of[SIDE_HERE].total, of[SIDE_HERE].duration_ns));
    words_percent(there, words_share(b->of[SIDE_THERE].total, of[SIDE_THERE].duration_ns));
    snprintf(dst, WORDS_ARGUMENT, "; CPU was %.10s %% and %.10s %% busy (100 %% is one core)", here, there);
}

/* ---- the rules -------------------------------------------------------------------------------------------
 */

/* {0} who does, {1} how much, {2} where, {3} who else, {4} how much of it, {5} how busy both are. */
int words_sides_cpu(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, "cpu", "nanoseconds", "samples");
    struct differing d = rc == 0 && is_counted(&b) ? most_more(&b, true) : (struct differing){0};
    if (d.name && surely(d, counted(&b, SIDE_HERE), counted(&b, SIDE_THERE)) >= rule->percent / 100) {
        said.weight = FIRST;
        tell_who(c, &said, "spends", "spend");
        tell_busy(c, &b, said.of[5]);
        rc = say_shares(c, rule, &said, d);
    }
    both_release(&b);
    return rc;
}

/* {0} and {1} who, {2} which difference would have been said, {3} how busy both are. */
int words_sides_alike(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, "cpu", "nanoseconds", "samples");
    struct differing d = rc == 0 && is_counted(&b) ? most_more(&b, true) : (struct differing){0};
    if (rc == 0 && is_counted(&b) &&
        surely(d, counted(&b, SIDE_HERE), counted(&b, SIDE_THERE)) < rule->percent / 100) {
        words_name(said.of[0], str_of(c->subject->here));
        words_name(said.of[1], str_of(c->subject->there));
        snprintf(said.of[2], sizeof said.of[2], "%.0f", rule->percent);
        tell_busy(c, &b, said.of[3]);
        rc = words_say(c, rule, &said);
    }
    both_release(&b);
    return rc;
}

/* What a sampled amount is off by: as if it were so many samples of that size. */
static double heap_error(const struct words_case *c, double bytes, enum side side)
{
    double rate = c->profile->period > 0 ? (double)c->profile->period : HEAP_RATE;
    return sqrt(bytes * rate / (double)c->sides->of[side].processes);
}

/* {0} who holds, {1} how much, {2} where, {3} who else, {4} how much, {5} of how much both. */
int words_sides_heap(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    char here[WORDS_ARGUMENT], there[WORDS_ARGUMENT];
    struct both b;
    int rc = both_make(&b, c, "inuse_space", "bytes", "inuse_objects");
    struct differing d = rc == 0 && b.found ? most_more(&b, false) : (struct differing){0};
    double whole = d.name ? (double)b.of[SIDE_HERE].total * b.scale[SIDE_HERE] : 0;
    double error = hypot(heap_error(c, d.here, SIDE_HERE), heap_error(c, d.there, SIDE_THERE));
    if (d.name && d.here - d.there - 2 * error >= whole * rule->percent / 100 && d.here >= 1.5 * d.there) {
        said.weight = FIRST + (d.here - d.there) / whole;
        tell_who(c, &said, "holds", "hold");
        tell_function(c, &said, d.name);
        words_bytes(said.of[1], (int64_t)d.here);
        words_bytes(said.of[4], (int64_t)d.there);
        words_bytes(here, (int64_t)whole);
        words_bytes(there, (int64_t)((double)b.of[SIDE_THERE].total * b.scale[SIDE_THERE]));
        snprintf(said.of[5], sizeof said.of[5], " (of %.40s and %.40s in use)", here, there);
        rc = words_say(c, rule, &said);
    }
    both_release(&b);
    return rc;
}

/* {0} who has, {1} how many, {2} where, {3} who else, {4} how many. */
int words_sides_goroutines(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, "goroutine", "count", "");
    struct differing d = rc == 0 && b.found ? most_more(&b, false) : (struct differing){0};
    double whole = d.name ? (double)b.of[SIDE_HERE].total * b.scale[SIDE_HERE] : 0;
    double more = d.here - d.there - 2 * sqrt(d.here + d.there);
    if (d.name && more >= GOROUTINES && more >= whole * rule->percent / 100) {
        said.weight = FIRST + (d.here - d.there) / whole;
        tell_who(c, &said, "has", "have");
        tell_function(c, &said, d.name);
        words_count(said.of[1], (uint64_t)d.here, "goroutine", "goroutines");
        words_count(said.of[4], (uint64_t)d.there, "of them", "of them");
        rc = words_say(c, rule, &said);
    }
    both_release(&b);
    return rc;
}

/* {0} who, {1} which share, {2} where, {3} who else, {4} which share there. */
static int say_counted(struct words_case *c, const struct words_rule *rule, const char *type,
                       const char *unit, const char *counts, const char *who)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, type, unit, counts);
    /* Of what was counted in each second and since the start alike: where most of it goes. */
    for (int side = SIDE_HERE; side <= SIDE_THERE && rc == 0 && b.found; side++)
        b.scale[side] = 1 / (double)b.of[side].total;
    struct differing d = rc == 0 && is_counted(&b) ? most_more(&b, false) : (struct differing){0};
    if (d.name && surely(d, counted(&b, SIDE_HERE), counted(&b, SIDE_THERE)) >= rule->percent / 100) {
        tell_who(c, &said, who, who);
        rc = say_shares(c, rule, &said, d);
    }
    both_release(&b);
    return rc;
}

int words_sides_allocated(struct words_case *c, const struct words_rule *rule)
{
    return say_counted(c, rule, "alloc_space", "bytes", "alloc_objects", "allocated");
}

int words_sides_waits(struct words_case *c, const struct words_rule *rule)
{
    return say_counted(c, rule, "delay", "nanoseconds", "contentions", "waited");
}
