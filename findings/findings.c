/* The list of findings: each rule adds its own, and findings_finish sorts them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

/* The longest name that is useful for a search. */
#define LOOK_MAX 1024
/* The places that suspects leave to the other findings, if there are that many. */
#define FACTS 4
/* Go's default sampling rate of the heap, for profiles that do not give one. */
#define HEAP_RATE 524288
/* The most other places that a merged sentence names. */
#define PLACES 3

/* ---- arguments ----------------------------------------------------------------------------------------- */

void sentence_percent(char dst[SENTENCE_ARGUMENT], double share)
{
    snprintf(dst, SENTENCE_ARGUMENT, "%.*f", share < 0.0995 ? 1 : 0, share * 100);
}

void sentence_name(char dst[SENTENCE_ARGUMENT], struct str name)
{
    text_printable(dst, SENTENCE_NAME, name.p, name.n);
}

/* The format is that of pprof and the page, so that a reader can compare the numbers. */
void sentence_bytes(char dst[SENTENCE_ARGUMENT], int64_t n)
{
    char text[MEASURE_TEXT];
    measure_label(text, n, STR("bytes"), STR("auto"));
    snprintf(dst, SENTENCE_ARGUMENT, "%s", text);
}

/* "1,234,567 objects" */
void sentence_count(char dst[SENTENCE_ARGUMENT], uint64_t n, const char *one, const char *many)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            dst[at++] = ',';
        dst[at++] = digits[i];
    }
    snprintf(dst + at, SENTENCE_ARGUMENT - at, " %s", n == 1 ? one : many);
}

void sentence_time(char dst[SENTENCE_ARGUMENT], int64_t ns)
{
    if (ns >= 1000000)
        text_duration(dst, SENTENCE_ARGUMENT, ns / 1000000);
    else
        snprintf(dst, SENTENCE_ARGUMENT, "less than 1ms");
}

void sentence_with_calls(char dst[SENTENCE_ARGUMENT], const struct tally *t, uint32_t named)
{
    char name[SENTENCE_ARGUMENT], percent[SENTENCE_ARGUMENT];
    uint32_t top = tally_top_cum(t);
    *dst = '\0';
    if (top == TALLY_NONE || top == named)
        return;
    sentence_name(name, profile_str(t->profile, top));
    sentence_percent(percent, stats_share(t->of[top].cum, t->total));
    snprintf(dst, SENTENCE_ARGUMENT, ", and %.160s with all that it calls %.10s %%", name, percent);
}

bool stats_above(double share, uint64_t n, double percent)
{
    if (n == 0)
        return false;
    return share - 2 * sqrt(share * (1 - share) / (double)n) >= percent / 100;
}

double stats_error(double share, double n)
{
    double p = (share * n + 1) / (n + 2);
    return sqrt(p * (1 - p) / n);
}

double stats_heap_rate(const struct profile *p)
{
    return p->period > 0 ? (double)p->period : HEAP_RATE;
}

int64_t stats_whole(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v > -0x1p63 ? (int64_t)v : INT64_MIN;
}

bool finding_explains_more(const struct finding_candidate *a, const struct finding_candidate *b)
{
    if (a->runtime != b->runtime)
        return !a->runtime;
    return a->covers != b->covers ? a->covers < b->covers : str_compare(a->name, b->name) < 0;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

static char *make_sentence(const struct finding_rule *rule, const struct finding_values *finding)
{
    struct buf b = BUF_INIT(4096);
    for (const char *p = rule->sentence; *p; p++) {
        bool place = p[0] == '{' && p[1] >= '0' && p[1] < '0' + SENTENCE_ARGUMENTS && p[2] == '}';
        if (place)
            buf_adds(&b, finding->of[p[1] - '0']);
        else
            buf_addc(&b, *p);
        p += place ? 2 : 0;
    }
    char *text = b.failed ? NULL : buf_take(&b);
    buf_release(&b);
    return text;
}

static void item_release(struct finding *i)
{
    free(i->text);
    free(i->file);
    free(i->look);
    free(i->host);
    free(i->service);
    *i = (struct finding){0};
}

/* Copies a string, NULL for an empty one. Sets *failed without memory. */
static char *copy_string(struct str s, bool *failed)
{
    char *copy = s.n > 0 ? strndup(s.p, s.n) : NULL;
    *failed = *failed || (s.n > 0 && !copy);
    return copy;
}

/* The unchanged name, by which the page finds it; NULL if it is too long or not printable. */
static char *copy_look(struct str name, bool *failed)
{
    char *copy = name.n < LOOK_MAX ? copy_string(name, failed) : NULL;
    if (copy && (strlen(copy) == name.n && text_is_visible(copy)))
        return copy;
    free(copy);
    return NULL;
}

/* A printable copy of the subject's text, which may come from a host. */
static char *copy_printable(const char *s, bool *failed)
{
    char room[LOOK_MAX];
    return copy_string(str_of(text_printable(room, sizeof room, s ? s : "", s ? strlen(s) : 0)), failed);
}

int finding_case_add(struct finding_case *c, const struct finding_rule *rule,
                     const struct finding_values *finding)
{
    struct findings *w = c->words;
    bool failed = false;
    if (array_reserve((void **)&w->items, &w->cap, w->n + 1, sizeof *w->items, c->err) < 0)
        return -1;
    struct finding i = {.rule = rule->name,
                        .text = make_sentence(rule, finding),
                        .file = copy_printable(c->subject->file, &failed),
                        .look = copy_look(finding->look, &failed),
                        .suspect = rule->suspect,
                        .weight = finding->weight,
                        .host = copy_printable(c->subject->host, &failed),
                        .service = copy_printable(c->subject->service, &failed),
                        .names_host = finding->names_host,
                        .part = finding->part,
                        .detail = finding->detail};
    if (failed || !i.text) {
        item_release(&i);
        return err_nomem(c->err);
    }
    w->items[w->n++] = i;
    return 0;
}

static int apply_rules(struct finding_case *c)
{
    const struct finding_rule *rule;
    for (size_t i = 0; (rule = finding_rule_at(i)); i++)
        if (rule->of == c->of && rule->apply(c, rule) < 0)
            return -1;
    return 0;
}

/* ---- subjects ------------------------------------------------------------------------------------------ */

/* The request's kind decides, or else the file's name. */
enum finding_topic finding_topic_of_delay(const struct finding_subject *s)
{
    const char *kind = s->kind && *s->kind ? s->kind : s->file;
    return kind && strstr(kind, "mutex")   ? FINDING_TOPIC_MUTEX
           : kind && strstr(kind, "block") ? FINDING_TOPIC_BLOCK
                                           : FINDING_TOPIC_NONE;
}

void finding_name_delay(const struct finding_case *c, struct finding_values *finding, size_t argument)
{
    enum finding_topic of = finding_topic_of_delay(c->subject);
    finding->part = (int)of;
    snprintf(finding->of[argument], SENTENCE_ARGUMENT, "%s",
             of == FINDING_TOPIC_MUTEX   ? " (mutex profile)"
             : of == FINDING_TOPIC_BLOCK ? " (block profile)"
                                         : "");
}

static enum finding_topic subject_of(const struct profile *p, const struct finding_subject *s)
{
    if (tally_type(p, "inuse_space", "bytes") != TALLY_NONE)
        return FINDING_TOPIC_HEAP;
    if (tally_type(p, "cpu", "nanoseconds") != TALLY_NONE)
        return FINDING_TOPIC_CPU;
    return tally_type(p, "delay", "nanoseconds") != TALLY_NONE ? finding_topic_of_delay(s)
                                                               : FINDING_TOPIC_NONE;
}

/* Counts the samples for all rules of the subject. */
static int open_case(struct finding_case *c)
{
    const struct profile *p = c->profile;
    bool cpu = c->of == FINDING_TOPIC_CPU;
    if (stack_filter_init(&c->sieve, p, c->of, c->err) < 0)
        return -1;
    if (c->of == FINDING_TOPIC_HEAP)
        return 0;
    return tally_make(&c->all, &c->sieve, tally_type(p, cpu ? "cpu" : "delay", "nanoseconds"),
                      tally_type(p, cpu ? "samples" : "contentions", "count"), &(struct tally_choice){0},
                      c->err);
}

int findings_add_profile(struct findings *w, const struct profile *p, const struct finding_subject *subject,
                         struct err *err)
{
    struct finding_case c = {
        .words = w, .subject = subject, .of = subject_of(p, subject), .profile = p, .err = err};
    if (c.of == FINDING_TOPIC_NONE)
        return 0;
    int rc = open_case(&c);
    if (rc == 0)
        rc = apply_rules(&c);
    tally_release(&c.all);
    stack_filter_release(&c.sieve);
    return rc;
}

int findings_add_goroutines(struct findings *w, const struct goroutines *g,
                            const struct finding_subject *subject, struct err *err)
{
    struct finding_case c = {
        .words = w, .subject = subject, .of = FINDING_TOPIC_GOROUTINES, .goroutines = g, .err = err};
    return apply_rules(&c);
}

static int apply_comparison(struct findings *w, struct finding_case c, enum finding_topic of,
                            const struct finding_subject *subject, const struct profile *p, struct err *err)
{
    c.words = w;
    c.of = of;
    c.subject = subject;
    c.profile = p;
    c.err = err;
    int rc = p ? stack_filter_init(&c.sieve, p, FINDING_TOPIC_NONE, err) : 0;
    if (rc == 0)
        rc = apply_rules(&c);
    stack_filter_release(&c.sieve);
    return rc;
}

int findings_add_comparison(struct findings *w, const struct comparison *s,
                            const struct finding_subject *subject, struct err *err)
{
    if (!comparison_has_both(s))
        return 0;
    return apply_comparison(w, (struct finding_case){.sides = s}, FINDING_TOPIC_COMPARISON, subject, s->all,
                            err);
}

int findings_add_growth(struct findings *w, const struct growth *g, const struct finding_subject *subject,
                        struct err *err)
{
    return apply_comparison(w, (struct finding_case){.growth = g}, FINDING_TOPIC_GROWTH, subject, g->both,
                            err);
}

int findings_add_restart(struct findings *w, const char *why, const struct finding_subject *subject,
                         struct err *err)
{
    return apply_comparison(w, (struct finding_case){.restarted = why}, FINDING_TOPIC_RESTART, subject, NULL,
                            err);
}

int findings_add_fleet(struct findings *w, const struct fleet *h, const struct finding_subject *subject,
                       struct err *err)
{
    return apply_comparison(w, (struct finding_case){.hosts = h}, FINDING_TOPIC_FLEET, subject, NULL, err);
}

enum finding_input finding_input_of(const char *name)
{
    const struct finding_rule *rule;
    for (size_t i = 0; name && (rule = finding_rule_at(i)); i++)
        if (strcmp(rule->name, name) == 0)
            return rule->of == FINDING_TOPIC_COMPARISON ? FINDING_FROM_COMPARISON
                   : rule->of == FINDING_TOPIC_GROWTH || rule->apply == rule_goroutines_grown
                       ? FINDING_FROM_GROWTH
                       : FINDING_FROM_ONE;
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

static size_t rank_of(const struct finding *i)
{
    size_t at = 0;
    while (finding_rule_at(at) && finding_rule_at(at)->name != i->rule)
        at++;
    return at;
}

/* The heavier first, then by name, so that the order is always the same. */
static int compare_weights(const struct finding *a, const struct finding *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    size_t left = rank_of(a), right = rank_of(b);
    if (left != right)
        return left < right ? -1 : 1;
    int order = strcmp(a->host ? a->host : "", b->host ? b->host : "");
    return order ? order : strcmp(a->service ? a->service : "", b->service ? b->service : "");
}

/* Suspects by weight, then the others by rule. */
static int compare_items(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    if (a->suspect != b->suspect)
        return a->suspect ? -1 : 1;
    size_t rank_a = rank_of(a), rank_b = rank_of(b);
    if (!a->suspect && rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    return compare_weights(a, b);
}

static void drop_item(struct findings *w, size_t at)
{
    item_release(&w->items[at]);
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
    int rc = buf_check(&others, "where else it is so", err);
    if (rc == 0 && n > 0)
        rc = extend_text(&w->items[at], "", buf_str(&others), err);
    buf_release(&others);
    return rc;
}

/* The item to drop: the last that is not its rule's first; else the lightest suspect if at most FACTS others
 * are left; else the last. */
static size_t find_least(const struct findings *w)
{
    size_t suspects = 0;
    while (suspects < w->n && w->items[suspects].suspect)
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

void findings_release(struct findings *w)
{
    for (size_t i = 0; i < w->n; i++)
        item_release(&w->items[i]);
    free(w->items);
    *w = (struct findings){0};
}
