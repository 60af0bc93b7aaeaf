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
/* Added to the weight, so that growth precedes the suspects of a single snapshot. */
#define PRECEDENCE 1.0

/* The tallies of one value in both snapshots. */
struct snapshots {
    struct tally tallies[2];
    bool found;
};

static int snapshots_make(struct snapshots *t, struct finding_case *c, const char *type, const char *unit,
                          const char *counts)
{
    const struct growth *g = c->growth;
    size_t at = tally_find_type(g->merged, type, unit),
           counts_at = tally_find_type(g->merged, counts, "count");
    *t = (struct snapshots){.found = at < g->n_types};
    for (size_t snapshot = GROWTH_BEFORE; snapshot <= GROWTH_NOW && t->found; snapshot++) {
        size_t count_column = counts_at < g->n_types ? snapshot * g->n_types + counts_at : TALLY_NONE;
        if (tally_make(&t->tallies[snapshot], c->filter,
                       (struct tally_types){snapshot * g->n_types + at, count_column},
                       &(struct tally_choice){0}, c->err) < 0)
            return -1;
    }
    return 0;
}

static void snapshots_release(struct snapshots *t)
{
    tally_release(&t->tallies[GROWTH_BEFORE]);
    tally_release(&t->tallies[GROWTH_NOW]);
}

static int64_t get_growth(const struct snapshots *t, uint32_t name)
{
    return t->tallies[GROWTH_NOW].by_name[name].own - t->tallies[GROWTH_BEFORE].by_name[name].own;
}

static int64_t get_object_growth(const struct snapshots *t, uint32_t name)
{
    int64_t growth =
        t->tallies[GROWTH_NOW].by_name[name].objects - t->tallies[GROWTH_BEFORE].by_name[name].objects;
    return growth > 0 ? growth : 0;
}

static int64_t get_total_growth(const struct snapshots *t)
{
    return t->tallies[GROWTH_NOW].total - t->tallies[GROWTH_BEFORE].total;
}

static bool is_profiler(const struct snapshots *t, uint32_t name)
{
    return t->tallies[GROWTH_NOW].filter->origins[name] == FUNCTION_OF_PROFILERS;
}

/* Finds the function whose own value has grown most, except the profilers; TALLY_NONE if no value has
 * grown. */
static uint32_t find_most_grown(const struct snapshots *t)
{
    const struct profile *p = t->tallies[GROWTH_NOW].profile;
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        int64_t growth = name && !is_profiler(t, name) ? get_growth(t, name) : 0,
                most = top == TALLY_NONE ? 0 : get_growth(t, top);
        if (growth > most || (growth == most && growth > 0 && top != TALLY_NONE && top != name &&
                              str_compare(profile_str(p, name), profile_str(p, top)) < 0))
            top = name;
    }
    return top;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Estimates the standard error of the growth: all changed bytes are taken to come from samples of the mean
 * size. */
static double sampling_error(const struct snapshots *t)
{
    const struct profile *p = t->tallies[GROWTH_NOW].profile;
    double changed = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const int64_t *values = p->values + i * p->n_sample_types;
        changed += fabs((double)values[t->tallies[GROWTH_NOW].value_type] -
                        (double)values[t->tallies[GROWTH_BEFORE].value_type]);
    }
    return sqrt(changed * stats_heap_rate(p));
}

/* Whether the growth of one function, minus two standard errors, is at least MIN_LEAK and `percent` of the
 * memory before, and the growth is at least MIN_CAUSE of all growth. */
static bool is_leak(const struct snapshots *t, uint32_t top, double percent)
{
    double growth = top == TALLY_NONE ? 0 : (double)get_growth(t, top),
           significant = growth - 2 * sampling_error(t);
    double before = (double)t->tallies[GROWTH_BEFORE].total;
    return significant >= MIN_LEAK && significant >= before * percent / 100 &&
           growth >= MIN_CAUSE * (double)get_total_growth(t);
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

/* Writes "within 1m0s". */
static void write_within(const struct finding_case *c, char dst[SENTENCE_ARGUMENT_SIZE])
{
    char time[SENTENCE_ARGUMENT_SIZE];
    sentence_time(time, c->growth->between_ns);
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, c->growth->between_ns > 0 ? "within %.40s" : "between the two",
             time);
}

int rule_growth_heap(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char before[SENTENCE_ARGUMENT_SIZE], now[SENTENCE_ARGUMENT_SIZE];
    struct snapshots t;
    int rc = snapshots_make(&t, c, "inuse_space", "bytes", "inuse_objects");
    uint32_t top = rc == 0 && t.found ? find_most_grown(&t) : TALLY_NONE;
    if (top != TALLY_NONE && is_leak(&t, top, rule->percent)) {
        int64_t growth = get_growth(&t, top);
        finding.weight = PRECEDENCE + stats_share(growth, t.tallies[GROWTH_NOW].total);
        finding.look = profile_str(c->profile, top);
        sentence_name(finding.arguments[0], finding.look);
        sentence_bytes(finding.arguments[1], growth);
        sentence_count(finding.arguments[2], (uint64_t)get_object_growth(&t, top), "object", "objects");
        write_within(c, finding.arguments[3]);
        write_rate(c, (double)growth, finding.arguments[4]);
        sentence_bytes(before, t.tallies[GROWTH_BEFORE].total);
        sentence_bytes(now, t.tallies[GROWTH_NOW].total);
        snprintf(finding.arguments[5], sizeof finding.arguments[5], "%.40s, then %.40s", before, now);
        rc = finding_case_add(c, rule, &finding);
    }
    snapshots_release(&t);
    return rc;
}

int rule_growth_in_use(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char name[SENTENCE_ARGUMENT_SIZE], by[SENTENCE_ARGUMENT_SIZE];
    struct snapshots t;
    int rc = snapshots_make(&t, c, "inuse_space", "bytes", "inuse_objects");
    uint32_t top = rc == 0 && t.found ? find_most_grown(&t) : TALLY_NONE;
    if (rc == 0 && t.found && (t.tallies[GROWTH_BEFORE].total > 0 || t.tallies[GROWTH_NOW].total > 0) &&
        !(top != TALLY_NONE && is_leak(&t, top, rule->percent))) {
        finding.weight = fabs((double)get_total_growth(&t));
        sentence_bytes(finding.arguments[0], t.tallies[GROWTH_BEFORE].total);
        sentence_bytes(finding.arguments[1], t.tallies[GROWTH_NOW].total);
        write_within(c, finding.arguments[2]);
        if (top != TALLY_NONE) {
            finding.look = profile_str(c->profile, top);
            sentence_name(name, finding.look);
            sentence_bytes(by, get_growth(&t, top));
            snprintf(finding.arguments[3], sizeof finding.arguments[3], "; %.160s has grown most, by %.40s",
                     name, by);
        }
        rc = finding_case_add(c, rule, &finding);
    }
    snapshots_release(&t);
    return rc;
}

/* ---- counters ------------------------------------------------------------------------------------------ */

static int add_counter_finding(struct finding_case *c, const struct finding_rule *rule, struct snapshots *t,
                               void (*amount)(char dst[SENTENCE_ARGUMENT_SIZE], int64_t n))
{
    struct finding_values finding = {.weight = (double)get_total_growth(t)};
    uint32_t top = find_most_grown(t);
    char per_second[SENTENCE_ARGUMENT_SIZE];
    if (get_total_growth(t) <= 0 || top == TALLY_NONE)
        return 0;
    amount(finding.arguments[0], get_total_growth(t));
    write_within(c, finding.arguments[1]);
    amount(per_second,
           stats_to_integer(stats_per_hour((double)get_total_growth(t), c->growth->between_ns) / 3600));
    if (c->growth->between_ns > 0)
        snprintf(finding.arguments[2], sizeof finding.arguments[2], ", %.40s a second", per_second);
    finding.look = profile_str(c->profile, top);
    sentence_percent(finding.arguments[3], fmin(1, stats_share(get_growth(t, top), get_total_growth(t))));
    sentence_name(finding.arguments[4], finding.look);
    rules_write_profile_name(c, &finding, 5);
    return finding_case_add(c, rule, &finding);
}

int rule_growth_allocated(struct finding_case *c, const struct finding_rule *rule)
{
    struct snapshots t;
    int rc = snapshots_make(&t, c, "alloc_space", "bytes", "alloc_objects");
    if (rc == 0 && t.found)
        rc = add_counter_finding(c, rule, &t, sentence_bytes);
    snapshots_release(&t);
    return rc;
}

int rule_profilers_between(struct finding_case *c, const struct finding_rule *rule)
{
    struct snapshots t;
    int rc = snapshots_make(&t, c, "alloc_space", "bytes", "alloc_objects");
    if (rc == 0 && t.found)
        rc = rules_add_profiler_cost(
            c, rule,
            &(struct profiler_cost){.tally = &t.tallies[GROWTH_NOW],
                                    .caused =
                                        t.tallies[GROWTH_NOW].profilers - t.tallies[GROWTH_BEFORE].profilers,
                                    .total = get_total_growth(&t),
                                    .total_name = "all that was allocated in between"});
    snapshots_release(&t);
    return rc;
}

int rule_growth_waited(struct finding_case *c, const struct finding_rule *rule)
{
    struct snapshots t;
    int rc = snapshots_make(&t, c, "delay", "nanoseconds", "contentions");
    if (rc == 0 && t.found)
        rc = add_counter_finding(c, rule, &t, sentence_time);
    snapshots_release(&t);
    return rc;
}

int rule_restarted(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = PRECEDENCE};
    snprintf(finding.arguments[0], sizeof finding.arguments[0], "%s", c->restart_evidence);
    return finding_case_add(c, rule, &finding);
}
