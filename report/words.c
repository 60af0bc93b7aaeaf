/* The list of findings: each rule adds its own, and words_finish sorts them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/words_inside.h"
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

void words_percent(char dst[WORDS_ARGUMENT], double share)
{
    snprintf(dst, WORDS_ARGUMENT, "%.*f", share < 0.0995 ? 1 : 0, share * 100);
}

void words_name(char dst[WORDS_ARGUMENT], struct str name)
{
    text_printable(dst, WORDS_NAME, name.p, name.n);
}

/* The format is that of pprof and the page, so that a reader can compare the numbers. */
void words_bytes(char dst[WORDS_ARGUMENT], int64_t n)
{
    char text[MEASURE_TEXT];
    measure_label(text, n, STR("bytes"), STR("auto"));
    snprintf(dst, WORDS_ARGUMENT, "%s", text);
}

/* "1,234,567 objects" */
void words_count(char dst[WORDS_ARGUMENT], uint64_t n, const char *one, const char *many)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            dst[at++] = ',';
        dst[at++] = digits[i];
    }
    snprintf(dst + at, WORDS_ARGUMENT - at, " %s", n == 1 ? one : many);
}

void words_time(char dst[WORDS_ARGUMENT], int64_t ns)
{
    if (ns >= 1000000)
        text_duration(dst, WORDS_ARGUMENT, ns / 1000000);
    else
        snprintf(dst, WORDS_ARGUMENT, "less than 1ms");
}

void words_with_calls(char dst[WORDS_ARGUMENT], const struct tally *t, uint32_t named)
{
    char name[WORDS_ARGUMENT], percent[WORDS_ARGUMENT];
    uint32_t top = tally_top_cum(t);
    *dst = '\0';
    if (top == TALLY_NONE || top == named)
        return;
    words_name(name, profile_str(t->profile, top));
    words_percent(percent, words_share(t->of[top].cum, t->total));
    snprintf(dst, WORDS_ARGUMENT, ", and %.160s with all that it calls %.10s %%", name, percent);
}

bool words_above(double share, uint64_t n, double percent)
{
    if (n == 0)
        return false;
    return share - 2 * sqrt(share * (1 - share) / (double)n) >= percent / 100;
}

double words_error(double share, double n)
{
    double p = (share * n + 1) / (n + 2);
    return sqrt(p * (1 - p) / n);
}

double words_heap_rate(const struct profile *p)
{
    return p->period > 0 ? (double)p->period : HEAP_RATE;
}

int64_t words_whole(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v > -0x1p63 ? (int64_t)v : INT64_MIN;
}

bool words_tells_more(const struct words_candidate *a, const struct words_candidate *b)
{
    if (a->runtime != b->runtime)
        return !a->runtime;
    return a->covers != b->covers ? a->covers < b->covers : str_compare(a->name, b->name) < 0;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

static char *make_sentence(const struct words_rule *rule, const struct words_said *finding)
{
    struct buf b = BUF_INIT(4096);
    for (const char *p = rule->sentence; *p; p++) {
        bool place = p[0] == '{' && p[1] >= '0' && p[1] < '0' + WORDS_ARGUMENTS && p[2] == '}';
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

static void item_release(struct words_item *i)
{
    free(i->text);
    free(i->file);
    free(i->look);
    free(i->host);
    free(i->service);
    *i = (struct words_item){0};
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

int words_say(struct words_case *c, const struct words_rule *rule, const struct words_said *finding)
{
    struct words *w = c->words;
    bool failed = false;
    if (array_reserve((void **)&w->items, &w->cap, w->n + 1, sizeof *w->items, c->err) < 0)
        return -1;
    struct words_item i = {.rule = rule->name,
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

static int apply_rules(struct words_case *c)
{
    const struct words_rule *rule;
    for (size_t i = 0; (rule = words_rule_at(i)); i++)
        if (rule->of == c->of && rule->apply(c, rule) < 0)
            return -1;
    return 0;
}

/* ---- subjects ------------------------------------------------------------------------------------------ */

/* The request's kind decides, or else the file's name. */
enum words_of words_delay_of(const struct words_subject *s)
{
    const char *kind = s->kind && *s->kind ? s->kind : s->file;
    return kind && strstr(kind, "mutex")   ? WORDS_OF_MUTEX
           : kind && strstr(kind, "block") ? WORDS_OF_BLOCK
                                           : WORDS_OF_NOTHING;
}

void words_tell_delay(const struct words_case *c, struct words_said *finding, size_t argument)
{
    enum words_of of = words_delay_of(c->subject);
    finding->part = (int)of;
    snprintf(finding->of[argument], WORDS_ARGUMENT, "%s",
             of == WORDS_OF_MUTEX   ? " (mutex profile)"
             : of == WORDS_OF_BLOCK ? " (block profile)"
                                    : "");
}

static enum words_of subject_of(const struct profile *p, const struct words_subject *s)
{
    if (tally_type(p, "inuse_space", "bytes") != TALLY_NONE)
        return WORDS_OF_HEAP;
    if (tally_type(p, "cpu", "nanoseconds") != TALLY_NONE)
        return WORDS_OF_CPU;
    return tally_type(p, "delay", "nanoseconds") != TALLY_NONE ? words_delay_of(s) : WORDS_OF_NOTHING;
}

/* Counts the samples for all rules of the subject. */
static int open_case(struct words_case *c)
{
    const struct profile *p = c->profile;
    bool cpu = c->of == WORDS_OF_CPU;
    if (sieve_make(&c->sieve, p, c->of, c->err) < 0)
        return -1;
    if (c->of == WORDS_OF_HEAP)
        return 0;
    return tally_make(&c->all, &c->sieve, tally_type(p, cpu ? "cpu" : "delay", "nanoseconds"),
                      tally_type(p, cpu ? "samples" : "contentions", "count"), &(struct tally_choice){0},
                      c->err);
}

int words_add_profile(struct words *w, const struct profile *p, const struct words_subject *subject,
                      struct err *err)
{
    struct words_case c = {
        .words = w, .subject = subject, .of = subject_of(p, subject), .profile = p, .err = err};
    if (c.of == WORDS_OF_NOTHING)
        return 0;
    int rc = open_case(&c);
    if (rc == 0)
        rc = apply_rules(&c);
    tally_release(&c.all);
    sieve_release(&c.sieve);
    return rc;
}

int words_add_goroutines(struct words *w, const struct goroutines *g, const struct words_subject *subject,
                         struct err *err)
{
    struct words_case c = {
        .words = w, .subject = subject, .of = WORDS_OF_GOROUTINES, .goroutines = g, .err = err};
    return apply_rules(&c);
}

static int apply_comparison(struct words *w, struct words_case c, enum words_of of,
                            const struct words_subject *subject, const struct profile *p, struct err *err)
{
    c.words = w;
    c.of = of;
    c.subject = subject;
    c.profile = p;
    c.err = err;
    int rc = p ? sieve_make(&c.sieve, p, WORDS_OF_NOTHING, err) : 0;
    if (rc == 0)
        rc = apply_rules(&c);
    sieve_release(&c.sieve);
    return rc;
}

int words_add_sides(struct words *w, const struct sides *s, const struct words_subject *subject,
                    struct err *err)
{
    if (!sides_are_two(s))
        return 0;
    return apply_comparison(w, (struct words_case){.sides = s}, WORDS_OF_SIDES, subject, s->all, err);
}

int words_add_growth(struct words *w, const struct growth *g, const struct words_subject *subject,
                     struct err *err)
{
    return apply_comparison(w, (struct words_case){.growth = g}, WORDS_OF_GROWTH, subject, g->both, err);
}

int words_add_restart(struct words *w, const char *why, const struct words_subject *subject, struct err *err)
{
    return apply_comparison(w, (struct words_case){.restarted = why}, WORDS_OF_RESTART, subject, NULL, err);
}

int words_add_peers(struct words *w, const struct peers *h, const struct words_subject *subject,
                    struct err *err)
{
    return apply_comparison(w, (struct words_case){.hosts = h}, WORDS_OF_PEERS, subject, NULL, err);
}

enum words_source words_source_of(const char *name)
{
    const struct words_rule *rule;
    for (size_t i = 0; name && (rule = words_rule_at(i)); i++)
        if (strcmp(rule->name, name) == 0)
            return rule->of == WORDS_OF_SIDES                                             ? WORDS_FROM_SIDES
                   : rule->of == WORDS_OF_GROWTH || rule->apply == words_goroutines_grown ? WORDS_FROM_GROWTH
                                                                                          : WORDS_FROM_ONE;
    return WORDS_FROM_ONE;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_service(const struct words_item *a, const struct words_item *b)
{
    return same_text(a->host, b->host) && same_text(a->service, b->service);
}

static bool same_subject(const struct words_item *a, const struct words_item *b)
{
    return a->rule == b->rule && a->part == b->part;
}

static size_t rank_of(const struct words_item *i)
{
    size_t at = 0;
    while (words_rule_at(at) && words_rule_at(at)->name != i->rule)
        at++;
    return at;
}

/* The heavier first, then by name, so that the order is always the same. */
static int compare_weights(const struct words_item *a, const struct words_item *b)
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
    const struct words_item *a = left, *b = right;
    if (a->suspect != b->suspect)
        return a->suspect ? -1 : 1;
    size_t rank_a = rank_of(a), rank_b = rank_of(b);
    if (!a->suspect && rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    return compare_weights(a, b);
}

static void drop_item(struct words *w, size_t at)
{
    item_release(&w->items[at]);
    memmove(&w->items[at], &w->items[at + 1], (w->n - at - 1) * sizeof *w->items);
    w->n--;
}

/* Keeps one of several findings of one rule on one service, such as a dump of goroutines in two forms.
 * Without a host, each file is a service of its own. */
static void drop_duplicates(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = w->n; j-- > i + 1;) {
            struct words_item *a = &w->items[i], *b = &w->items[j];
            if (!same_subject(a, b) || !same_service(a, b) || (!a->host && !same_text(a->file, b->file)))
                continue;
            if (b->detail > a->detail || (b->detail == a->detail && b->weight > a->weight)) {
                struct words_item other = *a;
                *a = *b;
                *b = other;
            }
            drop_item(w, j);
        }
}

/* "file-03 gitaly" */
static void add_place(const struct words_item *i, bool with_host, struct buf *to)
{
    const char *host = i->host && with_host ? i->host : "";
    buf_addf(to, "%s%s%s", host, *host && i->service ? " " : "", i->service ? i->service : "");
}

/* Puts `before` in front of an item's text and `behind` after it. */
static int extend_text(struct words_item *i, const char *before, const char *behind, struct err *err)
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
static int merge_others(struct words *w, size_t at, struct err *err)
{
    struct buf others = BUF_INIT(4096);
    size_t n = 0;
    for (size_t j = at + 1; j < w->n;) {
        const struct words_item *a = &w->items[at], *b = &w->items[j];
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
static size_t find_least(const struct words *w)
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
static int name_places(struct words *w, struct err *err)
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

int words_finish(struct words *w, struct err *err)
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
    while (w->n > WORDS_MAX)
        drop_item(w, find_least(w));
    return rc;
}

void words_release(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        item_release(&w->items[i]);
    free(w->items);
    *w = (struct words){0};
}
