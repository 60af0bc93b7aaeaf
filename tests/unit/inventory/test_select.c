/* From the user's selection to targets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/inventory.h"
#include "tests/unit/damage.h"

static const char file[] = "version: 1\n"
                           "services:\n"
                           "  gitaly: { port: 9236 }\n"
                           "  backend: { port: 6060 }\n"
                           "hosts:\n"
                           "  file-[03-05]: { services: [gitaly, backend] }\n"
                           "  web-1: { services: [backend], address: ops@web-1.example }\n"
                           "  bare: { services: [] }\n"
                           "groups:\n"
                           "  storage: ['file-*']\n"
                           "  empty: []\n";

static struct inventory *parse_inventory(void)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    if (inventory_parse("inv.yaml", (struct str){file, sizeof file - 1}, NULL, &inv, &err) < 0)
        fail_msg("%s", err.msg);
    return inv;
}

/* A selection. Each entry of `hosts` is a string, because a range contains commas. The entries of `groups`
 * and `services` are separated by commas. NULL: none. */
struct query {
    const char *hosts[3];
    const char *groups;
    const char *services;
    unsigned port;
    const char *unix_path;
    const char *path;
    bool https;
};

static int run_selection(struct inventory *inv, const struct query *query, struct targets *ret,
                         struct err *err)
{
    struct selection sel = {
        .port = query->port, .unix_path = query->unix_path, .path = query->path, .https = query->https};
    for (size_t i = 0; i < 3 && query->hosts[i]; i++)
        assert_int_equal(strlist_add(&sel.hosts, query->hosts[i], NULL), 0);
    if (query->groups)
        assert_int_equal(strlist_split(&sel.groups, query->groups, NULL), 0);
    if (query->services)
        assert_int_equal(strlist_split(&sel.services, query->services, NULL), 0);
    int rc = inventory_select(inv, &sel, ret, err);
    selection_release(&sel);
    return rc;
}

/* Adds the selected targets, and asserts their names, written as host/service. */
static void assert_added(struct inventory *inv, struct targets *t, struct query query, const char *expected)
{
    struct err err = ERR_INIT;
    struct buf joined = BUF_INIT(4096);
    size_t from = t->n;
    if (run_selection(inv, &query, t, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = from; i < t->n; i++)
        buf_addf(&joined, "%s%s/%s", i > from ? " " : "", t->items[i].host->name, t->items[i].service->name);
    assert_string_equal(buf_str(&joined), expected);
    buf_release(&joined);
}

static void assert_selected(struct inventory *inv, struct query query, const char *expected)
{
    struct targets t = {0};
    assert_added(inv, &t, query, expected);
    targets_release(&t);
}

static void assert_selection_refused(struct inventory *inv, struct query query, const char *message,
                                     const char *hint)
{
    struct targets t = {0};
    struct err err = ERR_INIT;
    assert_int_equal(run_selection(inv, &query, &t, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.msg, message);
    assert_string_equal(err.hint, hint);
    assert_null(t.items);
    targets_release(&t);
}

/* Shorthands for members of `struct query`. */
#define HOSTS(...)                                                                                           \
    (struct query)                                                                                           \
    {                                                                                                        \
        .hosts = { __VA_ARGS__ }                                                                             \
    }
#define WITH_PORT(number, ...)                                                                               \
    (struct query)                                                                                           \
    {                                                                                                        \
        .hosts = {__VA_ARGS__}, .port = (number)                                                             \
    }
#define WITH_SERVICES(list, ...)                                                                             \
    (struct query)                                                                                           \
    {                                                                                                        \
        .hosts = {__VA_ARGS__}, .services = (list)                                                           \
    }

static void names_globs_ranges_and_groups_select_hosts(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selected(inv, HOSTS("file-03"), "file-03/gitaly file-03/backend");
    assert_selected(inv, HOSTS("web-1", "file-03"), "web-1/backend file-03/gitaly file-03/backend");
    assert_selected(inv, HOSTS("web-?"), "web-1/backend");
    assert_selected(inv, WITH_SERVICES("gitaly", "file-[05,03]"), "file-05/gitaly file-03/gitaly");
    assert_selected(inv, WITH_SERVICES("gitaly", "file-0*"), "file-03/gitaly file-04/gitaly file-05/gitaly");
    assert_selected(inv, (struct query){.groups = "storage", .services = "backend"},
                    "file-03/backend file-04/backend file-05/backend");
    inventory_free(inv);
}

static void each_target_is_selected_once(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selected(inv,
                    (struct query){.hosts = {"file-04", "file-*", "file-04"},
                                   .groups = "storage",
                                   .services = "gitaly,gitaly"},
                    "file-04/gitaly file-03/gitaly file-05/gitaly");
    assert_selected(inv, WITH_PORT(80, "a.example", "a.example"), "a.example/port-80");
    inventory_free(inv);
}

static void services_are_selected_by_name(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selected(inv, WITH_SERVICES("gitaly", "web-1"), "web-1/gitaly");
    assert_selected(inv, WITH_SERVICES("backend,gitaly", "bare"), "bare/backend bare/gitaly");
    assert_selected(inv, WITH_PORT(8080, "file-03"), "file-03/port-8080");
    assert_selected(inv, (struct query){.hosts = {"web-1"}, .services = "gitaly", .port = 8080},
                    "web-1/gitaly web-1/port-8080");
    inventory_free(inv);
}

static void a_port_makes_a_service(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    struct targets t = {0};
    assert_int_equal(run_selection(inv, &WITH_PORT(8080, "ops@db.example"), &t, NULL), 0);
    assert_string_equal(t.items[0].service->name, "port-8080");
    assert_string_equal(t.items[0].service->host, "localhost");
    assert_string_equal(t.items[0].service->path, "/debug/pprof");
    assert_int_equal(t.items[0].service->port, 8080);
    assert_string_equal(t.items[0].host->name, "db.example");
    assert_string_equal(t.items[0].host->address, "ops@db.example");
    assert_false(t.items[0].host->direct);
    /* A second selection gives the same host and service. Neither is added to the inventory. */
    assert_int_equal(run_selection(inv, &WITH_PORT(8080, "ops@db.example"), &t, NULL), 0);
    assert_int_equal(t.n, 2);
    assert_ptr_equal(t.items[1].host, t.items[0].host);
    assert_ptr_equal(t.items[1].service, t.items[0].service);
    size_t n = 0;
    inventory_hosts(inv, &n);
    assert_int_equal(n, 5);
    targets_release(&t);
    inventory_free(inv);
}

static void a_port_gets_the_given_path_and_scheme(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    struct targets t = {0};
    struct err err = ERR_INIT;
    struct query query = {.hosts = {"file-*"}, .port = 8443, .path = "/internal/pprof//", .https = true};
    if (run_selection(inv, &query, &t, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(t.n, 3);
    assert_ptr_equal(t.items[0].service, t.items[2].service);
    assert_string_equal(t.items[0].service->name, "port-8443");
    assert_string_equal(t.items[0].service->path, "/internal/pprof");
    assert_string_equal(t.items[0].service->host, "localhost");
    assert_true(t.items[0].service->https);
    assert_null(t.items[0].service->unix_path);
    targets_release(&t);
    query = (struct query){.hosts = {"bare"}, .services = "gitaly", .port = 80, .path = "/"};
    assert_selected(inv, query, "bare/gitaly bare/port-80");
    inventory_free(inv);
}

static void a_socket_makes_a_service(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    struct targets t = {0};
    struct err err = ERR_INIT;
    struct query query = {.hosts = {"ops@db.example"}, .unix_path = "/run/app/debug.sock", .https = true};
    if (run_selection(inv, &query, &t, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(t.items[0].host->name, "db.example");
    assert_string_equal(t.items[0].service->name, "unix-debug.sock");
    assert_string_equal(t.items[0].service->unix_path, "/run/app/debug.sock");
    assert_string_equal(t.items[0].service->path, "/debug/pprof");
    assert_int_equal(t.items[0].service->port, 0);
    assert_true(t.items[0].service->https);
    targets_release(&t);
    assert_selected(inv, (struct query){.hosts = {"bare"}, .unix_path = "/a b\xc3\xa9*"}, "bare/unix-a-b---");
    assert_selected(inv, (struct query){.hosts = {"bare"}, .unix_path = "/run/.x_-"}, "bare/unix-.x_-");
    inventory_free(inv);
}

/* Equal descriptions are one service. Other services get names of their own, which differ from the
 * inventory's. */
static void names_of_adhoc_services_are_unique(void **state)
{
    (void)state;
    static const char text[] = "version: 1\nservices: { port-80: { port: 81 }, unix-s-2: { port: 82 } }\n"
                               "hosts: { web: { services: [port-80] } }\n";
    struct inventory *inv = NULL;
    struct targets t = {0};
    assert_int_equal(inventory_parse("inv.yaml", (struct str){text, sizeof text - 1}, NULL, &inv, NULL), 0);
    struct query port = {.hosts = {"web"}, .services = "port-80", .port = 80};
    assert_added(inv, &t, port, "web/port-80 web/port-80-2");
    assert_added(inv, &t, port, "web/port-80 web/port-80-2");
    port.path = "/debug/pprof/";
    assert_added(inv, &t, port, "web/port-80 web/port-80-2");
    port.path = "/x";
    assert_added(inv, &t, port, "web/port-80 web/port-80-3");
    port.https = true;
    assert_added(inv, &t, port, "web/port-80 web/port-80-4");
    assert_added(inv, &t, (struct query){.hosts = {"web"}, .unix_path = "/a/s"}, "web/unix-s");
    assert_added(inv, &t, (struct query){.hosts = {"web"}, .unix_path = "/b/s"}, "web/unix-s-3");
    assert_added(inv, &t, (struct query){.hosts = {"web"}, .unix_path = "/a/s"}, "web/unix-s");
    targets_release(&t);
    inventory_free(inv);
}

#define PATH_HINT "add --port N; a service of the inventory has its own path and scheme"

static void invalid_adhoc_services_are_refused(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .path = "/x"},
                             "the path of a service is given, but neither a port nor a Unix socket",
                             PATH_HINT);
    assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .services = "gitaly", .path = "/x"},
                             "the path of a service is given, but neither a port nor a Unix socket",
                             PATH_HINT);
    assert_selection_refused(inv, (struct query){.hosts = {"file-03"}, .https = true},
                             "HTTPS is given, but neither a port nor a Unix socket", PATH_HINT);
    assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .port = 1, .unix_path = "/a"},
                             "a port and a Unix socket cannot be combined",
                             "a service listens on one of them");
    static const char *const bad[] = {"", "debug", "~/x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .port = 1, .path = bad[i]},
                                 "pprof's path must begin with \"/\"", "");
        assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .unix_path = bad[i]},
                                 "unix must be an absolute path that does not end with \"/\"", "");
    }
    static const char *const no_path[] = {"/a?b", "/a#b", "/a b", "/a\r\nX: y", "/\xc3\xa9", "/a\"b"};
    for (size_t i = 0; i < sizeof no_path / sizeof *no_path; i++)
        assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .port = 1, .path = no_path[i]},
                                 "pprof's path must be the path of a URL", "");
    assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .unix_path = "/run/a/"},
                             "unix must be an absolute path that does not end with \"/\"", "");
    assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .unix_path = "/a\033b"},
                             "unix must be a path of visible characters", "");
    char longest[300] = "/";
    memset(longest + 1, 'a', sizeof longest - 2);
    assert_selection_refused(inv, (struct query){.hosts = {"bare"}, .unix_path = longest},
                             "unix must be a path of at most 107 bytes", "");
    longest[107] = '\0';
    struct targets t = {0};
    assert_int_equal(run_selection(inv, &(struct query){.hosts = {"bare"}, .unix_path = longest}, &t, NULL),
                     0);
    assert_true(text_is_name(t.items[0].service->name));
    targets_release(&t);
    inventory_free(inv);
}

static void assert_adhoc_host(const char *text, const char *name, const char *address)
{
    struct inventory *inv = parse_inventory();
    struct targets t = {0};
    struct err err = ERR_INIT;
    if (run_selection(inv, &WITH_PORT(80, text), &t, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(t.n, 1);
    assert_string_equal(t.items[0].host->name, name);
    assert_string_equal(t.items[0].host->address, address);
    targets_release(&t);
    inventory_free(inv);
}

static void addresses_outside_the_inventory_are_hosts(void **state)
{
    (void)state;
    assert_adhoc_host("db.example", "db.example", "db.example");
    assert_adhoc_host("ops@db", "db", "ops@db");
    assert_adhoc_host("ops@corp@db", "db", "ops@corp@db");
    assert_adhoc_host("ssh://ops@db:2222", "db", "ssh://ops@db:2222");
    assert_adhoc_host("db:2222", "db", "ssh://db:2222");
    assert_adhoc_host("192.0.2.1", "192.0.2.1", "192.0.2.1");
    assert_adhoc_host("::1", "0--1", "::1");
    assert_adhoc_host("2001:db8::7", "2001-db8--7", "2001:db8::7");
    assert_adhoc_host("ops@[2001:db8::7]", "2001-db8--7", "ops@2001:db8::7");
    assert_adhoc_host("ssh://ops@[::1]:22", "0--1", "ssh://ops@[::1]:22");
    struct inventory *inv = parse_inventory();
    assert_selected(inv, WITH_PORT(80, "ops@db-[1-2]"), "db-1/port-80 db-2/port-80");
    inventory_free(inv);
}

#define ADDRESS_FORM "it must be [user@]host or ssh://[user@]host[:port]"

static void invalid_addresses_are_refused(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selection_refused(inv, WITH_PORT(80, "-oProxyCommand=x"),
                             "bad address \"-oProxyCommand=x\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, ""), "bad address \"\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "ops@"), "bad address \"ops@\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "ops@-x"), "bad address \"ops@-x\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "a b"), "bad address \"a b\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "a/../b"), "bad address \"a/../b\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "1:2:3"), "bad address \"1:2:3\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "[::1]x"), "bad address \"[::1]x\": " ADDRESS_FORM, "");
    assert_selection_refused(inv, WITH_PORT(80, "a:0"),
                             "bad address \"a:0\": a port is a number from 1 to 65535", "");
    assert_selection_refused(inv, WITH_PORT(80, "a:65536"),
                             "bad address \"a:65536\": a port is a number from 1 to 65535", "");
    assert_selection_refused(inv, WITH_PORT(80, "-l@a"),
                             "bad address \"-l@a\": the text before \"@\" is not a valid user name", "");
    assert_selection_refused(inv, WITH_PORT(80, "$(id)@a"),
                             "bad address \"$(id)@a\": the text before \"@\" is not a valid user name", "");
    assert_selection_refused(inv, WITH_PORT(80, "@a"),
                             "bad address \"@a\": the text before \"@\" is not a valid user name", "");
    assert_selection_refused(inv, WITH_PORT(80, "\033[2J:x]"), "bad address \"?[2J:x]\": " ADDRESS_FORM, "");
    inventory_free(inv);
}

#define OUTSIDE_HINT "--service NAME or --port N reaches hosts outside the inventory"

static void unknown_names_get_suggestions(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selection_refused(inv, HOSTS("fiel-03"), "unknown host \"fiel-03\"",
                             "did you mean \"file-03\", \"file-04\" or \"file-05\"? " OUTSIDE_HINT);
    assert_selection_refused(inv, HOSTS("zzzzzzzz"), "unknown host \"zzzzzzzz\"", OUTSIDE_HINT);
    assert_selection_refused(inv, HOSTS("web-1", "nobody@x"), "unknown host \"nobody@x\"", OUTSIDE_HINT);
    assert_selection_refused(inv, HOSTS("file-[05-06]"), "unknown host \"file-06\"",
                             "did you mean \"file-03\", \"file-04\" or \"file-05\"? " OUTSIDE_HINT);
    assert_selection_refused(inv, HOSTS("db*"), "no host matches \"db*\"", "");
    assert_selection_refused(inv, WITH_PORT(80, "db*"), "no host matches \"db*\"", "");
    assert_selection_refused(inv, HOSTS("file-[5-3]"), "bad range in \"file-[5-3]\": the range counts down",
                             "");
    assert_selection_refused(inv, HOSTS("storage"), "unknown host \"storage\"",
                             "it is a group: use --group storage");
    assert_selection_refused(inv, WITH_PORT(80, "storage"), "unknown host \"storage\"",
                             "it is a group: use --group storage");
    assert_selection_refused(inv, (struct query){.groups = "storrage"}, "unknown group \"storrage\"",
                             "did you mean \"storage\"?");
    assert_selection_refused(inv, (struct query){.groups = "age"}, "unknown group \"age\"",
                             "did you mean \"storage\"?");
    assert_selection_refused(inv, (struct query){.groups = "file-03"}, "unknown group \"file-03\"",
                             "it is a host: use --host file-03");
    assert_selection_refused(inv, (struct query){.groups = "xyz"}, "unknown group \"xyz\"",
                             "`profgrab hosts --groups` lists them");
    assert_selection_refused(inv, (struct query){.groups = "empty"}, "group \"empty\" has no hosts", "");
    assert_selection_refused(inv, WITH_SERVICES("gitly", "file-03"), "unknown service \"gitly\"",
                             "did you mean \"gitaly\"?");
    assert_selection_refused(inv, HOSTS("\033x"), "unknown host \"?x\"", OUTSIDE_HINT);
    assert_selection_refused(inv, HOSTS("bare"), "host \"bare\" has no services",
                             "add --service NAME or --port N");
    assert_selection_refused(
        inv, (struct query){.port = 80}, "no host is named",
        "add --host NAME, --group NAME or --label NAME=VALUE; `profgrab hosts` lists them");
    inventory_free(inv);
}

/* The name of a host is a directory of the bundle. */
static void two_hosts_of_one_name_are_refused(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory();
    assert_selection_refused(inv, WITH_PORT(80, "a@db", "b@db"),
                             "\"a@db\" and \"b@db\" would both be named \"db\"", "");
    assert_selection_refused(inv, WITH_PORT(80, "x@web-1", "web-1"),
                             "\"x@web-1\" and \"ops@web-1.example\" would both be named \"web-1\"", "");
    assert_selection_refused(inv, WITH_PORT(80, "x@web-1", "web-*"),
                             "\"x@web-1\" and \"ops@web-1.example\" would both be named \"web-1\"", "");
    assert_selection_refused(inv, WITH_PORT(80, "web-1", "x@web-1"),
                             "\"ops@web-1.example\" and \"x@web-1\" would both be named \"web-1\"", "");
    assert_selected(inv, WITH_PORT(80, "x@web-1"), "web-1/port-80");
    inventory_free(inv);
}

static void names_need_an_inventory(void **state)
{
    (void)state;
    struct inventory *inv = NULL;
    const char *hint = "name a host and a port, as in profgrab --host user@host --port 6060 cpu, or write "
                       "$XDG_CONFIG_HOME/profgrab/inventory.yaml (~/.config without that variable)";
    assert_int_equal(inventory_load(NULL, NULL, &inv, NULL), 0);
    assert_selection_refused(inv, HOSTS("file-03"), "no inventory: host \"file-03\" is unknown", hint);
    assert_selection_refused(inv, (struct query){.groups = "storage"},
                             "no inventory: group \"storage\" is unknown", hint);
    assert_selection_refused(inv, WITH_SERVICES("api", "web"), "no inventory: service \"api\" is unknown",
                             hint);
    assert_selection_refused(inv, HOSTS("user@host:6060"), "no inventory: host \"user@host:6060\" is unknown",
                             "a service's port has an option of its own: --host user@host --port 6060");
    assert_selection_refused(inv, HOSTS("::1"), "no inventory: host \"::1\" is unknown", hint);
    assert_selected(inv, WITH_PORT(6060, "user@host"), "host/port-6060");
    inventory_free(inv);
}

static void parse_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    char *text = damaged_text(s);
    struct address a = {0};
    if (address_parse(text, &a, NULL) == 0) {
        char *name = address_name(&a);
        assert_true(text_is_name(name));
        free(name);
        address_release(&a);
    }
    free(text);
}

static void accepted_addresses_have_valid_names(void **state)
{
    (void)state;
    const char whole[] = "ssh://ops@[2001:db8::7]:2222";
    damage_everywhere(whole, sizeof whole - 1, parse_damaged, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_globs_ranges_and_groups_select_hosts),
        cmocka_unit_test(each_target_is_selected_once),
        cmocka_unit_test(services_are_selected_by_name),
        cmocka_unit_test(a_port_makes_a_service),
        cmocka_unit_test(a_port_gets_the_given_path_and_scheme),
        cmocka_unit_test(a_socket_makes_a_service),
        cmocka_unit_test(names_of_adhoc_services_are_unique),
        cmocka_unit_test(invalid_adhoc_services_are_refused),
        cmocka_unit_test(addresses_outside_the_inventory_are_hosts),
        cmocka_unit_test(invalid_addresses_are_refused),
        cmocka_unit_test(unknown_names_get_suggestions),
        cmocka_unit_test(two_hosts_of_one_name_are_refused),
        cmocka_unit_test(names_need_an_inventory),
        cmocka_unit_test(accepted_addresses_have_valid_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
