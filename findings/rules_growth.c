/* Rules on two snapshots of one process: its growth and its activity in between. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* The least part of all growth that makes one function its cause. */
#define CONCENTRATED 0.5
/* The least growth that is a leak, in bytes. */
#define LEAST 1e6
/* Added to a weight, so that growth precedes the suspects of a single snapshot. */
#define FIRST 1.0

/* One sample type, before and now. */
struct snapshots {
    struct tally of[2];
    bool found;
};

static int snapshots_make(struct snapshots *t, struct finding_case *c, const char *type, const char *unit,
                          const char *counts)
{
    const struct growth *g = c->growth;
    size_t at = tally_type(g->both, type, unit), counts_at = tally_type(g->both, counts, "count");
    *t = (struct snapshots){.found = at < g->n_types};
    for (size_t when = GROWTH_BEFORE; when <= GROWTH_NOW && t->found; when++) {
        size_t beside = counts_at < g->n_types ? when * g->n_types + counts_at : TALLY_NONE;
        if (tally_make(&t->of[when], c->filter, (struct tally_types){when * g->n_types + at, beside},
                       &(struct tally_choice){0}, c->err) < 0)
            return -1;
    }
    return 0;
}

static void snapshots_release(struct snapshots *t)
{
    tally_release(&t->of[GROWTH_BEFORE]);
    tally_release(&t->of[GROWTH_NOW]);
}

static int64_t growth_of(const struct snapshots *t, uint32_t name)
{
    return t->of[GROWTH_NOW].of[name].own - t->of[GROWTH_BEFORE].of[name].own;
}

static int64_t grown_objects(const struct snapshots *t, uint32_t name)
{
    int64_t by = t->of[GROWTH_NOW].of[name].objects - t->of[GROWTH_BEFORE].of[name].objects;
    return by > 0 ? by : 0;
}

static int64_t total_growth(const struct snapshots *t)
{
    return t->of[GROWTH_NOW].total - t->of[GROWTH_BEFORE].total;
}

static bool is_profiler(const struct snapshots *t, uint32_t name)
{
    return t->of[GROWTH_NOW].filter->origins[name] == FUNCTION_OF_PROFILERS;
}

/* The function whose own value has grown most, except the profilers; TALLY_NONE if none has grown. */
static uint32_t most_grown(const struct snapshots *t)
{
    const struct profile *p = t->of[GROWTH_NOW].profile;
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        int64_t by = name && !is_profiler(t, name) ? growth_of(t, name) : 0,
                most = top == TALLY_NONE ? 0 : growth_of(t, top);
        if (by > most || (by == most && by > 0 && top != TALLY_NONE && top != name &&
                          str_compare(profile_str(p, name), profile_str(p, top)) < 0))
            top = name;
    }
    return top;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The standard error that sampling causes, as if every change were samples of the usual size. */
static double sampling_error(const struct snapshots *t)
{
    const struct profile *p = t->of[GROWTH_NOW].profile;
    double changed = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const int64_t *values = p->values + i * p->n_sample_types;
        changed += fabs((double)values[t->of[GROWTH_NOW].type] - (double)values[t->of[GROWTH_BEFORE].type]);
    }
    return sqrt(changed * stats_heap_rate(p));
}

/* Whether one function's memory has grown by `percent` of the memory before, and has most of the growth. */
static bool is_leak(const struct snapshots *t, uint32_t top, double percent)
{
    double by = top == TALLY_NONE ? 0 : (double)growth_of(t, top), surely = by - 2 * sampling_error(t);
    double before = (double)t->of[GROWTH_BEFORE].total;
    return surely >= LEAST && surely >= before * percent / 100 &&
           by >= CONCENTRATED * (double)total_growth(t);
}

/* ", 1.20GB an hour at that rate" */
static void write_rate(const struct finding_case *c, double by, char dst[SENTENCE_ARGUMENT])
{
    char hour[SENTENCE_ARGUMENT];
    double rate = stats_per_hour(by, c->growth->between_ns);
    *dst = '\0';
    if (rate <= 0)
        return;
    sentence_bytes(hour, stats_whole(rate));
    snprintf(dst, SENTENCE_ARGUMENT, ", %.40s an hour at that rate", hour);
}

/* "within 1m0s" */
static void write_within(const struct finding_case *c, char dst[SENTENCE_ARGUMENT])
{
    char time[SENTENCE_ARGUMENT];
    sentence_time(time, c->growth->between_ns);
    snprintf(dst, SENTENCE_ARGUMENT, c->growth->between_ns > 0 ? "within %.40s" : "between the two", time);
}

/* {0} function, {1} growth, {2} objects, {3} time, {4} growth in an hour, {5} memory before and now. */
int rule_growth_heap(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char before[SENTENCE_ARGUMENT], now[SENTENCE_ARGUMENT];
    struct snapshots t;
    int rc = snapshots_make(&t, c, "inuse_space", "bytes", "inuse_objects");
    uint32_t top = rc == 0 && t.found ? most_grown(&t) : TALLY_NONE;
    if (top != TALLY_NONE && is_leak(&t, top, rule->percent)) {
        int64_t by = growth_of(&t, top);
        finding.weight = FIRST + stats_share(by, t.of[GROWTH_NOW].total);
        finding.look = profile_str(c->profile, top);
        sentence_name(finding.of[0], finding.look);
        sentence_bytes(finding.of[1], by);
        sentence_count(finding.of[2], (uint64_t)grown_objects(&t, top), "object", "objects");
        write_within(c, finding.of[3]);
        write_rate(c, (double)by, finding.of[4]);
        sentence_bytes(before, t.of[GROWTH_BEFORE].total);
        sentence_bytes(now, t.of[GROWTH_NOW].total);
        snprintf(finding.of[5], sizeof finding.of[5], "%.40s, then %.40s", before, now);
        rc = finding_case_add(c, rule, &finding);
    }
    snapshots_release(&t);
    return rc;
}

/* {0} and {1} memory before and now, {2} time, {3} the function that has grown most. */
int rule_growth_held(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char name[SENTENCE_ARGUMENT], by[SENTENCE_ARGUMENT];
    struct snapshots t;
    int rc = snapshots_make(&t, c, "inuse_space", "bytes", "inuse_objects");
    uint32_t top = rc == 0 && t.found ? most_grown(&t) : TALLY_NONE;
    if (rc == 0 && t.found && (t.of[GROWTH_BEFORE].total > 0 || t.of[GROWTH_NOW].total > 0) &&
        !(top != TALLY_NONE && is_leak(&t, top, rule->percent))) {
        finding.weight = fabs((double)total_growth(&t));
        sentence_bytes(finding.of[0], t.of[GROWTH_BEFORE].total);
        sentence_bytes(finding.of[1], t.of[GROWTH_NOW].total);
        write_within(c, finding.of[2]);
        if (top != TALLY_NONE) {
            finding.look = profile_str(c->profile, top);
            sentence_name(name, finding.look);
            sentence_bytes(by, growth_of(&t, top));
            snprintf(finding.of[3], sizeof finding.of[3], "; most more in %.160s, %.40s", name, by);
        }
        rc = finding_case_add(c, rule, &finding);
    }
    snapshots_release(&t);
    return rc;
}

/* ---- counters ------------------------------------------------------------------------------------------ */

/* {0} amount, {1} time, {2} amount in a second, {3} and {4} the heaviest function, {5} profile. */
static int add_counter_finding(struct finding_case *c, const struct finding_rule *rule, struct snapshots *t,
                               void (*amount)(char dst[SENTENCE_ARGUMENT], int64_t n))
{
    struct finding_values finding = {.weight = (double)total_growth(t)};
    uint32_t top = most_grown(t);
    char second[SENTENCE_ARGUMENT];
    if (total_growth(t) <= 0 || top == TALLY_NONE)
        return 0;
    amount(finding.of[0], total_growth(t));
    write_within(c, finding.of[1]);
    amount(second, stats_whole(stats_per_hour((double)total_growth(t), c->growth->between_ns) / 3600));
    if (c->growth->between_ns > 0)
        snprintf(finding.of[2], sizeof finding.of[2], ", %.40s a second", second);
    finding.look = profile_str(c->profile, top);
    sentence_percent(finding.of[3], fmin(1, stats_share(growth_of(t, top), total_growth(t))));
    sentence_name(finding.of[4], finding.look);
    rules_name_delay(c, &finding, 5);
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
        rc = rules_add_profilers(
            c, rule,
            &(struct rules_profiling){.t = &t.of[GROWTH_NOW],
                                      .caused = t.of[GROWTH_NOW].profilers - t.of[GROWTH_BEFORE].profilers,
                                      .total = total_growth(&t),
                                      .of = "all that was allocated meanwhile"});
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

/* {0} the evidence. */
int rule_restarted(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = FIRST};
    snprintf(finding.of[0], sizeof finding.of[0], "%s", c->restarted);
    return finding_case_add(c, rule, &finding);
}
