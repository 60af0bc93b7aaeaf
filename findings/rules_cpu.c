/* Rules on CPU profiles. */
#include <stdio.h>

#include "findings/rules.h"
#include "base/banned.h"

/* A profile with fewer samples gives no finding on functions. */
#define MIN_SAMPLES 20
/* Less CPU time than this part of one core is no problem, even if its share is large. */
#define MIN_CORES 0.02
/* A function with a smaller share of a tally is not named. */
#define MIN_NAMED_SHARE 0.1

static uint64_t get_n_samples(const struct finding_case *c)
{
    return c->all->count_type == TALLY_NONE ? c->profile->n_samples : (uint64_t)c->all->objects;
}

/* Returns the number of busy cores; 0 if the profile has no duration. */
static double get_busy_cores(const struct finding_case *c)
{
    return stats_share(c->all->total, c->profile->duration_ns);
}

static int make_tally(struct finding_case *c, const char *const *in, const char *const *out,
                      struct tally *tally)
{
    return tally_make(tally, c->filter, (struct tally_types){c->all->value_type, c->all->count_type},
                      &(struct tally_choice){in, out}, c->err);
}

static double get_share(const struct finding_case *c, const char *const *in, const char *const *out)
{
    return stats_share(tally_sum(c->all, &(struct tally_choice){in, out}), c->all->total);
}

/* Returns whether a share of the CPU time is significantly above the rule's percentage, and keeps at least
 * MIN_CORES cores busy. */
static bool is_significant(const struct finding_case *c, const struct finding_rule *rule, double share)
{
    bool is_tiny = c->profile->duration_ns > 0 && share * get_busy_cores(c) < MIN_CORES;
    return !is_tiny && get_n_samples(c) >= MIN_SAMPLES &&
           stats_is_above(share, get_n_samples(c), rule->percent);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

int rule_cpu_idle(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char percent[SENTENCE_ARGUMENT_SIZE];
    if (get_n_samples(c) >= MIN_SAMPLES || c->profile->duration_ns <= 0)
        return 0;
    sentence_count(finding.arguments[0], get_n_samples(c), "sample", "samples");
    sentence_time(finding.arguments[1], c->profile->duration_ns);
    sentence_percent(percent, get_busy_cores(c));
    snprintf(finding.arguments[2], sizeof finding.arguments[2], "%s", percent);
    return finding_case_add(c, rule, &finding);
}

/* Writes "CPU was 45 % busy (100 % is one core)". */
static void write_busy(const struct finding_case *c, struct finding_values *finding)
{
    char percent[SENTENCE_ARGUMENT_SIZE];
    sentence_percent(percent, get_busy_cores(c));
    finding->weight = get_busy_cores(c);
    snprintf(finding->arguments[0], sizeof finding->arguments[0],
             get_busy_cores(c) > 0 ? "CPU was %.10s %% busy (100 %% is one core)" : "CPU", percent);
}

/* Returns the function outside the runtime with the largest flat, or TALLY_NONE if this flat is below the
 * rule's percentage. */
static uint32_t find_hot(const struct finding_case *c, const struct finding_rule *rule)
{
    uint32_t top = tally_top_flat(c->all, FUNCTION_OF_STANDARD);
    double share = top == TALLY_NONE ? 0 : stats_share(c->all->by_name[top].flat, c->all->total);
    return share * 100 >= rule->percent ? top : TALLY_NONE;
}

int rule_cpu_hot(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    uint32_t top = find_hot(c, rule);
    if (get_n_samples(c) < MIN_SAMPLES || top == TALLY_NONE)
        return 0;
    write_busy(c, &finding);
    finding.look_at = profile_str(c->profile, top);
    sentence_name(finding.arguments[1], finding.look_at);
    sentence_percent(finding.arguments[2], stats_share(c->all->by_name[top].flat, c->all->total));
    sentence_top_cum(finding.arguments[3], c->all, top);
    return finding_case_add(c, rule, &finding);
}

int rule_cpu_spread(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    uint32_t top = tally_top_cum(c->all);
    if (get_n_samples(c) < MIN_SAMPLES || find_hot(c, rule) != TALLY_NONE || top == TALLY_NONE)
        return 0;
    write_busy(c, &finding);
    finding.look_at = profile_str(c->profile, top);
    sentence_name(finding.arguments[1], finding.look_at);
    sentence_percent(finding.arguments[2], stats_share(c->all->by_name[top].cum, c->all->total));
    sentence_percent(finding.arguments[3], stats_share(c->all->in_runtime, c->all->total));
    return finding_case_add(c, rule, &finding);
}

/* ---- suspects ------------------------------------------------------------------------------------------ */

/* Sets {1} and `look_at` to the function with the largest own. */
static void write_own_function(const struct tally *tally, struct finding_values *finding)
{
    char name[SENTENCE_ARGUMENT_SIZE], percent[SENTENCE_ARGUMENT_SIZE];
    uint32_t top = tally_top_own(tally);
    double share = top == TALLY_NONE ? 0 : stats_share(tally->by_name[top].own, tally->total);
    if (share < MIN_NAMED_SHARE)
        return;
    finding->look_at = profile_str(tally->profile, top);
    sentence_name(name, finding->look_at);
    sentence_percent(percent, share);
    snprintf(finding->arguments[1], sizeof finding->arguments[1], ", %.10s %% of that in %.160s", percent,
             name);
}

/* Returns the function of the list with the largest cum. */
static struct str find_heaviest_listed(const struct tally *tally, const char *const *list)
{
    const struct profile *p = tally->profile;
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        if (tally->by_name[name].cum > 0 && functions_is_listed(profile_str(p, name), list) &&
            (top == TALLY_NONE || tally->by_name[name].cum > tally->by_name[top].cum))
            top = name;
    }
    return top == TALLY_NONE ? STR("") : profile_str(p, top);
}

int rule_cpu_share(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = get_share(c, rule->in, rule->out)};
    struct tally t = {0};
    if (!is_significant(c, rule, finding.weight))
        return 0;
    int rc = make_tally(c, rule->in, rule->out, &t);
    if (rc == 0) {
        sentence_percent(finding.arguments[0], finding.weight);
        write_own_function(&t, &finding);
        sentence_name(finding.arguments[2], find_heaviest_listed(&t, rule->in));
        rc = finding_case_add(c, rule, &finding);
    }
    tally_release(&t);
    return rc;
}

/* The sentence gives the share of garbage collection on idle processors separately, because that collection
 * takes no time from the program. */
int rule_cpu_gc(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.look_at = STR("runtime.gcBgMarkWorker")};
    char percent[SENTENCE_ARGUMENT_SIZE];
    struct tally t = {0};
    double idle = get_share(c, functions_idle_gc, NULL);
    finding.weight = get_share(c, rule->in, NULL) - idle;
    if (!is_significant(c, rule, finding.weight))
        return 0;
    int rc = make_tally(c, functions_allocator, NULL, &t);
    if (rc == 0) {
        uint32_t top = tally_top_own(&t);
        sentence_percent(finding.arguments[0], finding.weight);
        sentence_percent(percent, idle);
        if (idle >= 0.01)
            snprintf(finding.arguments[2], sizeof finding.arguments[2],
                     " and another %.10s %% on processors that were idle", percent);
        if (top != TALLY_NONE) {
            finding.look_at = profile_str(c->profile, top);
            sentence_name(percent, finding.look_at);
            snprintf(finding.arguments[1], sizeof finding.arguments[1], "; %.160s allocates most", percent);
        }
        rc = finding_case_add(c, rule, &finding);
    }
    tally_release(&t);
    return rc;
}
