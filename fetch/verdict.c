#include "fetch/verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_ARGUMENTS 3
#define SKEW_WORTH_SAYING_MS 5000

/* The values of {0}, {1}, {2} in a rule's sentence. */
struct arguments {
    char text[MAX_ARGUMENTS][160];
};

typedef bool rule_fn(const struct evidence *e, struct arguments *a);

struct rule {
    const char *name;
    bool note;        /* worth knowing, but not worth a line during the run */
    rule_fn *applies; /* checks an item; NULL: other code adds the finding by name */
    const char *sentence;
    const char *evidence;
    const char *source;
};

/* ---- evidence ------------------------------------------------------------------------------------------ */

static bool is_kind(const struct evidence *e, const char *kind)
{
    return strcmp(e->item->kind, kind) == 0;
}

static bool is_contention(const struct evidence *e)
{
    return is_kind(e, "mutex") || is_kind(e, "block");
}

static bool is_empty_profile(const struct evidence *e)
{
    return e->item->has_profile && e->item->profile.samples == 0;
}

static const struct profile_sample_type *sample_type(const struct evidence *e, const char *type)
{
    const struct profile_summary *p = &e->item->profile;
    for (size_t i = 0; e->item->has_profile && i < p->n_types; i++)
        if (strcmp(p->types[i].type, type) == 0)
            return &p->types[i];
    return NULL;
}

/* The 19 of `1.19.8` and of `1.19 or 1.20`; 0 if it is unknown or has no upper bound. */
static unsigned newest_minor(const char *go_version)
{
    const char *last = strstr(go_version, " or ");
    uint64_t minor = 0;
    char digits[8];
    last = last ? last + 4 : go_version;
    if (strncmp(last, "1.", 2) != 0)
        return 0;
    snprintf(digits, sizeof digits, "%.*s", (int)strspn(last + 2, "0123456789"), last + 2);
    return text_to_uint(digits, 1000, &minor) == 0 ? (unsigned)minor : 0;
}

static bool is_older_than(const struct evidence *e, unsigned minor)
{
    unsigned newest = newest_minor(e->item->go_version);
    return newest > 0 && newest < minor;
}

/* Percent of one core, from the two numbers in the profile; -1 if it lacks them. */
static double cpu_percent(const struct evidence *e)
{
    const struct profile_summary *p = &e->item->profile;
    const struct profile_sample_type *cpu = sample_type(e, "cpu");
    if (!cpu || strcmp(cpu->unit, "nanoseconds") != 0 || p->samples == 0 || p->duration_ns <= 0)
        return -1;
    return 100.0 * (double)cpu->total / (double)p->duration_ns;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static bool contention_off(const struct evidence *e, struct arguments *a)
{
    snprintf(a->text[0], sizeof a->text[0], "%.100s", e->item->kind);
    return is_contention(e) && is_empty_profile(e);
}

static bool cpu_idle(const struct evidence *e, struct arguments *a)
{
    (void)a;
    return is_kind(e, "cpu") && is_empty_profile(e);
}

static bool no_samples(const struct evidence *e, struct arguments *a)
{
    (void)a;
    return is_empty_profile(e) && !is_contention(e) && !is_kind(e, "cpu");
}

static bool cpu_share(const struct evidence *e, struct arguments *a)
{
    double percent = cpu_percent(e);
    snprintf(a->text[0], sizeof a->text[0], "%.*f", percent < 10 ? 1 : 0, percent);
    return percent >= 0;
}

static bool cpu_undercounted(const struct evidence *e, struct arguments *a)
{
    snprintf(a->text[0], sizeof a->text[0], "%s", e->item->go_version);
    return cpu_percent(e) > 250 && is_older_than(e, 18);
}

static bool short_window(const struct evidence *e, struct arguments *a)
{
    int64_t covers_ms = e->item->profile.duration_ns / 1000000;
    if (!e->item->has_profile || covers_ms <= 0 || covers_ms >= e->plan->timed_ms * 9 / 10)
        return false;
    text_duration(a->text[0], sizeof a->text[0], covers_ms);
    text_duration(a->text[1], sizeof a->text[1], e->plan->timed_ms);
    return true;
}

static bool is_delta(const struct evidence *e)
{
    return strstr(e->item->request, "seconds=") && sample_type(e, "inuse_space");
}

static bool heap_last_gc(const struct evidence *e, struct arguments *a)
{
    (void)a;
    return is_kind(e, "heap") && e->item->has_profile && !strstr(e->item->request, "gc=1") && !is_delta(e);
}

static bool delta_in_use(const struct evidence *e, struct arguments *a)
{
    (void)a;
    return is_delta(e);
}

static bool has_negative(const struct evidence *e, struct arguments *a)
{
    const struct profile_summary *p = &e->item->profile;
    for (size_t i = 0; e->item->has_profile && i < p->n_types; i++) {
        snprintf(a->text[0], sizeof a->text[0], "%s", p->types[i].type);
        if (p->types[i].total < 0)
            return true;
    }
    return false;
}

/* The runtime keeps 64 frames for CPU profiles; for others 32 before Go 1.23, 128 since. */
static bool stack_cut(const struct evidence *e, struct arguments *a)
{
    const struct profile_summary *p = &e->item->profile;
    bool cut = is_kind(e, "cpu") ? p->max_depth == 64 : p->max_depth == 128 || p->max_depth == 32;
    if (!e->item->has_profile || !cut)
        return false;
    snprintf(a->text[0], sizeof a->text[0], "%llu", (unsigned long long)p->samples_at_max);
    snprintf(a->text[1], sizeof a->text[1], "%llu", (unsigned long long)p->samples);
    snprintf(a->text[2], sizeof a->text[2], "%llu", (unsigned long long)p->max_depth);
    return true;
}

static bool mutex_old(const struct evidence *e, struct arguments *a)
{
    snprintf(a->text[0], sizeof a->text[0], "%s", e->item->go_version);
    return is_kind(e, "mutex") && !is_empty_profile(e) && is_older_than(e, 22);
}

static bool go_version(const struct evidence *e, struct arguments *a)
{
    snprintf(a->text[0], sizeof a->text[0], "%s", e->item->go_version);
    return e->item->go_version[0] != '\0';
}

static bool html_page(const struct evidence *e, struct arguments *a)
{
    (void)a;
    return e->item->status == FETCH_OK && e->plan->format != CHECK_ANY &&
           strncmp(e->item->content_type, "text/html", 9) == 0;
}

static bool was_reconnected(const struct evidence *e, struct arguments *a)
{
    (void)a;
    return e->response->reconnected && e->item->bytes > 0;
}

static bool has_waited(const struct evidence *e, struct arguments *a)
{
    text_duration(a->text[0], sizeof a->text[0], e->waited_ms);
    return e->waited_ms > 0 && e->item->bytes > 0;
}

static bool was_beside(const struct evidence *e, struct arguments *a)
{
    snprintf(a->text[0], sizeof a->text[0], "%s", e->beside ? e->beside : "");
    return e->beside && *e->beside && e->item->bytes > 0;
}

static const struct rule rules[] = {
    {"contention-off", false, contention_off,
     "the {0} profile is empty: {0} profiling is off in this process, or nothing waited",
     "a mutex or block profile without samples",
     "package runtime: SetMutexProfileFraction and SetBlockProfileRate, both off unless the program says so"},
    {"cpu-idle", false, cpu_idle, "the CPU profile holds no samples: the process used almost no CPU",
     "a CPU profile without samples", "runtime/pprof: a sample for every 10 ms of CPU time"},
    {"no-samples", false, no_samples, "the profile holds no samples", "a profile without samples",
     "profile.proto"},
    {"cpu-share", false, cpu_share, "CPU was {0} % busy (100 % is one core)",
     "the sum of cpu/nanoseconds over the duration that the profile states", "profile.proto: duration_nanos"},
    {"cpu-undercounted", false, cpu_undercounted,
     "built with Go {0}: before 1.18 a CPU profile counts too little where more than 2 or 3 cores are busy",
     "more than 250 % CPU, and the toolchain's version in the paths of package runtime",
     "Go 1.18 release notes: per-thread timers"},
    {"short-window", false, short_window, "it covers {0} of the {1} that were asked for",
     "the duration that the profile states is less than nine tenths of what was asked",
     "profile.proto: duration_nanos"},
    {"heap-last-gc", true, heap_last_gc,
     "memory in use is that of the last finished garbage collection; heap=gc would run one first",
     "a heap profile that was asked for without gc=1", "runtime.MemProfile"},
    {"delta-in-use", false, delta_in_use,
     "a difference over time: of memory in use it shows the change, which may be negative; take two "
     "snapshots instead",
     "a heap profile that was asked for with seconds=",
     "net/http/pprof: delta profiles subtract every column"},
    {"negative", false, has_negative, "the sum of {0} is negative: this is a difference of two profiles",
     "a negative sum in a sample type", "profile.proto"},
    {"stack-cut", true, stack_cut,
     "{0} of {1} stacks have {2} frames, where Go stops: their outermost callers may be missing",
     "stacks exactly as deep as the runtime keeps them (CPU 64; others 32 before Go 1.23, 128 since)",
     "package runtime: the limits of its profile buffers"},
    {"mutex-old-go", true, mutex_old,
     "built with Go {0}: before 1.22 a mutex profile leaves out the runtime's own locks and does not count "
     "how many goroutines waited",
     "a mutex profile, and the toolchain's version in the paths of package runtime", "Go 1.22 release notes"},
    {"go-version", true, go_version, "built with Go {0}",
     "the toolchain's version in the paths of package runtime, or a trace's header",
     "profile.proto: function.filename; internal/trace/version"},
    {"html-page", false, html_page, "this is an HTML page: perhaps of a login, not what was asked for",
     "a raw path answered with text/html", "HTTP: Content-Type"},
    {"reconnected", false, was_reconnected,
     "fetched over a new connection, since the one before had closed: it may come from another process than "
     "what was fetched before",
     "the service closed the connection between two items", "HTTP/1.1 keep-alive"},
    {"renewed", false, NULL,
     "taken again over a new SSH session, since the one before was lost: what the first attempt brought is "
     "not in it",
     "the SSH session ended, or was kept waiting, while the item or the index page was fetched",
     "the gateway"},
    {"adopted", false, NULL,
     "it was taken by a run that was killed before it had written that down: when it was taken, and how long "
     "that took, is not known",
     "a whole file in the place of an item, in a work directory that is resumed", "profgrab resume"},
    {"retried", false, NULL, "{0} only; before that: {1}", "--retries, and an attempt that failed before",
     "the attempts of this run"},
    {"sync-late", false, NULL,
     "it began behind the others: its host was not ready when they were released, or it had to be asked for "
     "again",
     "--sync, and a service that was ready only after --sync-deadline", "the start that all share"},
    {"build-changed", false, NULL,
     "the program's build id changed from {0} to {1} between two items: they come from different builds",
     "the build id of the first mapping, from item to item", "profile.proto: mapping.build_id"},
    {"waited", false, has_waited, "somebody else was profiling this process: it could begin only after {0}",
     "the profiler was in use, and free again when it was asked once more",
     "net/http/pprof: one CPU profile and one trace at a time"},
    {"beside", false, was_beside, "taken at the same time as {0}: each shows the other's work too",
     "--concurrent", "package runtime: both run inside the process"},
    {"no-index", false, NULL, "there is no index page: {0}", "what the service answered for its index page",
     "net/http/pprof: Index"},
    {"text-guarded", false, NULL,
     "the process has {0} goroutines, more than {1}: their text is grouped by stack, since a full dump would "
     "stop it for long",
     "the count on the index page", "runtime.Stack stops the process while it writes"},
    {"text-unguarded", false, NULL,
     "no text dump of the goroutines was taken: without a count from the index page it might be costly",
     "no count on the index page", "runtime.Stack stops the process while it writes"},
    {"clock-skew", false, NULL, "its clock is {0} {1} this workstation's",
     "the Date header of the index page, 5 s or more from the workstation's clock", "HTTP: Date"},
    {"same-address", false, NULL,
     "this host and {0} have one address, {1}: a service of both is one process, seen twice",
     "address, port and jump hosts of several names, and where their services listen", "the inventory"},
    {"tls-unchecked", false, NULL, "its TLS certificate was not checked", "insecure: true in the inventory",
     "the inventory"},
};

int fetch_rule_help(size_t i, struct fetch_rule_help *ret)
{
    if (i >= sizeof rules / sizeof *rules)
        return -1;
    *ret = (struct fetch_rule_help){.name = rules[i].name,
                                    .sentence = rules[i].sentence,
                                    .evidence = rules[i].evidence,
                                    .source = rules[i].source};
    return 0;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

static void fill_sentence(char *dst, size_t cap, const char *sentence, const struct arguments *a)
{
    size_t n = 0;
    *dst = '\0';
    for (const char *p = sentence; *p && n + 1 < cap; p++) {
        bool place = p[0] == '{' && p[1] >= '0' && p[1] < '0' + MAX_ARGUMENTS && p[2] == '}';
        if (place)
            snprintf(dst + n, cap - n, "%s", a->text[p[1] - '0']);
        else
            snprintf(dst + n, cap - n, "%c", *p);
        n += strlen(dst + n);
        p += place ? 2 : 0;
    }
}

static int add_finding(struct verdicts *l, const struct rule *rule, const struct arguments *a,
                       struct err *err)
{
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, err) < 0)
        return -1;
    struct verdict *v = &l->items[l->n++];
    *v = (struct verdict){.rule = rule->name, .note = rule->note};
    fill_sentence(v->text, sizeof v->text, rule->sentence, a);
    return 0;
}

int verdicts_add(struct verdicts *l, const char *rule, const char *first, const char *second, struct err *err)
{
    struct arguments a = {0};
    snprintf(a.text[0], sizeof a.text[0], "%s", first ? first : "");
    snprintf(a.text[1], sizeof a.text[1], "%s", second ? second : "");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].name, rule) == 0)
            return add_finding(l, &rules[i], &a, err);
    return err_set(err, ERR_FAILED, "there is no rule %s", rule);
}

void verdicts_move(struct verdicts *l, struct verdicts *from)
{
    if (array_reserve((void **)&l->items, &l->cap, l->n + from->n, sizeof *l->items, NULL) == 0)
        for (size_t i = 0; i < from->n; i++)
            l->items[l->n++] = from->items[i];
    verdicts_release(from);
}

void verdicts_release(struct verdicts *l)
{
    free(l->items);
    *l = (struct verdicts){0};
}

void verdict_item(struct verdicts *l, const struct evidence *e)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct arguments a = {0};
        if (rules[i].applies && rules[i].applies(e, &a))
            add_finding(l, &rules[i], &a, NULL);
    }
}

void verdict_build(struct fetch_item *item, char build_id[128])
{
    const char *own = item->profile.build_id;
    if (!item->has_profile || !*own)
        return;
    if (*build_id && strcmp(build_id, own) != 0)
        verdicts_add(&item->verdicts, "build-changed", build_id, own, NULL);
    snprintf(build_id, 128, "%s", own);
}

void verdict_skew(struct verdicts *l, int64_t skew_ms)
{
    char text[32];
    int64_t size = skew_ms < 0 ? -skew_ms : skew_ms;
    if (size >= SKEW_WORTH_SAYING_MS)
        verdicts_add(l, "clock-skew", text_duration(text, sizeof text, size / 1000 * 1000),
                     skew_ms < 0 ? "behind" : "ahead of", NULL);
}
