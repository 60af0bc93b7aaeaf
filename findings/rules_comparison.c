/* Rules that compare the target hosts with the baseline hosts (--against). They report the functions whose
 * values are higher on the target hosts. One rule reports that no CPU share is higher. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* With fewer samples on a side, the rules on shares add no finding. */
#define MIN_SAMPLES 20
/* The smallest reported difference of goroutines. */
#define MIN_GOROUTINES 100
/* Added to the weight, so that these findings are listed before those on a single profile. */
#define PRECEDENCE 1.0

/* The counts of one sample type on both sides. */
struct side_pair {
    struct tally tallies[2]; /* by enum comparison_side */
    double scale[2];
    bool found;        /* both sides have values of this type */
    bool is_momentary; /* found, and the values are of one moment */
};

/* The scaled values of a function on both sides. */
struct difference {
    uint32_t name;
    double target, baseline;
};

static int side_pair_make(struct side_pair *pair, struct finding_case *c, const char *type, const char *unit,
                          const char *count_type)
{
    const struct comparison *comparison = c->comparison;
    size_t at = tally_find_type(comparison->all, type, unit),
           count_at = tally_find_type(comparison->all, count_type, "count");
    *pair = (struct side_pair){.found = at < comparison->n_types};
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE && pair->found; side++) {
        size_t column = comparison_column(comparison, at, (enum comparison_side)side);
        size_t count_column = count_at < comparison->n_types
                                  ? comparison_column(comparison, count_at, (enum comparison_side)side)
                                  : TALLY_NONE;
        if (tally_make(&pair->tallies[side], c->filter, (struct tally_types){column, count_column},
                       &(struct tally_choice){0}, c->err) < 0)
            return -1;
        pair->scale[side] = comparison_scale(comparison, at, (enum comparison_side)side);
    }
    pair->found = pair->found && pair->tallies[COMPARISON_TARGET].total > 0 &&
                  pair->tallies[COMPARISON_BASELINE].total > 0;
    pair->is_momentary = pair->found && comparison_basis_of(comparison, at) == COMPARISON_PROCESS;
    return 0;
}

static void side_pair_release(struct side_pair *pair)
{
    tally_release(&pair->tallies[COMPARISON_TARGET]);
    tally_release(&pair->tallies[COMPARISON_BASELINE]);
}

/* ---- the function -------------------------------------------------------------------------------------- */

static struct difference difference_of(const struct side_pair *pair, uint32_t name, bool by_cum)
{
    const struct tally_count *target = &pair->tallies[COMPARISON_TARGET].by_name[name],
                             *baseline = &pair->tallies[COMPARISON_BASELINE].by_name[name];
    return (struct difference){
        name, (double)(by_cum ? target->cum : target->own) * pair->scale[COMPARISON_TARGET],
        (double)(by_cum ? baseline->cum : baseline->own) * pair->scale[COMPARISON_BASELINE]};
}

static bool is_runtime(const struct side_pair *pair, uint32_t name)
{
    return pair->tallies[COMPARISON_TARGET].filter->origins[name] == FUNCTION_OF_RUNTIME;
}

static struct stats_candidate make_candidate(const struct side_pair *pair, struct difference d)
{
    return (struct stats_candidate){is_runtime(pair, d.name), d.target,
                                    profile_str(pair->tallies[COMPARISON_TARGET].profile, d.name)};
}

/* Returns whether a difference is large and significant enough to report. */
typedef bool is_large_enough_fn(const struct finding_case *c, const struct finding_rule *rule,
                                const struct side_pair *pair, struct difference d);

/* Finds the function that best explains the higher values of the target hosts, by cum or by own; its name is
 * 0 if there is none. Skips differences that are too small or not significant. Otherwise it could choose an
 * insignificant callee whose difference is nearly as large as its caller's, and then report nothing. */
static struct difference find_largest_excess(const struct finding_case *c, const struct finding_rule *rule,
                                             const struct side_pair *pair, bool by_cum,
                                             is_large_enough_fn *is_large_enough)
{
    const struct profile *p = pair->tallies[COMPARISON_TARGET].profile;
    struct difference best = {0};
    double most = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct difference d = difference_of(pair, p->functions[i].name, by_cum);
        if (d.name && is_large_enough(c, rule, pair, d))
            most = fmax(most, d.target - d.baseline);
    }
    for (size_t i = 0; i < p->n_functions && most > 0; i++) {
        struct difference d = difference_of(pair, p->functions[i].name, by_cum);
        if (!d.name || d.target - d.baseline < (by_cum ? STATS_NEARLY_EQUAL : 1) * most ||
            !is_large_enough(c, rule, pair, d))
            continue;
        struct stats_candidate one = make_candidate(pair, d), other = make_candidate(pair, best);
        if (!best.name || stats_is_better(&one, &other))
            best = d;
    }
    return best;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* Writes "file-03 spends" or "file-03, file-04 spend", and the baseline hosts. */
static void write_hosts(const struct finding_case *c, struct finding_values *finding, const char *one,
                        const char *many)
{
    char target[SENTENCE_ARGUMENT_SIZE];
    sentence_name(target, str_of(c->subject->target));
    snprintf(finding->arguments[0], sizeof finding->arguments[0], "%.160s %s", target,
             c->comparison->sides[COMPARISON_TARGET].n_processes == 1 ? one : many);
    sentence_name(finding->arguments[3], str_of(c->subject->baseline));
}

static void write_function(const struct finding_case *c, struct finding_values *finding, uint32_t name)
{
    finding->look_at = profile_str(c->profile, name);
    sentence_name(finding->arguments[2], finding->look_at);
}

static double get_count(const struct side_pair *pair, enum comparison_side side)
{
    return (double)pair->tallies[side].objects;
}

static bool has_enough_samples(const struct side_pair *pair)
{
    return pair->found && get_count(pair, COMPARISON_TARGET) >= MIN_SAMPLES &&
           get_count(pair, COMPARISON_BASELINE) >= MIN_SAMPLES;
}

/* Returns whether two shares differ by the rule's percentage after subtracting two standard errors. */
static bool is_share_large_enough(const struct finding_case *c, const struct finding_rule *rule,
                                  const struct side_pair *pair, struct difference d)
{
    double error = hypot(stats_standard_error(d.target, get_count(pair, COMPARISON_TARGET)),
                         stats_standard_error(d.baseline, get_count(pair, COMPARISON_BASELINE)));
    (void)c;
    return d.target - d.baseline - 2 * error >= rule->percent / 100;
}

/* Adds a finding with the shares as {1} and {4}. */
static int add_share_finding(struct finding_case *c, const struct finding_rule *rule,
                             struct finding_values *finding, struct difference d)
{
    finding->weight += d.target - d.baseline;
    write_function(c, finding, d.name);
    sentence_percent(finding->arguments[1], d.target);
    sentence_percent(finding->arguments[4], d.baseline);
    return finding_case_add(c, rule, finding);
}

/* Writes "; CPU was 390 % and 110 % busy (100 % is one core)": the mean CPU use of a process on the target
 * side and on the baseline side. Writes nothing if a side has no durations. */
static void write_busy(const struct finding_case *c, const struct side_pair *pair,
                       char dst[SENTENCE_ARGUMENT_SIZE])
{
    char target[SENTENCE_ARGUMENT_SIZE], baseline[SENTENCE_ARGUMENT_SIZE];
    const struct comparison_profiles *sides = c->comparison->sides;
    *dst = '\0';
    if (sides[COMPARISON_TARGET].duration_ns <= 0 || sides[COMPARISON_BASELINE].duration_ns <= 0)
        return;
    sentence_percent(
        target, stats_share(pair->tallies[COMPARISON_TARGET].total, sides[COMPARISON_TARGET].duration_ns));
    sentence_percent(baseline, stats_share(pair->tallies[COMPARISON_BASELINE].total,
                                           sides[COMPARISON_BASELINE].duration_ns));
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, "; CPU was %.10s %% and %.10s %% busy (100 %% is one core)", target,
             baseline);
}

/* ---- the rules ----------------------------------------------------------------------------------------- */

int rule_comparison_cpu(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair pair;
    int rc = side_pair_make(&pair, c, "cpu", "nanoseconds", "samples");
    struct difference d = {0};
    if (rc == 0 && has_enough_samples(&pair))
        d = find_largest_excess(c, rule, &pair, true, is_share_large_enough);
    if (d.name) {
        finding.weight = PRECEDENCE;
        write_hosts(c, &finding, "spends", "spend");
        write_busy(c, &pair, finding.arguments[5]);
        rc = add_share_finding(c, rule, &finding, d);
    }
    side_pair_release(&pair);
    return rc;
}

int rule_comparison_alike(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair pair;
    int rc = side_pair_make(&pair, c, "cpu", "nanoseconds", "samples");
    if (rc == 0 && has_enough_samples(&pair) &&
        !find_largest_excess(c, rule, &pair, true, is_share_large_enough).name) {
        sentence_name(finding.arguments[0], str_of(c->subject->target));
        sentence_name(finding.arguments[1], str_of(c->subject->baseline));
        snprintf(finding.arguments[2], sizeof finding.arguments[2], "%.0f", rule->percent);
        write_busy(c, &pair, finding.arguments[3]);
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&pair);
    return rc;
}

/* Estimates the standard error of a side's heap bytes per process, as if every sample stood for the same
 * number of bytes (the sampling rate of the profile). */
static double heap_error(const struct finding_case *c, double bytes, enum comparison_side side)
{
    return sqrt(bytes * stats_heap_rate(c->profile) / (double)c->comparison->sides[side].n_processes);
}

/* Returns the total of a side per process. */
static double get_total(const struct side_pair *pair, enum comparison_side side)
{
    return (double)pair->tallies[side].total * pair->scale[side];
}

static bool is_heap_large_enough(const struct finding_case *c, const struct finding_rule *rule,
                                 const struct side_pair *pair, struct difference d)
{
    double error =
        hypot(heap_error(c, d.target, COMPARISON_TARGET), heap_error(c, d.baseline, COMPARISON_BASELINE));
    return d.target - d.baseline - 2 * error >= get_total(pair, COMPARISON_TARGET) * rule->percent / 100 &&
           d.target >= 1.5 * d.baseline;
}

int rule_comparison_heap(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    char target[SENTENCE_ARGUMENT_SIZE], baseline[SENTENCE_ARGUMENT_SIZE];
    struct side_pair pair;
    int rc = side_pair_make(&pair, c, "inuse_space", "bytes", "inuse_objects");
    struct difference d = {0};
    if (rc == 0 && pair.is_momentary)
        d = find_largest_excess(c, rule, &pair, false, is_heap_large_enough);
    if (d.name) {
        finding.weight = PRECEDENCE + (d.target - d.baseline) / get_total(&pair, COMPARISON_TARGET);
        write_hosts(c, &finding, "holds", "hold");
        write_function(c, &finding, d.name);
        sentence_bytes(finding.arguments[1], stats_to_integer(d.target));
        sentence_bytes(finding.arguments[4], stats_to_integer(d.baseline));
        sentence_bytes(target, stats_to_integer(get_total(&pair, COMPARISON_TARGET)));
        sentence_bytes(baseline, stats_to_integer(get_total(&pair, COMPARISON_BASELINE)));
        snprintf(finding.arguments[5], sizeof finding.arguments[5], "%.40s and %.40s", target, baseline);
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&pair);
    return rc;
}

static bool are_goroutines_large_enough(const struct finding_case *c, const struct finding_rule *rule,
                                        const struct side_pair *pair, struct difference d)
{
    double more = d.target - d.baseline - 2 * sqrt(d.target + d.baseline);
    (void)c;
    return more >= MIN_GOROUTINES && more >= get_total(pair, COMPARISON_TARGET) * rule->percent / 100;
}

int rule_comparison_goroutines(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair pair;
    int rc = side_pair_make(&pair, c, "goroutine", "count", "");
    struct difference d = {0};
    if (rc == 0 && pair.is_momentary)
        d = find_largest_excess(c, rule, &pair, false, are_goroutines_large_enough);
    if (d.name) {
        finding.weight = PRECEDENCE + (d.target - d.baseline) / get_total(&pair, COMPARISON_TARGET);
        write_hosts(c, &finding, "has", "have");
        write_function(c, &finding, d.name);
        sentence_count(finding.arguments[1], (uint64_t)stats_to_integer(d.target), "goroutine", "goroutines");
        sentence_count(finding.arguments[4], (uint64_t)stats_to_integer(d.baseline), "of them", "of them");
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&pair);
    return rc;
}

/* A total since the process started, such as allocated bytes: its sample type and unit, the sample type that
 * counts its events ("alloc_objects"), and the verb of the sentence. */
struct counter {
    const char *type, *unit, *count_type, *verb;
};

static int add_counter_finding(struct finding_case *c, const struct finding_rule *rule,
                               const struct counter *counter)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair pair;
    int rc = side_pair_make(&pair, c, counter->type, counter->unit, counter->count_type);
    /* Compare shares even if the basis of the comparison is the amount per second. */
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE && rc == 0 && pair.found; side++)
        pair.scale[side] = 1 / (double)pair.tallies[side].total;
    struct difference d = {0};
    if (rc == 0 && has_enough_samples(&pair))
        d = find_largest_excess(c, rule, &pair, false, is_share_large_enough);
    if (d.name) {
        write_hosts(c, &finding, counter->verb, counter->verb);
        rules_write_profile_name(c, &finding, 5);
        rc = add_share_finding(c, rule, &finding, d);
    }
    side_pair_release(&pair);
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
