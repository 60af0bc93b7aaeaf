#include "fetch/finding.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define SKEW_REPORTED_MS 5000

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

/* Returns the newest possible minor version: 19 for `1.19.8`, 20 for `1.19 or 1.20`; 0 if the version is
 * unknown or has no upper bound. Does not understand `1.11 to 1.18`, which only traces have. */
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

/* Returns the CPU use in percent of one core; -1 if the profile lacks the CPU time or the duration. */
static double cpu_percent(const struct evidence *e)
{
    const struct profile_summary *p = &e->item->profile;
    const struct profile_sample_type *cpu = sample_type(e, "cpu");
    if (!cpu || strcmp(cpu->unit, "nanoseconds") != 0 || p->samples == 0 || p->duration_ns <= 0)
        return -1;
    return 100.0 * (double)cpu->total / (double)p->duration_ns;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

/* The most bytes of a text in a sentence. */
#define TEXT_MAX_BYTES 159

static const struct evidence *get_evidence(const struct finding_case *c)
{
    return c->evidence;
}

/* If `applies`, adds the finding. {0} of the sentence is `text`; NULL: the sentence has no {0}. */
static int add_if(struct finding_case *c, const struct finding_rule *rule, bool applies, const char *text)
{
    struct finding_values v = {.weight = 0};
    snprintf(v.arguments[0], sizeof v.arguments[0], "%.*s", TEXT_MAX_BYTES, text ? text : "");
    return applies ? finding_case_add(c, rule, &v) : 0;
}

static int check_contention_off(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    return add_if(c, rule, is_contention(e) && is_empty_profile(e), e->item->kind);
}

static int check_cpu_idle(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    return add_if(c, rule, is_kind(e, "cpu") && is_empty_profile(e), NULL);
}

static int check_no_samples(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    return add_if(c, rule, is_empty_profile(e) && !is_contention(e) && !is_kind(e, "cpu"), NULL);
}

static int check_cpu_share(struct finding_case *c, const struct finding_rule *rule)
{
    double percent = cpu_percent(get_evidence(c));
    char text[32];
    snprintf(text, sizeof text, "%.*f", percent < 10 ? 1 : 0, percent);
    return add_if(c, rule, percent >= 0, text);
}

static int check_cpu_undercounted(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    return add_if(c, rule, cpu_percent(e) > 250 && is_older_than(e, 18), e->item->go_version);
}

static int check_short_window(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    struct finding_values v = {.weight = 0};
    int64_t covers_ms = e->item->profile.duration_ns / 1000000;
    if (!e->item->has_profile || covers_ms <= 0 || covers_ms >= e->plan->timed_ms * 9 / 10)
        return 0;
    text_duration(v.arguments[0], sizeof v.arguments[0], covers_ms);
    text_duration(v.arguments[1], sizeof v.arguments[1], e->plan->timed_ms);
    return finding_case_add(c, rule, &v);
}

static bool is_delta(const struct evidence *e)
{
    return e->plan->form == FORM_DELTA && sample_type(e, "inuse_space");
}

static int check_heap_last_gc(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    bool stale = is_kind(e, "heap") && e->item->has_profile && e->plan->form != FORM_GC;
    const char *hint = e->plan->plan_has_gc_heap ? "" : "; heap=gc would run one first";
    return add_if(c, rule, stale && !is_delta(e), hint);
}

static int check_delta_in_use(struct finding_case *c, const struct finding_rule *rule)
{
    return add_if(c, rule, is_delta(get_evidence(c)), NULL);
}

static int check_negative(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    const struct profile_summary *p = &e->item->profile;
    for (size_t i = 0; e->item->has_profile && i < p->n_types; i++)
        if (p->types[i].total < 0)
            return add_if(c, rule, true, p->types[i].type);
    return 0;
}

/* The runtime keeps 64 frames for CPU profiles; for others 32 before Go 1.23, 128 since. */
static int check_stack_cut(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    const struct profile_summary *p = &e->item->profile;
    struct finding_values v = {.weight = 0};
    bool may_be_cut = is_kind(e, "cpu") ? p->max_depth == 64 : p->max_depth == 128 || p->max_depth == 32;
    if (!e->item->has_profile || !may_be_cut)
        return 0;
    snprintf(v.arguments[0], sizeof v.arguments[0], "%llu", (unsigned long long)p->samples_at_max);
    snprintf(v.arguments[1], sizeof v.arguments[1], "%llu", (unsigned long long)p->samples);
    snprintf(v.arguments[2], sizeof v.arguments[2], "%llu", (unsigned long long)p->max_depth);
    return finding_case_add(c, rule, &v);
}

static int check_mutex_old_go(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    bool applies = is_kind(e, "mutex") && !is_empty_profile(e) && is_older_than(e, 22);
    return add_if(c, rule, applies, e->item->go_version);
}

static int check_go_version(struct finding_case *c, const struct finding_rule *rule)
{
    const char *version = get_evidence(c)->item->go_version;
    return add_if(c, rule, version[0] != '\0', version);
}

static int check_html_page(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    bool is_html = strncmp(e->item->content_type, "text/html", 9) == 0;
    return add_if(c, rule, is_html && e->item->status == FETCH_OK && e->plan->format != BODY_ANY, NULL);
}

static int check_reconnected(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    return add_if(c, rule, e->response->reconnected && e->item->bytes > 0, NULL);
}

static int check_waited(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    char text[32];
    return add_if(c, rule, e->waited_ms > 0 && e->item->bytes > 0,
                  text_duration(text, sizeof text, e->waited_ms));
}

static int check_beside(struct finding_case *c, const struct finding_rule *rule)
{
    const struct evidence *e = get_evidence(c);
    return add_if(c, rule, e->concurrent_kinds && *e->concurrent_kinds && e->item->bytes > 0,
                  e->concurrent_kinds);
}

static const struct finding_rule rules[] = {
    {.id = "contention-off",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_contention_off,
     .sentence = "the {0} profile is empty: {0} profiling is off in this process, or nothing waited",
     .arguments = {"kind"},
     .evidence = "a mutex or block profile without samples",
     .source = "package runtime: SetMutexProfileFraction and SetBlockProfileRate, both off unless the "
               "program says so"},
    {.id = "cpu-idle",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_cpu_idle,
     .sentence = "the CPU profile has no samples: the process used almost no CPU",
     .evidence = "a CPU profile without samples",
     .source = "runtime/pprof: a sample for every 10 ms of CPU time"},
    {.id = "no-samples",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_no_samples,
     .sentence = "the profile has no samples",
     .evidence = "a profile without samples",
     .source = "profile.proto"},
    {.id = "cpu-share",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_cpu_share,
     .sentence = "CPU was {0} % busy (100 % is one core)",
     .arguments = {"share"},
     .evidence = "the sum of cpu/nanoseconds over the duration that the profile states",
     .source = "profile.proto: duration_nanos"},
    {.id = "cpu-undercounted",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_cpu_undercounted,
     .sentence = "built with Go {0}: before 1.18 a CPU profile counts too little where more than 2 or 3 "
                 "cores are busy",
     .arguments = {"version"},
     .evidence = "more than 250 % CPU, and the toolchain's version in the paths of package runtime",
     .source = "Go 1.18 release notes: per-thread timers"},
    {.id = "short-window",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_short_window,
     .sentence = "the profile covers {0} of the requested {1}",
     .arguments = {"time", "requested time"},
     .evidence = "the duration that the profile states is less than nine tenths of the requested one",
     .source = "profile.proto: duration_nanos"},
    {.id = "heap-last-gc",
     .topic = FINDING_TOPIC_BODY,
     .severity = FINDING_NOTE,
     .apply = check_heap_last_gc,
     .sentence = "memory in use is that of the last finished garbage collection{0}",
     .arguments = {"; heap=gc would run one first"},
     .evidence = "a heap profile requested without gc=1; the sentence names heap=gc unless the run "
                 "requests it too",
     .source = "runtime.MemProfile"},
    {.id = "delta-in-use",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_delta_in_use,
     .sentence =
         "this is a difference over time: it shows how memory in use changed, which may be negative; take "
         "two snapshots instead",
     .evidence = "a heap profile requested with seconds=",
     .source = "net/http/pprof: delta profiles subtract every column"},
    {.id = "negative",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_negative,
     .sentence = "the sum of {0} is negative: this is a difference of two profiles",
     .arguments = {"sample type"},
     .evidence = "a negative sum in a sample type",
     .source = "profile.proto"},
    {.id = "stack-cut",
     .topic = FINDING_TOPIC_BODY,
     .severity = FINDING_NOTE,
     .apply = check_stack_cut,
     .sentence = "{0} of {1} stacks have {2} frames, where Go stops: their outermost callers may be missing",
     .arguments = {"number", "total", "depth"},
     .evidence =
         "stacks exactly as deep as the runtime keeps them (CPU 64; others 32 before Go 1.23, 128 since)",
     .source = "package runtime: the limits of its profile buffers"},
    {.id = "mutex-old-go",
     .topic = FINDING_TOPIC_BODY,
     .severity = FINDING_NOTE,
     .apply = check_mutex_old_go,
     .sentence = "built with Go {0}: before 1.22 a mutex profile leaves out the runtime's own locks and does "
                 "not count "
                 "how many goroutines waited",
     .arguments = {"version"},
     .evidence = "a mutex profile, and the toolchain's version in the paths of package runtime",
     .source = "Go 1.22 release notes"},
    {.id = "go-version",
     .topic = FINDING_TOPIC_BODY,
     .severity = FINDING_NOTE,
     .apply = check_go_version,
     .sentence = "built with Go {0}",
     .arguments = {"version"},
     .evidence = "the toolchain's version in the paths of package runtime, or a trace's header",
     .source = "profile.proto: function.filename; internal/trace/version"},
    {.id = "html-page",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_html_page,
     .sentence = "this is an HTML page, perhaps a login page, not the requested answer",
     .evidence = "an intact answer of type text/html, from a path that serves no pages",
     .source = "HTTP: Content-Type"},
    {.id = "reconnected",
     .topic = FINDING_TOPIC_BODY,
     .per_service = true,
     .apply = check_reconnected,
     .sentence = "fetched over a new connection, since the one before had closed: it may come from another "
                 "process than what came before",
     .evidence = "the service closed the connection between two items",
     .source = "HTTP/1.1 keep-alive"},
    {.id = "renewed",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_RENEWED,
     .sentence = "taken again over a new SSH session, because the one before was lost: it has no byte of the "
                 "first attempt",
     .evidence = "the SSH session ended, or was stuck opening a channel, while the item or the index page "
                 "was fetched",
     .source = "the gateway"},
    {.id = "adopted",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_ADOPTED,
     .sentence = "an earlier run was killed before it recorded this item: time and duration are unknown",
     .evidence = "a complete file of an unrecorded item, in a resumed work directory",
     .source = "profgrab resume"},
    {.id = "retried",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_RETRIED,
     .sentence = "{0}; the first attempt failed: {1}",
     .arguments = {"success at attempt number", "first error"},
     .evidence = "--retries, and an attempt that failed before",
     .source = "the attempts of this run"},
    {.id = "sync-late",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_SYNC_LATE,
     .sentence = "it began after the others: its host was not ready at the common start, or it was retried",
     .evidence =
         "--sync, and a service that was ready only after the common start, or an item that was retried",
     .source = "the common start of the run"},
    {.id = "build-changed",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_BUILD_CHANGED,
     .sentence =
         "the program's build id changed from {0} to {1} between two items: they come from different builds",
     .arguments = {"old id", "new id"},
     .evidence = "the build id of the first mapping, from item to item",
     .source = "profile.proto: mapping.build_id"},
    {.id = "waited",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_waited,
     .sentence = "another client was profiling this process: this profile could begin only after {0}",
     .arguments = {"time"},
     .evidence = "the profiler was in use at the first request and free at a later one",
     .source = "net/http/pprof: one CPU profile and one trace at a time"},
    {.id = "beside",
     .topic = FINDING_TOPIC_BODY,
     .apply = check_beside,
     .sentence = "taken at the same time as {0}: each shows the other's work too",
     .arguments = {"other kinds"},
     .evidence = "--concurrent",
     .source = "package runtime: both run inside the process"},
    {.id = "no-index",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_NO_INDEX,
     .sentence = "there is no index page: {0}",
     .arguments = {"reason"},
     .evidence = "the answer to the request for the index page",
     .source = "net/http/pprof: Index"},
    {.id = "text-guarded",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_TEXT_GUARDED,
     .sentence = "the process has {0} goroutines, more than {1}: their text is grouped by stack, because "
                 "a full dump would stop the process for long",
     .arguments = {"number", "limit"},
     .evidence = "the count on the index page",
     .source = "runtime.Stack stops the process while it writes"},
    {.id = "text-unguarded",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_TEXT_UNGUARDED,
     .sentence =
         "no text dump of the goroutines was taken: without a count from the index page it might be costly",
     .evidence = "no count on the index page",
     .source = "runtime.Stack stops the process while it writes"},
    {.id = "clock-skew",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_CLOCK_SKEW,
     .sentence = "its clock is {0} {1} this workstation's",
     .arguments = {"time", "ahead of or behind"},
     .evidence = "the Date header of the index page, 5 s or more from the workstation's clock",
     .source = "HTTP: Date"},
    {.id = "same-address",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_SAME_ADDRESS,
     .sentence = "this host and {0} have the same address, {1}: a service that both list is one process, "
                 "fetched twice",
     .arguments = {"other hosts", "address"},
     .evidence =
         "several hosts have the same address, port and jump hosts, and services at the same port or socket",
     .source = "the inventory"},
    {.id = "tls-unchecked",
     .topic = FINDING_TOPIC_BODY,
     .number = FETCH_FINDING_TLS_UNCHECKED,
     .sentence = "its TLS certificate was not checked",
     .evidence = "insecure: true in the inventory",
     .source = "the inventory"},
};

const struct finding_rule *fetch_rule(size_t i)
{
    return i < sizeof rules / sizeof *rules ? &rules[i] : NULL;
}

/* ---- findings ------------------------------------------------------------------------------------------ */

int fetch_finding_add(struct findings *findings, enum fetch_finding number, const char *first,
                      const char *second, struct err *err)
{
    struct finding_case c = {.findings = findings, .topic = FINDING_TOPIC_BODY, .err = err};
    struct finding_values v = {.weight = 0};
    size_t i = 0;
    while (i < sizeof rules / sizeof *rules && rules[i].number != (int)number)
        i++;
    if (i == sizeof rules / sizeof *rules)
        return err_set(err, ERR_FAILED, "the finding %d has no rule", (int)number);
    snprintf(v.arguments[0], sizeof v.arguments[0], "%.*s", TEXT_MAX_BYTES, first ? first : "");
    snprintf(v.arguments[1], sizeof v.arguments[1], "%.*s", TEXT_MAX_BYTES, second ? second : "");
    return finding_case_add(&c, &rules[i], &v);
}

void fetch_finding_check(struct findings *findings, const struct evidence *e)
{
    struct finding_case c = {.findings = findings, .topic = FINDING_TOPIC_BODY, .evidence = e};
    (void)finding_case_apply(&c, rules, sizeof rules / sizeof *rules);
}

void fetch_finding_check_build(struct fetch_item *item, char build_id[128])
{
    const char *own = item->profile.build_id;
    if (!item->has_profile || !*own)
        return;
    if (*build_id && strcmp(build_id, own) != 0)
        fetch_finding_add(&item->findings, FETCH_FINDING_BUILD_CHANGED, build_id, own, NULL);
    snprintf(build_id, 128, "%s", own);
}

void fetch_finding_add_skew(struct findings *findings, int64_t skew_ms)
{
    char text[32];
    int64_t magnitude_ms = skew_ms < 0 ? -skew_ms : skew_ms;
    if (magnitude_ms >= SKEW_REPORTED_MS)
        fetch_finding_add(findings, FETCH_FINDING_CLOCK_SKEW,
                          text_duration(text, sizeof text, magnitude_ms / 1000 * 1000),
                          skew_ms < 0 ? "behind" : "ahead of", NULL);
}
