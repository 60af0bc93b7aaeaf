/* Rules on two sides: functions with more on the target hosts than on the baseline hosts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
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
    bool stands; /* found, and the values are of one moment */
};

/* A function on both sides, with values in the type's unit. */
struct difference {
    uint32_t name;
    double here, there;
};

static int side_pair_make(struct side_pair *b, struct finding_case *c, const char *type, const char *unit,
                          const char *counts)
{
    const struct comparison *s = c->comparison;
    size_t at = tally_type(s->all, type, unit), counts_at = tally_type(s->all, counts, "count");
    *b = (struct side_pair){.found = at < s->n_types};
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE && b->found; side++) {
        size_t column = comparison_column(s, at, (enum comparison_side)side);
        size_t beside =
            counts_at < s->n_types ? comparison_column(s, counts_at, (enum comparison_side)side) : TALLY_NONE;
        if (tally_make(&b->of[side], c->filter, (struct tally_types){column, beside},
                       &(struct tally_choice){0}, c->err) < 0)
            return -1;
        b->scale[side] = comparison_scale(s, at, (enum comparison_side)side);
    }
    b->found = b->found && b->of[COMPARISON_TARGET].total > 0 && b->of[COMPARISON_BASELINE].total > 0;
    b->stands = b->found && comparison_basis_of(s, at) == COMPARISON_PROCESS;
    return 0;
}

static void side_pair_release(struct side_pair *b)
{
    tally_release(&b->of[COMPARISON_TARGET]);
    tally_release(&b->of[COMPARISON_BASELINE]);
}

/* ---- the function -------------------------------------------------------------------------------------- */

static struct difference difference_of(const struct side_pair *b, uint32_t name, bool cum)
{
    const struct tally_count *here = &b->of[COMPARISON_TARGET].of[name],
                             *there = &b->of[COMPARISON_BASELINE].of[name];
    return (struct difference){name, (double)(cum ? here->cum : here->own) * b->scale[COMPARISON_TARGET],
                               (double)(cum ? there->cum : there->own) * b->scale[COMPARISON_BASELINE]};
}

static bool is_runtime(const struct side_pair *b, uint32_t name)
{
    return b->of[COMPARISON_TARGET].filter->origins[name] == FUNCTION_OF_RUNTIME;
}

static struct stats_candidate make_candidate(const struct side_pair *b, struct difference d)
{
    return (struct stats_candidate){is_runtime(b, d.name), d.here,
                                    profile_str(b->of[COMPARISON_TARGET].profile, d.name)};
}

/* Whether a difference is large and significant enough to report. */
typedef bool is_reported_fn(const struct finding_case *c, const struct finding_rule *rule,
                            const struct side_pair *b, struct difference d);

/* Finds the function that explains most of what the target hosts have more, by cum or by own; without a name
 * if no difference is reported. A caller can be significant although none of its callees is, even if a callee
 * differs nearly as much. */
static struct difference find_most_more(const struct finding_case *c, const struct finding_rule *rule,
                                        const struct side_pair *b, bool cum, is_reported_fn *is_reported)
{
    const struct profile *p = b->of[COMPARISON_TARGET].profile;
    struct difference best = {0};
    double most = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct difference d = difference_of(b, p->functions[i].name, cum);
        if (d.name && is_reported(c, rule, b, d))
            most = fmax(most, d.here - d.there);
    }
    for (size_t i = 0; i < p->n_functions && most > 0; i++) {
        struct difference d = difference_of(b, p->functions[i].name, cum);
        if (!d.name || d.here - d.there < (cum ? STATS_NEARLY : 1) * most || !is_reported(c, rule, b, d))
            continue;
        struct stats_candidate one = make_candidate(b, d), other = make_candidate(b, best);
        if (!best.name || stats_explains_more(&one, &other))
            best = d;
    }
    return best;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* "file-03 spends", "file-03, file-04 spend" */
static void write_hosts(const struct finding_case *c, struct finding_values *finding, const char *one,
                        const char *many)
{
    char here[SENTENCE_ARGUMENT];
    sentence_name(here, str_of(c->subject->target));
    snprintf(finding->of[0], sizeof finding->of[0], "%.160s %s", here,
             c->comparison->of[COMPARISON_TARGET].processes == 1 ? one : many);
    sentence_name(finding->of[3], str_of(c->subject->baseline));
}

static void write_function(const struct finding_case *c, struct finding_values *finding, uint32_t name)
{
    finding->look = profile_str(c->profile, name);
    sentence_name(finding->of[2], finding->look);
}

/* A side's number of samples or events. */
static double count_of(const struct side_pair *b, enum comparison_side side)
{
    return (double)b->of[side].objects;
}

static bool is_counted(const struct side_pair *b)
{
    return b->found && count_of(b, COMPARISON_TARGET) >= SAMPLES &&
           count_of(b, COMPARISON_BASELINE) >= SAMPLES;
}

/* Whether two shares differ after subtracting two standard errors. */
static bool is_share_reported(const struct finding_case *c, const struct finding_rule *rule,
                              const struct side_pair *b, struct difference d)
{
    double error = hypot(stats_error(d.here, count_of(b, COMPARISON_TARGET)),
                         stats_error(d.there, count_of(b, COMPARISON_BASELINE)));
    (void)c;
    return d.here - d.there - 2 * error >= rule->percent / 100;
}

/* Adds a finding with the shares as {1} and {4}. */
static int add_share_finding(struct finding_case *c, const struct finding_rule *rule,
                             struct finding_values *finding, struct difference d)
{
    finding->weight += d.here - d.there;
    write_function(c, finding, d.name);
    sentence_percent(finding->of[1], d.here);
    sentence_percent(finding->of[4], d.there);
    return finding_case_add(c, rule, finding);
}

/* Writes "; CPU was 390 % and 110 % busy", the mean of each side's processes. */
static void write_busy(const struct finding_case *c, const struct side_pair *b, char dst[SENTENCE_ARGUMENT])
{
    char here[SENTENCE_ARGUMENT], there[SENTENCE_ARGUMENT];
    const struct comparison_half *of = c->comparison->of;
    *dst = '\0';
    if (of[COMPARISON_TARGET].duration_ns <= 0 || of[COMPARISON_BASELINE].duration_ns <= 0)
        return;
    sentence_percent(here, stats_share(b->of[COMPARISON_TARGET].total, of[COMPARISON_TARGET].duration_ns));
    sentence_percent(there,
                     stats_share(b->of[COMPARISON_BASELINE].total, of[COMPARISON_BASELINE].duration_ns));
    snprintf(dst, SENTENCE_ARGUMENT, "; CPU was %.10s %% and %.10s %% busy (100 %% is one core)", here,
             there);
}

/* ---- the rules ----------------------------------------------------------------------------------------- */

/* {0} hosts and verb, {1} share, {2} function, {3} other hosts, {4} their share, {5} how busy both are. */
int rule_comparison_cpu(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "cpu", "nanoseconds", "samples");
    struct difference d = {0};
    if (rc == 0 && is_counted(&b))
        d = find_most_more(c, rule, &b, true, is_share_reported);
    if (d.name) {
        finding.weight = FIRST;
        write_hosts(c, &finding, "spends", "spend");
        write_busy(c, &b, finding.of[5]);
        rc = add_share_finding(c, rule, &finding, d);
    }
    side_pair_release(&b);
    return rc;
}

/* {0} and {1} hosts, {2} the smallest difference that is reported, {3} how busy both are. */
int rule_comparison_alike(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "cpu", "nanoseconds", "samples");
    if (rc == 0 && is_counted(&b) && !find_most_more(c, rule, &b, true, is_share_reported).name) {
        sentence_name(finding.of[0], str_of(c->subject->target));
        sentence_name(finding.of[1], str_of(c->subject->baseline));
        snprintf(finding.of[2], sizeof finding.of[2], "%.0f", rule->percent);
        write_busy(c, &b, finding.of[3]);
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

/* The standard error of a sampled amount, as if it were samples of the usual size. */
static double heap_error(const struct finding_case *c, double bytes, enum comparison_side side)
{
    return sqrt(bytes * stats_heap_rate(c->profile) / (double)c->comparison->of[side].processes);
}

/* The total of one process of a side. */
static double total_of(const struct side_pair *b, enum comparison_side side)
{
    return (double)b->of[side].total * b->scale[side];
}

static bool is_heap_reported(const struct finding_case *c, const struct finding_rule *rule,
                             const struct side_pair *b, struct difference d)
{
    double error =
        hypot(heap_error(c, d.here, COMPARISON_TARGET), heap_error(c, d.there, COMPARISON_BASELINE));
    return d.here - d.there - 2 * error >= total_of(b, COMPARISON_TARGET) * rule->percent / 100 &&
           d.here >= 1.5 * d.there;
}

/* {0} hosts and verb, {1} bytes, {2} function, {3} other hosts, {4} their bytes, {5} both totals. */
int rule_comparison_heap(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    char here[SENTENCE_ARGUMENT], there[SENTENCE_ARGUMENT];
    struct side_pair b;
    int rc = side_pair_make(&b, c, "inuse_space", "bytes", "inuse_objects");
    struct difference d = {0};
    if (rc == 0 && b.stands)
        d = find_most_more(c, rule, &b, false, is_heap_reported);
    if (d.name) {
        finding.weight = FIRST + (d.here - d.there) / total_of(&b, COMPARISON_TARGET);
        write_hosts(c, &finding, "holds", "hold");
        write_function(c, &finding, d.name);
        sentence_bytes(finding.of[1], stats_whole(d.here));
        sentence_bytes(finding.of[4], stats_whole(d.there));
        sentence_bytes(here, stats_whole(total_of(&b, COMPARISON_TARGET)));
        sentence_bytes(there, stats_whole(total_of(&b, COMPARISON_BASELINE)));
        snprintf(finding.of[5], sizeof finding.of[5], " (of %.40s and %.40s in use)", here, there);
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

static bool are_goroutines_reported(const struct finding_case *c, const struct finding_rule *rule,
                                    const struct side_pair *b, struct difference d)
{
    double more = d.here - d.there - 2 * sqrt(d.here + d.there);
    (void)c;
    return more >= GOROUTINES && more >= total_of(b, COMPARISON_TARGET) * rule->percent / 100;
}

/* {0} hosts and verb, {1} number, {2} function, {3} other hosts, {4} their number. */
int rule_comparison_goroutines(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "goroutine", "count", "");
    struct difference d = {0};
    if (rc == 0 && b.stands)
        d = find_most_more(c, rule, &b, false, are_goroutines_reported);
    if (d.name) {
        finding.weight = FIRST + (d.here - d.there) / total_of(&b, COMPARISON_TARGET);
        write_hosts(c, &finding, "has", "have");
        write_function(c, &finding, d.name);
        sentence_count(finding.of[1], (uint64_t)stats_whole(d.here), "goroutine", "goroutines");
        sentence_count(finding.of[4], (uint64_t)stats_whole(d.there), "of them", "of them");
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

/* A counter of a process: its sample type and unit, the type of its events, and what the hosts did. */
struct counter {
    const char *type, *unit, *counts, *verb;
};

/* {0} hosts and verb, {1} share, {2} function, {3} other hosts, {4} their share, {5} profile. */
static int add_counter_finding(struct finding_case *c, const struct finding_rule *rule,
                               const struct counter *of)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, of->type, of->unit, of->counts);
    /* Compare shares, whether the counters cover a time or the whole process. */
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE && rc == 0 && b.found; side++)
        b.scale[side] = 1 / (double)b.of[side].total;
    struct difference d = {0};
    if (rc == 0 && is_counted(&b))
        d = find_most_more(c, rule, &b, false, is_share_reported);
    if (d.name) {
        write_hosts(c, &finding, of->verb, of->verb);
        rules_name_delay(c, &finding, 5);
        rc = add_share_finding(c, rule, &finding, d);
    }
    side_pair_release(&b);
    return rc;
}

int rule_comparison_allocated(struct finding_case *c, const struct finding_rule *rule)
{
    return add_counter_finding(c, rule,
                               &(struct counter){"alloc_space", "bytes", "alloc_objects", "allocated"});
}

int rule_comparison_waits(struct finding_case *c, const struct finding_rule *rule)
{
    return add_counter_finding(c, rule, &(struct counter){"delay", "nanoseconds", "contentions", "waited"});
}
