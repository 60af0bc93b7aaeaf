/* The effect of focus, ignore, hide and the other filters on a small profile. The results are those of `go
 * tool pprof`, except for profgrab's own limits. The last tests find source files and split them into
 * lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pprof/filter.h"
#include "pprof/label_units.h"
#include "pprof/source_code.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static uint32_t intern(struct profile *p, const char *s)
{
    struct err err = ERR_INIT;
    uint32_t index = 0;
    assert_ok(profile_intern(p, s, strlen(s), &index, &err), &err);
    return index;
}

/* Adds a location with a line for each name: the first is inlined into the second, and so on. */
static void add_location(struct profile *p, const char *const *names, uint32_t n, bool mapped)
{
    struct err err = ERR_INIT;
    struct profile_line lines[4];
    for (uint32_t i = 0; i < n; i++) {
        struct profile_function f = {
            .id = p->n_functions + 1, .name = intern(p, names[i]), .filename = intern(p, "/src/file.go")};
        assert_ok(profile_add_function(p, &f, &err), &err);
        lines[i] = (struct profile_line){.function = (uint32_t)p->n_functions - 1, .line = i + 1};
    }
    struct profile_location l = {
        .id = p->n_locations + 1, .mapping = mapped ? 0 : PROFILE_NONE, .n_lines = n};
    assert_ok(profile_add_location(p, &l, lines, &err), &err);
}

static void add_sample(struct profile *p, const uint32_t *stack, size_t depth, const struct profile_label *l,
                       size_t n)
{
    struct err err = ERR_INIT;
    int64_t value = 1;
    assert_ok(profile_add_sample(p, &(struct profile_new_sample){stack, depth, &value, l, n}, &err), &err);
}

/* Makes a profile with three samples. Their stacks, leaf first: malloc < inlined,caller < main; helper(int) <
 * main; malloc. Only malloc is in a library. The first sample has the labels k=v1 and 2 kB, the second k=v2
 * and 8 kB, the third none. */
static struct profile *make_profile(void)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    struct profile_value_type type = {intern(p, "samples"), intern(p, "count")};
    struct profile_mapping m = {.id = 1, .file = intern(p, "/lib/libc.so")};
    assert_ok(profile_add_sample_type(p, type, &err), &err);
    assert_ok(profile_add_mapping(p, &m, &err), &err);
    add_location(p, (const char *const[]){"malloc"}, 1, true);
    add_location(p, (const char *const[]){"inlined", "caller"}, 2, false);
    add_location(p, (const char *const[]){"main"}, 1, false);
    add_location(p, (const char *const[]){"helper(int)"}, 1, false);
    struct profile_label first[] = {
        {.key = intern(p, "k"), .str = intern(p, "v1")},
        {.key = intern(p, "size"), .is_number = true, .num = 2048, .unit = intern(p, "bytes")}};
    struct profile_label second[] = {
        {.key = intern(p, "k"), .str = intern(p, "v2")},
        {.key = intern(p, "size"), .is_number = true, .num = 8192, .unit = intern(p, "bytes")}};
    add_sample(p, (const uint32_t[]){0, 1, 2}, 3, first, 2);
    add_sample(p, (const uint32_t[]){3, 2}, 2, second, 2);
    add_sample(p, (const uint32_t[]){0}, 1, NULL, 0);
    return p;
}

/* Adds each sample as `leaf<inlined,caller<main{k}` with the keys of its labels and a blank. Returns the
 * text. */
static const char *print_samples(const struct profile *p, struct buf *b)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        for (uint32_t k = 0; k < s->depth; k++) {
            const struct profile_location *l = &p->locations[profile_frame(p, s, k)];
            buf_adds(b, k ? "<" : "");
            for (uint32_t n = 0; n < l->n_lines; n++) {
                struct str name = profile_str(p, p->functions[p->lines[l->line_at + n].function].name);
                buf_addf(b, "%s%.*s", n ? "," : "", (int)name.n, name.p);
            }
        }
        for (uint32_t k = 0; k < s->n_labels; k++) {
            struct str key = profile_str(p, p->labels[s->label_at + k].key);
            buf_addf(b, "{%.*s}", (int)key.n, key.p);
        }
        buf_addc(b, ' ');
    }
    return buf_str(b);
}

static void add_message(void *ctx, const char *line)
{
    struct buf *b = ctx;
    buf_addf(b, "%s;", line);
}

/* Filters the profile of make_profile. Asserts the remaining samples, or the error, and the messages. */
static void assert_filtered(const struct report_settings *settings, const char *remaining,
                            const char *messages)
{
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(65536), printed = BUF_INIT(65536);
    struct profile *p = make_profile();
    struct report_callbacks callbacks = {.say = add_message, .ctx = &printed};
    struct report report = {.profile = p,
                            .settings = settings,
                            .callbacks = &callbacks,
                            .budget = regex_budget_for_user(p),
                            .err = &err};
    assert_ok(label_units_find(&report), &err);
    int rc = tagroots_add(&report);
    if (rc == 0)
        rc = filter_samples(&report);
    assert_string_equal(rc < 0 ? err.msg : print_samples(p, &b), remaining);
    assert_string_equal(buf_str(&printed), messages);
    free(report.label_units);
    regex_budget_free(report.budget);
    profile_free(p);
    buf_release(&b);
    buf_release(&printed);
}

/* Settings, and the three samples of make_profile as print_samples prints them. */
#define WITH(...) (&(struct report_settings){.unit = "minimum", __VA_ARGS__})
#define A "malloc<inlined,caller<main{k}{size} "
#define B "helper(int)<main{k}{size} "
#define C "malloc "

static void samples_are_removed_by_name(void **state)
{
    (void)state;
    assert_filtered(WITH(.focus = NULL), A B C, "");
    assert_filtered(WITH(.focus = "inlined"), A, "");
    assert_filtered(WITH(.focus = "libc"), A C, "");
    assert_filtered(WITH(.focus = "file.go"), A B C, "");
    assert_filtered(WITH(.focus = "nothing"), "", "Focus expression matched no samples;");
    assert_filtered(WITH(.ignore = "helper"), A C, "");
    assert_filtered(WITH(.ignore = "nothing"), A B C, "Ignore expression matched no samples;");
    assert_filtered(WITH(.focus = "main", .ignore = "helper"), A, "");
}

static void frames_are_removed_by_name(void **state)
{
    (void)state;
    assert_filtered(WITH(.hide = "caller"), "malloc<inlined<main{k}{size} " B C, "");
    assert_filtered(WITH(.hide = "libc"), "inlined,caller<main{k}{size} " B, "");
    assert_filtered(WITH(.hide = "inlined|caller"), "malloc<main{k}{size} " B C, "");
    assert_filtered(WITH(.hide = "nothing"), A B C, "Hide expression matched no samples;");
    assert_filtered(WITH(.show = "main|inl"), "inlined<main{k}{size} main{k}{size} ", "");
    assert_filtered(WITH(.show = "nothing"), "", "Show expression matched no samples;");
    assert_filtered(WITH(.show_from = "inlined"), "malloc<inlined{k}{size} ", "");
    assert_filtered(WITH(.show_from = "libc"), "malloc{k}{size} malloc ", "");
    assert_filtered(WITH(.show_from = "nothing"), "", "ShowFrom expression matched no samples;");
    assert_filtered(WITH(.prune_from = "caller"), "caller<main{k}{size} " B C, "");
    /* prune_from ignores the parameters in a name. */
    assert_filtered(WITH(.prune_from = "^(helper|main)$"), "main{k}{size} " B C, "");
}

static void samples_are_removed_by_label(void **state)
{
    (void)state;
    assert_filtered(WITH(.tagfocus = "v1"), A, "");
    assert_filtered(WITH(.tagfocus = "k:v2"), B, "");
    assert_filtered(WITH(.tagfocus = "k=v1,v2"), A B, "");
    assert_filtered(WITH(.tagfocus = "v1,k"), A, "");
    assert_filtered(WITH(.tagfocus = "other=v"), "", "TagFocus expression matched no samples;");
    assert_filtered(WITH(.tagignore = "v."), C, "");
    assert_filtered(WITH(.tagignore = "x"), A B C, "TagIgnore expression matched no samples;");
    assert_filtered(WITH(.tagfocus = "4kb:"), B, "tagfocus:Interpreted '4kb:' as range, not regexp;");
    assert_filtered(WITH(.tagfocus = "size=:4kb"), A, "tagfocus:Interpreted ':4kb' as range, not regexp;");
    assert_filtered(WITH(.tagignore = "2kb"), B C, "tagignore:Interpreted '2kb' as range, not regexp;");
    assert_filtered(WITH(.tagfocus = "1kb:8kb"), A B, "tagfocus:Interpreted '1kb:8kb' as range, not regexp;");
    /* Units that cannot be compared give no range. */
    assert_filtered(WITH(.tagfocus = "1kb:8ms"), "", "TagFocus expression matched no samples;");
    assert_filtered(WITH(.tagfocus = "99999999999999999999kb"),
                    "failed to parse int 99999999999999999999: value out of range", "");
}

static void labels_are_removed(void **state)
{
    (void)state;
    assert_filtered(WITH(.tagshow = "siz"), "malloc<inlined,caller<main{size} helper(int)<main{size} " C, "");
    assert_filtered(WITH(.taghide = "siz"), "malloc<inlined,caller<main{k} helper(int)<main{k} " C, "");
    assert_filtered(WITH(.tagshow = "x", .taghide = "x"), "malloc<inlined,caller<main helper(int)<main " C,
                    "TagShow expression matched no samples;TagHide expression matched no samples;");
}

static void labels_become_frames(void **state)
{
    (void)state;
    assert_filtered(WITH(.tagroot = "k"),
                    "malloc<inlined,caller<main<v1{k}{size} helper(int)<main<v2{k}{size} malloc< ", "");
    assert_filtered(WITH(.tagleaf = "k,size"),
                    "2kB<v1<malloc<inlined,caller<main{k}{size} 8kB<v2<helper(int)<main{k}{size} <<malloc ",
                    "");
    assert_filtered(WITH(.tagroot = "x", .focus = "main"),
                    "malloc<inlined,caller<main<{k}{size} helper(int)<main<{k}{size} ",
                    "TagRoot expression matched no samples;");
}

static void invalid_expressions_are_errors(void **state)
{
    (void)state;
    assert_filtered(WITH(.focus = "a("),
                    "parsing focus regexp: error parsing regexp: missing closing ): `a(`", "");
    assert_filtered(
        WITH(.tagfocus = "k=(?=)"),
        "parsing tagfocus regexp: error parsing regexp: invalid or unsupported Perl syntax: `(?=`", "");
}

static void drop_frames_of_a_profile_applies(void **state)
{
    (void)state;
    static const struct {
        const char *drop, *keep, *remaining;
    } cases[] = {{"malloc", NULL, "inlined,caller<main{k}{size} " B C},
                 {"mall", NULL, A B C}, /* the whole name, not a part */
                 {".*", "malloc|main|helper", "main{k}{size} " B C},
                 {"inlined", NULL, "caller<main{k}{size} " B C},
                 {"helper|malloc", "helper", "inlined,caller<main{k}{size} " B C},
                 {"helper", NULL, "malloc<inlined,caller<main{k}{size} main{k}{size} " C},
                 {"(", NULL, A B C},
                 {"malloc", "(", A B C}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        struct buf b = BUF_INIT(65536);
        struct profile *p = make_profile();
        p->drop_frames = intern(p, cases[i].drop);
        p->keep_frames = cases[i].keep ? intern(p, cases[i].keep) : 0;
        assert_ok(report_prune(p, &err), &err);
        assert_string_equal(print_samples(p, &b), cases[i].remaining);
        profile_free(p);
        buf_release(&b);
    }
}

static struct profile *make_profile_with_names(size_t n, const char *drop)
{
    struct profile *p = make_profile();
    for (size_t i = 0; i < n; i++) {
        char name[60];
        snprintf(name, sizeof name, "aaaaaaaaaaaaaaaaaaaaaaaa%zu", i);
        add_location(p, (const char *const[]){name}, 1, false);
    }
    p->drop_frames = intern(p, drop);
    return p;
}

/* Each name takes few steps, but all together exceed the budget of the profile. */
static void a_profile_has_one_budget_for_its_own_expressions(void **state)
{
    (void)state;
    static const char slow[] = ".*.*.*.*[bc]";
    struct err err = ERR_INIT;
    struct profile *p = make_profile_with_names(10, slow);
    assert_ok(report_prune(p, &err), &err);
    profile_free(p);
    p = make_profile_with_names(5000, "malloc|.*mallocgc|free");
    assert_ok(report_prune(p, &err), &err);
    profile_free(p);
    p = make_profile_with_names(5000, slow);
    assert_refused(report_prune(p, &err), &err, ERR_FAILED,
                   "a regular expression takes too long on the names in this profile");
    assert_string_equal(err.hint, "this is the profile's own drop_frames; -all_frames ignores it");
    profile_free(p);
}

static void paths_are_cut(void **state)
{
    (void)state;
    static const struct {
        const char *path, *trim_path, *source_path, *remaining;
    } cases[] = {{"/a/b/c.go", NULL, NULL, "/a/b/c.go"},
                 {"/a/b/c.go", "/a", NULL, "b/c.go"},
                 {"/a/b/c.go", "/x:/a/b/", NULL, "c.go"},
                 {"/ab/c.go", "/a", NULL, "/ab/c.go"},
                 {"/ci/proj/x/y.go", NULL, "/home/me/proj", "x/y.go"},
                 {"/ci/proj/x/y.go", NULL, "/home:/home/me/proj", "x/y.go"},
                 {"/ci/proj/x/y.go", "/ci", "/home/me/proj", "proj/x/y.go"},
                 {"/proc/self/cwd/./a.cc", NULL, NULL, "a.cc"},
                 {"/proc/self/cwd/a.cc", "/x", NULL, "a.cc"},
                 {"/a", "x:", NULL, "a"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str remaining =
            source_code_trim(str_of(cases[i].path), cases[i].trim_path, cases[i].source_path);
        assert_int_equal(remaining.n, strlen(cases[i].remaining));
        assert_memory_equal(remaining.p, cases[i].remaining, remaining.n);
    }
}

static void only_regular_files_are_sources(void **state)
{
    const char *dir = *state;
    struct err err = ERR_INIT;
    struct source_code *s = NULL;
    struct profile *p = profile_new(&err);
    const struct source_code_lines *lines;
    const char *wrong;
    char *file = format_text("%s/a.go", dir), *fifo = format_text("%s/fifo", dir);
    assert_ok(file_write(file, "one\r\ntwo\n\nfour", 14, &err), &err);
    RUN_PROGRAM("mkfifo", fifo);
    assert_ok(source_code_new(p, dir, NULL, &s, &err), &err);
    assert_ok(source_code_get(s, intern(p, "sub/../a.go"), &lines, &wrong, &err), &err);
    assert_null(wrong);
    assert_int_equal(lines->n, 4);
    assert_true(str_is(lines->items[0], "one"));
    assert_true(str_is(lines->items[3], "four"));
    assert_ok(source_code_get(s, intern(p, fifo), &lines, &wrong, &err), &err);
    assert_contains(wrong, "could not find file fifo on path ");
    assert_ok(source_code_get(s, intern(p, "/dev/zero"), &lines, &wrong, &err), &err);
    assert_string_equal(wrong, "open /dev/zero: invalid argument");
    assert_ok(source_code_get(s, intern(p, "/no/such"), &lines, &wrong, &err), &err);
    assert_string_equal(wrong, "open /no/such: no such file or directory");
    assert_ok(source_code_get(s, intern(p, "nowhere.go"), &lines, &wrong, &err), &err);
    assert_contains(wrong, "could not find file nowhere.go on path ");
    assert_int_equal(lines->n, 0);
    source_code_free(s);
    profile_free(p);
    free(file);
    free(fifo);
}

/* Asserts the only line of a file whose path is `name` on the machine that compiled the program; NULL: the
 * file is not found. */
static void assert_go_source(const char *name, const char *expected)
{
    struct err err = ERR_INIT;
    struct source_code *s = NULL;
    struct profile *p = profile_new(&err);
    const struct source_code_lines *lines;
    const char *wrong;
    assert_ok(source_code_new(p, NULL, NULL, &s, &err), &err);
    assert_ok(source_code_search_go(s, &err), &err);
    assert_ok(source_code_get(s, intern(p, name), &lines, &wrong, &err), &err);
    assert_int_equal(lines->n, expected ? 1 : 0);
    if (expected)
        assert_true(str_is(lines->items[0], expected));
    else
        assert_non_null(wrong);
    source_code_free(s);
    profile_free(p);
}

static void write_below(const char *dir, const char *path, const char *text)
{
    struct err err = ERR_INIT;
    char *file = format_text("%s/%s", dir, path), *parent = file_dir(file);
    assert_ok(file_mkdirs(parent, NULL, &err), &err);
    assert_ok(file_write(file, text, strlen(text), &err), &err);
    free(parent);
    free(file);
}

static void sources_of_go_are_found_where_this_machine_has_them(void **state)
{
    char *root = format_text("%s/goroot", (const char *)*state),
         *path = format_text("%s/gopath", (const char *)*state);
    write_below(root, "src/zzz/a.go", "library");
    write_below(root, "secret.go", "secret");
    write_below(path, "pkg/mod/example.com/m@v1.2.3/b.go", "module");
    write_below(path, "pkg/mod/github.com/!burnt!sushi/m@v1.2.3-!r!c1/Sub/B.go", "capitals");
    setenv("GOROOT", root, 1);
    setenv("GOPATH", path, 1);
    unsetenv("GOMODCACHE");
    assert_go_source("/usr/lib/go-1.19/src/zzz/a.go", "library");
    assert_go_source("/build/pkg/mod/golang.org/toolchain@v0.0.1-go1.26.linux-amd64/src/zzz/a.go", "library");
    assert_go_source("zzz/a.go", "library");
    assert_go_source("/home/me/go/pkg/mod/example.com/m@v1.2.3/b.go", "module");
    assert_go_source("example.com/m@v1.2.3/b.go", "module");
    /* The cache escapes capital letters of a module; -trimpath does not. */
    assert_go_source("github.com/BurntSushi/m@v1.2.3-RC1/Sub/B.go", "capitals");
    assert_go_source("/home/me/go/pkg/mod/github.com/!burnt!sushi/m@v1.2.3-!r!c1/Sub/B.go", "capitals");
    assert_go_source("github.com/burntsushi/m@v1.2.3-RC1/Sub/B.go", NULL);
    assert_go_source("github.com/BurntSushi/m@v1.2.3-RC1/sub/b.go", NULL);
    /* Another project's file, another version, and a path that leads out. */
    assert_go_source("/home/me/project/src/zzz/a.go", NULL);
    assert_go_source("example.com/m@v1.2.4/b.go", NULL);
    assert_go_source("/usr/lib/go/src/../secret.go", NULL);
    assert_go_source("zzz/../../secret.go", NULL);
    unsetenv("GOPATH");
    char *modules = format_text("%s/pkg/mod", path);
    setenv("GOMODCACHE", modules, 1);
    free(modules);
    assert_go_source("example.com/m@v1.2.3/b.go", "module");
    unsetenv("GOMODCACHE");
    unsetenv("GOROOT");
    /* A directory of PATH has a link to the program. */
    char *before = strdup(getenv("PATH")), *program = format_text("%s/bin/go", root),
         *link = format_text("%s/go", path), *dirs = format_text("/nonexistent::%s", path);
    write_below(root, "bin/go", "#!/bin/sh\n");
    assert_int_equal(chmod(program, 0700), 0);
    assert_int_equal(symlink(program, link), 0);
    setenv("PATH", dirs, 1);
    assert_go_source("zzz/a.go", "library");
    setenv("PATH", before, 1);
    free(before);
    free(program);
    free(link);
    free(dirs);
    free(root);
    free(path);
}

static void the_standard_library_is_found_from_all_usual_places(void **state)
{
    static const char *const roots[] = {"/opt/hostedtoolcache/go/1.26.8/x64",
                                        "/opt/homebrew/Cellar/go/1.26.1/libexec",
                                        "/opt/homebrew/Cellar/go@1.25/1.25.3/libexec",
                                        "/snap/go/10971",
                                        "/home/ann/src/go",
                                        "/usr/src/go",
                                        "/src/src/go",
                                        "/home/ann/go/src/go",
                                        "/home/ann/sdk/go1.26.0",
                                        "/usr/lib/golang",
                                        "external/go_sdk"};
    char *root = format_text("%s/goroot", (const char *)*state);
    write_below(root, "src/zzz/a.go", "library");
    write_below(root, "src/vendor/golang.org/x/b.go", "vendor");
    write_below(root, "src/cmd/go/src/zzz/a.go", "longer");
    write_below(root, "secret.go", "secret");
    setenv("GOROOT", root, 1);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char *file = format_text("%s/src/zzz/a.go", roots[i]),
             *vendor = format_text("%s/src/vendor/golang.org/x/b.go", roots[i]),
             *longer = format_text("%s/src/cmd/go/src/zzz/a.go", roots[i]),
             *out = format_text("%s/src/../secret.go", roots[i]);
        assert_go_source(file, "library");
        assert_go_source(vendor, "vendor");
        assert_go_source(longer, "longer");
        assert_go_source(out, NULL);
        free(file);
        free(vendor);
        free(longer);
        free(out);
    }
    /* Directories of other projects, and a path with more candidates than are tried. */
    assert_go_source("/home/ann/src/project/src/zzz/a.go", NULL);
    assert_go_source("/home/gopher/project/src/zzz/a.go", NULL);
    assert_go_source("/opt/tool/1.26.8/x64/src/zzz/a.go", NULL);
    assert_go_source("/opt/google/3p/src/zzz/a.go", NULL);
    assert_go_source("/opt/go/1.26.8/a/b/src/zzz/a.go", NULL);
    assert_go_source("/go/src/go/src/go/src/go/src/zzz/a.go", "library");
    assert_go_source("/go/src/go/src/go/src/go/src/go/src/zzz/a.go", NULL);
    unsetenv("GOROOT");
    free(root);
}

static void a_pasted_text_replaces_a_file(void **state)
{
    struct err err = ERR_INIT;
    struct source_code *s = NULL;
    struct profile *p = profile_new(&err);
    const struct source_code_lines *lines;
    const char *wrong;
    char *file = format_text("%s/a.go", (const char *)*state);
    assert_ok(file_write(file, "on disk", 7, &err), &err);
    assert_ok(source_code_new(p, NULL, NULL, &s, &err), &err);
    assert_ok(source_code_put(s, intern(p, file), STR("pasted\nhere"), &err), &err);
    assert_ok(source_code_get(s, intern(p, file), &lines, &wrong, &err), &err);
    assert_null(wrong);
    assert_int_equal(lines->n, 2);
    assert_true(str_is(lines->items[0], "pasted"));
    source_code_free(s);
    profile_free(p);
    free(file);
}

/* Asserts that the file is shown as source code if `reason` is NULL. Else asserts that it is not, and that
 * the message contains the reason. */
static void assert_source(const char *name, const char *source_path, const char *reason)
{
    struct err err = ERR_INIT;
    struct source_code *s = NULL;
    struct profile *p = profile_new(&err);
    const struct source_code_lines *lines;
    const char *wrong;
    assert_ok(source_code_new(p, source_path, NULL, &s, &err), &err);
    assert_ok(source_code_get(s, intern(p, name), &lines, &wrong, &err), &err);
    if (reason)
        assert_contains(wrong, reason);
    else
        assert_null(wrong);
    assert_int_equal(lines->n, reason ? 0 : 1);
    source_code_free(s);
    profile_free(p);
}

static void other_files_are_shown_only_on_request(void **state)
{
    const char *dir = *state;
    static const char refused[] = "secret does not look like a source file: -source_path";
    struct err err = ERR_INIT;
    char *secret = format_text("%s/secret", dir), *link = format_text("%s/link.go", dir),
         *sub = format_text("%s/sub", dir);
    char *source = format_text("%s/real.go", dir), *other = format_text("%s/other", dir);
    char *headers = format_text("%s/include/c++/12", dir), *header = format_text("%s/vector", headers);
    char *hidden = format_text("%s/.secret", headers), *linked = format_text("%s/linked", headers);
    assert_ok(file_write(secret, "secret\n", 7, &err), &err);
    assert_ok(file_write(source, "source\n", 7, &err), &err);
    assert_ok(file_mkdir(sub, &err), &err);
    assert_int_equal(symlink(secret, link), 0);
    assert_int_equal(symlink(source, other), 0);
    assert_source(secret, NULL, refused);
    assert_source(link, NULL, "link.go does not look like a source file: -source_path");
    assert_source(source, NULL, NULL);
    assert_source(other, NULL, NULL);
    assert_source(secret, sub, "secret does not look");
    /* The search also finds the file above the search path, but -source_path does not name its directory. */
    assert_source("secret", sub, "secret does not look");
    assert_source("secret", dir, NULL);
    assert_source("link.go", dir, NULL);
    assert_source("secret", "/", "could not find file secret");
    /* A link below include/c++ does not make a header of a file elsewhere. */
    RUN_PROGRAM("mkdir", "-p", headers);
    assert_ok(file_write(header, "header\n", 7, &err), &err);
    assert_ok(file_write(hidden, "secret\n", 7, &err), &err);
    assert_int_equal(symlink(secret, linked), 0);
    assert_source(header, NULL, NULL);
    assert_source(hidden, NULL, ".secret does not look like a source file: -source_path");
    assert_source(linked, NULL, "linked does not look like a source file: -source_path");
    free(secret);
    free(link);
    free(sub);
    free(headers);
    free(header);
    free(hidden);
    free(linked);
    free(source);
    free(other);
}

static void a_line_too_long_ends_a_source(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct source_code_lines lines;
    size_t n = SOURCE_LINE_MAX + 1;
    char *text = malloc(n + 3);
    assert_non_null(text);
    memset(text, 'x', n + 3);
    memcpy(text, "a\n", 2);
    text[n + 1] = text[n + 2] = '\n';
    assert_ok(source_code_split((struct str){text, n + 2}, &lines, &err), &err);
    assert_int_equal(lines.n, 2);
    free(lines.items);
    text[n + 1] = 'x';
    assert_ok(source_code_split((struct str){text, n + 3}, &lines, &err), &err);
    assert_int_equal(lines.n, 1);
    free(lines.items);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_removed_by_name),
        cmocka_unit_test(frames_are_removed_by_name),
        cmocka_unit_test(samples_are_removed_by_label),
        cmocka_unit_test(labels_are_removed),
        cmocka_unit_test(labels_become_frames),
        cmocka_unit_test(invalid_expressions_are_errors),
        cmocka_unit_test(drop_frames_of_a_profile_applies),
        cmocka_unit_test(a_profile_has_one_budget_for_its_own_expressions),
        cmocka_unit_test(paths_are_cut),
        SCRATCH(only_regular_files_are_sources),
        SCRATCH(sources_of_go_are_found_where_this_machine_has_them),
        SCRATCH(the_standard_library_is_found_from_all_usual_places),
        SCRATCH(a_pasted_text_replaces_a_file),
        SCRATCH(other_files_are_shown_only_on_request),
        cmocka_unit_test(a_line_too_long_ends_a_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
