/* The shell of pprof: parsing of commands, assignment of options, completion. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/pprof/shell.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- commands ---------------------------------------------------------------------------------------- */

/* NULL: not set. All other options have their defaults. */
struct command_case {
    const char *line;
    enum pprof_output format;
    long nodecount;
    const char *focus, *ignore; /* of the tags for the command `tags`, else of the functions */
    const char *output;
};

static void assert_option(const char *option, const char *expected)
{
    assert_true(str_is(str_of(option), expected ? expected : ""));
}

static void assert_command_parsed(const struct command_case *expected)
{
    struct pprof_options o = {.report = REPORT_SETTINGS_INIT};
    struct shell_command c;
    struct err err = ERR_INIT;
    assert_ok(shell_command_parse(str_of(expected->line), &c, &err), &err);
    shell_command_apply(&c, &o);
    assert_int_equal(o.format, expected->format);
    assert_int_equal(o.report.nodecount, expected->nodecount);
    bool tags = expected->format == PPROF_TAGS;
    assert_option(tags ? o.report.tagfocus : o.report.focus, expected->focus);
    assert_option(tags ? o.report.tagignore : o.report.ignore, expected->ignore);
    assert_option(o.output, expected->output);
    shell_command_release(&c);
}

static void commands_are_parsed(void **state)
{
    (void)state;
    static const struct command_case cases[] = {
        {"top", PPROF_TOP, 10, NULL, NULL, NULL},
        {"top5", PPROF_TOP, 5, NULL, NULL, NULL},
        {"top5 7", PPROF_TOP, 7, NULL, NULL, NULL},
        {"tree", PPROF_TREE, -1, NULL, NULL, NULL},
        {" text\t-3  a b -c -d >f ", PPROF_TEXT, -3, "a|b", "c|d", "f"},
        {"dot 99999999999 > f", PPROF_DOT, -1, "99999999999", NULL, "f"},
        {"svg >a >b", PPROF_SVG, -1, NULL, NULL, "b"},
        {"tags a -b", PPROF_TAGS, -1, "a", "b", NULL},
        {"list10 x", PPROF_LIST, -1, "x", NULL, NULL},
        {"top - --cum -cum ---x", PPROF_TOP, 10, NULL, "--x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_command_parsed(&cases[i]);
}

static void assert_command_refused(const char *line, const char *msg)
{
    struct shell_command c;
    struct err err = ERR_INIT;
    assert_refused(shell_command_parse(str_of(line), &c, &err), &err, ERR_USAGE, msg);
    shell_command_release(&c);
}

static void wrong_commands_are_errors(void **state)
{
    (void)state;
    assert_command_refused("bogus", "unrecognized command: \"bogus\"");
    assert_command_refused("bogus12 x", "unrecognized command: \"bogus\"");
    assert_command_refused("12", "unrecognized command: \"12\"");
    assert_command_refused("a\"\\\033", "unrecognized command: \"a\\\"\\\\\\x1b\"");
    assert_command_refused("list", "command list requires an argument");
    assert_command_refused("top >", "unexpected end of line after >");
    assert_command_refused("focus x y", "did you mean: focus=x");
    assert_command_refused("cum", "did you mean: cum=<val>");
    assert_command_refused("nodecount5", "did you mean: nodecount=5");
    assert_command_refused("seconds 5", "unrecognized command: \"seconds\"");
}

static void parse_damaged_command(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct shell_command c;
    struct err err = ERR_INIT;
    if (shell_command_parse((struct str){s->p, s->n}, &c, &err) < 0)
        assert_true(err.kind == ERR_USAGE && err.msg[0]);
    else
        assert_true(c.format < PPROF_OUTPUTS);
    shell_command_release(&c);
}

static void damaged_commands_are_parsed_or_refused_with_a_message(void **state)
{
    (void)state;
    static const char line[] = "list10 f.*\t-cum 12 a\xe2\x80\x83-b\xc2\xa0>out > x";
    damage_everywhere(line, sizeof line - 1, parse_damaged_command, NULL);
}

/* ---- options ----------------------------------------------------------------------------------------- */

struct fixture {
    struct profile *profile;
    struct pprof_options options;
};

static uint32_t intern(struct profile *p, const char *text)
{
    struct err err = ERR_INIT;
    uint32_t n;
    assert_ok(profile_intern(p, text, strlen(text), &n, &err), &err);
    return n;
}

static int set_up(void **state)
{
    static struct fixture f;
    static const char *const types[] = {"alloc_space", "inuse_space"};
    static const char *const functions[] = {"main.serve",  "main.server.Close", "runtime.mallocgc",
                                            "evil\033[2J", "unsafe >file",      ">unsafe2"};
    struct err err = ERR_INIT;
    f.profile = profile_new(&err);
    assert_non_null(f.profile);
    for (size_t i = 0; i < 2; i++)
        assert_ok(profile_add_sample_type(f.profile,
                                          (struct profile_value_type){intern(f.profile, types[i]), 0}, &err),
                  &err);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        assert_ok(profile_add_function(
                      f.profile,
                      &(struct profile_function){.id = i + 1, .name = intern(f.profile, functions[i])}, &err),
                  &err);
    const struct pprof_options usual = {.report = REPORT_SETTINGS_INIT};
    assert_ok(shell_options_init(&f.options, &usual, &err), &err);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    shell_options_release(&f->options);
    profile_free(f->profile);
    return 0;
}

/* Executes an assignment. Returns the error's message, or "". */
static const char *assign_option(struct fixture *f, const char *line)
{
    static struct err err;
    bool is_assignment = false;
    err = (struct err)ERR_INIT;
    int rc = shell_assign(&f->options, f->profile, str_of(line), &is_assignment, &err);
    assert_true(is_assignment);
    return rc < 0 ? err.msg : "";
}

static void assigned_values_are_stored_in_the_options(void **state)
{
    struct fixture *f = *state;
    struct report_settings *r = &f->options.report;
    assert_string_equal(assign_option(f, "focus = a=b //: why"), "");
    assert_string_equal(r->focus, "a=b");
    assert_string_equal(assign_option(f, "focus="), "");
    assert_string_equal(r->focus, "");
    assert_string_equal(assign_option(f, "nodecount=+7"), "");
    assert_int_equal(r->nodecount, 7);
    assert_string_equal(assign_option(f, "mean"), "");
    assert_string_equal(assign_option(f, "trim=No"), "");
    assert_true(r->mean && !r->trim);
    assert_string_equal(assign_option(f, "lines=T"), "");
    assert_string_equal(assign_option(f, "sort=cum"), "");
    assert_true(r->cum && r->granularity == REPORT_BY_LINE);
    assert_string_equal(assign_option(f, "sample_index=0"), "");
    assert_string_equal(r->sample_index, "alloc_space");
}

static void wrong_values_are_errors(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(assign_option(f, "focus"), "please specify a value, e.g. focus=<val>");
    assert_string_equal(assign_option(f, "nodecount=1x"), "strconv.Atoi: parsing \"1x\": invalid syntax");
    assert_string_equal(assign_option(f, "nodecount=9999999999999999999"),
                        "strconv.Atoi: parsing \"9999999999999999999\": value out of range");
    assert_string_equal(assign_option(f, "divide_by=0x10"),
                        "strconv.ParseFloat: parsing \"0x10\": invalid syntax");
    assert_string_equal(assign_option(f, "mean=maybe"), "illegal value \"maybe\" for bool variable");
    assert_string_equal(assign_option(f, "cum"), "unknown config field \"cum\"");
    assert_string_equal(assign_option(f, "sort=lines"), "invalid \"sort\" value \"lines\"");
    assert_contains(assign_option(f, "sample_index=x"), "must be one of: [alloc_space inuse_space]");
    bool is_assignment = true;
    struct err err = ERR_INIT;
    assert_ok(shell_assign(&f->options, f->profile, STR("timeout=3"), &is_assignment, &err), &err);
    assert_false(is_assignment);
}

static void assign_damaged(void *ctx, const struct damaged *s)
{
    struct fixture *f = ctx;
    bool is_assignment = false;
    struct err err = ERR_INIT;
    if (shell_assign(&f->options, f->profile, (struct str){s->p, s->n}, &is_assignment, &err) < 0)
        assert_true(is_assignment && err.kind != ERR_NONE);
}

static void damaged_assignments_succeed_or_give_an_error(void **state)
{
    static const char *const lines[] = {"divide_by = 1.5e1 //: x", "sample_index=inuse_space", "lines=true"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        damage_everywhere(lines[i], strlen(lines[i]), assign_damaged, *state);
}

static void options_are_listed_with_values_and_choices(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT(65536);
    assign_option(f, "divide_by=1234567");
    shell_list_options(&f->options, f->profile, &text);
    assert_contains(buf_str(&text), "  divide_by                 = 1.234567e+06         \n");
    assert_contains(buf_str(&text), "  granularity               = (default)            //: [addresses | ");
    assert_contains(buf_str(&text), "  sample_index              = inuse_space          //: [alloc_space | ");
    assert_contains(buf_str(&text), "  focus                     = \"\"                   \n");
    assert_contains(buf_str(&text), "  nodecount                 = -1                   //: default\n");
    buf_release(&text);
}

/* ---- completion -------------------------------------------------------------------------------------- */

/* `old` is the word that becomes `expected`. `expected` is NULL if there is no completion. */
static void assert_completed(const struct fixture *f, const char *line, const char *old, const char *expected)
{
    struct buf text = BUF_INIT(1000);
    struct str word;
    bool found = shell_complete(f->profile, str_of(line), &word, &text);
    assert_int_equal(found, expected != NULL);
    if (found) {
        assert_true(str_is(word, old));
        assert_string_equal(buf_str(&text), expected);
    }
    buf_release(&text);
}

static void the_tab_key_completes_words(void **state)
{
    const struct fixture *f = *state;
    assert_completed(f, "tr", "tr", NULL); /* traces, tree, trim, ... */
    assert_completed(f, "tra", "tra", "traces");
    assert_completed(f, "GRAN", "GRAN", "granularity");
    assert_completed(f, "help sho", "sho", NULL);
    assert_completed(f, "help showc", "showc", "showcolumns");
    assert_completed(f, "", "", NULL);
    assert_completed(f, "list ", "", NULL);
    assert_completed(f, "list malloc", "malloc", "runtime.mallocgc");
    assert_completed(f, "top 3 -malloc", "-malloc", "-runtime.mallocgc");
    assert_completed(f, "list serve", "serve", NULL);
    assert_completed(f, "list evil", "evil", NULL);
    /* These would write a file. */
    assert_completed(f, "list unsafe", "unsafe", NULL);
    assert_completed(f, "list unsafe2", "unsafe2", NULL);
    assert_completed(f, "list >unsafe", ">unsafe", NULL);
    assert_completed(f, "list le >fi", ">fi", NULL);
    assert_completed(f, "tags malloc", "malloc", NULL);
    assert_completed(f, "bogus malloc", "malloc", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_parsed),
        cmocka_unit_test(wrong_commands_are_errors),
        cmocka_unit_test(damaged_commands_are_parsed_or_refused_with_a_message),
        cmocka_unit_test_setup_teardown(assigned_values_are_stored_in_the_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_values_are_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_assignments_succeed_or_give_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_are_listed_with_values_and_choices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_tab_key_completes_words, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
