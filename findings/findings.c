/* The list of findings: each rule adds its own, and findings_finish sorts them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

/* The number of findings that are kept for rules other than suspects. */
#define FACTS 4
/* A merged sentence names at most this many other services. */
#define PLACES 3

/* ---- subjects ------------------------------------------------------------------------------------------ */

static enum finding_topic topic_of(const struct profile *p, const struct finding_subject *s)
{
    if (tally_type(p, "inuse_space", "bytes") != TALLY_NONE)
        return FINDING_TOPIC_HEAP;
    if (tally_type(p, "cpu", "nanoseconds") != TALLY_NONE)
        return FINDING_TOPIC_CPU;
    return tally_type(p, "delay", "nanoseconds") != TALLY_NONE ? rules_get_delay_topic(s)
                                                               : FINDING_TOPIC_NONE;
}

static int apply_rules(struct finding_case *c)
{
    size_t n;
    const struct finding_rule *rules = rules_table(&n);
    return finding_case_apply(c, rules, n);
}

/* Matches the lists of all rules on the topic. */
static int match_lists(struct stack_filter *filter, const struct profile *p, enum finding_topic topic,
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
    return stack_filter_init(filter, p, lists, n, err);
}

/* Counts every sample of CPU time or of delays. */
static int tally_all(const struct finding_case *c, struct tally *ret)
{
    const struct profile *p = c->profile;
    bool cpu = c->topic == FINDING_TOPIC_CPU;
    return tally_make(ret, c->filter,
                      (struct tally_types){tally_type(p, cpu ? "cpu" : "delay", "nanoseconds"),
                                           tally_type(p, cpu ? "samples" : "contentions", "count")},
                      &(struct tally_choice){0}, c->err);
}

int findings_add_profile(struct findings *w, const struct profile *p, const struct finding_subject *subject,
                         struct err *err)
{
    struct stack_filter filter = {0};
    struct tally all = {0};
    struct finding_case c = {.findings = w,
                             .subject = subject,
                             .topic = topic_of(p, subject),
                             .profile = p,
                             .filter = &filter,
                             .err = err};
    if (c.topic == FINDING_TOPIC_NONE)
        return 0;
    int rc = match_lists(&filter, p, c.topic, err);
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

int findings_add_goroutines(struct findings *w, const struct goroutines *g,
                            const struct finding_subject *subject, struct err *err)
{
    return apply_rules(&(struct finding_case){
        .findings = w, .subject = subject, .topic = FINDING_TOPIC_GOROUTINES, .goroutines = g, .err = err});
}

int findings_add_comparison(struct findings *w, const struct comparison *s,
                            const struct finding_subject *subject, struct err *err)
{
    struct stack_filter filter = {0};
    struct finding_case c = {.findings = w,
                             .subject = subject,
                             .topic = FINDING_TOPIC_COMPARISON,
                             .comparison = s,
                             .profile = s->all,
                             .filter = &filter,
                             .err = err};
    if (!comparison_has_both(s))
        return 0;
    int rc = stack_filter_init(&filter, s->all, NULL, 0, err);
    if (rc == 0)
        rc = apply_rules(&c);
    stack_filter_release(&filter);
    return rc;
}

int findings_add_growth(struct findings *w, const struct growth *g, const struct finding_subject *subject,
                        struct err *err)
{
    struct stack_filter filter = {0};
    struct finding_case c = {.findings = w,
                             .subject = subject,
                             .topic = FINDING_TOPIC_GROWTH,
                             .growth = g,
                             .profile = g->both,
                             .filter = &filter,
                             .err = err};
    int rc = stack_filter_init(&filter, g->both, NULL, 0, err);
    if (rc == 0)
        rc = apply_rules(&c);
    stack_filter_release(&filter);
    return rc;
}

int findings_add_restart(struct findings *w, const char *why, const struct finding_subject *subject,
                         struct err *err)
{
    return apply_rules(&(struct finding_case){
        .findings = w, .subject = subject, .topic = FINDING_TOPIC_RESTART, .restarted = why, .err = err});
}

int findings_add_fleet(struct findings *w, const struct fleet *h, const struct finding_subject *subject,
                       struct err *err)
{
    return apply_rules(&(struct finding_case){
        .findings = w, .subject = subject, .topic = FINDING_TOPIC_FLEET, .fleet = h, .err = err});
}

const struct finding_rule *findings_rule(size_t i)
{
    size_t n;
    const struct finding_rule *rules = rules_table(&n);
    return i < n ? &rules[i] : NULL;
}

enum finding_input findings_input_of(const char *id)
{
    const struct finding_rule *rule;
    for (size_t i = 0; id && (rule = findings_rule(i)); i++)
        if (strcmp(rule->id, id) == 0)
            return rule->input;
    return FINDING_FROM_ONE;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_service(const struct finding *a, const struct finding *b)
{
    return same_text(a->host, b->host) && same_text(a->service, b->service);
}

static bool same_subject(const struct finding *a, const struct finding *b)
{
    return a->rule == b->rule && a->part == b->part;
}

static bool is_suspect(const struct finding *f)
{
    return f->rule->severity == FINDING_SUSPECT;
}

/* The heavier first, then by name, so that the order is always the same. */
static int compare_weights(const struct finding *a, const struct finding *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->rule != b->rule) /* by the order of the table */
        return a->rule < b->rule ? -1 : 1;
    int order = strcmp(a->host ? a->host : "", b->host ? b->host : "");
    return order ? order : strcmp(a->service ? a->service : "", b->service ? b->service : "");
}

/* Suspects by weight, then the others by rule. */
static int compare_items(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    if (is_suspect(a) != is_suspect(b))
        return is_suspect(a) ? -1 : 1;
    if (!is_suspect(a) && a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    return compare_weights(a, b);
}

static void drop_item(struct findings *w, size_t at)
{
    finding_release(&w->items[at]);
    memmove(&w->items[at], &w->items[at + 1], (w->n - at - 1) * sizeof *w->items);
    w->n--;
}

/* Keeps one of several findings of one rule on one service, such as a dump of goroutines in two forms.
 * Without a host, each file is a service of its own. */
static void drop_duplicates(struct findings *w)
{
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = w->n; j-- > i + 1;) {
            struct finding *a = &w->items[i], *b = &w->items[j];
            if (!same_subject(a, b) || !same_service(a, b) || (!a->host && !same_text(a->file, b->file)))
                continue;
            if (b->detail > a->detail || (b->detail == a->detail && b->weight > a->weight)) {
                struct finding other = *a;
                *a = *b;
                *b = other;
            }
            drop_item(w, j);
        }
}

/* "file-03 gitaly" */
static void add_place(const struct finding *i, bool with_host, struct buf *to)
{
    const char *host = i->host && with_host ? i->host : "";
    buf_addf(to, "%s%s%s", host, *host && i->service ? " " : "", i->service ? i->service : "");
}

/* Puts `before` in front of an item's text and `behind` after it. */
static int extend_text(struct finding *i, const char *before, const char *behind, struct err *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", before, i->text, behind) < 0)
        return err_nomem(err);
    free(i->text);
    i->text = text;
    return 0;
}

/* Merges the same findings on the same function of other services into the item `at`, and names the
 * services. */
static int merge_others(struct findings *w, size_t at, struct err *err)
{
    struct buf others = BUF_INIT(4096);
    size_t n = 0;
    for (size_t j = at + 1; j < w->n;) {
        const struct finding *a = &w->items[at], *b = &w->items[j];
        if (!same_subject(a, b) || !a->look || !same_text(a->look, b->look) || same_service(a, b)) {
            j++;
            continue;
        }
        if (n++ < PLACES) {
            buf_adds(&others, n == 1 ? " (likewise " : ", ");
            add_place(b, true, &others);
        }
        drop_item(w, j);
    }
    if (n > PLACES)
        buf_addf(&others, " and %zu more", n - PLACES);
    buf_adds(&others, n > 0 ? ")" : "");
    int rc = buf_check(&others, "the list of services with the same finding", err);
    if (rc == 0 && n > 0)
        rc = extend_text(&w->items[at], "", buf_str(&others), err);
    buf_release(&others);
    return rc;
}

/* Returns the item to drop: the last one that is not the first of its rule; else, if at most FACTS other
 * findings are left, the lightest suspect; else the last one. */
static size_t find_least(const struct findings *w)
{
    size_t suspects = 0;
    while (suspects < w->n && is_suspect(&w->items[suspects]))
        suspects++;
    for (size_t i = w->n; i-- > suspects + 1;)
        if (w->items[i].rule == w->items[i - 1].rule)
            return i;
    return suspects > 0 && w->n - suspects <= FACTS ? suspects - 1 : w->n - 1;
}

/* Puts the service in front of each sentence if there are several services. */
static int name_places(struct findings *w, struct err *err)
{
    bool several = false;
    int rc = 0;
    for (size_t i = 1; i < w->n; i++)
        several = several || !same_service(&w->items[0], &w->items[i]);
    for (size_t i = 0; several && i < w->n && rc == 0; i++) {
        struct buf place = BUF_INIT(4096);
        add_place(&w->items[i], !w->items[i].names_host, &place);
        buf_adds(&place, place.len ? ": " : "");
        rc = buf_check(&place, "a sentence", err);
        if (rc == 0)
            rc = extend_text(&w->items[i], buf_str(&place), "", err);
        buf_release(&place);
    }
    return rc;
}

int findings_finish(struct findings *w, struct err *err)
{
    int rc = 0;
    if (w->n == 0)
        return 0;
    drop_duplicates(w);
    qsort(w->items, w->n, sizeof *w->items, compare_items);
    /* Name each finding's own place before merge_others appends the other places. */
    rc = name_places(w, err);
    for (size_t i = 0; i < w->n && rc == 0; i++)
        rc = merge_others(w, i, err);
    while (w->n > FINDINGS_MAX)
        drop_item(w, find_least(w));
    return rc;
}
