/* The `profgrab check` command in the hint of a failure to connect. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/hosts/suggest.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static char host_name[] = "file-03", address[] = "ann@10.0.0.5", name[] = "gitaly", path[] = "/x y",
            usual[] = SERVICE_PATH, a_socket[] = "/run/a.sock";

static struct err make_failure(const char *hint, bool unreachable)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_FAILED, "cannot connect");
    err_hint(&err, "%s", hint);
    if (unreachable)
        err_mark_unreachable(&err);
    return err;
}

static void the_hint_has_the_check_command_with_its_options(void **state)
{
    (void)state;
    const struct host ours = {.name = host_name, .address = address},
                      outside = {.name = host_name, .address = address, .adhoc = true};
    const struct service named = {.name = name, .port = 9236, .path = usual},
                         port = {.name = name, .port = 6060, .path = usual, .adhoc = true},
                         odd = {.name = name, .port = 6060, .path = path, .adhoc = true, .https = true},
                         unix_socket = {.name = name, .unix_path = a_socket, .path = usual, .adhoc = true};
    const struct target_options none = {0}, all = {.inventory = "inv.yaml",
                                                   .ssh_config = "my config",
                                                   .via = "openssh",
                                                   .passphrase_file = "pass",
                                                   .accept_new = true,
                                                   .batch = true,
                                                   .connect_timeout_ms = 2000};
    const struct target_options of_source = {.from = "file_sd:t.json"};
    const struct target_options brief = {.connect_timeout_ms = 1500};
    const struct {
        const struct target_options *options;
        const struct host *host;
        const struct service *selected; /* the service of the only target */
        const struct service *failed;   /* NULL: the host failed */
        const char *line;
    } cases[] = {
        {&none, &ours, &named, NULL, "profgrab check --host file-03"},
        {&none, &ours, &named, &named, "profgrab check --host file-03 --service gitaly"},
        {&none, &ours, &port, NULL, "profgrab check --host file-03 --port 6060"},
        {&none, &ours, &port, &port, "profgrab check --host file-03 --port 6060"},
        {&none, &outside, &named, NULL, "profgrab check --host ann@10.0.0.5 --service gitaly"},
        {&none, &outside, &odd, NULL,
         "profgrab check --host ann@10.0.0.5 --port 6060 --path '/x y' --scheme https"},
        {&none, &outside, &unix_socket, NULL, "profgrab check --host ann@10.0.0.5 --unix /run/a.sock"},
        {&brief, &ours, &named, NULL, "profgrab check --connect-timeout 1500ms --host file-03"},
        {&of_source, &ours, &named, &named,
         "profgrab check --from file_sd:t.json --host file-03 --service gitaly"},
        {&all, &ours, &named, NULL,
         "profgrab check -i inv.yaml -F 'my config' --via openssh --passphrase-file pass --connect-timeout "
         "2s "
         "--accept-new --batch --host file-03"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct target target = {.host = cases[i].host, .service = cases[i].selected};
        const struct targets targets = {.items = &target, .n = 1};
        char *expected = format_text("is it up?; `%s` shows each step", cases[i].line);
        const struct err why = make_failure("is it up?", true);
        struct err suggested =
            suggest_check(cases[i].options, &targets, cases[i].host, cases[i].failed, &why);
        assert_string_equal(suggested.hint, expected);
        assert_string_equal(suggested.msg, "cannot connect");
        const struct err silent = make_failure("", true);
        suggested = suggest_check(cases[i].options, &targets, cases[i].host, cases[i].failed, &silent);
        assert_string_equal(suggested.hint, expected + strlen("is it up?; "));
        free(expected);
    }
}

static void only_a_short_hint_of_an_unreached_host_gets_a_command(void **state)
{
    (void)state;
    static char much[400];
    memset(much, 'a', sizeof much - 1);
    const struct host ours = {.name = host_name, .address = address};
    const struct target_options none = {0}, lengthy = {.inventory = much};
    /* The hint has no command for another kind of failure, without options, if the command is too long, or if
     * the hint is long already. */
    struct err why = make_failure("hint", false);
    assert_string_equal(suggest_check(&none, NULL, &ours, NULL, &why).hint, "hint");
    why = make_failure("hint", true);
    assert_string_equal(suggest_check(NULL, NULL, &ours, NULL, &why).hint, "hint");
    assert_string_equal(suggest_check(&lengthy, NULL, &ours, NULL, &why).hint, "hint");
    struct err again = suggest_check(&none, NULL, &ours, NULL, &why);
    assert_contains(again.hint, "profgrab check");
    memset(much, 'a', sizeof much - 1);
    char hint[500];
    memset(hint, 'h', sizeof hint);
    hint[sizeof hint - 1] = '\0';
    why = make_failure(hint, true);
    assert_string_equal(suggest_check(&none, NULL, &ours, NULL, &why).hint, hint);
    /* err_set clears the mark of an unreachable host. */
    err_set(&why, ERR_FAILED, "something else");
    assert_false(why.unreachable);
    assert_int_equal(err_mark_unreachable(NULL), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hint_has_the_check_command_with_its_options),
        cmocka_unit_test(only_a_short_hint_of_an_unreached_host_gets_a_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
