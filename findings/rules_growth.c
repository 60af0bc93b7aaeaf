/* Rules on two snapshots of one process: its growth and its activity in between. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* One function is the cause if its growth is at least this part of all growth. */
#define MIN_CAUSE 0.5
/* The smallest leak, in bytes. */
#define MIN_LEAK 1e6
/* Added to the weight of a finding on growth, so that the list has it before the suspects (FINDING_SUSPECT)
 * of a single snapshot. */
#define PRECEDENCE 1.0

/* The tallies of one sample type in both snapshots. */
struct snapshot_pair {
    struct tally tallies[2];
    bool found; /* the snapshots have this sample type */
};

static int snapshot_pair_make(struct snapshot_pair *pair, struct finding_case *c, const char *type,
                              const char *unit, const char *count_type)
{
    const struct growth *g = c->growth;
    size_t at = tally_find_type(g->merged, type, unit),
           count_at = tally_find_type(g->merged, count_type, "count");
    *pair = (struct snapshot_pair){.found = at < g->n_types};
    for (size_t snapshot = GROWTH_BEFORE; snapshot <= GROWTH_NOW && pair->found; snapshot++) {
        size_t count_column = count_at < g->n_types ? snapshot * g->n_types + count_at : TALLY_NONE;
        if (tally_make(&pair->tallies[snapshot], c->filter,
                       (struct tally_types){snapshot * g->n_types + at, count_column},
                       &(struct tally_choice){0}, c->err) < 0)
            return -1;
    }
    return 0;
}

static void snapshot_pair_release(struct snapshot_pair *pair)
{
    tally_release(&pair->tallies[GROWTH_BEFORE]);
    tally_release(&pair->tallies[GROWTH_NOW]);
}

static int64_t get_growth(const struct snapshot_pair *pair, uint32_t name)
{
    return pair->tallies[GROWTH_NOW].by_name[name].own - pair->tallies[GROWTH_BEFORE].by_name[name].own;
}

static int64_t get_object_growth(const struct snapshot_pair *pair, uint32_t name)
{
    int64_t growth =
        pair->tallies[GROWTH_NOW].by_name[name].objects - pair->tallies[GROWTH_BEFORE].by_name[name].objects;
    return growth > 0 ? growth : 0;
}

static int64_t get_total_growth(const struct snapshot_pair *pair)
{
    return pair->tallies[GROWTH_NOW].total - pair->tallies[GROWTH_BEFORE].total;
}

static bool is_profiler(const struct snapshot_pair *pair, uint32_t name)
{
    return pair->tallies[GROWTH_NOW].filter->origins[name] == FUNCTION_OF_PROFILERS;
}

/* Finds the function whose own value has grown most, except the profilers; TALLY_NONE if no value has
 * grown. */
static uint32_t find_most_grown(const struct snapshot_pair *pair)
{
    const struct profile *p = pair->tallies[GROWTH_NOW].profile;
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        int64_t growth = name && !is_profiler(pair, name) ? get_growth(pair, name) : 0,
                most = top == TALLY_NONE ? 0 : get_growth(pair, top);
        if (growth > most || (growth == most && growth > 0 && top != TALLY_NONE && top != name &&
                              str_compare(profile_str(p, name), profile_str(p, top)) < 0))
            top = name;
    }
    return top;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Estimates the standard error of the growth from the bytes that changed, as if every sample stood for the
 * same number of bytes (the sampling rate of the profile). */
static double sampling_error(const struct snapshot_pair *pair)
{
    const struct profile *p = pair->tallies[GROWTH_NOW].profile;
    double changed = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const int64_t *values = p->values + i * p->n_sample_types;
        changed += fabs((double)values[pair->tallies[GROWTH_NOW].value_type] -
                        (double)values[pair->tallies[GROWTH_BEFORE].value_type]);
    }
    return sqrt(changed * stats_heap_rate(p));
}

/* Returns whether `top` leaks. Its growth minus two standard errors must reach MIN_LEAK and also `percent` %
 * of the memory before. Its full growth must be at least MIN_CAUSE of all growth. */
static bool is_leak(const struct snapshot_pair *pair, uint32_t top, double percent)
{
    double growth = top == TALLY_NONE ? 0 : (double)get_growth(pair, top),
           significant = growth - 2 * sampling_error(pair);
    double before = (double)pair->tallies[GROWTH_BEFORE].total;
    return significant >= MIN_LEAK && significant >= before * percent / 100 &&
           growth >= MIN_CAUSE * (double)get_total_growth(pair);
}

/* Writes ", 1.20GB an hour at that rate". */
static void write_rate(const struct finding_case *c, double growth, char dst[SENTENCE_ARGUMENT_SIZE])
{
    char per_hour[SENTENCE_ARGUMENT_SIZE];
    double rate = stats_per_hour(growth, c->growth->between_ns);
    *dst = '\0';
    if (rate <= 0)
        return;
    sentence_bytes(per_hour, stats_to_integer(rate));
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, ", %.40s an hour at that rate", per_hour);
}

/* Writes "within 1m0s", or "between the two snapshots" if the time is unknown. */
static void write_within(const struct finding_case *c, char dst[SENTENCE_ARGUMENT_SIZE])
{
    char time[SENTENCE_ARGUMENT_SIZE];
    sentence_time(time, c->growth->between_ns);
    snprintf(dst, SENTENCE_ARGUMENT_SIZE,
             c->growth->between_ns > 0 ? "within %.40s" : "between the two snapshots", time);
}

int rule_heap_growth(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char before[SENTENCE_ARGUMENT_SIZE], now[SENTENCE_ARGUMENT_SIZE];
    struct snapshot_pair pair;
    int rc = snapshot_pair_make(&pair, c, "inuse_space", "bytes", "inuse_objects");
    uint32_t top = rc == 0 && pair.found ? find_most_grown(&pair) : TALLY_NONE;
    if (top != TALLY_NONE && is_leak(&pair, top, rule->percent)) {
        int64_t growth = get_growth(&pair, top);
        finding.weight = PRECEDENCE + stats_share(growth, pair.tallies[GROWTH_NOW].total);
        finding.look_at = profile_str(c->profile, top);
        sentence_name(finding.arguments[0], finding.look_at);
        sentence_bytes(finding.arguments[1], growth);
        sentence_count(finding.arguments[2], (uint64_t)get_object_growth(&pair, top), "object", "objects");
        write_within(c, finding.arguments[3]);
        write_rate(c, (double)growth, finding.arguments[4]);
        sentence_bytes(before, pair.tallies[GROWTH_BEFORE].total);
        sentence_bytes(now, pair.tallies[GROWTH_NOW].total);
        snprintf(finding.arguments[5], sizeof finding.arguments[5], "%.40s, then %.40s", before, now);
        rc = finding_case_add(c, rule, &finding);
    }
    snapshot_pair_release(&pair);
    return rc;
}

int rule_heap_between(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char name[SENTENCE_ARGUMENT_SIZE], by[SENTENCE_ARGUMENT_SIZE];
    struct snapshot_pair pair;
    int rc = snapshot_pair_make(&pair, c, "inuse_space", "bytes", "inuse_objects");
    uint32_t top = rc == 0 && pair.found ? find_most_grown(&pair) : TALLY_NONE;
    if (rc == 0 && pair.found &&
        (pair.tallies[GROWTH_BEFORE].total > 0 || pair.tallies[GROWTH_NOW].total > 0) &&
        !(top != TALLY_NONE && is_leak(&pair, top, rule->percent))) {
        finding.weight = fabs((double)get_total_growth(&pair));
        sentence_bytes(finding.arguments[0], pair.tallies[GROWTH_BEFORE].total);
        sentence_bytes(finding.arguments[1], pair.tallies[GROWTH_NOW].total);
        write_within(c, finding.arguments[2]);
        if (top != TALLY_NONE) {
            finding.look_at = profile_str(c->profile, top);
            sentence_name(name, finding.look_at);
            sentence_bytes(by, get_growth(&pair, top));
            snprintf(finding.arguments[3], sizeof finding.arguments[3], "; %.160s has grown most, by %.40s",
                     name, by);
        }
        rc = finding_case_add(c, rule, &finding);
    }
    snapshot_pair_release(&pair);
    return rc;
}

/* ---- counters ------------------------------------------------------------------------------------------ */

static int add_counter_finding(struct finding_case *c, const struct finding_rule *rule,
                               struct snapshot_pair *pair,
                               void (*write_amount)(char dst[SENTENCE_ARGUMENT_SIZE], int64_t n))
{
    struct finding_values finding = {.weight = (double)get_total_growth(pair)};
    uint32_t top = find_most_grown(pair);
    char per_second[SENTENCE_ARGUMENT_SIZE];
    if (get_total_growth(pair) <= 0 || top == TALLY_NONE)
        return 0;
    write_amount(finding.arguments[0], get_total_growth(pair));
    write_within(c, finding.arguments[1]);
    write_amount(
        per_second,
        stats_to_integer(stats_per_hour((double)get_total_growth(pair), c->growth->between_ns) / 3600));
    if (c->growth->between_ns > 0)
        snprintf(finding.arguments[2], sizeof finding.arguments[2], ", %.40s a second", per_second);
    finding.look_at = profile_str(c->profile, top);
    sentence_percent(finding.arguments[3],
                     fmin(1, stats_share(get_growth(pair, top), get_total_growth(pair))));
    sentence_name(finding.arguments[4], finding.look_at);
    rules_write_profile_name(c, &finding, 5);
    return finding_case_add(c, rule, &finding);
}

int rule_growth_allocated(struct finding_case *c, const struct finding_rule *rule)
{
    struct snapshot_pair pair;
    int rc = snapshot_pair_make(&pair, c, "alloc_space", "bytes", "alloc_objects");
    if (rc == 0 && pair.found)
        rc = add_counter_finding(c, rule, &pair, sentence_bytes);
    snapshot_pair_release(&pair);
    return rc;
}

int rule_profilers_between(struct finding_case *c, const struct finding_rule *rule)
{
    struct snapshot_pair pair;
    int rc = snapshot_pair_make(&pair, c, "alloc_space", "bytes", "alloc_objects");
    if (rc == 0 && pair.found)
        rc = rules_add_profiler_cost(
            c, rule,
            &(struct profiler_cost){.tally = &pair.tallies[GROWTH_NOW],
                                    .caused = pair.tallies[GROWTH_NOW].profilers -
                                              pair.tallies[GROWTH_BEFORE].profilers,
                                    .total = get_total_growth(&pair),
                                    .total_name = "all that was allocated in between"});
    snapshot_pair_release(&pair);
    return rc;
}

int rule_growth_waited(struct finding_case *c, const struct finding_rule *rule)
{
    struct snapshot_pair pair;
    int rc = snapshot_pair_make(&pair, c, "delay", "nanoseconds", "contentions");
    if (rc == 0 && pair.found)
        rc = add_counter_finding(c, rule, &pair, sentence_time);
    snapshot_pair_release(&pair);
    return rc;
}

int rule_restarted(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = PRECEDENCE};
    snprintf(finding.arguments[0], sizeof finding.arguments[0], "%s", c->restart_evidence);
    return finding_case_add(c, rule, &finding);
}
