#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

/* ---- subjects ------------------------------------------------------------------------------------------ */

static enum finding_topic find_topic(const struct profile *profile, const struct finding_subject *s)
{
    if (tally_find_type(profile, "inuse_space", "bytes") != TALLY_NONE)
        return FINDING_TOPIC_HEAP;
    if (tally_find_type(profile, "cpu", "nanoseconds") != TALLY_NONE)
        return FINDING_TOPIC_CPU;
    return tally_find_type(profile, "delay", "nanoseconds") != TALLY_NONE ? rules_get_delay_topic(s)
                                                                          : FINDING_TOPIC_NONE;
}

static int apply_rules(struct finding_case *c)
{
    size_t n;
    const struct finding_rule *rules = rules_table(&n);
    return finding_case_apply(c, rules, n);
}

/* Matches the samples with the lists of all rules on the topic. */
static int match_lists(struct stack_filter *filter, const struct profile *profile, enum finding_topic topic,
                       struct err *err)
{
    const char *const *lists[2 * STACK_FILTER_LISTS];
    size_t n_rules, n = 0;
    const struct finding_rule *rules = rules_table(&n_rules);
    for (size_t i = 0; i < n_rules && n + 2 <= sizeof lists / sizeof *lists; i++) {
        if (rules[i].topic != topic)
            continue;
        lists[n++] = rules[i].in;
        lists[n++] = rules[i].out;
    }
    return stack_filter_init(filter, profile, lists, n, err);
}

/* Counts every sample of CPU time or of delays. */
static int tally_all(const struct finding_case *c, struct tally *ret)
{
    const struct profile *p = c->profile;
    bool is_cpu = c->topic == FINDING_TOPIC_CPU;
    return tally_make(ret, c->filter,
                      (struct tally_types){tally_find_type(p, is_cpu ? "cpu" : "delay", "nanoseconds"),
                                           tally_find_type(p, is_cpu ? "samples" : "contentions", "count")},
                      &(struct tally_choice){0}, c->err);
}

int findings_add_profile(struct findings *findings, const struct profile *profile,
                         const struct finding_subject *subject, struct err *err)
{
    struct stack_filter filter = {0};
    struct tally all = {0};
    struct finding_case c = {.findings = findings,
                             .subject = subject,
                             .topic = find_topic(profile, subject),
                             .profile = profile,
                             .filter = &filter,
                             .err = err};
    if (c.topic == FINDING_TOPIC_NONE)
        return 0;
    int rc = match_lists(&filter, profile, c.topic, err);
    if (rc == 0 && c.topic != FINDING_TOPIC_HEAP) {
        rc = tally_all(&c, &all);
        c.all = &all;
    }
    if (rc == 0)
        rc = apply_rules(&c);
    tally_release(&all);
    stack_filter_release(&filter);
    return rc;
}

int findings_add_goroutines(struct findings *findings, const struct goroutines *goroutines,
                            const struct finding_subject *subject, struct err *err)
{
    return apply_rules(&(struct finding_case){.findings = findings,
                                              .subject = subject,
                                              .topic = FINDING_TOPIC_GOROUTINES,
                                              .goroutines = goroutines,
                                              .err = err});
}

int findings_add_comparison(struct findings *findings, const struct comparison *comparison,
                            const struct finding_subject *subject, struct err *err)
{
    struct stack_filter filter = {0};
    struct finding_case c = {.findings = findings,
                             .subject = subject,
                             .topic = FINDING_TOPIC_COMPARISON,
                             .comparison = comparison,
                             .profile = comparison->all,
                             .filter = &filter,
                             .err = err};
    if (!comparison_has_both(comparison))
        return 0;
    int rc = stack_filter_init(&filter, comparison->all, NULL, 0, err);
    if (rc == 0)
        rc = apply_rules(&c);
    stack_filter_release(&filter);
    return rc;
}

int findings_add_growth(struct findings *findings, const struct growth *growth,
                        const struct finding_subject *subject, struct err *err)
{
    struct stack_filter filter = {0};
    struct finding_case c = {.findings = findings,
                             .subject = subject,
                             .topic = FINDING_TOPIC_GROWTH,
                             .growth = growth,
                             .profile = growth->merged,
                             .filter = &filter,
                             .err = err};
    int rc = stack_filter_init(&filter, growth->merged, NULL, 0, err);
    if (rc == 0)
        rc = apply_rules(&c);
    stack_filter_release(&filter);
    return rc;
}

int findings_add_restart(struct findings *findings, const char *evidence,
                         const struct finding_subject *subject, struct err *err)
{
    return apply_rules(&(struct finding_case){.findings = findings,
                                              .subject = subject,
                                              .topic = FINDING_TOPIC_RESTART,
                                              .restart_evidence = evidence,
                                              .err = err});
}

int findings_add_fleet(struct findings *findings, const struct fleet *fleet,
                       const struct finding_subject *subject, struct err *err)
{
    return apply_rules(&(struct finding_case){
        .findings = findings, .subject = subject, .topic = FINDING_TOPIC_FLEET, .fleet = fleet, .err = err});
}

const struct finding_rule *findings_rule(size_t i)
{
    size_t n;
    const struct finding_rule *rules = rules_table(&n);
    return i < n ? &rules[i] : NULL;
}

const struct finding_rule *findings_find_rule(const char *id)
{
    const struct finding_rule *rule;
    for (size_t i = 0; id && (rule = findings_rule(i)); i++)
        if (strcmp(rule->id, id) == 0)
            return rule;
    return NULL;
}
