/* Rules on CPU profiles. */
#include <stdio.h>

#include "findings/rules.h"
#include "base/banned.h"

/* Profiles with fewer samples give no finding on functions. */
#define SAMPLES 20
/* Less than this part of one core is no problem, whatever its share. */
#define CORES 0.02
/* The least share of a tally with which a sentence names a function. */
#define NAMED 0.1

static uint64_t samples_of(const struct finding_case *c)
{
    return c->all->counts == TALLY_NONE ? c->profile->n_samples : (uint64_t)c->all->objects;
}

/* The number of busy cores; 0 if the profile has no duration. */
static double busy_cores(const struct finding_case *c)
{
    return stats_share(c->all->total, c->profile->duration_ns);
}

static int tally_chosen(struct finding_case *c, const char *const *in, const char *const *out,
                        struct tally *t)
{
    return tally_make(t, c->filter, (struct tally_types){c->all->type, c->all->counts},
                      &(struct tally_choice){in, out}, c->err);
}

static double share_chosen(const struct finding_case *c, const char *const *in, const char *const *out)
{
    return stats_share(tally_sum(c->all, &(struct tally_choice){in, out}), c->all->total);
}

/* Whether a share is significant, and more than a tiny part of a core. */
static bool is_significant(const struct finding_case *c, const struct finding_rule *rule, double share)
{
    bool tiny = c->profile->duration_ns > 0 && share * busy_cores(c) < CORES;
    return !tiny && samples_of(c) >= SAMPLES && stats_above(share, samples_of(c), rule->percent);
}

/* ---- always reported ----------------------------------------------------------------------------------- */

int rule_cpu_idle(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    char percent[SENTENCE_ARGUMENT];
    if (samples_of(c) >= SAMPLES || c->profile->duration_ns <= 0)
        return 0;
    sentence_count(finding.of[0], samples_of(c), "sample", "samples");
    sentence_time(finding.of[1], c->profile->duration_ns);
    sentence_percent(percent, busy_cores(c));
    snprintf(finding.of[2], sizeof finding.of[2], "%s", percent);
    return finding_case_add(c, rule, &finding);
}

/* "CPU was 45 % busy (100 % is one core): " */
static void write_busy(const struct finding_case *c, struct finding_values *finding)
{
    char percent[SENTENCE_ARGUMENT];
    sentence_percent(percent, busy_cores(c));
    finding->weight = busy_cores(c);
    snprintf(finding->of[0], sizeof finding->of[0],
             busy_cores(c) > 0 ? "CPU was %.10s %% busy (100 %% is one core): " : "CPU: ", percent);
}

/* The function outside the runtime with the largest flat, if that reaches the rule's percentage. */
static uint32_t find_hot(const struct finding_case *c, const struct finding_rule *rule)
{
    uint32_t top = tally_top_flat(c->all, FUNCTION_OF_STANDARD);
    double share = top == TALLY_NONE ? 0 : stats_share(c->all->of[top].flat, c->all->total);
    return share * 100 >= rule->percent ? top : TALLY_NONE;
}

/* {0} how busy, {1} and {2} the hottest function, {3} the function that covers half. */
int rule_cpu_hot(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    uint32_t top = find_hot(c, rule);
    if (samples_of(c) < SAMPLES || top == TALLY_NONE)
        return 0;
    write_busy(c, &finding);
    finding.look = profile_str(c->profile, top);
    sentence_name(finding.of[1], finding.look);
    sentence_percent(finding.of[2], stats_share(c->all->of[top].flat, c->all->total));
    sentence_with_calls(finding.of[3], c->all, top);
    return finding_case_add(c, rule, &finding);
}

/* {0} how busy, {1} and {2} the function that covers half, {3} the runtime's own share. */
int rule_cpu_spread(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = 0};
    uint32_t top = tally_top_cum(c->all);
    if (samples_of(c) < SAMPLES || find_hot(c, rule) != TALLY_NONE || top == TALLY_NONE)
        return 0;
    write_busy(c, &finding);
    finding.look = profile_str(c->profile, top);
    sentence_name(finding.of[1], finding.look);
    sentence_percent(finding.of[2], stats_share(c->all->of[top].cum, c->all->total));
    sentence_percent(finding.of[3], stats_share(c->all->in_runtime, c->all->total));
    return finding_case_add(c, rule, &finding);
}

/* ---- suspects ------------------------------------------------------------------------------------------ */

/* Sets {1} and `look` to the program's function that most of the tally is in. */
static void write_own_function(const struct tally *t, struct finding_values *finding)
{
    char name[SENTENCE_ARGUMENT], percent[SENTENCE_ARGUMENT];
    uint32_t top = tally_top_own(t);
    double share = top == TALLY_NONE ? 0 : stats_share(t->of[top].own, t->total);
    if (share < NAMED)
        return;
    finding->look = profile_str(t->profile, top);
    sentence_name(name, finding->look);
    sentence_percent(percent, share);
    snprintf(finding->of[1], sizeof finding->of[1], ", %.10s %% of that in %.160s", percent, name);
}

/* The function of the list with the largest cum. */
static struct str heaviest_listed(const struct tally *t, const char *const *list)
{
    const struct profile *p = t->profile;
    uint32_t top = TALLY_NONE;
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        if (t->of[name].cum > 0 && functions_listed(profile_str(p, name), list) &&
            (top == TALLY_NONE || t->of[name].cum > t->of[top].cum))
            top = name;
    }
    return top == TALLY_NONE ? STR("") : profile_str(p, top);
}

/* {0} share, {1} the program's function, {2} the heaviest function of the rule's list. */
int rule_cpu_share(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.weight = share_chosen(c, rule->in, rule->out)};
    struct tally t = {0};
    if (!is_significant(c, rule, finding.weight))
        return 0;
    int rc = tally_chosen(c, rule->in, rule->out, &t);
    if (rc == 0) {
        sentence_percent(finding.of[0], finding.weight);
        write_own_function(&t, &finding);
        sentence_name(finding.of[2], heaviest_listed(&t, rule->in));
        rc = finding_case_add(c, rule, &finding);
    }
    tally_release(&t);
    return rc;
}

/* {0} share, {1} the function that allocates most, {2} the share of idle processors. Their time is free, as
 * the collector's own accounting has it. */
int rule_cpu_gc(struct finding_case *c, const struct finding_rule *rule)
{
    struct finding_values finding = {.look = STR("runtime.gcBgMarkWorker")};
    char percent[SENTENCE_ARGUMENT];
    struct tally t = {0};
    double idle = share_chosen(c, functions_idle_workers, NULL);
    finding.weight = share_chosen(c, rule->in, NULL) - idle;
    if (!is_significant(c, rule, finding.weight))
        return 0;
    int rc = tally_chosen(c, functions_allocator, NULL, &t);
    if (rc == 0) {
        uint32_t top = tally_top_own(&t);
        sentence_percent(finding.of[0], finding.weight);
        sentence_percent(percent, idle);
        if (idle >= 0.01)
            snprintf(finding.of[2], sizeof finding.of[2],
                     " and another %.10s %% on processors that were idle", percent);
        if (top != TALLY_NONE) {
            finding.look = profile_str(c->profile, top);
            sentence_name(percent, finding.look);
            snprintf(finding.of[1], sizeof finding.of[1], "; %.160s allocates most", percent);
        }
        rc = finding_case_add(c, rule, &finding);
    }
    tally_release(&t);
    return rc;
}
