/*
 * Lines typed at the shell of pprof, one after the other: assignments, commands, help, and completions of the
 * last word. The target runs no report; options persist from line to line, as in the shell.
 */
#include "tests/fuzz/fuzz.h"

#include "cli/pprof/shell.h"
#include "base/banned.h"

#define MAX_TEXT ((size_t)1 << 22)

static uint32_t intern_string(struct profile *p, const char *s)
{
    uint32_t ret = 0;
    assert(profile_intern(p, s, strlen(s), &ret, NULL) == 0);
    return ret;
}

/* A profile with unusual names: only some of them are valid completions. */
static struct profile *make_profile(void)
{
    static const char *const functions[] = {"main.main", "runtime.mallocgc", "clear \033[2J", "a b",
                                            "-main",     "\xc3\xa9t\xc3\xa9"};
    struct profile *p = profile_new(NULL);
    assert(p);
    struct profile_value_type space = {intern_string(p, "alloc_space"), intern_string(p, "bytes")},
                              count = {intern_string(p, "inuse_space"), intern_string(p, "bytes")};
    assert(profile_add_sample_type(p, space, NULL) == 0 && profile_add_sample_type(p, count, NULL) == 0);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct profile_function f = {.id = i + 1, .name = intern_string(p, functions[i])};
        assert(profile_add_function(p, &f, NULL) == 0);
    }
    return p;
}

static void check_completion(const struct profile *p, struct str line)
{
    struct buf to = BUF_INIT(MAX_TEXT);
    struct str word;
    if (shell_complete(p, line, &word, &to)) {
        assert(word.n && word.p >= line.p && word.p + word.n == line.p + line.n);
        assert(to.len && fuzz_has_no_controls(buf_str(&to), false));
    }
    buf_release(&to);
}

/* Messages contain the typed text; the code that prints them makes it printable. */
static void expect_failure(const struct err *err)
{
    assert(err->kind == ERR_USAGE && err->msg[0] && memchr(err->msg, '\0', sizeof err->msg));
}

static void check_command(const struct pprof_options *persistent, struct str line)
{
    struct pprof_options once = *persistent;
    struct shell_command c;
    struct err err = ERR_INIT;
    if (shell_command_parse(line, &c, &err) == 0) {
        shell_command_apply(&c, &once);
        assert(once.format < PPROF_OUTPUTS && once.output && once.report.focus && once.report.ignore);
    } else {
        expect_failure(&err);
    }
    shell_command_release(&c);
}

static void check_help(const struct profile *p, struct str name)
{
    struct buf text = BUF_INIT(MAX_TEXT);
    struct err err = ERR_INIT;
    if (shell_help(name, p, &text, &err) == 0)
        assert(text.len && !text.failed);
    else
        expect_failure(&err);
    buf_release(&text);
}

static void check_line(struct pprof_options *o, const struct profile *p, struct str line)
{
    bool is_assignment = false;
    struct err err = ERR_INIT;
    check_completion(p, line);
    line = str_trim(line);
    int rc = shell_assign(o, p, line, &is_assignment, &err);
    if (rc < 0) {
        assert(is_assignment);
        expect_failure(&err);
    }
    if (!is_assignment) {
        check_command(o, line);
        check_help(p, line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct pprof_options defaults = {.report = REPORT_SETTINGS_INIT};
    struct pprof_options o;
    struct profile *p = make_profile();
    struct buf text = BUF_INIT(MAX_TEXT);
    assert(shell_options_init(&o, &defaults, NULL) == 0);
    for (const char *at = (const char *)bytes, *end = at + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = stop ? (size_t)(stop - at) : (size_t)(end - at);
        check_line(&o, p, (struct str){at, length});
        at += length + (stop != NULL);
    }
    shell_list_options(&o, p, &text);
    assert(text.len && !text.failed);
    buf_release(&text);
    shell_options_release(&o);
    profile_free(p);
    return 0;
}
