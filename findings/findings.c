#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

/* findings_finish drops a suspect only if at most this number of facts remain. */
#define MIN_FACTS 4
/* A merged sentence names at most this many other services. */
#define MAX_SERVICES 3

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

/* ---- order --------------------------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_same_service(const struct finding *a, const struct finding *b)
{
    return is_same_text(a->host, b->host) && is_same_text(a->service, b->service);
}

static bool is_same_rule_and_key(const struct finding *a, const struct finding *b)
{
    return a->rule == b->rule && a->duplicate_key == b->duplicate_key;
}

static bool is_suspect(const struct finding *f)
{
    return f->rule->severity == FINDING_SUSPECT;
}

/* Orders by weight, the heaviest first, then by rule, host and service, so that the order is always the same.
 */
static int compare_weights(const struct finding *a, const struct finding *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->rule != b->rule) /* by the order of the table */
        return a->rule < b->rule ? -1 : 1;
    int order = strcmp(a->host ? a->host : "", b->host ? b->host : "");
    return order ? order : strcmp(a->service ? a->service : "", b->service ? b->service : "");
}

/* Orders suspects by weight, then facts by rule. */
static int compare_findings(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    if (is_suspect(a) != is_suspect(b))
        return is_suspect(a) ? -1 : 1;
    if (!is_suspect(a) && a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    return compare_weights(a, b);
}

static void drop_finding(struct findings *findings, size_t at)
{
    finding_release(&findings->items[at]);
    memmove(&findings->items[at], &findings->items[at + 1], (findings->n - at - 1) * sizeof *findings->items);
    findings->n--;
}

/* Keeps one of several findings with the same rule, key and service: a service can have two dumps of
 * goroutines in two forms. Without a host, findings count as on the same service only if they are on the
 * same file. */
static void drop_duplicates(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        for (size_t j = findings->n; j-- > i + 1;) {
            struct finding *a = &findings->items[i], *b = &findings->items[j];
            if (!is_same_rule_and_key(a, b) || !is_same_service(a, b) ||
                (!a->host && !is_same_text(a->file, b->file)))
                continue;
            if (b->detail > a->detail || (b->detail == a->detail && b->weight > a->weight)) {
                struct finding other = *a;
                *a = *b;
                *b = other;
            }
            drop_finding(findings, j);
        }
}

/* Appends "file-03 gitaly". */
static void add_service_name(const struct finding *finding, bool with_host, struct buf *to)
{
    const char *host = finding->host && with_host ? finding->host : "";
    buf_addf(to, "%s%s%s", host, *host && finding->service ? " " : "",
             finding->service ? finding->service : "");
}

/* Adds `before` and `after` to a finding's text. */
static int extend_text(struct finding *finding, const char *before, const char *after, struct err *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", before, finding->text, after) < 0)
        return err_nomem(err);
    free(finding->text);
    finding->text = text;
    return 0;
}

/* Merges the findings of the same rule on the same function of other services into the finding `at`, and
 * names these services. */
static int merge_others(struct findings *findings, size_t at, struct err *err)
{
    struct buf others = BUF_INIT(4096);
    size_t n = 0;
    for (size_t j = at + 1; j < findings->n;) {
        const struct finding *a = &findings->items[at], *b = &findings->items[j];
        if (!is_same_rule_and_key(a, b) || !a->look_at || !is_same_text(a->look_at, b->look_at) ||
            is_same_service(a, b)) {
            j++;
            continue;
        }
        if (n++ < MAX_SERVICES) {
            buf_adds(&others, n == 1 ? " (likewise " : ", ");
            add_service_name(b, true, &others);
        }
        drop_finding(findings, j);
    }
    if (n > MAX_SERVICES)
        buf_addf(&others, " and %zu more", n - MAX_SERVICES);
    buf_adds(&others, n > 0 ? ")" : "");
    int rc = buf_check(&others, "the list of services with the same finding", err);
    if (rc == 0 && n > 0)
        rc = extend_text(&findings->items[at], "", buf_str(&others), err);
    buf_release(&others);
    return rc;
}

/* Returns the finding to drop: the last fact that is not the first of its rule; else, if at most MIN_FACTS
 * facts are left, the lightest suspect; else the last finding. */
static size_t find_least_important(const struct findings *findings)
{
    size_t suspects = 0;
    while (suspects < findings->n && is_suspect(&findings->items[suspects]))
        suspects++;
    for (size_t i = findings->n; i-- > suspects + 1;)
        if (findings->items[i].rule == findings->items[i - 1].rule)
            return i;
    return suspects > 0 && findings->n - suspects <= MIN_FACTS ? suspects - 1 : findings->n - 1;
}

/* If there are several services, begins each sentence with its host and service. */
static int name_services(struct findings *findings, struct err *err)
{
    bool several = false;
    int rc = 0;
    for (size_t i = 1; i < findings->n; i++)
        several = several || !is_same_service(&findings->items[0], &findings->items[i]);
    for (size_t i = 0; several && i < findings->n && rc == 0; i++) {
        struct buf prefix = BUF_INIT(4096);
        add_service_name(&findings->items[i], !findings->items[i].names_host, &prefix);
        buf_adds(&prefix, prefix.len ? ": " : "");
        rc = buf_check(&prefix, "a sentence", err);
        if (rc == 0)
            rc = extend_text(&findings->items[i], buf_str(&prefix), "", err);
        buf_release(&prefix);
    }
    return rc;
}

int findings_finish(struct findings *findings, struct err *err)
{
    int rc = 0;
    if (findings->n == 0)
        return 0;
    drop_duplicates(findings);
    qsort(findings->items, findings->n, sizeof *findings->items, compare_findings);
    /* Before merge_others, which drops the findings of the services that it names. */
    rc = name_services(findings, err);
    for (size_t i = 0; i < findings->n && rc == 0; i++)
        rc = merge_others(findings, i, err);
    while (findings->n > FINDINGS_MAX)
        drop_finding(findings, find_least_important(findings));
    return rc;
}
