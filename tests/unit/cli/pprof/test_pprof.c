/* The parser of `profgrab pprof`'s flags, and the table of flags in docs/pprof.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/pprof/pprof.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define DOCUMENT "docs/pprof.md"
#define BEGIN "<!-- flags -->\n"
#define END "<!-- end of flags -->\n"

static char *list_flags(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    pprof_write_flag_table(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_document_lists_every_flag(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf document = BUF_INIT(1u << 20), renewed = BUF_INIT(1u << 20);
    char *flags = list_flags();
    assert_ok(file_read(DOCUMENT, &document, &err), &err);
    const char *begin = strstr(buf_str(&document), BEGIN), *end = strstr(buf_str(&document), END);
    assert_true(begin && end && begin < end);
    begin += strlen(BEGIN);
    buf_add(&renewed, buf_str(&document), (size_t)(begin - buf_str(&document)));
    buf_adds(&renewed, flags);
    buf_adds(&renewed, end);
    const char *mode = getenv("PPROF_TABLE");
    if (mode && strcmp(mode, "renew") == 0) /* only writes the table into the document */
        assert_ok(file_write(DOCUMENT, buf_str(&renewed), renewed.len, &err), &err);
    else
        assert_string_equal(buf_str(&document), buf_str(&renewed));
    free(flags);
    buf_release(&document);
    buf_release(&renewed);
}

/* Parses the words after `pprof`. The messages appear on stderr, and the test does not check them. */
#define PARSE(o, err, ...) parse_flags((const char *const[]){__VA_ARGS__, NULL}, o, err)

static enum pprof_parsed parse_flags(const char *const *words, struct pprof_options *o, struct err *err)
{
    /* Static, because *o points into it. */
    static char *argv[20];
    int n = 0;
    for (; words[n]; n++)
        argv[n] = (char *)(uintptr_t)words[n];
    argv[n] = NULL;
    *err = (struct err)ERR_INIT;
    return pprof_parse(n, argv, o, err);
}

static void flags_are_parsed_like_those_of_go_tool_pprof(void **state)
{
    (void)state;
    struct pprof_options o;
    struct err err;
    assert_int_equal(PARSE(&o, &err, "-top", "x"), PPROF_PARSED);
    assert_int_equal(o.format, PPROF_TOP);
    assert_int_equal(o.n_sources, 1);
    assert_true(o.report.trim && o.report.nodecount == -1 && o.report.divide_by == 1);
    assert_int_equal(
        PARSE(&o, &err, "--tree", "-nodecount", "0x10", "--focus=a=b", "-trim=false", "-cum", "x", "-y"),
        PPROF_PARSED);
    assert_int_equal(o.format, PPROF_TREE);
    assert_int_equal(o.report.nodecount, 16);
    assert_string_equal(o.report.focus, "a=b");
    assert_true(!o.report.trim && o.report.cum);
    assert_int_equal(o.n_sources, 2);
    assert_int_equal(PARSE(&o, &err, "-top=0", "-peek", "f.*", "-lines", "--", "-x"), PPROF_PARSED);
    assert_int_equal(o.format, PPROF_PEEK);
    assert_string_equal(o.report.symbol, "f.*");
    assert_int_equal(o.report.granularity, REPORT_BY_LINE);
    assert_string_equal(o.sources[0], "-x");
    assert_int_equal(PARSE(&o, &err, "-text", "-nodefraction=1e-2", "-mean_delay", "x"), PPROF_PARSED);
    assert_true(o.report.nodefraction == 0.01 && o.report.mean);
    assert_string_equal(o.report.sample_index, "delay");
    assert_int_equal(PARSE(&o, &err, "x"), PPROF_PARSED);
    assert_int_equal(o.format, PPROF_OUTPUTS);
    assert_int_equal(PARSE(&o, &err, "-h"), PPROF_HELP);
    assert_int_equal(PARSE(&o, &err, "-top", "--help"), PPROF_HELP);
}

static void wrong_flags_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *printed; /* printed: the start of the output on stderr */
    } cases[] = {{{"-bogus", "x"}, "flag provided but not defined: -bogus\n"},
                 {{"-topp", "x"}, "flag provided but not defined: -topp\nhint: did you mean -top?"},
                 {{"--sample-index=0", "x"},
                  "flag provided but not defined: -sample-index\nhint: did you mean -sample_index?"},
                 {{"-i", "k", "x"}, "flag provided but not defined: -i\nhint: did you mean -identity?"},
                 {{"-o=x", "x"}, "flag provided but not defined: -o\nhint: did you mean -output?"},
                 {{"---top", "x"}, "bad flag syntax: ---top\n"},
                 {{"-=1", "x"}, "bad flag syntax: -=1\n"},
                 {{"-focus"}, "flag needs an argument: -focus\n"},
                 {{"-trim=x", "x"}, "invalid boolean value \"x\" for -trim: parse error\n"},
                 {{"-nodecount=", "x"}, "invalid value \"\" for flag -nodecount: parse error\n"},
                 {{"-nodecount= 1", "x"}, "invalid value \" 1\" for flag -nodecount: parse error\n"},
                 {{"-nodecount=99999999999999999999", "x"},
                  "invalid value \"99999999999999999999\" for flag -nodecount: value out of range\n"},
                 {{"-nodefraction=1x", "x"}, "invalid value \"1x\" for flag -nodefraction: parse error\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pprof_options o;
        struct err err = ERR_INIT;
        char *argv[4] = {NULL};
        int n = 0;
        for (; n < 4 && cases[i].words[n]; n++)
            argv[n] = (char *)(uintptr_t)cases[i].words[n];
        int saved = dup(STDERR_FILENO), fd = memfd_create("stderr", MFD_CLOEXEC);
        assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
        enum pprof_parsed parsed = pprof_parse(n, argv, &o, &err);
        fflush(stderr);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);
        char printed[16384] = "";
        assert_true(pread(fd, printed, sizeof printed - 1, 0) > 0);
        close(fd);
        close(saved);
        assert_int_equal(parsed, PPROF_INVALID);
        assert_true(strncmp(printed, cases[i].printed, strlen(cases[i].printed)) == 0);
        assert_contains(printed, "`profgrab pprof -h` lists all flags\n");
        assert_null(strstr(printed, "usage:"));
    }
}

static void the_address_of_the_page_is_optional(void **state)
{
    (void)state;
    struct pprof_options o;
    struct err err;
    assert_int_equal(PARSE(&o, &err, "-http=:0", "-no_browser", "x"), PPROF_PARSED);
    assert_string_equal(o.http, ":0");
    assert_true(o.no_browser);
    assert_int_equal(PARSE(&o, &err, "-http", "localhost:8080", "x"), PPROF_PARSED);
    assert_string_equal(o.http, "localhost:8080");
    assert_int_equal(PARSE(&o, &err, "-http", "x"), PPROF_PARSED);
    assert_string_equal(o.http, ":");
    assert_string_equal(o.sources[0], "x");
    assert_int_equal(PARSE(&o, &err, "-http=", "-top", "x"), PPROF_PARSED);
    assert_null(o.http);
}

static void contradictory_flags_are_errors(void **state)
{
    (void)state;
    struct pprof_options o;
    struct err err;
    assert_int_equal(PARSE(&o, &err, "-top", "-tree", "x"), PPROF_INVALID);
    assert_string_equal(err.msg, "must set at most one output format");
    assert_int_equal(PARSE(&o, &err, "-top", "-lines", "-files", "x"), PPROF_INVALID);
    assert_string_equal(err.msg, "conflicting options set: [files lines]");
    assert_int_equal(PARSE(&o, &err, "-base=a", "-diff_base=b", "x"), PPROF_INVALID);
    assert_string_equal(err.msg, "-base and -diff_base flags cannot both be specified");
    assert_int_equal(PARSE(&o, &err, "-normalize", "x"), PPROF_INVALID);
    assert_string_equal(err.msg, "must have base profile to normalize by");
    assert_int_equal(PARSE(&o, &err, "-no_browser", "x"), PPROF_INVALID);
    assert_string_equal(err.msg, "-no_browser only makes sense with -http");
    assert_int_equal(PARSE(&o, &err, "-top", "-http=:", "x"), PPROF_INVALID);
    assert_contains(err.msg, "-http is not compatible");
    assert_int_equal(PARSE(&o, &err, "-top"), PPROF_INVALID);
    assert_string_equal(err.msg, "no profile source specified");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_lists_every_flag),
        cmocka_unit_test(flags_are_parsed_like_those_of_go_tool_pprof),
        cmocka_unit_test(wrong_flags_are_errors),
        cmocka_unit_test(the_address_of_the_page_is_optional),
        cmocka_unit_test(contradictory_flags_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
