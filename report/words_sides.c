/* Rules on two sides: what is more here than there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/words_inside.h"
#include "base/banned.h"

/* Profiles with fewer samples give no finding on functions. */
#define SAMPLES 20
/* The least difference, in goroutines. */
#define GOROUTINES 100
/* Added to a weight, so that these findings precede the suspects of one host. */
#define FIRST 1.0

/* One sample type on both sides. */
struct both {
    struct tally of[2];
    double scale[2];
    bool found;  /* both sides have values of this type */
    bool stands; /* found, and the values describe one moment */
};

/* A function on both sides, with values in the type's unit. */
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
    b->stands = b->found && sides_basis_of(s, at) == SIDES_PROCESS;
    return 0;
}

static void both_release(struct both *b)
{
    tally_release(&b->of[SIDE_HERE]);
    tally_release(&b->of[SIDE_THERE]);
}

/* ---- the function -------------------------------------------------------------------------------------- */

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

static struct words_candidate make_candidate(const struct both *b, struct differing d)
{
    return (struct words_candidate){is_runtime(b, d.name), d.here,
                                    profile_str(b->of[SIDE_HERE].profile, d.name)};
}

/* Whether a difference is large and significant enough to report. */
typedef bool is_said_fn(const struct words_case *c, const struct words_rule *rule, const struct both *b,
                        struct differing d);

/* The function to name, of those with more here, by cum or by own. The result has no name if there is none. A
 * caller can be significant although none of its callees is, even if a callee differs nearly as much. */
static struct differing find_most_more(const struct words_case *c, const struct words_rule *rule,
                                       const struct both *b, bool cum, is_said_fn *is_said)
{
    const struct profile *p = b->of[SIDE_HERE].profile;
    struct differing best = {0};
    double most = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct differing d = differing_of(b, p->functions[i].name, cum);
        if (d.name && is_said(c, rule, b, d))
            most = fmax(most, d.here - d.there);
    }
    for (size_t i = 0; i < p->n_functions && most > 0; i++) {
        struct differing d = differing_of(b, p->functions[i].name, cum);
        if (!d.name || d.here - d.there < (cum ? WORDS_NEARLY : 1) * most || !is_said(c, rule, b, d))
            continue;
        struct words_candidate one = make_candidate(b, d), other = make_candidate(b, best);
        if (!best.name || words_tells_more(&one, &other))
            best = d;
    }
    return best;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* "file-03 spends", "file-03, file-04 spend" */
static void write_hosts(const struct words_case *c, struct words_said *said, const char *one,
                        const char *many)
{
    char here[WORDS_ARGUMENT];
    words_name(here, str_of(c->subject->here));
    snprintf(said->of[0], sizeof said->of[0], "%.160s %s", here,
             c->sides->of[SIDE_HERE].processes == 1 ? one : many);
    words_name(said->of[3], str_of(c->subject->there));
}

static void write_function(const struct words_case *c, struct words_said *said, uint32_t name)
{
    said->look = profile_str(c->profile, name);
    words_name(said->of[2], said->look);
}

/* A side's number of samples or events. */
static double count_of(const struct both *b, enum side side)
{
    return (double)b->of[side].objects;
}

static bool is_counted(const struct both *b)
{
    return b->found && count_of(b, SIDE_HERE) >= SAMPLES && count_of(b, SIDE_THERE) >= SAMPLES;
}

/* Whether two shares differ after subtracting two standard errors. */
static bool is_share_said(const struct words_case *c, const struct words_rule *rule, const struct both *b,
                          struct differing d)
{
    double error =
        hypot(words_error(d.here, count_of(b, SIDE_HERE)), words_error(d.there, count_of(b, SIDE_THERE)));
    (void)c;
    return d.here - d.there - 2 * error >= rule->percent / 100;
}

/* {1} and {4}: shares. */
static int say_shares(struct words_case *c, const struct words_rule *rule, struct words_said *said,
                      struct differing d)
{
    said->weight += d.here - d.there;
    write_function(c, said, d.name);
    words_percent(said->of[1], d.here);
    words_percent(said->of[4], d.there);
    return words_say(c, rule, said);
}

/* Writes "; CPU was 390 % and 110 % busy", the mean of each side's processes. */
static void write_busy(const struct words_case *c, const struct both *b, char dst[WORDS_ARGUMENT])
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

/* ---- the rules ----------------------------------------------------------------------------------------- */

/* {0} hosts and verb, {1} share, {2} function, {3} other hosts, {4} their share, {5} how busy both are. */
int words_sides_cpu(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, "cpu", "nanoseconds", "samples");
    struct differing d = {0};
    if (rc == 0 && is_counted(&b))
        d = find_most_more(c, rule, &b, true, is_share_said);
    if (d.name) {
        said.weight = FIRST;
        write_hosts(c, &said, "spends", "spend");
        write_busy(c, &b, said.of[5]);
        rc = say_shares(c, rule, &said, d);
    }
    both_release(&b);
    return rc;
}

/* {0} and {1} hosts, {2} the least difference that is reported, {3} how busy both are. */
int words_sides_alike(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, "cpu", "nanoseconds", "samples");
    if (rc == 0 && is_counted(&b) && !find_most_more(c, rule, &b, true, is_share_said).name) {
        words_name(said.of[0], str_of(c->subject->here));
        words_name(said.of[1], str_of(c->subject->there));
        snprintf(said.of[2], sizeof said.of[2], "%.0f", rule->percent);
        write_busy(c, &b, said.of[3]);
        rc = words_say(c, rule, &said);
    }
    both_release(&b);
    return rc;
}

/* The standard error of a sampled amount, as if it were samples of the usual size. */
static double heap_error(const struct words_case *c, double bytes, enum side side)
{
    return sqrt(bytes * words_heap_rate(c->profile) / (double)c->sides->of[side].processes);
}

/* The total of one process of a side. */
static double total_of(const struct both *b, enum side side)
{
    return (double)b->of[side].total * b->scale[side];
}

static bool is_heap_said(const struct words_case *c, const struct words_rule *rule, const struct both *b,
                         struct differing d)
{
    double error = hypot(heap_error(c, d.here, SIDE_HERE), heap_error(c, d.there, SIDE_THERE));
    return d.here - d.there - 2 * error >= total_of(b, SIDE_HERE) * rule->percent / 100 &&
           d.here >= 1.5 * d.there;
}

/* {0} hosts and verb, {1} bytes, {2} function, {3} other hosts, {4} their bytes, {5} both totals. */
int words_sides_heap(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    char here[WORDS_ARGUMENT], there[WORDS_ARGUMENT];
    struct both b;
    int rc = both_make(&b, c, "inuse_space", "bytes", "inuse_objects");
    struct differing d = {0};
    if (rc == 0 && b.stands)
        d = find_most_more(c, rule, &b, false, is_heap_said);
    if (d.name) {
        said.weight = FIRST + (d.here - d.there) / total_of(&b, SIDE_HERE);
        write_hosts(c, &said, "holds", "hold");
        write_function(c, &said, d.name);
        words_bytes(said.of[1], words_whole(d.here));
        words_bytes(said.of[4], words_whole(d.there));
        words_bytes(here, words_whole(total_of(&b, SIDE_HERE)));
        words_bytes(there, words_whole(total_of(&b, SIDE_THERE)));
        snprintf(said.of[5], sizeof said.of[5], " (of %.40s and %.40s in use)", here, there);
        rc = words_say(c, rule, &said);
    }
    both_release(&b);
    return rc;
}

static bool are_goroutines_said(const struct words_case *c, const struct words_rule *rule,
                                const struct both *b, struct differing d)
{
    double more = d.here - d.there - 2 * sqrt(d.here + d.there);
    (void)c;
    return more >= GOROUTINES && more >= total_of(b, SIDE_HERE) * rule->percent / 100;
}

/* {0} hosts and verb, {1} number, {2} function, {3} other hosts, {4} their number. */
int words_sides_goroutines(struct words_case *c, const struct words_rule *rule)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, "goroutine", "count", "");
    struct differing d = {0};
    if (rc == 0 && b.stands)
        d = find_most_more(c, rule, &b, false, are_goroutines_said);
    if (d.name) {
        said.weight = FIRST + (d.here - d.there) / total_of(&b, SIDE_HERE);
        write_hosts(c, &said, "has", "have");
        write_function(c, &said, d.name);
        words_count(said.of[1], (uint64_t)words_whole(d.here), "goroutine", "goroutines");
        words_count(said.of[4], (uint64_t)words_whole(d.there), "of them", "of them");
        rc = words_say(c, rule, &said);
    }
    both_release(&b);
    return rc;
}

/* {0} hosts and verb, {1} share, {2} function, {3} other hosts, {4} their share, {5} profile. */
static int say_counted(struct words_case *c, const struct words_rule *rule, const char *type,
                       const char *unit, const char *counts, const char *who)
{
    struct words_said said = {.names_host = true};
    struct both b;
    int rc = both_make(&b, c, type, unit, counts);
    /* Compare shares, whether the counters cover a time or the whole process. */
    for (int side = SIDE_HERE; side <= SIDE_THERE && rc == 0 && b.found; side++)
        b.scale[side] = 1 / (double)b.of[side].total;
    struct differing d = {0};
    if (rc == 0 && is_counted(&b))
        d = find_most_more(c, rule, &b, false, is_share_said);
    if (d.name) {
        write_hosts(c, &said, who, who);
        words_tell_delay(c, &said, 5);
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
