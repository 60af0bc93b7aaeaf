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
struct side_pair {
    struct tally of[2];
    double scale[2];
    bool found;  /* both sides have values of this type */
    bool stands; /* found, and the values describe one moment */
};

/* A function on both sides, with values in the type's unit. */
struct difference {
    uint32_t name;
    double here, there;
};

static int side_pair_make(struct side_pair *b, struct words_case *c, const char *type, const char *unit,
                          const char *counts)
{
    const struct sides *s = c->sides;
    size_t at = tally_type(s->all, type, unit), counts_at = tally_type(s->all, counts, "count");
    *b = (struct side_pair){.found = at < s->n_types};
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

static void side_pair_release(struct side_pair *b)
{
    tally_release(&b->of[SIDE_HERE]);
    tally_release(&b->of[SIDE_THERE]);
}

/* ---- the function -------------------------------------------------------------------------------------- */

static struct difference difference_of(const struct side_pair *b, uint32_t name, bool cum)
{
    const struct tally_count *here = &b->of[SIDE_HERE].of[name], *there = &b->of[SIDE_THERE].of[name];
    return (struct difference){name, (double)(cum ? here->cum : here->own) * b->scale[SIDE_HERE],
                               (double)(cum ? there->cum : there->own) * b->scale[SIDE_THERE]};
}

static bool is_runtime(const struct side_pair *b, uint32_t name)
{
    return b->of[SIDE_HERE].sieve->origins[name] == WORDS_RUNTIME;
}

static struct words_candidate make_candidate(const struct side_pair *b, struct difference d)
{
    return (struct words_candidate){is_runtime(b, d.name), d.here,
                                    profile_str(b->of[SIDE_HERE].profile, d.name)};
}

/* Whether a difference is large and significant enough to report. */
typedef bool is_reported_fn(const struct words_case *c, const struct words_rule *rule,
                            const struct side_pair *b, struct difference d);

/* The function to name, of those with more here, by cum or by own. The result has no name if there is none. A
 * caller can be significant although none of its callees is, even if a callee differs nearly as much. */
static struct difference find_most_more(const struct words_case *c, const struct words_rule *rule,
                                        const struct side_pair *b, bool cum, is_reported_fn *is_reported)
{
    const struct profile *p = b->of[SIDE_HERE].profile;
    struct difference best = {0};
    double most = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct difference d = difference_of(b, p->functions[i].name, cum);
        if (d.name && is_reported(c, rule, b, d))
            most = fmax(most, d.here - d.there);
    }
    for (size_t i = 0; i < p->n_functions && most > 0; i++) {
        struct difference d = difference_of(b, p->functions[i].name, cum);
        if (!d.name || d.here - d.there < (cum ? WORDS_NEARLY : 1) * most || !is_reported(c, rule, b, d))
            continue;
        struct words_candidate one = make_candidate(b, d), other = make_candidate(b, best);
        if (!best.name || words_tells_more(&one, &other))
            best = d;
    }
    return best;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* "file-03 spends", "file-03, file-04 spend" */
static void write_hosts(const struct words_case *c, struct words_said *finding, const char *one,
                        const char *many)
{
    char here[WORDS_ARGUMENT];
    words_name(here, str_of(c->subject->here));
    snprintf(finding->of[0], sizeof finding->of[0], "%.160s %s", here,
             c->sides->of[SIDE_HERE].processes == 1 ? one : many);
    words_name(finding->of[3], str_of(c->subject->there));
}

static void write_function(const struct words_case *c, struct words_said *finding, uint32_t name)
{
    finding->look = profile_str(c->profile, name);
    words_name(finding->of[2], finding->look);
}

/* A side's number of samples or events. */
static double count_of(const struct side_pair *b, enum side side)
{
    return (double)b->of[side].objects;
}

static bool is_counted(const struct side_pair *b)
{
    return b->found && count_of(b, SIDE_HERE) >= SAMPLES && count_of(b, SIDE_THERE) >= SAMPLES;
}

/* Whether two shares differ after subtracting two standard errors. */
static bool is_share_reported(const struct words_case *c, const struct words_rule *rule,
                              const struct side_pair *b, struct difference d)
{
    double error =
        hypot(words_error(d.here, count_of(b, SIDE_HERE)), words_error(d.there, count_of(b, SIDE_THERE)));
    (void)c;
    return d.here - d.there - 2 * error >= rule->percent / 100;
}

/* {1} and {4}: shares. */
static int say_shares(struct words_case *c, const struct words_rule *rule, struct words_said *finding,
                      struct difference d)
{
    finding->weight += d.here - d.there;
    write_function(c, finding, d.name);
    words_percent(finding->of[1], d.here);
    words_percent(finding->of[4], d.there);
    return words_say(c, rule, finding);
}

/* Writes "; CPU was 390 % and 110 % busy", the mean of each side's processes. */
static void write_busy(const struct words_case *c, const struct side_pair *b, char dst[WORDS_ARGUMENT])
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
    struct words_said finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "cpu", "nanoseconds", "samples");
    struct difference d = {0};
    if (rc == 0 && is_counted(&b))
        d = find_most_more(c, rule, &b, true, is_share_reported);
    if (d.name) {
        finding.weight = FIRST;
        write_hosts(c, &finding, "spends", "spend");
        write_busy(c, &b, finding.of[5]);
        rc = say_shares(c, rule, &finding, d);
    }
    side_pair_release(&b);
    return rc;
}

/* {0} and {1} hosts, {2} the least difference that is reported, {3} how busy both are. */
int words_sides_alike(struct words_case *c, const struct words_rule *rule)
{
    struct words_said finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "cpu", "nanoseconds", "samples");
    if (rc == 0 && is_counted(&b) && !find_most_more(c, rule, &b, true, is_share_reported).name) {
        words_name(finding.of[0], str_of(c->subject->here));
        words_name(finding.of[1], str_of(c->subject->there));
        snprintf(finding.of[2], sizeof finding.of[2], "%.0f", rule->percent);
        write_busy(c, &b, finding.of[3]);
        rc = words_say(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

/* The standard error of a sampled amount, as if it were samples of the usual size. */
static double heap_error(const struct words_case *c, double bytes, enum side side)
{
    return sqrt(bytes * words_heap_rate(c->profile) / (double)c->sides->of[side].processes);
}

/* The total of one process of a side. */
static double total_of(const struct side_pair *b, enum side side)
{
    return (double)b->of[side].total * b->scale[side];
}

static bool is_heap_reported(const struct words_case *c, const struct words_rule *rule,
                             const struct side_pair *b, struct difference d)
{
    double error = hypot(heap_error(c, d.here, SIDE_HERE), heap_error(c, d.there, SIDE_THERE));
    return d.here - d.there - 2 * error >= total_of(b, SIDE_HERE) * rule->percent / 100 &&
           d.here >= 1.5 * d.there;
}

/* {0} hosts and verb, {1} bytes, {2} function, {3} other hosts, {4} their bytes, {5} both totals. */
int words_sides_heap(struct words_case *c, const struct words_rule *rule)
{
    struct words_said finding = {.names_host = true};
    char here[WORDS_ARGUMENT], there[WORDS_ARGUMENT];
    struct side_pair b;
    int rc = side_pair_make(&b, c, "inuse_space", "bytes", "inuse_objects");
    struct difference d = {0};
    if (rc == 0 && b.stands)
        d = find_most_more(c, rule, &b, false, is_heap_reported);
    if (d.name) {
        finding.weight = FIRST + (d.here - d.there) / total_of(&b, SIDE_HERE);
        write_hosts(c, &finding, "holds", "hold");
        write_function(c, &finding, d.name);
        words_bytes(finding.of[1], words_whole(d.here));
        words_bytes(finding.of[4], words_whole(d.there));
        words_bytes(here, words_whole(total_of(&b, SIDE_HERE)));
        words_bytes(there, words_whole(total_of(&b, SIDE_THERE)));
        snprintf(finding.of[5], sizeof finding.of[5], " (of %.40s and %.40s in use)", here, there);
        rc = words_say(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

static bool are_goroutines_reported(const struct words_case *c, const struct words_rule *rule,
                                    const struct side_pair *b, struct difference d)
{
    double more = d.here - d.there - 2 * sqrt(d.here + d.there);
    (void)c;
    return more >= GOROUTINES && more >= total_of(b, SIDE_HERE) * rule->percent / 100;
}

/* {0} hosts and verb, {1} number, {2} function, {3} other hosts, {4} their number. */
int words_sides_goroutines(struct words_case *c, const struct words_rule *rule)
{
    struct words_said finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "goroutine", "count", "");
    struct difference d = {0};
    if (rc == 0 && b.stands)
        d = find_most_more(c, rule, &b, false, are_goroutines_reported);
    if (d.name) {
        finding.weight = FIRST + (d.here - d.there) / total_of(&b, SIDE_HERE);
        write_hosts(c, &finding, "has", "have");
        write_function(c, &finding, d.name);
        words_count(finding.of[1], (uint64_t)words_whole(d.here), "goroutine", "goroutines");
        words_count(finding.of[4], (uint64_t)words_whole(d.there), "of them", "of them");
        rc = words_say(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

/* {0} hosts and verb, {1} share, {2} function, {3} other hosts, {4} their share, {5} profile. */
static int say_counted(struct words_case *c, const struct words_rule *rule, const char *type,
                       const char *unit, const char *counts, const char *verb)
{
    struct words_said finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, type, unit, counts);
    /* Compare shares, whether the counters cover a time or the whole process. */
    for (int side = SIDE_HERE; side <= SIDE_THERE && rc == 0 && b.found; side++)
        b.scale[side] = 1 / (double)b.of[side].total;
    struct difference d = {0};
    if (rc == 0 && is_counted(&b))
        d = find_most_more(c, rule, &b, false, is_share_reported);
    if (d.name) {
        write_hosts(c, &finding, verb, verb);
        words_tell_delay(c, &finding, 5);
        rc = say_shares(c, rule, &finding, d);
    }
    side_pair_release(&b);
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
