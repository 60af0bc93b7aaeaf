/* Rules on two sides: functions with higher values on the target hosts than on the baseline hosts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* With fewer samples on a side, the rules on shares add no finding. */
#define MIN_SAMPLES 20
/* The smallest reported difference of goroutines. */
#define MIN_GOROUTINES 100
/* Added to the weight, so that these findings precede the suspects of one host. */
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

static int side_pair_make(struct side_pair *b, struct finding_case *c, const char *type, const char *unit,
                          const char *counts)
{
    const struct comparison *s = c->comparison;
    size_t at = tally_find_type(s->all, type, unit), counts_at = tally_find_type(s->all, counts, "count");
    *b = (struct side_pair){.found = at < s->n_types};
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE && b->found; side++) {
        size_t column = comparison_column(s, at, (enum comparison_side)side);
        size_t count_column =
            counts_at < s->n_types ? comparison_column(s, counts_at, (enum comparison_side)side) : TALLY_NONE;
        if (tally_make(&b->tallies[side], c->filter, (struct tally_types){column, count_column},
                       &(struct tally_choice){0}, c->err) < 0)
            return -1;
        b->scale[side] = comparison_scale(s, at, (enum comparison_side)side);
    }
    b->found =
        b->found && b->tallies[COMPARISON_TARGET].total > 0 && b->tallies[COMPARISON_BASELINE].total > 0;
    b->is_momentary = b->found && comparison_basis_of(s, at) == COMPARISON_PROCESS;
    return 0;
}

static void side_pair_release(struct side_pair *b)
{
    tally_release(&b->tallies[COMPARISON_TARGET]);
    tally_release(&b->tallies[COMPARISON_BASELINE]);
}

/* ---- the function -------------------------------------------------------------------------------------- */

static struct difference difference_of(const struct side_pair *b, uint32_t name, bool cum)
{
    const struct tally_count *target = &b->tallies[COMPARISON_TARGET].by_name[name],
                             *baseline = &b->tallies[COMPARISON_BASELINE].by_name[name];
    return (struct difference){name, (double)(cum ? target->cum : target->own) * b->scale[COMPARISON_TARGET],
                               (double)(cum ? baseline->cum : baseline->own) * b->scale[COMPARISON_BASELINE]};
}

static bool is_runtime(const struct side_pair *b, uint32_t name)
{
    return b->tallies[COMPARISON_TARGET].filter->origins[name] == FUNCTION_OF_RUNTIME;
}

static struct stats_candidate make_candidate(const struct side_pair *b, struct difference d)
{
    return (struct stats_candidate){is_runtime(b, d.name), d.target,
                                    profile_str(b->tallies[COMPARISON_TARGET].profile, d.name)};
}

/* Whether a difference is large and significant enough to report. */
typedef bool is_reported_fn(const struct finding_case *c, const struct finding_rule *rule,
                            const struct side_pair *b, struct difference d);

/* Finds the function that best explains the higher values of the target hosts, by cum or by own; its name is
 * 0 if no difference is reported. Differences that are not reported are skipped: a callee may differ nearly
 * as much as its caller, and yet not be significant. */
static struct difference find_largest_excess(const struct finding_case *c, const struct finding_rule *rule,
                                             const struct side_pair *b, bool cum, is_reported_fn *is_reported)
{
    const struct profile *p = b->tallies[COMPARISON_TARGET].profile;
    struct difference best = {0};
    double most = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct difference d = difference_of(b, p->functions[i].name, cum);
        if (d.name && is_reported(c, rule, b, d))
            most = fmax(most, d.target - d.baseline);
    }
    for (size_t i = 0; i < p->n_functions && most > 0; i++) {
        struct difference d = difference_of(b, p->functions[i].name, cum);
        if (!d.name || d.target - d.baseline < (cum ? STATS_NEARLY_EQUAL : 1) * most ||
            !is_reported(c, rule, b, d))
            continue;
        struct stats_candidate one = make_candidate(b, d), other = make_candidate(b, best);
        if (!best.name || stats_is_better(&one, &other))
            best = d;
    }
    return best;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* "file-03 spends", "file-03, file-04 spend" */
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
    finding->look = profile_str(c->profile, name);
    sentence_name(finding->arguments[2], finding->look);
}

static double get_count(const struct side_pair *b, enum comparison_side side)
{
    return (double)b->tallies[side].objects;
}

static bool has_enough_samples(const struct side_pair *b)
{
    return b->found && get_count(b, COMPARISON_TARGET) >= MIN_SAMPLES &&
           get_count(b, COMPARISON_BASELINE) >= MIN_SAMPLES;
}

/* Whether two shares differ by the rule's percentage after subtracting two standard errors. */
static bool is_share_reported(const struct finding_case *c, const struct finding_rule *rule,
                              const struct side_pair *b, struct difference d)
{
    double error = hypot(stats_standard_error(d.target, get_count(b, COMPARISON_TARGET)),
                         stats_standard_error(d.baseline, get_count(b, COMPARISON_BASELINE)));
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

/* Writes "; CPU was 390 % and 110 % busy", the mean of each side's processes. */
static void write_busy(const struct finding_case *c, const struct side_pair *b,
                       char dst[SENTENCE_ARGUMENT_SIZE])
{
    char target[SENTENCE_ARGUMENT_SIZE], baseline[SENTENCE_ARGUMENT_SIZE];
    const struct comparison_profiles *of = c->comparison->sides;
    *dst = '\0';
    if (of[COMPARISON_TARGET].duration_ns <= 0 || of[COMPARISON_BASELINE].duration_ns <= 0)
        return;
    sentence_percent(target,
                     stats_share(b->tallies[COMPARISON_TARGET].total, of[COMPARISON_TARGET].duration_ns));
    sentence_percent(baseline,
                     stats_share(b->tallies[COMPARISON_BASELINE].total, of[COMPARISON_BASELINE].duration_ns));
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, "; CPU was %.10s %% and %.10s %% busy (100 %% is one core)", target,
             baseline);
}

/* ---- the rules ----------------------------------------------------------------------------------------- */

int rule_comparison_cpu(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "cpu", "nanoseconds", "samples");
    struct difference d = {0};
    if (rc == 0 && has_enough_samples(&b))
        d = find_largest_excess(c, rule, &b, true, is_share_reported);
    if (d.name) {
        finding.weight = PRECEDENCE;
        write_hosts(c, &finding, "spends", "spend");
        write_busy(c, &b, finding.arguments[5]);
        rc = add_share_finding(c, rule, &finding, d);
    }
    side_pair_release(&b);
    return rc;
}

int rule_comparison_alike(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "cpu", "nanoseconds", "samples");
    if (rc == 0 && has_enough_samples(&b) &&
        !find_largest_excess(c, rule, &b, true, is_share_reported).name) {
        sentence_name(finding.arguments[0], str_of(c->subject->target));
        sentence_name(finding.arguments[1], str_of(c->subject->baseline));
        snprintf(finding.arguments[2], sizeof finding.arguments[2], "%.0f", rule->percent);
        write_busy(c, &b, finding.arguments[3]);
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

/* Estimates the standard error of sampled bytes: each sample is taken to have the mean size. */
static double heap_error(const struct finding_case *c, double bytes, enum comparison_side side)
{
    return sqrt(bytes * stats_heap_rate(c->profile) / (double)c->comparison->sides[side].n_processes);
}

/* Returns the total of a side per process. */
static double get_total(const struct side_pair *b, enum comparison_side side)
{
    return (double)b->tallies[side].total * b->scale[side];
}

static bool is_heap_reported(const struct finding_case *c, const struct finding_rule *rule,
                             const struct side_pair *b, struct difference d)
{
    double error =
        hypot(heap_error(c, d.target, COMPARISON_TARGET), heap_error(c, d.baseline, COMPARISON_BASELINE));
    return d.target - d.baseline - 2 * error >= get_total(b, COMPARISON_TARGET) * rule->percent / 100 &&
           d.target >= 1.5 * d.baseline;
}

int rule_comparison_heap(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    char target[SENTENCE_ARGUMENT_SIZE], baseline[SENTENCE_ARGUMENT_SIZE];
    struct side_pair b;
    int rc = side_pair_make(&b, c, "inuse_space", "bytes", "inuse_objects");
    struct difference d = {0};
    if (rc == 0 && b.is_momentary)
        d = find_largest_excess(c, rule, &b, false, is_heap_reported);
    if (d.name) {
        finding.weight = PRECEDENCE + (d.target - d.baseline) / get_total(&b, COMPARISON_TARGET);
        write_hosts(c, &finding, "holds", "hold");
        write_function(c, &finding, d.name);
        sentence_bytes(finding.arguments[1], stats_to_integer(d.target));
        sentence_bytes(finding.arguments[4], stats_to_integer(d.baseline));
        sentence_bytes(target, stats_to_integer(get_total(&b, COMPARISON_TARGET)));
        sentence_bytes(baseline, stats_to_integer(get_total(&b, COMPARISON_BASELINE)));
        snprintf(finding.arguments[5], sizeof finding.arguments[5], "%.40s and %.40s", target, baseline);
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

static bool are_goroutines_reported(const struct finding_case *c, const struct finding_rule *rule,
                                    const struct side_pair *b, struct difference d)
{
    double more = d.target - d.baseline - 2 * sqrt(d.target + d.baseline);
    (void)c;
    return more >= MIN_GOROUTINES && more >= get_total(b, COMPARISON_TARGET) * rule->percent / 100;
}

int rule_comparison_goroutines(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, "goroutine", "count", "");
    struct difference d = {0};
    if (rc == 0 && b.is_momentary)
        d = find_largest_excess(c, rule, &b, false, are_goroutines_reported);
    if (d.name) {
        finding.weight = PRECEDENCE + (d.target - d.baseline) / get_total(&b, COMPARISON_TARGET);
        write_hosts(c, &finding, "has", "have");
        write_function(c, &finding, d.name);
        sentence_count(finding.arguments[1], (uint64_t)stats_to_integer(d.target), "goroutine", "goroutines");
        sentence_count(finding.arguments[4], (uint64_t)stats_to_integer(d.baseline), "of them", "of them");
        rc = finding_case_add(c, rule, &finding);
    }
    side_pair_release(&b);
    return rc;
}

/* A counter of a process: its sample type and unit, the sample type of its events, and the verb of the
 * sentence. */
struct counter {
    const char *type, *unit, *counts, *verb;
};

static int add_counter_finding(struct finding_case *c, const struct finding_rule *rule,
                               const struct counter *of)
{
    struct finding_values finding = {.names_host = true};
    struct side_pair b;
    int rc = side_pair_make(&b, c, of->type, of->unit, of->counts);
    /* Compare shares even if the basis of the comparison is the amount per second. */
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE && rc == 0 && b.found; side++)
        b.scale[side] = 1 / (double)b.tallies[side].total;
    struct difference d = {0};
    if (rc == 0 && has_enough_samples(&b))
        d = find_largest_excess(c, rule, &b, false, is_share_reported);
    if (d.name) {
        write_hosts(c, &finding, of->verb, of->verb);
        rules_write_profile_name(c, &finding, 5);
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
