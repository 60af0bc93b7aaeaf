/* Parsers of texts: dumps, pages, names, output of other programs, and parts of a tracker's note. */
#include "tests/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bundle/redact/redact_words.h"
#include "bundle/redact/redact_manifest.h"
#include "cli/pprof/shell.h"
#include "fetch/answer.h"
#include "fetch/body/check.h"
#include "fetch/body/index.h"
#include "fetch/plan.h"
#include "fetch/profiler_owner.h"
#include "handoff/rt_attachment.h"
#include "handoff/escape.h"
#include "proto/profile_store.h"
#include "pprof/filter.h"
#include "page/data.h"
#include "pprof/regex.h"
#include "pprof/pprof.h"
#include "findings/findings.h"
#include "pprof/source_code.h"
#include "pprof/machine/objdump.h"
#include "pprof/symbolize/symbols.h"
#include "tests/unit/pprof/machine_profile.h"

#include "base/banned.h"

#define MAX_INFLATED ((uint64_t)256 << 20)

static int discard_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static void ignore_text(void *ctx, const char *line)
{
    (void)ctx, (void)line;
}

/* ---- dumps of goroutines ------------------------------------------------------------------------------- */

static const struct cost_grammar dumps[] = {
    {"commas in a state", "goroutine 1 [x", ", ", "]:\nmain.main()\n", NULL, 0},
    {"commas, then blanks, in a state", "goroutine 1 [x", ",,,, ", "]:\nmain.main()\n", NULL, 0},
    {"blanks in a state", "goroutine 1 [x,", " ", "]:\nmain.main()\n", NULL, 0},
    {"brackets", "goroutine 1 [", "[]", "]:\nmain.main()\n", NULL, 0},
    {"frames of one letter", "", "goroutine 1 [x]:\na\na\na\na\na\na\na\na\n\n", "", NULL, 0},
    {"one deep stack", "goroutine 1 [x]:\n", "a\n", "", NULL, 0},
    {"stacks that all differ", "", "goroutine 1 [\1]:\na\n\n", "", NULL, 0},
    {"labels that all differ", "", "goroutine 1 [x]: {\1}:\na\n\n", "", NULL, 0},
    {"places", "goroutine 1 [x]:\na\n", "\t/a.go:1 +0x1 +0x\n", "", NULL, 0},
    {"parentheses", "goroutine 1 [x]:\n", "(", "\n", NULL, 0},
    {"headers alone", "", "goroutine 1 [x]:\n", "", NULL, 0},
    {"deep stacks that begin alike", "",
     "goroutine 1 [x]:\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\n\1\n\n",
     "", NULL, 0},
    {"lines without end", "goroutine 1 [x]:\n", "goroutine 1 [", "", NULL, 0},
    {"no dump", "", "a\n", "", NULL, 0},
    {"grouped, counts", "goroutine profile: total 1\n", "1 @ 0x1\n", "", NULL, 0},
    {"grouped, symbols", "goroutine profile: total 1\n1 @ 0x1\n", "#\t0x1\ta+0x1\tb:1\n", "", NULL, 0},
    {"grouped, groups that all differ", "goroutine profile: total 1\n", "1 @ 0x\1\n#\t0x1\t\1\n\n", "", NULL,
     0},
    {"grouped, labels that all differ", "goroutine profile: total 1\n", "1 @ 0x1\n# labels: {\1}\n\n", "",
     NULL, 0},
    {"grouped, totals", "goroutine profile: total 1\n", "goroutine profile: total goroutine", "\n", NULL, 0},
    {0},
};

static void read_dump(const char *p, size_t n)
{
    static const char *const name = "dump";
    struct str dump = {p, n};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){&dump, &name, 1, MAX_INFLATED}, &g, &err) == 0)
        goroutines_free(g);
}

static void read_two_dumps(const char *p, size_t n)
{
    static const char *const names[] = {"before", "now"};
    struct str both[] = {{p, n}, {p, n}};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){both, names, 2, MAX_INFLATED}, &g, &err) == 0)
        goroutines_free(g);
}

static void draw_dump(const char *p, size_t n)
{
    static const char *const name = "dump";
    const struct finding_subject subject = {.host = "h", .service = "s", .kind = "goroutines", .file = "f"};
    struct str dump = {p, n};
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    struct findings found = FINDINGS_INIT;
    struct buf out = BUF_INIT(PAGE_MAX_ENTRY);
    if (goroutines_read(&(struct goroutines_input){&dump, &name, 1, MAX_INFLATED}, &g, &err) < 0)
        return;
    (void)findings_add_goroutines(&found, g, &subject, NULL);
    (void)findings_finish(&found, NULL);
    (void)page_data_goroutines(g, &out, NULL);
    findings_release(&found);
    buf_release(&out);
    goroutines_free(g);
}

static const struct cost_grammar services[] = {
    {"services with the same function", "", "s\1 main.f\n", "", NULL, 20},
    {"services that all differ", "", "s\1 main.f\1\n", "", NULL, 20},
    {"functions of one service", "", "s main.f\1\n", "", NULL, 20},
    {"equal dumps", "", "s main.f\n", "", NULL, 20},
    {0},
};

static struct goroutines *make_dump_of(const char *function)
{
    static const char *const name = "dump";
    struct buf text = BUF_INIT(1000);
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    buf_addf(&text, "goroutine 1 [select]:\n%s()\n\t/a.go:1 +0x1\n", function);
    struct str dump = {buf_str(&text), text.len};
    if (goroutines_read(&(struct goroutines_input){&dump, &name, 1, MAX_INFLATED}, &g, &err) < 0)
        abort();
    buf_release(&text);
    return g;
}

/* Each line has a service and the function of its dump. Equal dumps are read once, because reading takes
 * longer than the findings. */
static void finish_findings(const char *p, size_t n)
{
    struct finding_subject subject = {.host = "h", .kind = "goroutines", .file = "f"};
    struct findings found = FINDINGS_INIT;
    struct goroutines *g = NULL;
    char line[100], read[100] = "";
    for (const char *end; (end = memchr(p, '\n', n)); n -= (size_t)(end + 1 - p), p = end + 1) {
        snprintf(line, sizeof line, "%.*s", (int)(end - p), p);
        char *rest = NULL;
        subject.service = strtok_r(line, " ", &rest);
        const char *function = strtok_r(NULL, " ", &rest);
        if (strcmp(read, function) != 0) {
            goroutines_free(g);
            g = make_dump_of(function);
            snprintf(read, sizeof read, "%s", function);
        }
        (void)findings_add_goroutines(&found, g, &subject, NULL);
    }
    (void)findings_finish(&found, NULL);
    findings_release(&found);
    goroutines_free(g);
}

/* ---- answers of services --------------------------------------------------------------------------------
 */

static const struct cost_grammar asked[] = {
    {"paths", "", "/p\1 ", "", NULL, 0},
    {"paths that are equal", "", "/p ", "", NULL, 0},
    {"names", "", "p\1 ", "", NULL, 0},
    {0},
};

static const struct cost_grammar pages[] = {
    {"links", "<html><title>/debug/pprof/</title>", "<a href=\"\1?debug=1\">", "", NULL, 0},
    {"links of one name", "<html><title>/debug/pprof/</title>",
     "<tr><td>1</td><td><a href='heap?debug=1'>heap</a>", "", NULL, 0},
    {"tags without end", "<html>", "<a ", "", NULL, 0},
    {"quotes without end", "<html>", "<a href=\"", "", NULL, 0},
    {"entities", "<html><a href='heap'>", "&amp;&#x41;&", "", NULL, 0},
    {"comments", "<html>", "<!--", "", NULL, 0},
    {"titles", "", "<title>", "", NULL, 0},
    {"blanks", "<html>", " ", "", NULL, 0},
    {"counts", "<html>", "<td>1", "", NULL, 0},
    {0},
};

static void read_index(const char *p, size_t n)
{
    struct index_page page = {0};
    if (index_parse(p, n, &page, NULL) == 0)
        index_release(&page);
}

/* Makes the plan for a service whose index page is the input. */
static void plan_index(const char *p, size_t n)
{
    char name[] = "s", host[] = "localhost", path[] = "/debug/pprof";
    const struct service service = {.name = name, .host = host, .port = 1, .path = path};
    struct index_page page = {0};
    struct strlist words = {0};
    struct request_list requests = {0};
    struct plan plan = {0};
    if (strlist_split(&words, "all,goroutines,cmdline", NULL) < 0 ||
        request_parse(&words, &requests, NULL) < 0)
        abort();
    if (index_parse(p, n, &page, NULL) == 0 && plan_make(&service, &requests, &page, &plan, NULL) == 0)
        (void)plan_pairs(&plan, NULL);
    plan_release(&plan);
    request_release(&requests);
    strlist_release(&words);
    index_release(&page);
}

/* Parses the kinds and paths that a manifest says were asked for, once for each of some services. */
static void parse_requests(const char *p, size_t n)
{
    struct strlist words = {0};
    struct request_list requests;
    for (size_t at = 0; at < n; at += strcspn(p + at, " ") + 1)
        if (strlist_addn(&words, p + at, strcspn(p + at, " "), NULL) < 0)
            abort();
    for (int i = 0; i < 20; i++)
        if (request_parse(&words, &requests, NULL) == 0)
            request_release(&requests);
    strlist_release(&words);
}

static void read_words(const char *p, size_t n)
{
    char words[512];
    answer_read_text(p, n, words, sizeof words);
}

static void print_text(const char *p, size_t n)
{
    char *text = malloc(n + 8);
    if (text)
        text_printable(text, n + 8, p, n);
    free(text);
}

static const struct cost_grammar bodies[] = {
    {"dump", "goroutine 1 [x]:\n", "a\n", "", NULL, 0},
    {"profile of text", "heap profile: 1: 1 [1: 1] @ heap/1\n", "1: 1 [1: 1] @ 0x1\n", "", NULL, 0},
    {"NULs", "", "\2\3", "", NULL, 0},
    {"blanks", "", " ", "", NULL, 0},
    {"a page", "<html>", "<a>", "", NULL, 0},
    {"trace", "go 1.22 trace\0\0\0", "\1\1\1", "", NULL, 0},
    {0},
};

static void check_body(const char *p, size_t n)
{
    static const enum body_format formats[] = {BODY_PPROF, BODY_TRACE, BODY_TEXT, BODY_RAW};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct check_result result;
        struct check *c = check_new(formats[i], NULL);
        if (c && check_feed(c, p, n, NULL) == 0)
            (void)check_finish(c, &result, NULL);
        check_free(c);
    }
}

/* ---- text forms of profiles ---------------------------------------------------------------------------- */

#define HEAP "heap profile: 1: 1 [1: 1] @ heap/1\n"
#define MAPS "--- Memory map: ---\n"

/* Half of the input is addresses, and half is mappings, none of which contains one of the addresses. */
static void make_addresses_and_mappings(struct buf *to, size_t n)
{
    buf_adds(to, HEAP);
    for (unsigned i = 0; to->len < n / 2; i++)
        buf_addf(to, "1: 1 [1: 1] @ 0x%x\n", 0xf0000001 + i * 2);
    buf_adds(to, MAPS);
    for (unsigned i = 1; to->len < n; i++)
        buf_addf(to, "%x-%x r-xp 1 0:0 0 /a\n", i * 32, i * 32 + 16);
}

static const struct cost_grammar legacy[] = {
    {"heap samples", HEAP, "1: 1 [1: 1] @ 0x\1\n", "", NULL, 0},
    {"long heap samples", HEAP, "1: 1 [1: 1] @ 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8 0x9 0xa 0xb 0xc 0xd 0xe\n", "",
     NULL, 0},
    {"one long line of blanks", HEAP, " ", "", NULL, 0},
    {"lines of blanks", HEAP,
     "1: 1 [                                                                                          \n", "",
     NULL, 0},
    {"digits", HEAP, "1111111111111111111111111111111111111111111111111111111111111111111111111111:\n", "",
     NULL, 0},
    {"comments", HEAP, "#\n", "", NULL, 0},
    {"counts", "goroutine profile: total 1\n", "1 @ 0x\1 0x2\n", "", NULL, 0},
    {"contentions", "--- contention:\ncycles/second=1\n", "1 1 @ 0x\1\n", "", NULL, 0},
    {"attributes", "--- contention:\n", "discarded samples=1\n", "", NULL, 0},
    {"threads", "--- threadz 1 ---\n\n", "--- Thread \1 (name: a/1) stack: ---\n0x1\n", "", NULL, 0},
    {"names of threads", "--- threadz 1 ---\n\n--- Thread 1 (name: ", "a/1) stack: ---/1", "", NULL, 0},
    {"mappings", HEAP "1: 1 [1: 1] @ 0x1\n" MAPS, "\1-\1 r-xp 0 0:0 0 /a\n", "", NULL, 0},
    {"addresses and mappings", "", "", "", make_addresses_and_mappings, 0},
    {"attributes of mappings", HEAP MAPS "a=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n", "$a$a$a$a$a$a$a$a\n", "",
     NULL, 0},
    {"log lines", HEAP MAPS, "a:1] a:1] a:1] a:1] a:1] a:1] [\n", "", NULL, 0},
    {"brief mappings of blanks", HEAP MAPS, "1 - 2:                                                     \n",
     "", NULL, 0},
    {0},
};

static void read_legacy(const char *p, size_t n)
{
    struct profile *profile = NULL;
    struct err err = ERR_INIT;
    if (profile_parse_text(p, n, &profile, &err) == 0)
        profile_free(profile);
}

/* ---- output of other programs ---------------------------------------------------------------------------
 */

static const struct cost_grammar addr2lines[] = {
    {"frames", "0x1\n", "f\nf.c:1\n", "", NULL, 0},
    {"addresses", "", "0x\1\nf\nf.c:1\n", "", NULL, 0},
    {"colons", "0x1\nf\n", ":", "\n", NULL, 0},
    {"blanks", "0x1\nf\n", " ", "\n", NULL, 0},
    {0},
};

static void read_addr2line(const char *p, size_t n)
{
    struct str rest = {p, n};
    struct frames frames = {0};
    uint64_t address;
    while (addr2line_next(&rest, &address, &frames, NULL) > 0)
        continue;
    free(frames.items);
}

static const struct cost_grammar nms[] = {
    {"symbols", "", "\1 T f\n", "", NULL, 0},
    {"symbols of one address", "", "1 T f\n", "", NULL, 0},
    {"sizes", "", "1 1 T f\n", "", NULL, 0},
    {"blanks", "", "1 T  ", "", NULL, 0},
    {0},
};

static const struct cost_grammar nm_tables[] = {
    {"symbols", "", "4\1 T leaf\n", "", NULL, 0},
    {"symbols of one address", "", "401110 T leaf\n", "", NULL, 0},
    {"mangled names", "", "401110 T _Z1fi\n", "", NULL, 0},
    {"blanks", "401110 T", " ", "f\n", NULL, 0},
    {"lines", "", "\n", "", NULL, 0},
    {0},
};

static void read_nm(const char *p, size_t n)
{
    struct nm nm;
    if (nm_read((struct str){p, n}, 0x1000, &nm, NULL) == 0)
        nm_release(&nm);
}

static const struct cost_grammar objdumps[] = {
    {"instructions", "f():\n", " 4\1:\tnop\n", "", NULL, 0},
    {"instructions of one address", "f():\n", "401112: a\n", "", NULL, 0},
    {"places", "", "f():\n/a.c:1\n", "401112: a\n", NULL, 0},
    {"colons", "", ":", "\n", NULL, 0},
    {"brackets", "", "()", ":\n", NULL, 0},
    {"digits", "a:", "1", "\n", NULL, 0},
    {"blanks", "401112:", " ", "x\n", NULL, 0},
    {"empty lines", "", "\n", "", NULL, 0},
    {0},
};

static void read_objdump(const char *p, size_t n)
{
    struct instructions code;
    if (objdump_read((struct str){p, n}, &code, NULL) == 0)
        free(code.items);
}

static void read_symbols(const char *p, size_t n)
{
    struct str rest = {p, n}, name;
    uint64_t address;
    while (nm_next(&rest, &address, &name))
        continue;
}

/* Makes a report whose programs have these answers, or good ones if they are empty. */
static void report_machine_code(enum report_format format, const struct machine_answers *from)
{
    struct machine_answers answers = machine_good_answers();
    struct report_settings settings = REPORT_SETTINGS_INIT;
    char path[40];
    int fd = machine_elf(path);
    settings.format = format;
    settings.symbol = "leaf|main";
    for (size_t i = 0; i < sizeof answers.texts / sizeof *answers.texts; i++)
        if (from->texts[i].n)
            answers.texts[i] = from->texts[i];
    (void)machine_report(path, &settings, &answers,
                         (struct report_callbacks){.sink = discard_bytes, .say = ignore_text},
                         &(struct err){.kind = ERR_NONE});
    close(fd);
}

static void disassemble(const char *p, size_t n)
{
    report_machine_code(REPORT_DISASM, &(struct machine_answers){.texts = {[SYMBOLIZE_OBJDUMP] = {p, n}}});
}

static void list_code(const char *p, size_t n)
{
    report_machine_code(REPORT_WEBLIST, &(struct machine_answers){.texts = {[SYMBOLIZE_OBJDUMP] = {p, n}}});
}

static void list_calls(const char *p, size_t n)
{
    report_machine_code(REPORT_SOURCE, &(struct machine_answers){.texts = {[SYMBOLIZE_ADDR2LINE] = {p, n}}});
}

static void find_symbols(const char *p, size_t n)
{
    report_machine_code(REPORT_DISASM, &(struct machine_answers){.texts = {[SYMBOLIZE_NM_ALL] = {p, n}}});
}

static const struct cost_grammar servers[] = {
    {"symbols", "", "0x\1\tf\n", "", NULL, 0},
    {"pluses", "", "0x1+0x1+", "\tf\n", NULL, 0},
    {"blanks", "", " \t", "", NULL, 0},
    {"lines", "", "\n", "", NULL, 0},
    {0},
};

static void read_symbolz(const char *p, size_t n)
{
    struct str rest = {p, n};
    struct symbolz s;
    while (symbolz_next(&rest, &s, NULL) > 0)
        continue;
}

static const struct cost_grammar names[] = {
    {"angle brackets", "", "<", "", NULL, 0},
    {"pairs of angle brackets", "", "<>", "", NULL, 0},
    {"opened, then closed", "a<", "(<", ">", NULL, 0},
    {"operators", "", "operator<", "", NULL, 0},
    {"parentheses", "", "(", "", NULL, 0},
    {"pairs of parentheses", "", "()", "", NULL, 0},
    {"local names", "", "f(int)::", "", NULL, 0},
    {"hashes", "", "::h0123456789abcdef", "", NULL, 0},
    {"colons", "", "::", "", NULL, 0},
    {"commas", "a<", ",", ">", NULL, 0},
    {"anonymous namespaces", "", "(anonymous namespace)", "", NULL, 0},
    {"braces", "", "{lambda(", "", NULL, 0},
    {"blanks", "", " ", "", NULL, 0},
    {0},
};

static void shorten_name(const char *p, size_t n)
{
    for (enum demangle mode = DEMANGLE_SIMPLE; mode < DEMANGLE_NONE; mode++) {
        struct buf to = BUF_INIT(SIZE_MAX / 2);
        demangle_shorten(STR("_Z1f"), (struct str){p, n}, mode, &to);
        demangle_shorten(STR("_RNvC1a1b"), (struct str){p, n}, mode, &to);
        buf_release(&to);
    }
}

/* ---- regular expressions ------------------------------------------------------------------------------- */

static const struct cost_grammar patterns[] = {
    {"brackets", "", "[", "", NULL, 0},
    {"groups", "", "(", "", NULL, 0},
    {"closed groups", "", "()", "", NULL, 0},
    {"alternatives", "", "a|", "", NULL, 0},
    {"stars", "a", "*", "", NULL, 0},
    {"repeats", "", "a{1,2}", "", NULL, 0},
    {"classes", "", "[a-z]", "", NULL, 0},
    {"one class", "[", "a-z", "]", NULL, 0},
    {"Unicode classes", "", "\\pL", "", NULL, 0},
    {"brackets of POSIX in a class", "[", "[:", "]", NULL, 0},
    {"one class of Unicode", "[", "\\pL\\PL", "]", NULL, 0},
    {"folded classes", "(?i)", "[a-z]", "", NULL, 0},
    {"one folded class", "(?i)[", "\\x{100}-\\x{10ffff}", "]", NULL, 0},
    {"flags", "", "(?i)", "", NULL, 0},
    {"named groups", "", "(?P<n\1>a)", "", NULL, 0},
    {"quotes", "", "\\Q", "", NULL, 0},
    {"escapes", "", "\\.", "", NULL, 0},
    {"opened, then closed", "", "(a", ")", NULL, 0},
    {0},
};

static void translate_regex(const char *p, size_t n)
{
    struct buf to = BUF_INIT((size_t)1 << 20);
    (void)regex_translate((struct str){p, n}, &to, NULL);
    buf_release(&to);
}

static void compile_regex(const char *p, size_t n)
{
    struct regex_budget *budget = regex_budget_new(UINT64_MAX);
    struct regex *r = NULL;
    if (regex_new((struct str){p, n}, budget, &r, NULL) == 0)
        regex_free(r);
    regex_budget_free(budget);
}

/* ---- the user of the profiler -------------------------------------------------------------------------- */

static const struct cost_grammar stacks[] = {
    {"frames", "goroutine profile: total 1\n1 @ 0x1\n", "#\t0x1\ta+0x1\tb:1\n", "", NULL, 0},
    {"lines", "", "\n", "", NULL, 0},
    {"one line", "", "a", "", NULL, 0},
    {"beginnings of a profiler's functions", "", "net/http/pprof.Profilnet/http/pprof.Trac", "\n", NULL, 0},
    {"lines of such beginnings", "", "#\tcloud.google.com/go/profilcloud.google.com/go/profilcloud.goo\n", "",
     NULL, 0},
    {0},
};

/* Feeds the page in pieces of 100 bytes, as a connection may deliver it. */
static void find_owner(const char *p, size_t n)
{
    struct profiler_owner cpu = {0}, trace = {.for_tracer = true};
    for (size_t at = 0; at < n; at += 100) {
        size_t piece = n - at < 100 ? n - at : 100;
        profiler_owner_feed(&cpu, p + at, piece);
        profiler_owner_feed(&trace, p + at, piece);
    }
}

/* ---- source files -------------------------------------------------------------------------------------- */

static const struct cost_grammar sources[] = {
    {"lines", "", "\n", "", NULL, 0},       {"one line", "", "a", "", NULL, 0},
    {"returns", "", "\r", "", NULL, 0},     {"slashes", "", "/", "", NULL, 0},
    {"directories", "", "a/", "", NULL, 0}, {0},
};

static void split_source(const char *p, size_t n)
{
    struct source_code_lines l = {0};
    if (source_code_split((struct str){p, n}, &l, NULL) == 0)
        free(l.items);
}

static void trim_source(const char *p, size_t n)
{
    (void)source_code_trim((struct str){p, n}, "/a:/a/a:a", "/b:/a/b");
}

/* ---- notes, copies ------------------------------------------------------------------------------------- */

static const struct cost_grammar notes[] = {
    {"backticks", "", "`", "", NULL, 0},
    {"backticks on lines", "", "`\n", "", NULL, 0},
    {"lines", "", "\n", "", NULL, 0},
    {"at signs", "", " @", "", NULL, 0},
    {"angle brackets", "", "</pre>", "", NULL, 0},
    {"blanks", "", " ", "", NULL, 0},
    {"references", "", "#1 !1 @a http://a/ ", "", NULL, 0},
    {0},
};

static void escape_text(const char *p, size_t n)
{
    struct buf to = BUF_INIT(SIZE_MAX / 2);
    (void)n;
    escape_markdown(&to, p);
    escape_redmine(&to, p);
    escape_plain(&to, p);
    buf_release(&to);
}

static const struct cost_grammar attachments[] = {
    {"lines", "RT/4.4 200 Ok\n\n", "\n", "", NULL, 0},
    {"headers", "RT/4.4 200 Ok\n\n", "Content: a\n", "", NULL, 0},
    {"indented lines", "RT/4.4 200 Ok\n\nContent: a\n", "         a\n", "", NULL, 0},
    {0},
};

static void read_content(const char *p, size_t n)
{
    struct rt_attachment_decoder c = {.receive = discard_bytes};
    if (rt_attachment_add(&c, p, n, NULL) == 0)
        (void)rt_attachment_end(&c, NULL);
}

static const struct cost_grammar secrets[] = {
    {"equal signs", "", "password=", "", NULL, 0},
    {"values", "", "password=a ", "", NULL, 0},
    {"options", "", "--password --token ", "", NULL, 0},
    {"at signs", "", "a:b@", "", NULL, 0},
    {"URLs", "", "http://a:b@", "", NULL, 0},
    {"schemes", "", "://", "", NULL, 0},
    {"slashes", "http://a:", "/", "@b", NULL, 0},
    {"quotes", "", "\"", "", NULL, 0},
    {"JSON", "", "{\"password\":", "", NULL, 0},
    {"colons", "x:", "password:", "", NULL, 0},
    {"brackets", "", "{[", "", NULL, 0},
    {"queries", "/x?", "token=\1&", "", NULL, 0},
    {"bearers", "", "Bearer ", "", NULL, 0},
    {"base64", "", "abcdefgh", "", NULL, 0},
    {"hexadecimal", "", "0123456789abcdef", "", NULL, 0},
    {"keys without end", "", "-----BEGIN PRIVATE KEY-----", "", NULL, 0},
    {"JWTs", "", "eyJ.", "", NULL, 0},
    {"parameters", "/x", "?a\1=", "", NULL, 0},
    {"encoded signs", "", "?token%3D%25", "", NULL, 0},
    {"entities", "", "key=&quot;", "", NULL, 0},
    {"encoded blanks", "", "%20", "", NULL, 0},
    {"encoded headers", "", "token%3A%20", "", NULL, 0},
    {"blank entities", "", "&nbsp;", "", NULL, 0},
    {"plus signs", "", "token%3D+", "", NULL, 0},
    {"quoted passwords", "", "a:\"b:'", "", NULL, 0},
    {"quoted passwords of URLs", "", "a://b:\"", "", NULL, 0},
    {"lists of plurals", "", "tokens=[a ", "", NULL, 0},
    {"numbers of plurals", "tokens: ", "5; tokens=5,", "", NULL, 0},
    {"elements of plurals", "", "tokens=a1,", "", NULL, 0},
    {"tabs", "", "key\t", "", NULL, 0},
    {"redacted keys without end", "", "-----BEGIN PRIVATE KEY----- [redacted]", "", NULL, 0},
    {"blank keys without end", "", "-----BEGIN PRIVATE KEY----- ", "", NULL, 0},
    {"keys with an end", "", "-----BEGIN PRIVATE KEY-----a-----END PRIVATE KEY-----", "", NULL, 0},
    {"blanks", "", " ", "", NULL, 0},
    {"URLs without end", "", "redis://:", "", NULL, 0},
    {"encoded URLs", "", "a%3A%2F%2Fb%3A", "", NULL, 0},
    {"encoded percents", "", "%25", "", NULL, 0},
    {"indexes", "", "[a]=", "", NULL, 0},
    {"escaped names", "", "\\u0061=", "", NULL, 0},
    {"names of pairs", "", "\"name\":\"token\",", "", NULL, 0},
    {"values of pairs", "", "\"value\":\"key\",", "", NULL, 0},
    {"encoded JSON", "", "%22key%22%3A%22", "", NULL, 0},
    {"cells", "", "<td>token", "", NULL, 0},
    {"brackets of tags", "<", ">", "", NULL, 0},
    {"parts of a path", "", "/token/", "", NULL, 0},
    {"arguments", "", "-u a:-p ", "", NULL, 0},
    {"values of Go", "", "token:[]a{", "", NULL, 0},
    {"types of Go", "", "key:[]", "", NULL, 0},
    {"texts of XML without end", "", "<a><![CDATA[", "", NULL, 0},
    {"secrets in XML without end", "", "<token><![CDATA[", "", NULL, 0},
    {"pairs without a name", "", "\"value\":\"a\",", "", NULL, 0},
    {"data source names", "", "a:b/c:", "@tcp(", NULL, 0},
    {"encoded colons", "", "a://b%3A", "", NULL, 0},
    {"doubled quotes", "password='", "a''", "", NULL, 0},
    {"backticks", "", "token=`", "", NULL, 0},
    {"backslashes in parameters", "/x?token=", "\\", "", NULL, 0},
    {"parameters with a backslash", "", "?a=\\\\", "", NULL, 0},
    {"strings in brackets", "", "token:[\"", "", NULL, 0},
    {"apostrophes in brackets", "", "token=['", "", NULL, 0},
    {"escaped strings in brackets", "token:[", "\\\"[", "", NULL, 0},
    {"three quotes", "", "token=\"\"\"", "", NULL, 0},
    {"three quotes without end", "", "token='''a", "", NULL, 0},
    {"lines with three quotes", "", "token='''\n", "", NULL, 0},
    {"hints of pairs", "", "\"name\":\"token\",\"type\":\"\1\",", "", NULL, 0},
    {"pairs of Go", "", "value:a name:b ", "", NULL, 0},
    {"encoded schemes", "", "Bearer%20", "", NULL, 0},
    {"schemes of values", "", "=Basic ", "", NULL, 0},
    {"users of URLs", "", "a://b1c2d3e4", "", NULL, 0},
    {"blanks around signs", "", "token        :        ", "", NULL, 0},
    {"carriage returns", "", "a\r", "", NULL, 0},
    {"lists of YAML", "", "tokens:\n- a\n", "", NULL, 0},
    {"lists of JSON", "", "tokens: [\n", "", NULL, 0},
    {"CDATA", "<token>", "<![CDATA[\n", "", NULL, 0},
    {"continued lines", "", "--token \\\n", "", NULL, 0},
    {"attributes", "<entry ", " key=", ">", NULL, 0},
    {"slashes of JSON", "", "\\/token\\", "", NULL, 0},
    {"values of tags", "<", "value=\"a\" ", "", NULL, 0},
    {"tags as entities", "", "&lt;token&gt;", "", NULL, 0},
    {"brackets as entities", "&lt;", "a&gt;", "", NULL, 0},
    {"elements as entities", "", "&lt;a&gt;b&lt;/a", "", NULL, 0},
    {"encoded ends of users", "a://b%3A", "%40", "", NULL, 0},
    {"addresses with encoded users", "", "a://b%3Ac%40", "", NULL, 0},
    {"long blank entities", "", "&NonBreakingSpace;", "", NULL, 0},
    {"names before blank entities", "", "token&#9;=&#9;", "", NULL, 0},
    {"hexadecimal signs", "", "token\\x3d", "", NULL, 0},
    {"tuples of plurals", "", "tokens=(a ", "", NULL, 0},
    {"tuples in lists", "", "tokens:[('", "", NULL, 0},
    {"sets of Python", "", "tokens={'", "", NULL, 0},
    {"closed tuples of plurals", "tokens: ", "(a)", "", NULL, 0},
    {"tuples on several lines", "", "tokens: (\n", "", NULL, 0},
    {0},
};

static void redact_line(const char *p, size_t n)
{
    struct buf to = BUF_INIT(SIZE_MAX / 2);
    struct redact_tally tally = {{0}};
    redact_cmdline(p, n, &to, &tally);
    buf_release(&to);
}

static void redact_secrets(const char *p, size_t n)
{
    struct buf to = BUF_INIT(SIZE_MAX / 2);
    struct redact_tally tally = {{0}};
    const struct redact_output into = {.out = &to, .tally = &tally};
    redact_text((struct str){p, n}, &into);
    buf_release(&to);
}

/* The input is both a request and the text from which its words are removed. */
static void redact_learned_words(const char *p, size_t n)
{
    struct buf to = BUF_INIT(SIZE_MAX / 2);
    struct redact_words words;
    uint64_t times = 0;
    if (redact_words_init(&words, NULL) < 0)
        return;
    const struct redact_learned all = {.words = &words, .weak = true};
    redact_words_learn(&words, (struct str){p, n}, true, NULL);
    redact_words_prepare(&words, NULL);
    redact_words_apply(&all, (struct str){p, n}, &to, &times);
    redact_words_release(&words);
    buf_release(&to);
}

/* Pieces of 100 bytes are the values of a request; the whole input is the text that repeats them. */
static void redact_values(const char *p, size_t n)
{
    enum { PIECE = 100 };
    struct buf to = BUF_INIT(SIZE_MAX / 2);
    struct redact_words words;
    struct redact_tally tally = {{0}};
    if (redact_words_init(&words, NULL) < 0)
        return;
    const struct redact_learned all = {.words = &words, .weak = true};
    const struct redact_output into = {.out = &to, .tally = &tally, .learned = &all};
    for (size_t at = 0; at < n; at += PIECE)
        redact_words_learn(&words, (struct str){p + at, n - at < PIECE ? n - at : PIECE}, true, NULL);
    redact_words_prepare(&words, NULL);
    redact_text((struct str){p, n}, &into);
    redact_words_release(&words);
    buf_release(&to);
}

static const struct cost_grammar values[] = {
    {"values", "", "a\1$", "", NULL, 0},
    {"equal values", "", "a$", "", NULL, 0},
    {"values of one byte", "", "a,a,a,a,a,a,a,a,", "$", NULL, 0},
    {"encoded values", "", "%24\1", "", NULL, 0},
    {"quotes", "", "\"\1&", "", NULL, 0},
    {"secrets with values", "", "token=a\1$ ", "", NULL, 0},
    {"escaped characters", "", "\\u00fc\1", "", NULL, 0},
    {"entities", "", "&#252;", "", NULL, 0},
    {"escaped backslashes", "", "\\\\$", "", NULL, 0},
    {0},
};

static const struct stop no_stop = {.cancel_fd = -1};

/* Redacts a manifest that has the input as one string, and as a list of pieces of 100 bytes. */
static void redact_strings(const char *p, size_t n)
{
    enum { PIECE = 100 };
    json_t *root = json_object(), *list = json_array(), *items = json_object();
    struct redact_manifest result = {0};
    json_object_set_new(root, "request", json_stringn(p, n));
    json_object_set_new(root, "list", list);
    for (size_t at = 0; at < n; at += PIECE)
        json_array_append_new(list, json_stringn(p + at, n - at < PIECE ? n - at : PIECE));
    redact_manifest_run(root, items, &no_stop, &result, NULL);
    redact_manifest_release(&result);
    json_decref(items);
    json_decref(root);
}

/* Redacts the input as a dump in a bundle from which one word must be removed. */
static void redact_text_member(const char *p, size_t n)
{
    struct redact_words words;
    struct redact_tally tally = {{0}};
    if (redact_words_init(&words, NULL) < 0)
        return;
    const struct redact_learned all = {.words = &words, .weak = true};
    struct redact_work work = {.form = REDACT_DUMP,
                               .learned = &all,
                               .from = memfd_create("from", MFD_CLOEXEC),
                               .to = memfd_create("to", MFD_CLOEXEC),
                               .stop = &no_stop};
    redact_words_learn(&words, str_of("token-password-http"), true, NULL);
    if (work.from >= 0 && work.to >= 0 && fd_write_all(work.from, p, n, NULL) == 0)
        redact_member(&work, &tally, NULL);
    fd_close(&work.from);
    fd_close(&work.to);
    redact_words_release(&words);
}

static const struct cost_grammar repeated[] = {
    {"words", "", "a\1b ", "", NULL, 0},
    {"dots", "a0b1c2d3", "a.", "", NULL, 0},
    {"dashes", "a0b1c2d3 a", "-", "b", NULL, 0},
    {"parts", "", "a\1b-", "", NULL, 0},
    {"long parts", "a0b1c2d3 ", "a0b1c2d3", "", NULL, 0},
    {0},
};

static void redact_goroutines(const char *p, size_t n)
{
    struct buf to = BUF_INIT(SIZE_MAX / 2);
    struct redact_tally tally = {{0}};
    struct redact_dump d = REDACT_DUMP_INIT(NULL, &tally);
    redact_dump(&d, p, n, &to);
    buf_release(&to);
}

static const struct cost_grammar labelled[] = {
    {"labels", "goroutine profile: total 1\n", "1 @ 0x1\n# labels: {\"user\":\"\1\", \"b\":\"c\"}\n", "",
     NULL, 0},
    {"quotes in labels", "goroutine profile: total 1\n1 @ 0x1\n# labels: {", "\"a\":\"\\\"", "}\n", NULL, 0},
    {"opened labels", "goroutine profile: total 1\n1 @ 0x1\n", "# labels: {\n", "", NULL, 0},
    {"labels of states", "", "goroutine 1 [x]: {user: \1}:\na()\n", "", NULL, 0},
    {"braces of states", "goroutine 1 [x]: {", "{\"", "}:\n", NULL, 0},
    {"arguments", "goroutine 1 [x]:\n", "a({0x1, 0x2}, ...)\n", "", NULL, 0},
    {0},
};

/* ---- the shell ----------------------------------------------------------------------------------------- */

static const struct cost_grammar commands[] = {
    {"words", "top ", "a ", "", NULL, 0},
    {"numbers", "top ", "1 ", "", NULL, 0},
    {"minuses", "top ", "-a ", "", NULL, 0},
    {"redirections", "top ", "> ", "", NULL, 0},
    {"equal signs", "", "a=", "", NULL, 0},
    {"blanks", "", " ", "", NULL, 0},
    {0},
};

static void read_command(const char *p, size_t n)
{
    struct shell_command c;
    struct err err = ERR_INIT;
    (void)shell_command_parse((struct str){p, n}, &c, &err);
    shell_command_release(&c);
}

/* The largest input of parsers that take about 0.1 s for it. */
#define SLOW_BYTES ((size_t)256 << 10)

const struct cost_parser cost_text_parsers[] = {
    {"goroutines_read", read_dump, dumps, 18, 0},
    {"goroutines_read of two", read_two_dumps, dumps, 19, 0},
    {"page_data_goroutines and findings", draw_dump, dumps, 18, 0},
    {"findings_finish", finish_findings, services, 100, 1u << 20},
    {"index_parse", read_index, pages, 2, 0},
    {"plan_make", plan_index, pages, 100, 0},
    {"request_parse", parse_requests, asked, 60, 0},
    {"answer_read_text", read_words, pages, 2, 0},
    {"text_printable", print_text, pages, 2, 0},
    {"check_feed", check_body, bodies, 2, 0},
    {"profile_parse_text", read_legacy, legacy, 9, 0},
    {"addr2line_next", read_addr2line, addr2lines, 6, 0},
    {"nm_read", read_nm, nms, 2, 0},
    {"objdump_read", read_objdump, objdumps, 6, 0},
    {"nm_next", read_symbols, nm_tables, 2, 0},
    {"machine_write of objdump, disasm", disassemble, objdumps, 11, 1u << 20},
    {"machine_write of objdump, weblist", list_code, objdumps, 20, 1u << 20},
    {"machine_write of addr2line", list_calls, addr2lines, 8, 1u << 20},
    {"machine_write of nm", find_symbols, nm_tables, 13, 1u << 20},
    {"symbolz_next", read_symbolz, servers, 2, 0},
    {"demangle_shorten", shorten_name, names, 13, 0},
    {"regex_translate", translate_regex, patterns, 2, 1u << 20},
    {"regex_new", compile_regex, patterns, 27, 1u << 20},
    {"profiler_owner_feed", find_owner, stacks, 2, 0},
    {"source_code_split", split_source, sources, 20, 0},
    {"source_code_trim", trim_source, sources, 2, 0},
    {"escape_markdown, escape_redmine, escape_plain", escape_text, notes, 2, 0},
    {"rt_attachment_add", read_content, attachments, 2, 0},
    {"redact_cmdline", redact_line, secrets, 2, 0},
    {"redact_text", redact_secrets, secrets, 2, 0},
    {"redact_words", redact_learned_words, repeated, 60, 0},
    {"redact_values", redact_values, values, 320, SLOW_BYTES},
    {"redact_manifest_run", redact_strings, secrets, 60, SLOW_BYTES},
    {"redact_manifest_run", redact_strings, repeated, 60, SLOW_BYTES},
    {"redact_member", redact_text_member, secrets, 16, SLOW_BYTES},
    {"redact_member", redact_text_member, repeated, 16, SLOW_BYTES},
    {"redact_dump", redact_goroutines, labelled, 2, 0},
    {"redact_dump", redact_goroutines, dumps, 2, 0},
    {"shell_command_parse", read_command, commands, 2, 0},
    {0},
};
