/* Options: every type, every form, and every error. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/args/command.h"
#include "cli/args/options.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

struct options {
    bool quiet, json;
    const char *output, *http;
    struct strlist hosts;
    unsigned port, retries;
    int64_t timeout;
};

static const struct option table[] = {
    {"quiet", 'q', OPTION_FLAG, NULL, "h", offsetof(struct options, quiet), 0},
    {"json", 0, OPTION_FLAG, NULL, "h", offsetof(struct options, json), 0},
    {"output", 'o', OPTION_TEXT, "FILE", "h", offsetof(struct options, output), 0},
    {"host", 'H', OPTION_LIST, "NAME,...", "h", offsetof(struct options, hosts), 0},
    {"port", 'p', OPTION_NUMBER, "N", "h", offsetof(struct options, port), 65535},
    {"timeout", 0, OPTION_DURATION, "TIME", "h", offsetof(struct options, timeout), 0},
    {"retries", 0, OPTION_COUNT, "N", "h", offsetof(struct options, retries), 3},
    {"http", 0, OPTION_TEXT_OPTIONAL, "HOST:PORT", "h", offsetof(struct options, http), 0},
    OPTIONS_END,
};

/* Parses a line of words separated by blanks; '' is an empty word. */
static int parse_line(const char *line, struct options *o, struct strlist *rest, struct buf *words,
                      struct err *err)
{
    char *argv[20];
    int argc = 0;
    buf_adds(words, line);
    for (char *p = words->data; p && *p;) {
        char *word = p;
        p += strcspn(p, " ");
        if (*p)
            *p++ = '\0';
        argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    *o = (struct options){.port = 7, .retries = 9};
    return options_parse(table, &(struct arguments){argc, argv}, o, rest, err);
}

/* `expected` has all parsed values in one line, then a bar and the arguments. */
static void assert_parsed_as(const char *line, const char *expected)
{
    struct options o;
    struct strlist rest = {0};
    struct err err = ERR_INIT;
    struct buf words = BUF_INIT(1000), b = BUF_INIT(1000);
    assert_ok(parse_line(line, &o, &rest, &words, &err), &err);
    buf_addf(&b, "%s%so=%s p=%u t=%lld H=", o.quiet ? "q " : "", o.json ? "json " : "",
             o.output ? o.output : "-", o.port, (long long)o.timeout);
    for (size_t i = 0; i < o.hosts.n; i++)
        buf_addf(&b, "%s%s", i ? "," : "", o.hosts.items[i]);
    if (o.retries != 9) /* the default */
        buf_addf(&b, " r=%u", o.retries);
    if (o.http)
        buf_addf(&b, " w=%s", o.http);
    buf_adds(&b, " |");
    for (size_t i = 0; i < rest.n; i++)
        buf_addf(&b, " %s", rest.items[i]);
    assert_string_equal(buf_str(&b), expected);
    strlist_release(&o.hosts);
    strlist_release(&rest);
    buf_release(&words);
    buf_release(&b);
}

static void assert_line_refused(const char *line, const char *msg, const char *hint)
{
    struct options o;
    struct strlist rest = {0};
    struct err err = ERR_INIT;
    struct buf words = BUF_INIT(1000);
    assert_refused(parse_line(line, &o, &rest, &words, &err), &err, ERR_USAGE, msg);
    assert_string_equal(err.hint, hint);
    strlist_release(&o.hosts);
    strlist_release(&rest);
    buf_release(&words);
}

static void each_type_of_option_is_parsed(void **state)
{
    (void)state;
    assert_parsed_as("", "o=- p=7 t=0 H= |");
    assert_parsed_as("--quiet --json", "q json o=- p=7 t=0 H= |");
    assert_parsed_as("--output x --port 80 --timeout 1m30s --host a,b", "o=x p=80 t=90000 H=a,b |");
    assert_parsed_as("--output=x --port=80 --timeout=5 --host=a,b", "o=x p=80 t=5000 H=a,b |");
    assert_parsed_as("--port 65535", "o=- p=65535 t=0 H= |");
    assert_parsed_as("--retries 0", "o=- p=7 t=0 H= r=0 |");
    assert_parsed_as("--retries 3", "o=- p=7 t=0 H= r=3 |");
    assert_parsed_as("--http x", "o=- p=7 t=0 H= w= | x");
    assert_parsed_as("--http=:80 x", "o=- p=7 t=0 H= w=:80 | x");
}

static void short_options_are_parsed(void **state)
{
    (void)state;
    assert_parsed_as("-q -o x -p 1 -H a", "q o=x p=1 t=0 H=a |");
    assert_parsed_as("-ox -p1 -Ha,b", "o=x p=1 t=0 H=a,b |");
    assert_parsed_as("-qp9", "q o=- p=9 t=0 H= |");
    assert_parsed_as("-qo x", "q o=x p=7 t=0 H= |");
    assert_parsed_as("-o=x", "o==x p=7 t=0 H= |");
}

static void repeated_options_add_to_a_list_or_replace_a_value(void **state)
{
    (void)state;
    assert_parsed_as("--host a --host b,c -H d", "o=- p=7 t=0 H=a,b,c,d |");
    assert_parsed_as("--output a -o b", "o=b p=7 t=0 H= |");
}

static void arguments_and_options_may_be_mixed(void **state)
{
    (void)state;
    assert_parsed_as("cpu --quiet heap", "q o=- p=7 t=0 H= | cpu heap");
    assert_parsed_as("cpu=30s - ''", "o=- p=7 t=0 H= | cpu=30s - ");
    assert_parsed_as("a -- --quiet -q --", "o=- p=7 t=0 H= | a --quiet -q --");
    /* The value of an option may look like an option. */
    assert_parsed_as("--output --quiet -o --", "o=-- p=7 t=0 H= |");
    assert_parsed_as("--output=", "o= p=7 t=0 H= |");
    assert_parsed_as("--output ''", "o= p=7 t=0 H= |");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const char list[] = "the options are listed by --help";
    assert_line_refused("--quite", "unknown option \"--quite\"",
                        "did you mean --quiet? the options are listed by --help");
    assert_line_refused("--hots=a", "unknown option \"--hots=a\"",
                        "did you mean --host? the options are listed by --help");
    assert_line_refused("--xyzzy", "unknown option \"--xyzzy\"", list);
    assert_line_refused("--=x", "unknown option \"--=x\"", list);
    /* No abbreviations: new options would change their meaning. */
    assert_line_refused("--out x", "unknown option \"--out\"",
                        "did you mean --output? the options are listed by --help");
    assert_line_refused("-x", "unknown option \"-x\"", list);
    assert_line_refused("-qx", "unknown option \"-x\"", list);
    assert_line_refused("--quiet=yes", "--quiet takes no value", "");
    assert_line_refused("--output", "--output needs a value: FILE", "");
    assert_line_refused("-o", "--output needs a value: FILE", "");
    assert_line_refused("-qo", "--output needs a value: FILE", "");
    assert_line_refused("--retries 4", "--retries needs a number from 0 to 3, not \"4\"", "");
    assert_line_refused("--host a,,b", "--host: empty entry in the list \"a,,b\"", "");
    assert_line_refused("--host=", "--host: empty entry in the list \"\"", "");
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "65536", "-1", "1.5", "x", "0x10", "''", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *line = format_text("--port %s", bad[i]);
        char *msg = format_text("--port needs a number from 1 to 65535, not \"%s\"",
                                strcmp(bad[i], "''") ? bad[i] : "");
        assert_line_refused(line, msg, "");
        free(line);
        free(msg);
    }
    assert_line_refused("--timeout 0", "--timeout must be more than 0", "");
    assert_line_refused("--timeout 5x",
                        "--timeout: \"5x\" is not a duration: write 30s, 2m, 1m30s or a number of seconds",
                        "");
}

/* Finds the option of that name in the rows from `from` on. Returns NULL if there is none. */
static const struct option *find_option(const struct option *from, const char *name)
{
    while (from->name && strcmp(from->name, name) != 0)
        from++;
    return from->name ? from : NULL;
}

/* The first group of a command's help begins at the command's first option, and each other group at a later
 * one. If another command describes a group, that command has all options from the group on. */
static void help_groups_begin_at_options_of_their_command(void **state)
{
    (void)state;
    const struct command *c;
    size_t seen = 0;
    for (size_t i = 0; (c = command_at(i)); i++) {
        const struct option *previous = c->options;
        for (const struct option_group *g = c->groups; g && g->title; g++, seen++) {
            const struct option *first = find_option(previous, g->first);
            if (!first || (g == c->groups && first != c->options))
                fail_msg("%s: no option %s in its place", c->name, g->first);
            previous = first;
            for (const struct option *o = first; g->described_by && o->name; o++)
                if (!find_option(command_find(g->described_by)->options, o->name))
                    fail_msg("%s: %s has no --%s", c->name, g->described_by, o->name);
        }
    }
    assert_true(seen > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_groups_begin_at_options_of_their_command),
        cmocka_unit_test(each_type_of_option_is_parsed),
        cmocka_unit_test(short_options_are_parsed),
        cmocka_unit_test(repeated_options_add_to_a_list_or_replace_a_value),
        cmocka_unit_test(arguments_and_options_may_be_mixed),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
