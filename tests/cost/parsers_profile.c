/* Costly profiles for all their readers: decoder, scan, merge, reports, page, findings. */
#include "tests/cost/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* profile_make.h asserts with cmocka. */
#include <cmocka.h>

#include "bundle/redact/redact.h"
#include "page/flame.h"
#include "findings/growth.h"
#include "page/data.h"
#include "findings/fleet.h"
#include "pprof/machine/machine.h"
#include "pprof/pprof.h"
#include "pprof/symbolize/symbolize.h"
#include "findings/findings.h"
#include "findings/comparison.h"
#include "tests/unit/profile_make.h"

#include "base/banned.h"

#define MAX_INFLATED ((uint64_t)256 << 20)

/* ---- profiles ------------------------------------------------------------------------------------------ */

/* The field numbers of profile.proto. */
enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING, DROP_FRAMES, KEEP_FRAMES, COMMENT = 13 };
/* The strings that every profile has. */
enum { EMPTY, TYPE, COUNT, NAME, FILE_NAME, N_STRINGS };

static void begin_profile(struct buf *to)
{
    static const char *const strings[] = {"", "goroutine", "count", "main.f", "/src/a.go", NULL};
    encode_strings(to, strings);
    ENCODE(to, SAMPLE_TYPE, 1, TYPE, 2, COUNT);
}

static void add_string(struct buf *to, const char *name, unsigned i)
{
    struct buf s = BUF_INIT(1000);
    buf_addf(&s, "%s%x", name, i);
    encode_bytes(to, STRING, buf_str(&s), s.len);
    buf_release(&s);
}

static void add_function(struct buf *to, uint64_t id, uint64_t name, uint64_t file)
{
    ENCODE(to, FUNCTION, 1, id, 2, name, 4, file);
}

/* A location with a line of that function; 0: without a line. */
static void add_location(struct buf *to, uint64_t id, uint64_t function, uint64_t line)
{
    struct buf inner = BUF_INIT(200);
    encode_number(&inner, 1, id);
    encode_number(&inner, 3, id * 16);
    if (function)
        ENCODE(&inner, 4, 1, function, 2, line);
    encode_bytes(to, LOCATION, buf_str(&inner), inner.len);
    buf_release(&inner);
}

/* One function and one location, both with the id 1. */
static void begin_with_one_location(struct buf *to)
{
    begin_profile(to);
    add_function(to, 1, NAME, FILE_NAME);
    add_location(to, 1, 1, 1);
}

static void make_samples(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    while (to->len < n)
        ENCODE(to, SAMPLE, 1, 1, 2, 1);
}

static void make_deep_stack(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    struct buf sample = BUF_INIT(n + 100), frames = BUF_INIT(n + 100);
    for (size_t i = 0; i + 100 < n; i++)
        buf_addc(&frames, 1);
    encode_bytes(&sample, 1, buf_str(&frames), frames.len);
    encode_number(&sample, 2, 1);
    encode_bytes(to, SAMPLE, buf_str(&sample), sample.len);
    buf_release(&sample);
    buf_release(&frames);
}

/* Functions of different names, each once on one stack. */
static void make_deep_stack_of_many(struct buf *to, size_t n)
{
    begin_profile(to);
    struct buf sample = BUF_INIT(n + 100), frames = BUF_INIT(n + 100);
    unsigned i = 1;
    for (; to->len + frames.len + 100 < n; i++) {
        add_string(to, "main.f", i);
        add_function(to, i, N_STRINGS + i - 1, FILE_NAME);
        add_location(to, i, i, 1);
        protobuf_append_number(&frames, i);
    }
    encode_bytes(&sample, 1, buf_str(&frames), frames.len);
    encode_number(&sample, 2, 1);
    encode_bytes(to, SAMPLE, buf_str(&sample), sample.len);
    buf_release(&sample);
    buf_release(&frames);
}

/* Stacks of a hundred frames out of ten locations, all different. */
static void make_stacks_that_differ(struct buf *to, size_t n)
{
    uint64_t seed = 7;
    begin_profile(to);
    for (unsigned i = 1; i <= 10; i++) {
        add_string(to, "main.f", i);
        add_function(to, i, N_STRINGS + i - 1, FILE_NAME);
        add_location(to, i, i, i);
    }
    while (to->len < n) {
        struct buf sample = BUF_INIT(300);
        char frames[100];
        for (size_t i = 0; i < sizeof frames; i++)
            frames[i] = (char)(1 + random_below(&seed, 10));
        encode_bytes(&sample, 1, frames, sizeof frames);
        encode_number(&sample, 2, 1);
        encode_bytes(to, SAMPLE, buf_str(&sample), sample.len);
        buf_release(&sample);
    }
}

/* Many functions of one name. */
static void make_equal_names(struct buf *to, size_t n)
{
    begin_profile(to);
    for (unsigned i = 1; to->len < n; i++) {
        add_function(to, i, NAME, FILE_NAME);
        add_location(to, i, i, i);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

static void make_functions(struct buf *to, size_t n)
{
    begin_profile(to);
    for (unsigned i = 1; to->len < n; i++) {
        add_string(to, "main.f", i);
        add_function(to, i, N_STRINGS + i - 1, FILE_NAME);
        add_location(to, i, i, i);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

static void make_addresses(struct buf *to, size_t n)
{
    begin_profile(to);
    for (unsigned i = 1; to->len < n; i++) {
        add_location(to, i, 0, 0);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

/* A location whose lines are of one function. */
static void add_inlined(struct buf *to, uint64_t id, size_t n)
{
    struct buf inner = BUF_INIT(n + 100);
    encode_number(&inner, 1, id);
    for (unsigned i = 1; inner.len < n; i++)
        ENCODE(&inner, 4, 1, 1, 2, i);
    encode_bytes(to, LOCATION, buf_str(&inner), inner.len);
    buf_release(&inner);
}

static void make_inlined(struct buf *to, size_t n)
{
    begin_profile(to);
    add_function(to, 1, NAME, FILE_NAME);
    add_inlined(to, 1, n);
    ENCODE(to, SAMPLE, 1, 1, 2, 1);
}

/* Half of the input is the lines of one location, half samples of that location. */
static void make_samples_of_inlined(struct buf *to, size_t n)
{
    begin_profile(to);
    add_function(to, 1, NAME, FILE_NAME);
    add_inlined(to, 1, n / 2);
    while (to->len < n)
        ENCODE(to, SAMPLE, 1, 1, 2, 1);
}

static void add_long_string(struct buf *to, char c, size_t n)
{
    char *s = malloc(n + 1);
    if (!s)
        abort();
    memset(s, c, n);
    encode_bytes(to, STRING, s, n);
    free(s);
}

/* Half of the input is one name, of all functions and files. */
static void make_long_name(struct buf *to, size_t n)
{
    begin_profile(to);
    add_long_string(to, 'a', n / 2);
    for (unsigned i = 1; to->len < n; i++) {
        add_function(to, i, N_STRINGS, N_STRINGS);
        add_location(to, i, i, i);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

/* Many long names with equal beginnings. */
static void make_long_names(struct buf *to, size_t n)
{
    begin_profile(to);
    char name[512];
    memset(name, 'a', sizeof name);
    for (unsigned i = 1; to->len < n; i++) {
        memcpy(name + sizeof name - sizeof i, &(unsigned){i * 2654435761u | 0x40404040u}, sizeof i);
        encode_bytes(to, STRING, name, sizeof name);
        add_function(to, i, N_STRINGS + i - 1, N_STRINGS + i - 1);
        add_location(to, i, i, i);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

/* A name of brackets, blanks and slashes: profgrab shortens names at these characters. */
static void make_odd_name(struct buf *to, size_t n)
{
    static const char odd[] = "((<{. :/[](anonymous namespace)operator()";
    struct buf name = BUF_INIT(n + 100);
    begin_profile(to);
    while (name.len + 60 < n)
        buf_adds(&name, odd);
    encode_bytes(to, STRING, buf_str(&name), name.len);
    buf_release(&name);
    add_function(to, 1, N_STRINGS, N_STRINGS);
    add_location(to, 1, 1, 1);
    ENCODE(to, SAMPLE, 1, 1, 2, 1);
}

/* A sample of about n bytes, with at least one label of this key and text, which are indexes of strings. */
static void add_labelled(struct buf *to, uint64_t key, uint64_t text, size_t n)
{
    struct buf sample = BUF_INIT(n + 200);
    encode_number(&sample, 1, 1);
    encode_number(&sample, 2, 1);
    do
        ENCODE(&sample, 3, 1, key, 2, text);
    while (sample.len < n);
    encode_bytes(to, SAMPLE, buf_str(&sample), sample.len);
    buf_release(&sample);
}

static void make_labels_of_one_sample(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    add_labelled(to, TYPE, NAME, n);
}

static void make_labels(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    for (unsigned i = 0; to->len < n; i++) {
        add_string(to, "label", i);
        add_labelled(to, TYPE, N_STRINGS + i, 0);
    }
}

static void make_label_keys(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    for (unsigned i = 0; to->len < n; i++) {
        add_string(to, "key", i);
        add_labelled(to, N_STRINGS + i, NAME, 0);
    }
}

static void make_long_label(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    add_long_string(to, '"', n / 2);
    while (to->len < n)
        add_labelled(to, TYPE, N_STRINGS, 0);
}

static void make_number_labels(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    for (unsigned i = 1; to->len < n; i++) {
        struct buf sample = BUF_INIT(200);
        encode_number(&sample, 1, 1);
        encode_number(&sample, 2, 1);
        ENCODE(&sample, 3, 1, TYPE, 3, i);
        encode_bytes(to, SAMPLE, buf_str(&sample), sample.len);
        buf_release(&sample);
    }
}

static void make_mappings(struct buf *to, size_t n)
{
    begin_profile(to);
    for (unsigned i = 1; to->len < n; i++) {
        ENCODE(to, MAPPING, 1, i, 2, i * 4096, 3, i * 4096 + 4096, 5, FILE_NAME);
        ENCODE(to, LOCATION, 1, i, 2, i, 3, i * 4096 + 16);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

static void make_comments(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    while (to->len < n)
        encode_number(to, COMMENT, NAME);
}

static void make_sample_types(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    while (to->len < n)
        ENCODE(to, SAMPLE_TYPE, 1, TYPE, 2, COUNT);
}

static void make_strings(struct buf *to, size_t n)
{
    begin_with_one_location(to);
    while (to->len < n)
        encode_bytes(to, STRING, "", 0);
}

/* A pattern that backtracks, and names that cause it. */
static void make_drop_frames(struct buf *to, size_t n)
{
    char name[200];
    begin_profile(to);
    encode_bytes(to, STRING, "(a|a|a)*(a*)*(a*)*b", 19);
    encode_number(to, DROP_FRAMES, N_STRINGS);
    memset(name, 'a', sizeof name);
    for (unsigned i = 1; to->len < n; i++) {
        memcpy(name + sizeof name - sizeof i, &(unsigned){i * 2654435761u | 0x40404040u}, sizeof i);
        encode_bytes(to, STRING, name, sizeof name);
        add_function(to, i, N_STRINGS + i, FILE_NAME);
        add_location(to, i, i, i);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

/* Half of the input is a pattern. */
static void make_long_pattern(struct buf *to, size_t n)
{
    struct buf pattern = BUF_INIT(n + 100);
    begin_profile(to);
    while (pattern.len < n / 2)
        buf_adds(&pattern, "a*b|");
    encode_bytes(to, STRING, buf_str(&pattern), pattern.len);
    encode_number(to, DROP_FRAMES, N_STRINGS);
    buf_release(&pattern);
    for (unsigned i = 1; to->len < n; i++) {
        add_string(to, "main.f", i);
        add_function(to, i, N_STRINGS + i, FILE_NAME);
        add_location(to, i, i, i);
        ENCODE(to, SAMPLE, 1, i, 2, 1);
    }
}

static const struct cost_grammar profiles[] = {
    {"samples", NULL, NULL, NULL, make_samples, 0},
    {"one deep stack", NULL, NULL, NULL, make_deep_stack, 0},
    {"one deep stack of many functions", NULL, NULL, NULL, make_deep_stack_of_many, 0},
    {"deep stacks that differ", NULL, NULL, NULL, make_stacks_that_differ, 0},
    {"functions of one name", NULL, NULL, NULL, make_equal_names, 0},
    {"functions", NULL, NULL, NULL, make_functions, 0},
    {"addresses alone", NULL, NULL, NULL, make_addresses, 0},
    {"lines of one location", NULL, NULL, NULL, make_inlined, 0},
    {"samples of a location of many lines", NULL, NULL, NULL, make_samples_of_inlined, 600},
    {"one long name", NULL, NULL, NULL, make_long_name, 300},
    {"long names that begin alike", NULL, NULL, NULL, make_long_names, 0},
    {"one odd name", NULL, NULL, NULL, make_odd_name, 0},
    {"labels of one sample", NULL, NULL, NULL, make_labels_of_one_sample, 0},
    {"labels", NULL, NULL, NULL, make_labels, 0},
    {"keys of labels", NULL, NULL, NULL, make_label_keys, 0},
    {"one long label", NULL, NULL, NULL, make_long_label, 300},
    {"labels of numbers", NULL, NULL, NULL, make_number_labels, 0},
    {"mappings", NULL, NULL, NULL, make_mappings, 0},
    {"comments", NULL, NULL, NULL, make_comments, 0},
    {"sample types", NULL, NULL, NULL, make_sample_types, 0},
    {"empty strings", NULL, NULL, NULL, make_strings, 4},
    {"a pattern that backtracks", NULL, NULL, NULL, make_drop_frames, 1500},
    {"a long pattern", NULL, NULL, NULL, make_long_pattern, 1500},
    {0},
};

/* ---- readers ------------------------------------------------------------------------------------------- */

static struct profile *parse_profile(const char *p, size_t n)
{
    struct profile *ret = NULL;
    struct err err = ERR_INIT;
    return profile_parse(p, n, MAX_INFLATED, &ret, &err) == 0 ? ret : NULL;
}

static int discard_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static void ignore_line(void *ctx, const char *line)
{
    (void)ctx, (void)line;
}

static void parse_and_free(const char *p, size_t n)
{
    profile_free(parse_profile(p, n));
}

static void scan_profile(const char *p, size_t n)
{
    struct profile_summary sum;
    struct profile_scan *s = profile_scan_new(NULL);
    if (s && profile_scan_feed(s, p, n, NULL) == 0)
        (void)profile_scan_finish(s, &sum, NULL);
    profile_scan_free(s);
}

static void write_profile(const char *p, size_t n)
{
    struct profile *profile = parse_profile(p, n);
    if (profile)
        (void)profile_write(profile, discard_bytes, NULL, NULL);
    profile_free(profile);
}

static void merge_profiles(const char *p, size_t n)
{
    struct profile *both[] = {parse_profile(p, n), parse_profile(p, n)}, *merged = NULL;
    if (both[0] && both[1] && profile_merge(both, 2, &merged, NULL) == 0)
        profile_free(merged);
    profile_free(both[0]);
    profile_free(both[1]);
}

static int read_input(void *ctx, gunzip_sink_fn *sink, void *sink_ctx, struct err *err)
{
    const struct str *s = ctx;
    for (size_t at = 0, piece; at < s->n; at += piece) {
        piece = s->n - at < 65536 ? s->n - at : 65536;
        if (sink(sink_ctx, s->p + at, piece, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_goroutine_label(void *ctx, const char *key, size_t n)
{
    (void)ctx;
    return n == 9 && memcmp(key, "goroutine", n) == 0;
}

static void relabel_all(const char *p, size_t n)
{
    struct str all = {p, n};
    const struct profile_relabel options = {.is_replaced = is_goroutine_label,
                                            .text = REDACTED,
                                            .source = read_input,
                                            .source_ctx = &all,
                                            .sink = discard_bytes};
    struct profile_relabelled relabelled;
    (void)profile_relabel(&options, &relabelled, NULL);
}

static void prune_profile(const char *p, size_t n)
{
    struct profile *profile = parse_profile(p, n);
    if (profile)
        (void)report_prune(profile, &(struct err){.kind = ERR_NONE});
    profile_free(profile);
}

/* Reports with machine code find no program. */
static int run_nothing(void *ctx, const struct symbolize_query *call, struct buf *ret, struct err *err)
{
    (void)ctx;
    (void)call;
    (void)ret;
    return err_set(err, ERR_NOT_FOUND, "no program");
}

static void print_report(const char *p, size_t n, const struct report_settings *settings)
{
    static const struct report_machine machine = {.write = machine_write, .run = run_nothing};
    const struct report_callbacks callbacks = {
        .sink = discard_bytes, .say = ignore_line, .machine = &machine};
    struct profile *profile = parse_profile(p, n);
    if (profile)
        (void)report_make(profile, settings, &callbacks, &(struct err){.kind = ERR_NONE});
    profile_free(profile);
}

#define REPORTER(name, ...)                                                                                  \
    static void name(const char *p, size_t n)                                                                \
    {                                                                                                        \
        struct report_settings settings = REPORT_SETTINGS_INIT;                                              \
        settings.trim = false;                                                                               \
        __VA_ARGS__;                                                                                         \
        print_report(p, n, &settings);                                                                       \
    }

REPORTER(report_text, settings.format = REPORT_TEXT)
REPORTER(report_lines, settings.format = REPORT_TEXT; settings.granularity = REPORT_BY_LINE)
REPORTER(report_filtered, settings.format = REPORT_TEXT; settings.focus = "a"; settings.hide = "b";
         settings.ignore = "x*y"; settings.tagfocus = "a"; settings.tagshow = "a")
REPORTER(report_tagroot, settings.format = REPORT_TEXT; settings.tagroot = "goroutine";
         settings.tagleaf = "goroutine")
REPORTER(report_tree, settings.format = REPORT_TREE)
REPORTER(report_peek, settings.format = REPORT_PEEK; settings.symbol = ".")
REPORTER(report_traces, settings.format = REPORT_TRACES)
REPORTER(report_tags, settings.format = REPORT_TAGS)
REPORTER(report_raw, settings.format = REPORT_RAW)
REPORTER(report_comments, settings.format = REPORT_COMMENTS)
REPORTER(report_dot, settings.format = REPORT_DOT; settings.trim = true)
REPORTER(report_call_tree, settings.format = REPORT_DOT; settings.trim = true; settings.call_tree = true)
REPORTER(report_callgrind, settings.format = REPORT_CALLGRIND)
REPORTER(report_proto, settings.format = REPORT_PROTO)
REPORTER(report_topproto, settings.format = REPORT_TOPPROTO)
REPORTER(report_folded, settings.format = REPORT_FOLDED)
REPORTER(report_speedscope, settings.format = REPORT_SPEEDSCOPE)
REPORTER(report_weblist, settings.format = REPORT_WEBLIST; settings.symbol = ".")
REPORTER(report_disasm, settings.format = REPORT_DISASM; settings.symbol = ".")
REPORTER(report_page_tags, settings.format = REPORT_TAGS_JSON)

static void draw_flame(const char *p, size_t n)
{
    struct profile *profile = parse_profile(p, n);
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY);
    if (profile)
        (void)page_data_profile(profile, &(struct page_tree){.with_sums = true}, &b, NULL);
    buf_release(&b);
    profile_free(profile);
}

static void find_findings(const char *p, size_t n)
{
    static const char *const kinds[] = {"cpu", "heap", "mutex"};
    struct profile *profile = parse_profile(p, n);
    struct findings found = FINDINGS_INIT;
    for (size_t i = 0; profile && i < sizeof kinds / sizeof *kinds; i++) {
        const struct finding_subject subject = {.host = "h", .service = "s", .kind = kinds[i], .file = "f"};
        (void)findings_add_profile(&found, profile, &subject, NULL);
    }
    (void)findings_finish(&found, NULL);
    findings_release(&found);
    profile_free(profile);
}

static void group_goroutines(const char *p, size_t n)
{
    static const char *const name = "dump";
    struct str dump = {p, n};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){&dump, &name, 1, MAX_INFLATED}, &g, &err) == 0)
        goroutines_free(g);
}

/* Locations of one mapping, without names. */
static void make_unnamed(struct buf *to, size_t n)
{
    begin_profile(to);
    ENCODE(to, MAPPING, 1, 1, 2, 1, 3, (uint64_t)1 << 40);
    for (uint64_t id = 1; to->len < n; id++)
        ENCODE(to, LOCATION, 1, id, 2, 1, 3, id * 16);
}

/* Functions with mangled names. */
static void make_mangled(struct buf *to, size_t n)
{
    begin_profile(to);
    for (unsigned i = 0; to->len < n; i++) {
        add_string(to, "_ZN1a1bIiE1cEv", i);
        ENCODE(to, FUNCTION, 1, i + 1, 2, N_STRINGS + i, 3, N_STRINGS + i, 4, FILE_NAME);
        add_location(to, i + 1, i + 1, 1);
    }
}

static const struct cost_grammar nameless[] = {
    {"locations without names", NULL, NULL, NULL, make_unnamed, 0},
    {"mangled names", NULL, NULL, NULL, make_mangled, 0},
    {0},
};

/* Answers with a mangled name for each address. */
static int name_addresses(void *ctx, const char *source, struct str addresses, struct buf *ret,
                          struct err *err)
{
    struct str rest = addresses;
    (void)ctx, (void)source;
    while (rest.n > 0) {
        const char *plus = memchr(rest.p, '+', rest.n);
        size_t one = plus ? (size_t)(plus - rest.p) : rest.n;
        buf_add(ret, rest.p, one);
        buf_adds(ret, " _ZN1a1bIiE1cEv\n");
        rest.p += one + (plus != NULL);
        rest.n -= one + (plus != NULL);
    }
    return buf_check(ret, "names", err);
}

/* Answers each line with a name that has template arguments. */
static int name_lines(void *ctx, const struct symbolize_query *call, struct buf *ret, struct err *err)
{
    (void)ctx;
    for (size_t i = 0; i < call->input.n; i++)
        if (call->input.p[i] == '\n')
            buf_adds(ret, "a::b<c<int>, d<int> >::e<int>(f<int>)\n");
    return buf_check(ret, "names", err);
}

static void symbolize_profile(const char *p, size_t n)
{
    struct symbolize_servers sources = {0};
    const struct symbolize_tools tools = {.run = name_lines, .post = name_addresses, .say = ignore_line};
    struct profile *profile = parse_profile(p, n);
    if (profile && symbolize_collect(profile, "http://h/debug/pprof/heap", &sources, NULL) == 0)
        (void)symbolize(profile, "remote:demangle=full:force", &sources, &tools, NULL);
    symbolize_sources_release(&sources);
    profile_free(profile);
}

static void compare_profiles(const char *p, size_t n)
{
    const struct finding_subject subject = {
        .host = "h", .service = "s", .kind = "cpu", .file = "f", .target = "a", .baseline = "b"};
    struct comparison c = {0};
    struct findings found = FINDINGS_INIT;
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY);
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        struct profile *profile = parse_profile(p, n);
        if (profile)
            (void)comparison_add(&c, (enum comparison_side)side, profile, NULL);
        profile_free(profile);
    }
    if (comparison_finish(&c, NULL) == 0 && c.all) {
        (void)findings_add_comparison(&found, &c, &subject, NULL);
        (void)page_data_comparison(&c, &b, NULL);
    }
    findings_release(&found);
    buf_release(&b);
    comparison_release(&c);
}

static void compare_growth(const char *p, size_t n)
{
    const struct finding_subject subject = {.host = "h", .service = "s", .kind = "heap", .file = "f"};
    struct growth g = {0};
    struct findings found = FINDINGS_INIT;
    struct profile *before = parse_profile(p, n), *now = parse_profile(p, n);
    if (before && now && growth_make(&g, before, now, NULL) == 0) {
        (void)findings_add_growth(&found, &g, &subject, NULL);
        growth_subtract(&g);
    }
    findings_release(&found);
    growth_release(&g);
    profile_free(before);
    profile_free(now);
}

static void compare_fleet(const char *p, size_t n)
{
    static const char *const hosts[] = {"a", "b", "c"};
    const struct finding_subject subject = {.host = "h", .service = "s", .kind = "cpu", .file = "f"};
    struct fleet f = {0};
    struct findings found = FINDINGS_INIT;
    struct profile *profile = parse_profile(p, n);
    for (size_t i = 0; profile && i < sizeof hosts / sizeof *hosts; i++)
        (void)fleet_add(&f, &(struct fleet_origin){hosts[i], false, "f"}, profile, NULL);
    if (fleet_compare(&f, NULL) == 0)
        (void)findings_add_fleet(&found, &f, &subject, NULL);
    findings_release(&found);
    fleet_release(&f);
    profile_free(profile);
}

static const struct cost_grammar hosts[] = {
    {"hosts with functions of their own", "", "a-host-with-a-long-name-\1\n", "", NULL, 20},
    {0},
};

#define N_OWN_FUNCTIONS 10

/* Adds a host whose functions no other host has. */
static void add_host(struct fleet *f, const char *host)
{
    struct buf text = BUF_INIT(1 << 16);
    begin_profile(&text);
    for (unsigned i = 1; i <= N_OWN_FUNCTIONS; i++) {
        add_string(&text, host, i);
        add_function(&text, i, N_STRINGS + i - 1, FILE_NAME);
        add_location(&text, i, i, 1);
        ENCODE(&text, SAMPLE, 1, i, 2, 1000);
    }
    struct profile *profile = parse_profile(buf_str(&text), text.len);
    if (!profile || fleet_add(f, &(struct fleet_origin){host, false, "f"}, profile, NULL) < 0)
        abort();
    profile_free(profile);
    buf_release(&text);
}

/* Each line is a host. */
static void compare_hosts(const char *p, size_t n)
{
    const struct finding_subject subject = {.service = "s"};
    struct fleet f = {0};
    struct findings found = FINDINGS_INIT;
    char line[100];
    for (const char *end; (end = memchr(p, '\n', n)); n -= (size_t)(end + 1 - p), p = end + 1) {
        snprintf(line, sizeof line, "%.*s", (int)(end - p), p);
        add_host(&f, line);
    }
    if (fleet_compare(&f, NULL) == 0)
        (void)findings_add_fleet(&found, &f, &subject, NULL);
    findings_release(&found);
    fleet_release(&f);
}

const struct cost_parser cost_profile_parsers[] = {
    {"profile_parse", parse_and_free, profiles, 7, 8u << 20},
    {"profile_scan_feed", scan_profile, profiles, 2, 8u << 20},
    {"profile_write", write_profile, profiles, 9, 8u << 20},
    {"profile_merge", merge_profiles, profiles, 23, 4u << 20},
    {"profile_relabel", relabel_all, profiles, 3, 8u << 20},
    {"report_prune", prune_profile, profiles, 16, 4u << 20},
    {"report text", report_text, profiles, 10, 4u << 20},
    {"report lines", report_lines, profiles, 43, 4u << 20},
    {"report with filters", report_filtered, profiles, 9, 4u << 20},
    {"report with tagroot", report_tagroot, profiles, 46, 4u << 20},
    {"report tree", report_tree, profiles, 11, 4u << 20},
    {"report peek", report_peek, profiles, 12, 4u << 20},
    {"report traces", report_traces, profiles, 17, 4u << 20},
    {"report tags", report_tags, profiles, 30, 4u << 20},
    {"report raw", report_raw, profiles, 9, 4u << 20},
    {"report comments", report_comments, profiles, 7, 4u << 20},
    {"report dot", report_dot, profiles, 19, 4u << 20},
    {"report dot of a call tree", report_call_tree, profiles, 263, 4u << 20},
    {"report callgrind", report_callgrind, profiles, 51, 4u << 20},
    {"report proto", report_proto, profiles, 9, 4u << 20},
    {"report topproto", report_topproto, profiles, 18, 4u << 20},
    {"report folded", report_folded, profiles, 225, 4u << 20},
    {"report speedscope", report_speedscope, profiles, 225, 4u << 20},
    {"report weblist", report_weblist, profiles, 400, 4u << 20},
    {"report disasm", report_disasm, profiles, 400, 4u << 20},
    {"report tags of the page", report_page_tags, profiles, 400, 4u << 20},
    {"page_data_profile", draw_flame, profiles, 18, 4u << 20},
    {"findings_add_profile", find_findings, profiles, 7, 4u << 20},
    {"goroutines_read of a profile", group_goroutines, profiles, 46, 4u << 20},
    {"symbolize", symbolize_profile, nameless, 20, 4u << 20},
    {"comparison", compare_profiles, profiles, 23, 4u << 20},
    {"growth", compare_growth, profiles, 24, 4u << 20},
    {"fleet", compare_fleet, profiles, 9, 4u << 20},
    {"fleet of many hosts", compare_hosts, hosts, 200, 64u << 10},
    {0},
};
