/* The inventory file: valid and invalid content, and the places where it is searched. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "base/data/yaml_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/damage.h"

static const char full[] =
    "version: 1\n"
    "x-note: [ anything, { at: all } ]\n"
    "services:\n"
    "  gitaly:  { port: 9236, kinds: [cpu, \"heap\", goroutines=text], hint: \"set "
    "ENABLE_PROFILING=true\" }\n"
    "  backend: { port: 6060, host: 127.0.0.1, path: /internal/pprof/, host_header: "
    "'api.example:80', x-a: 1 }\n"
    "  metrics: { port: 8443, scheme: https, tls: { ca: corp.pem, cert: ~/me.pem, key: "
    "/etc/me.key, server_name: api.example.internal, insecure: false, x-b: 2 }, auth: "
    "{ bearer_env: PPROF_TOKEN, x-c: 3 } }\n"
    "  sidecar: { unix: /run/app/debug.sock, scheme: http, path: /, host_header: app, "
    "auth: { user: 'ann b', password_file: secrets/pw } }\n"
    "  lax: { unix: '/run/a b', scheme: https, tls: { insecure: true }, auth: { "
    "bearer_command: 'vault read -field=t secret/pprof' } }\n"
    "hosts:\n"
    "  file-03:\n"
    "    address: file-03-stor.example.internal\n"
    "    services: [gitaly]\n"
    "    labels: { env: gprd, \"shard\": 3, on: yes }\n"
    "    x-owner: ~\n"
    "  file-[04-06]:\n"
    "    address: \"ops@{name}-stor.example.internal\"\n"
    "    services: [gitaly, backend]\n"
    "    ssh: { user: ops, port: 2222, identity: keys/ops, known_hosts: /etc/kh, "
    "jump: 'a@b:22,c', agent: none,"
    " config: ~/cfg, via: openssh }\n"
    "  laptop: { connect: direct, address: 127.0.0.1, services: [] }\n"
    "  plain: { connect: ssh, services: [backend, metrics, sidecar, lax], ssh: { agent: sock } }\n"
    "groups:\n"
    "  all: [storage, 'pl*', laptop]\n"
    "  storage: [ \"file-*\", 'file-[04-05]' ]\n"
    "  none: []\n";

static struct inventory *parse_inventory(const char *text)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    if (inventory_parse("/etc/team/inv.yaml", str_of(text), NULL, &inv, &err) < 0)
        fail_msg("%s", err.msg);
    return inv;
}

/* The parser must refuse the text with exactly this message. */
static void assert_inventory_refused(const char *text, const char *message, const char *hint)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(inventory_parse("inv.yaml", str_of(text), NULL, &inv, &err), -1);
    assert_null(inv);
    assert_string_equal(err.msg, message);
    assert_string_equal(err.hint, hint);
    assert_int_equal(err.kind, ERR_USAGE);
}

static void services_are_read(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory(full);
    size_t n = 0;
    const struct host *const *hosts = inventory_hosts(inv, &n);
    assert_int_equal(n, 6);
    assert_int_equal(hosts[1]->n_services, 2);
    const struct service *gitaly = hosts[1]->services[0], *backend = hosts[1]->services[1];
    assert_string_equal(gitaly->name, "gitaly");
    assert_int_equal(gitaly->port, 9236);
    assert_string_equal(gitaly->host, "localhost");
    assert_string_equal(gitaly->path, "/debug/pprof");
    assert_null(gitaly->host_header);
    assert_string_equal(gitaly->hint, "set ENABLE_PROFILING=true");
    assert_int_equal(gitaly->kinds.n, 3);
    assert_string_equal(gitaly->kinds.items[1], "heap");
    assert_string_equal(gitaly->kinds.items[2], "goroutines=text");
    assert_string_equal(backend->host, "127.0.0.1");
    assert_string_equal(backend->path, "/internal/pprof");
    assert_string_equal(backend->host_header, "api.example:80");
    assert_null(backend->hint);
    assert_int_equal(backend->kinds.n, 0);
    inventory_free(inv);
}

static void tls_and_auth_are_read(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    struct inventory *inv = parse_inventory(full);
    size_t n = 0;
    const struct host *plain = inventory_hosts(inv, &n)[5];
    const struct service *backend = plain->services[0], *metrics = plain->services[1];
    assert_false(backend->https);
    assert_null(backend->unix_path);
    assert_null(backend->tls.ca);
    assert_int_equal(backend->auth.secret.kind, SECRET_NONE);
    assert_true(metrics->https);
    assert_int_equal(metrics->port, 8443);
    assert_string_equal(metrics->tls.ca, "/etc/team/corp.pem");
    assert_string_equal(metrics->tls.cert, "/home/someone/me.pem");
    assert_string_equal(metrics->tls.key, "/etc/me.key");
    assert_string_equal(metrics->tls.server_name, "api.example.internal");
    assert_false(metrics->tls.insecure);
    assert_null(metrics->auth.user);
    assert_int_equal(metrics->auth.secret.kind, SECRET_ENV);
    assert_string_equal(metrics->auth.secret.locator, "PPROF_TOKEN");
    inventory_free(inv);
}

static void unix_sockets_are_read(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory(full);
    size_t n = 0;
    const struct host *plain = inventory_hosts(inv, &n)[5];
    const struct service *sidecar = plain->services[2], *lax = plain->services[3];
    assert_string_equal(sidecar->unix_path, "/run/app/debug.sock");
    assert_int_equal(sidecar->port, 0);
    assert_false(sidecar->https);
    assert_string_equal(sidecar->path, "");
    assert_string_equal(sidecar->host_header, "app");
    assert_string_equal(sidecar->auth.user, "ann b");
    assert_int_equal(sidecar->auth.secret.kind, SECRET_FILE);
    assert_string_equal(sidecar->auth.secret.locator, "/etc/team/secrets/pw");
    assert_string_equal(lax->unix_path, "/run/a b");
    assert_string_equal(lax->path, "/debug/pprof");
    assert_true(lax->https);
    assert_true(lax->tls.insecure);
    assert_null(lax->auth.user);
    assert_int_equal(lax->auth.secret.kind, SECRET_COMMAND);
    assert_string_equal(lax->auth.secret.locator, "vault read -field=t secret/pprof");
    inventory_free(inv);
}

static void hosts_are_read(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    struct inventory *inv = parse_inventory(full);
    size_t n = 0;
    const struct host *const *hosts = inventory_hosts(inv, &n);
    assert_string_equal(inventory_path(inv), "/etc/team/inv.yaml");
    assert_string_equal(hosts[0]->name, "file-03");
    assert_string_equal(hosts[0]->address, "file-03-stor.example.internal");
    assert_false(hosts[0]->direct);
    assert_int_equal(hosts[0]->n_labels, 3);
    assert_string_equal(hosts[0]->labels[1].name, "shard");
    assert_string_equal(hosts[0]->labels[1].value, "3");
    assert_string_equal(hosts[0]->labels[2].value, "yes");
    assert_string_equal(hosts[3]->name, "file-06");
    assert_string_equal(hosts[3]->address, "ops@file-06-stor.example.internal");
    const struct ssh_settings *ssh = &hosts[3]->ssh;
    assert_string_equal(ssh->user, "ops");
    assert_int_equal(ssh->port, 2222);
    assert_string_equal(ssh->identity, "/etc/team/keys/ops");
    assert_string_equal(ssh->known_hosts, "/etc/kh");
    assert_string_equal(ssh->jump, "a@b:22,c");
    assert_string_equal(ssh->agent, "none");
    assert_int_equal(ssh->via, SSH_VIA_OPENSSH);
    assert_false(ssh->accept_new);
    assert_string_equal(ssh->config, "/home/someone/cfg");
    assert_true(hosts[4]->direct);
    assert_int_equal(hosts[4]->n_services, 0);
    assert_string_equal(hosts[5]->address, "plain");
    assert_string_equal(hosts[5]->ssh.agent, "/etc/team/sock");
    inventory_free(inv);
}

static void brackets_of_an_address_are_removed(void **state)
{
    (void)state;
    struct inventory *inv =
        parse_inventory("version: 1\nhosts: { a: { services: [], address: 'u@[::1]' } }\n");
    size_t n = 0;
    assert_string_equal(inventory_hosts(inv, &n)[0]->address, "u@::1");
    inventory_free(inv);
}

static void assert_matches(const struct inventory *inv, const char *pattern, const char *expected)
{
    const struct host **found = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    struct buf joined = BUF_INIT(4096);
    if (inventory_match(inv, pattern, &found, &n, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++)
        buf_addf(&joined, "%s%s", i ? " " : "", found[i]->name);
    assert_string_equal(buf_str(&joined), expected);
    buf_release(&joined);
    free(found);
}

static void patterns_select_hosts(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory(full);
    const struct host **found = NULL;
    size_t n = 0;
    struct err err = ERR_INIT;
    assert_matches(inv, NULL, "file-03 file-04 file-05 file-06 laptop plain");
    assert_matches(inv, "all", "file-03 file-04 file-05 file-06 plain laptop");
    assert_matches(inv, "storage", "file-03 file-04 file-05 file-06");
    assert_matches(inv, "none", "");
    assert_matches(inv, "?l*", "plain");
    assert_matches(inv, "file-[06,04]", "file-06 file-04");
    assert_matches(inv, "laptop", "laptop");
    assert_int_equal(inventory_match(inv, "file-[06-07]", &found, &n, &err), -1);
    assert_string_equal(err.msg, "unknown host \"file-07\"");
    assert_int_equal(inventory_match(inv, "web*", &found, &n, &err), -1);
    assert_string_equal(err.msg, "no host matches \"web*\"");
    assert_int_equal(inventory_match(inv, "\033[2Jx*", &found, &n, &err), -1);
    assert_null(strchr(err.msg, '\033'));
    assert_null(found);
    inventory_free(inv);
}

static void invalid_yaml_is_refused(void **state)
{
    (void)state;
    assert_inventory_refused("", "inv.yaml:1:1: the file is empty", "");
    assert_inventory_refused("# nothing\n", "inv.yaml:1:1: the file is empty", "");
    assert_inventory_refused("version: 1\nhosts:\n\tweb: {}\n", "inv.yaml:3:1: a tab indents this line",
                             "indent with spaces");
    assert_inventory_refused("version: 1\nhosts: {a: b\n",
                             "inv.yaml:3:1: a mapping in braces lacks a comma or its \"}\"",
                             "write it as { key: value, key: value }");
    assert_inventory_refused("version: 1\n---\nversion: 1\n", "inv.yaml:2:1: only one document is allowed",
                             "");
    assert_inventory_refused("version: &a 1\n", "inv.yaml:1:10: anchors and aliases are not allowed", "");
    assert_inventory_refused("hosts: &a {}\n", "inv.yaml:1:8: anchors and aliases are not allowed", "");
    assert_inventory_refused("x-a: *a\n", "inv.yaml:1:6: anchors and aliases are not allowed", "");
    assert_inventory_refused("version: !!int 1\n", "inv.yaml:1:10: tags are not allowed", "");
    assert_inventory_refused("x-a: !b []\n", "inv.yaml:1:6: tags are not allowed", "");
    assert_inventory_refused(
        "[a]: 1\n", "inv.yaml:1:1: a key must be a word or a quoted text, not a list or a mapping", "");
    assert_inventory_refused("version: 1\nversion: 1\n",
                             "inv.yaml:2:1: \"version\" is listed twice, first in line 1", "");
    assert_inventory_refused("x-a: { b: 1, c: 2, \"b\": 3 }\n",
                             "inv.yaml:1:20: \"b\" is listed twice, first in line 1", "");
    assert_inventory_refused("x-a: { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, c: 2 }\n",
                             "inv.yaml:1:68: \"c\" is listed twice, first in line 1", "");
    assert_inventory_refused("x-a: \"a\\0b\"\n", "inv.yaml:1:6: NUL characters are not allowed", "");
    assert_inventory_refused("version: 1\nx-a: \x80\n", "inv.yaml:2:6: invalid leading UTF-8 octet", "");
    assert_inventory_refused("version: 1\nx-\xc3\xa9: \x01\n",
                             "inv.yaml:2:6: control characters are not allowed", "");
    assert_inventory_refused("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
                             "inv.yaml:1:17: nested deeper than 16 levels", "");
}

#define COLUMNS_HINT                                                                                         \
    "begin all keys of one mapping in the same column, and all items of one list in the same column"

/* libyaml's messages are explained, and the line is shown. */
static void errors_of_syntax_are_explained(void **state)
{
    (void)state;
    assert_inventory_refused("version: 1\nhosts:\n  a:\n    services:\n     - b\n    - c\n",
                             "inv.yaml:6:5: this line does not line up with those above it: \"- c\"",
                             COLUMNS_HINT);
    assert_inventory_refused(
        "version: 1\nhosts:\n  a:\n    services: [b]\n   labels: { x: y }\n",
        "inv.yaml:5:4: this line does not line up with those above it: \"labels: { x: y }\"", COLUMNS_HINT);
    assert_inventory_refused("version: 1\ngroups:\n  g:\n  - a\n  b: c\n  - d\n",
                             "inv.yaml:6:3: this line does not line up with those above it: \"- d\"",
                             COLUMNS_HINT);
    assert_inventory_refused("version: 1\nservices\n  a: { port: 1 }\n",
                             "inv.yaml:2:1: a key without \":\" after it: \"services\"",
                             "a key ends with \":\" and a blank or the end of the line");
    assert_inventory_refused(
        "version: 1\nhosts: a: b\n",
        "inv.yaml:2:9: a second \": \" in one value, or the line above lacks its colon: \"hosts: a: b\"",
        "a key ends with \":\"; quote a value that has \": \" in it");
    assert_inventory_refused(
        "version: 1\nhosts: - a\n", "inv.yaml:2:8: a list cannot begin here: \"hosts: - a\"",
        "put each \"- \" on a line of its own below the key, or write the list in brackets: [a, b]");
    assert_inventory_refused("version: 1\nhosts: { - a }\n",
                             "inv.yaml:2:10: a value is missing here: \"hosts: { - a }\"",
                             "write a list in brackets without \"- \": [a, b]; quote a value that begins "
                             "with a bracket or a brace");
    assert_inventory_refused("version: 1\nx-a: \"b\nc: d\n",
                             "inv.yaml:2:6: a quote is opened and never closed: \"x-a: \"b\"",
                             "close it with the same quote");
    assert_inventory_refused("version: 1\nx-a: [b c: d\n",
                             "inv.yaml:3:1: a list in brackets lacks a comma or its \"]\"",
                             "write it as [a, b]");
    assert_inventory_refused("version: 1\nx-a: @b\n",
                             "inv.yaml:2:6: a value cannot begin with this character: \"x-a: @b\"",
                             "put quotes around the value");
}

/* `port:` in the column of the services' names is one mistake with one message. */
static void a_setting_in_the_column_of_names_is_explained(void **state)
{
    (void)state;
    static const char hint[] = "indent it below the name of its service:\nservices:\n  NAME:\n    port: 6060";
    assert_inventory_refused("version: 1\nservices:\n  a:\n  port: 1\n  b:\n  port: 2\n",
                             "inv.yaml:4:3: \"port\" is a setting, but is indented like the services' names",
                             hint);
    assert_inventory_refused("version: 1\nservices:\n  a:\n  port: 1\n",
                             "inv.yaml:4:3: \"port\" is a setting, but is indented like the services' names",
                             hint);
    assert_inventory_refused("version: 1\nhosts:\n  a:\n  address: b\n  services: []\n",
                             "inv.yaml:4:3: \"address\" is a setting, but is indented like the hosts' names",
                             "indent it below the name of its host:\nhosts:\n  NAME:\n    address: ...");
    /* A service may have the name of a setting. */
    inventory_free(parse_inventory(
        "version: 1\nservices: { port: { port: 1 } }\nhosts: { ssh: { services: [port] } }\n"));
}

/* A list in place of a mapping: the hint has the correct lines, with the name from the file. */
static void lists_instead_of_mappings_are_explained(void **state)
{
    (void)state;
    assert_inventory_refused("version: 1\nservices:\n  - gitaly\n",
                             "inv.yaml:3:3: services must be a mapping of services, not a list",
                             "write names without \"- \":\nservices:\n  gitaly:\n    port: 6060");
    assert_inventory_refused("version: 1\nservices:\n  - gitaly: { port: 9236 }\n",
                             "inv.yaml:3:3: services must be a mapping of services, not a list",
                             "write names without \"- \":\nservices:\n  gitaly:\n    port: 6060");
    assert_inventory_refused("version: 1\nhosts:\n  - port: 1\n    name: web\n",
                             "inv.yaml:3:3: hosts must be a mapping of hosts, not a list",
                             "write names without \"- \":\nhosts:\n  web:\n    services: [NAME]");
    assert_inventory_refused("version: 1\nservices:\n  gitaly:\n    - port: 9236\n",
                             "inv.yaml:4:5: gitaly must be a mapping of settings, not a list",
                             "write keys without \"- \":\ngitaly:\n  port: 9236");
    assert_inventory_refused("version: 1\ngroups:\n  - storage: [a]\n",
                             "inv.yaml:3:3: groups must be a mapping of groups, not a list",
                             "write names without \"- \":\ngroups:\n  storage: [HOST, HOST]");
}

/* Asserts that the text has exactly these mistakes, one on each line. */
static void assert_mistakes(const char *text, const char *expected)
{
    struct inventory *inv = NULL;
    struct mistakes m = {.n = 0};
    struct err err = ERR_INIT;
    struct buf all = BUF_INIT(65536);
    assert_int_equal(
        inventory_parse("inv.yaml", str_of(text), &(struct inventory_options){.mistakes = &m}, &inv, &err),
        -1);
    assert_null(inv);
    assert_int_equal(err.kind, ERR_USAGE);
    for (size_t i = 0; i < m.n; i++)
        buf_addf(&all, "%s\n", m.items[i].msg);
    assert_string_equal(buf_str(&all), expected);
    if (m.n == 1)
        assert_string_equal(err.msg, m.items[0].msg);
    else
        assert_non_null(strstr(err.msg, " mistakes"));
    buf_release(&all);
}

static void several_errors_are_found_in_one_run(void **state)
{
    (void)state;
    assert_mistakes("version: 1\n"
                    "hosts:\n"
                    "  web: { services: [a, nobody, b], adress: x }\n"
                    "  web: { services: [b] }\n"
                    "services:\n"
                    "  a: { prot: 80, scheme: ftp }\n"
                    "  b: { port: 80 }\n"
                    "zzzzz: 1\n",
                    "inv.yaml:3:24: unknown service \"nobody\"\n"
                    "inv.yaml:3:36: unknown key \"adress\"\n"
                    "inv.yaml:4:3: \"web\" is listed twice, first in line 3\n"
                    "inv.yaml:6:8: unknown key \"prot\"\n"
                    "inv.yaml:6:26: scheme must be \"http\" or \"https\"\n"
                    "inv.yaml:8:1: unknown key \"zzzzz\"\n");
    assert_mistakes(
        "services: []\nhosts: { a: { services: [x] }, b: { services: [y] } }\ngroups: { g: [nobody] }\n",
        "inv.yaml:1:1: \"version\" is missing\n"
        "inv.yaml:1:11: services must be a mapping of services, not a list\n");
    assert_mistakes("version: 1\nhosts: { a: { services: [] } }\ngroups: { g: [b, c], h: [d] }\n",
                    "inv.yaml:3:15: no host or group \"b\"\n"
                    "inv.yaml:3:18: no host or group \"c\"\n"
                    "inv.yaml:3:26: no host or group \"d\"\n");
    assert_mistakes("version: 2\n", "inv.yaml:1:10: version must be 1\n");
    assert_mistakes("version: 1\nservices:\n  a:\n  port: 1\n  b:\n  port: 2\nhosts:\n  c:\n  address: d\n",
                    "inv.yaml:4:3: \"port\" is a setting, but is indented like the services' names\n"
                    "inv.yaml:6:3: \"port\" is a setting, but is indented like the services' names\n"
                    "inv.yaml:9:3: \"address\" is a setting, but is indented like the hosts' names\n");
    assert_mistakes("version: 1\nhosts: [a\n",
                    "inv.yaml:3:1: a list in brackets lacks a comma or its \"]\"\n");
}

/* The messages have no room for the positions. */
static void errors_of_a_file_with_a_long_name_are_sorted(void **state)
{
    (void)state;
    char name[600];
    struct inventory *inv = NULL;
    struct mistakes m = {.n = 0};
    struct err err = ERR_INIT;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(inventory_parse(name,
                                     STR("hosts: { h: { a: 1, services: [] } }\nservices: { s: { b: 1 } }\n"),
                                     &(struct inventory_options){.mistakes = &m}, &inv, &err),
                     -1);
    const size_t positions[][2] = {{1, 1}, {1, 15}, {2, 18}};
    assert_int_equal(m.n, 3);
    for (size_t i = 0; i < m.n; i++) {
        assert_int_equal(m.items[i].line, positions[i][0]);
        assert_int_equal(m.items[i].column, positions[i][1]);
    }
}

static void the_number_of_errors_is_limited(void **state)
{
    (void)state;
    struct inventory *inv = NULL;
    struct mistakes m = {.n = 0};
    struct err err = ERR_INIT;
    struct buf text = BUF_INIT(65536);
    buf_adds(&text, "version: 1\nhosts:\n");
    for (int i = 0; i < 200; i++)
        buf_addf(&text, "  h-%d: { services: [], zzzz: 1 }\n", i);
    assert_int_equal(inventory_parse("inv.yaml", (struct str){text.data, text.len},
                                     &(struct inventory_options){.mistakes = &m}, &inv, &err),
                     -1);
    assert_int_equal(m.n, MISTAKES_MAX);
    assert_string_equal(err.msg, "inv.yaml has at least 20 mistakes");
    buf_release(&text);
}

static void invalid_top_level_keys_are_refused(void **state)
{
    (void)state;
    assert_inventory_refused("[]", "inv.yaml:1:1: an inventory is a mapping", "begin with \"version: 1\"");
    assert_inventory_refused("hosts: {}\n", "inv.yaml:1:1: \"version\" is missing",
                             "begin with \"version: 1\"");
    assert_inventory_refused("version: 2\n", "inv.yaml:1:10: version must be 1", "");
    assert_inventory_refused("version: \"1\"\n", "inv.yaml:1:10: version must be 1", "");
    assert_inventory_refused(
        "version: 1\nzzzzzz: {}\n", "inv.yaml:2:1: unknown key \"zzzzzz\"",
        "the valid keys are version, services, hosts, groups, trackers, teams, self, discovery");
    assert_inventory_refused("version: 1\nhost: {}\n", "inv.yaml:2:1: unknown key \"host\"",
                             "did you mean \"hosts\"?");
    assert_inventory_refused("version: 1\nhosts:\n", "inv.yaml:2:7: hosts must be a mapping of hosts", "");
    assert_inventory_refused("version: 1\nservices: []\n",
                             "inv.yaml:2:11: services must be a mapping of services, not a list",
                             "write names without \"- \":\nservices:\n  NAME:\n    port: 6060");
    assert_inventory_refused("version: 1\ngroups: x\n", "inv.yaml:2:9: groups must be a mapping of groups",
                             "");
}

/* Asserts the refusal of one service. `column` is the column within its settings, counted from 1. */
static void assert_service_refused(const char *settings, size_t column, const char *message, const char *hint)
{
    char text[512], expected[512];
    snprintf(text, sizeof text, "version: 1\nservices:\n  api: %s\n", settings);
    snprintf(expected, sizeof expected, "inv.yaml:3:%zu: %s", column + 7, message);
    assert_inventory_refused(text, expected, hint);
}

#define KEYS "the valid keys are port, host, unix, scheme, path, host_header, tls, auth, kinds, hint"

static void invalid_services_are_refused(void **state)
{
    (void)state;
    assert_inventory_refused("version: 1\nservices:\n  api: { path: /x }\n",
                             "inv.yaml:3:3: service \"api\" has no port",
                             "add \"port: N\", the port that serves its /debug/pprof, or \"unix: /PATH\"");
    assert_inventory_refused(
        "version: 1\nservices:\n  -api: { port: 1 }\n", "inv.yaml:3:3: \"-api\" is no name for a service",
        "a name has letters, digits, \".\", \"_\" and \"-\", begins with a letter or digit and has at most "
        "253 characters");
    assert_service_refused("1", 1, "api must be a mapping of settings", "");
    assert_service_refused("", 0, "api must be a mapping of settings", "");
    assert_service_refused("{ prot: 1 }", 3, "unknown key \"prot\"", "did you mean \"port\"?");
    assert_service_refused("{ zzzzzz: http }", 3, "unknown key \"zzzzzz\"", KEYS);
    assert_service_refused("{ \"\\e[2J\": http }", 3, "unknown key \"?[2J\"", KEYS);
    static const char *const ports[] = {
        "0",  "65536", "\"80\"", "0x50", "080",    "1e3", "-1",
        "+1", "80.0",  "[80]",   "~",    "'6060'", "x",   "99999999999999999999"};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "{ port: %s }", ports[i]);
        assert_service_refused(settings, 9, "port must be a number from 1 to 65535", "");
    }
    assert_service_refused("{ port: }", 9, "port must be a number from 1 to 65535", "");
    assert_service_refused("{ host: ~ }", 9, "host must be text", "");
    assert_service_refused("{ host: [a] }", 9, "host must be text", "");
    assert_service_refused("{ host: \"\" }", 9, "host must be text", "");
    assert_service_refused("{ hint: no }", 9, "hint must be text", "");
    assert_service_refused("{ hint: \"a\\nb\" }", 9, "hint must be one line of visible characters", "");
    assert_service_refused("{ hint: \"a\\u202eb\" }", 9, "hint must be one line of visible characters", "");
    assert_service_refused("{ hint: a\xe2\x80\x8b }", 9, "hint must be one line of visible characters", "");
    assert_service_refused("{ host: a/b }", 9, "host must be a host's name or IP address", "");
    assert_service_refused("{ path: debug }", 9, "pprof's path must begin with \"/\"", "");
    assert_service_refused("{ path: /a?b }", 9, "pprof's path must be the path of a URL", "");
    assert_service_refused("{ host_header: \"a b\" }", 16,
                           "host_header must be a host's name, with :port where needed", "");
    assert_service_refused("{ kinds: cpu }", 10, "kinds must be a list of kinds of profile",
                           "write kinds: [cpu]");
    assert_service_refused("{ kinds: [cpu, ''] }", 16, "an entry must be text", "");
    assert_service_refused("{ kinds: [[cpu]] }", 11, "an entry must be text", "");
}

static void invalid_schemes_and_sockets_are_refused(void **state)
{
    (void)state;
    static const char *const schemes[] = {"HTTPS", "tls", "''", "~", "[https]", "{ a: b }", "'https '"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "{ port: 1, scheme: %s }", schemes[i]);
        assert_service_refused(settings, 20, "scheme must be \"http\" or \"https\"", "");
    }
    assert_service_refused("{ unix: ~ }", 9, "unix must be text", "");
    assert_service_refused("{ unix: [/a] }", 9, "unix must be text", "");
    assert_service_refused("{ unix: \"/a\\tb\" }", 9, "unix must be one line of visible characters", "");
    static const char *const paths[] = {"run/app.sock", "~/app.sock", "'@app'", "/", "/run/app/", "' /a'"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "{ unix: %s }", paths[i]);
        assert_service_refused(settings, 9, "unix must be an absolute path that does not end with \"/\"", "");
    }
    const char *hint = "a service listens on a port or on a Unix socket";
    assert_service_refused("{ port: 1, unix: /a }", 3, "\"port\" has no meaning with \"unix\"", hint);
    assert_service_refused("{ unix: /a, port: 1 }", 13, "\"port\" has no meaning with \"unix\"", hint);
    assert_service_refused("{ unix: /a, host: b }", 13, "\"host\" has no meaning with \"unix\"", hint);
    assert_inventory_refused("version: 1\nservices:\n  api: { host: a }\n",
                             "inv.yaml:3:3: service \"api\" has no port",
                             "add \"port: N\", the port that serves its /debug/pprof, or \"unix: /PATH\"");
}

/* The longest path that a socket can have, and a path with one more byte. */
static void too_long_paths_of_sockets_are_refused(void **state)
{
    (void)state;
    char path[109] = "/", settings[128], text[256];
    memset(path + 1, 's', 107);
    snprintf(settings, sizeof settings, "{ unix: %s }", path);
    assert_service_refused(settings, 9, "unix must be a path of at most 107 bytes", "");
    path[107] = '\0';
    snprintf(text, sizeof text,
             "version: 1\nservices: { a: { unix: %s } }\nhosts: { b: { services: [a] } }\n", path);
    struct inventory *inv = parse_inventory(text);
    size_t n = 0;
    assert_string_equal(inventory_hosts(inv, &n)[0]->services[0]->unix_path, path);
    inventory_free(inv);
}

#define TLS_HINT                                                                                             \
    "`scheme: https` enables TLS; the optional `tls: { ca: FILE }` says how to check certificates"

static void invalid_tls_settings_are_refused(void **state)
{
    (void)state;
    assert_service_refused("{ port: 1, tls: { ca: a } }", 12,
                           "\"tls\" has no meaning without \"scheme: https\"", "add \"scheme: https\"");
    assert_service_refused("{ port: 1, tls: {}, scheme: http }", 12,
                           "\"tls\" has no meaning without \"scheme: https\"", "add \"scheme: https\"");
    assert_service_refused("{ tls: true }", 8, "tls must be a mapping of settings", TLS_HINT);
    assert_service_refused("{ tls: }", 8, "tls must be a mapping of settings", TLS_HINT);
    assert_service_refused("{ tls: [] }", 8, "tls must be a mapping of settings, not a list",
                           "write keys without \"- \":\ntls:\n  KEY: VALUE");
    assert_service_refused("{ tls: { insecur: true } }", 10, "unknown key \"insecur\"",
                           "did you mean \"insecure\"?");
    assert_service_refused("{ tls: { zzzzzz: true } }", 10, "unknown key \"zzzzzz\"",
                           "the valid keys are ca, cert, key, server_name, insecure");
    assert_service_refused("{ tls: { ca: } }", 14, "ca must be text", "");
    assert_service_refused("{ tls: { cert: [a] } }", 16, "cert must be text", "");
    assert_service_refused("{ tls: { cert: a, key: ~ } }", 24, "key must be text", "");
    assert_service_refused("{ tls: { key: a } }", 10, "\"key\" has no meaning without \"cert\"",
                           "add \"cert: FILE\", the certificate that the key belongs to");
    assert_service_refused("{ tls: { server_name: 'a b' } }", 23, "server_name must be a host's name", "");
    assert_service_refused("{ tls: { server_name: 'a:443' } }", 23, "server_name must be a host's name", "");
    static const char *const flags[] = {"yes",    "True",      "TRUE", "on",    "1",
                                        "'true'", "\"false\"", "~",    "[true]"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "{ tls: { insecure: %s } }", flags[i]);
        assert_service_refused(settings, 20, "insecure must be true or false", "");
    }
    const char *hint = "keep \"ca\": with it the certificate is checked";
    assert_service_refused("{ tls: { insecure: true, ca: a } }", 10,
                           "\"insecure\" and \"ca\" contradict each other", hint);
    assert_service_refused("{ tls: { ca: a, insecure: true } }", 17,
                           "\"insecure\" and \"ca\" contradict each other", hint);
}

#define PASSWORDS "password_env, password_file or password_command"

static void invalid_auth_settings_are_refused(void **state)
{
    (void)state;
    assert_service_refused("{ auth: a }", 9, "auth must be a mapping of settings", "");
    assert_service_refused(
        "{ auth: {} }", 3, "auth does not name the location of the secret",
        "a token: bearer_env, bearer_file or bearer_command; a password: user with " PASSWORDS);
    assert_service_refused("{ auth: { user: a } }", 11, "\"user\" has no password", "add " PASSWORDS);
    assert_service_refused(
        "{ auth: { password_env: A } }", 11, "\"password_env\" has no meaning without \"user\"",
        "add \"user: NAME\"; a token belongs under bearer_env, bearer_file or bearer_command");
    assert_service_refused("{ auth: { bearer_file: a, user: b } }", 27,
                           "\"user\" has no meaning with \"bearer_file\"",
                           "a token has no user; a user has " PASSWORDS);
    assert_service_refused("{ auth: { bearer_evn: A } }", 11, "unknown key \"bearer_evn\"",
                           "did you mean \"bearer_env\"?");
    assert_service_refused("{ auth: { zzzzzz: A } }", 11, "unknown key \"zzzzzz\"",
                           "the valid keys are bearer_env, bearer_file, bearer_command, user, password_env, "
                           "password_file, password_command");
    assert_service_refused("{ auth: { user: 'a:b' } }", 17, "user must not contain \":\"", "");
    assert_service_refused("{ auth: { user: \"a\\x1bb\" } }", 17,
                           "user must be one line of visible characters", "");
    assert_service_refused("{ auth: { user: ~ } }", 17, "user must be text", "");
    assert_service_refused("{ auth: { bearer_file: } }", 24, "bearer_file must be text", "");
    assert_service_refused("{ auth: { bearer_command: [a] } }", 27, "bearer_command must be text", "");
    assert_service_refused("{ auth: { bearer_command: \"a\\nb\" } }", 27,
                           "bearer_command must be one line of visible characters", "");
}

static void two_secrets_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"bearer_env",   "bearer_file",   "bearer_command",
                                       "password_env", "password_file", "password_command"};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            char settings[128], message[128];
            snprintf(settings, sizeof settings, "{ auth: { user: u, %s: A, %s: B } }", keys[i], keys[j]);
            snprintf(message, sizeof message, "\"%s\" and \"%s\" both name a secret", keys[i], keys[j]);
            if (i != j)
                assert_service_refused(settings, 25 + strlen(keys[i]), message, "keep one of them");
        }
}

/* No message shows a text that would be a secret. */
static void secrets_themselves_are_refused(void **state)
{
    (void)state;
    const char *token = "secrets are not allowed in the inventory; write where the secret is: auth: { "
                        "bearer_file: FILE }, or "
                        "bearer_env with a variable, or bearer_command";
    const char *password =
        "secrets are not allowed in the inventory; write where the secret is: auth: { user: NAME, "
        "password_file: FILE }, or password_env with a variable, or password_command";
    assert_service_refused("{ auth: { token: hunter2 } }", 11, "\"token\" would contain the secret itself",
                           token);
    assert_service_refused("{ auth: { bearer: hunter2 } }", 11, "\"bearer\" would contain the secret itself",
                           token);
    assert_service_refused("{ auth: { user: a, password: hunter2 } }", 20,
                           "\"password\" would contain the secret itself", password);
    assert_service_refused("{ auth: { bearer: { env: A } } }", 11,
                           "\"bearer\" would contain the secret itself", token);
    assert_service_refused("{ port: 1, token: hunter2 }", 12, "\"token\" would contain the secret itself",
                           token);
    assert_service_refused("{ port: 1, bearer: hunter2 }", 12, "\"bearer\" would contain the secret itself",
                           token);
    assert_service_refused("{ port: 1, password: hunter2 }", 12,
                           "\"password\" would contain the secret itself", password);
    static const char *const values[] = {"$TOKEN", "glpat-hunter2", "2x", "'a b'", "a=b", "\"caf\\u00e9\""};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "{ auth: { bearer_env: %s } }", values[i]);
        assert_service_refused(settings, 23, "bearer_env must be the name of an environment variable",
                               "a name has letters, digits and \"_\"; the secret is the variable's value");
    }
}

/* Asserts the refusal of one host. `column` is the column within its settings, counted from 1. */
static void assert_host_refused(const char *settings, size_t column, const char *message, const char *hint)
{
    char text[512], expected[512];
    snprintf(text, sizeof text, "version: 1\nservices: { gitaly: { port: 1 } }\nhosts:\n  web: %s\n",
             settings);
    snprintf(expected, sizeof expected, "inv.yaml:4:%zu: %s", column + 7, message);
    assert_inventory_refused(text, expected, hint);
}

static void invalid_hosts_are_refused(void **state)
{
    (void)state;
    assert_inventory_refused("version: 1\nhosts:\n  web: {}\n", "inv.yaml:3:3: host \"web\" has no services",
                             "add \"services: [NAME]\"");
    assert_host_refused("x", 1, "web must be a mapping of settings", "");
    assert_host_refused("{ adress: x }", 3, "unknown key \"adress\"", "did you mean \"address\"?");
    assert_host_refused("{ services: gitaly }", 13, "services must be a list of services",
                        "write services: [gitaly]");
    assert_host_refused("{ services: [gitly] }", 14, "unknown service \"gitly\"", "did you mean \"gitaly\"?");
    assert_host_refused("{ services: [zzz] }", 14, "unknown service \"zzz\"",
                        "services are defined under \"services\"");
    assert_host_refused("{ services: [~] }", 14, "unknown service \"~\"",
                        "services are defined under \"services\"");
    assert_host_refused("{ services: [[gitaly]] }", 14, "each item must be the name of a service", "");
    assert_host_refused("{ services: [gitaly, gitaly] }", 22, "\"gitaly\" is listed twice, first in line 4",
                        "");
    assert_host_refused("{ connect: openssh }", 12, "connect must be \"ssh\" or \"direct\"", "");
    assert_host_refused("{ connect: [] }", 12, "connect must be \"ssh\" or \"direct\"", "");
    assert_host_refused("{ services: [], connect: direct, ssh: { user: a } }", 34,
                        "\"ssh\" has no meaning with \"connect: direct\"", "");
    assert_host_refused("{ ssh: a }", 8, "ssh must be a mapping of settings", "");
    assert_host_refused("{ ssh: { usr: a } }", 10, "unknown key \"usr\"", "did you mean \"user\"?");
    assert_host_refused("{ ssh: { user: -oX } }", 16, "user must be one word that does not begin with \"-\"",
                        "");
    assert_host_refused("{ ssh: { jump: 'a b' } }", 16,
                        "jump must be one word that does not begin with \"-\"", "");
    assert_host_refused("{ ssh: { jump: no } }", 16, "jump must be text", "");
    assert_host_refused("{ ssh: { via: libssh } }", 15,
                        "via must be \"auto\", \"libssh2\" or \"openssh\", not \"libssh\"",
                        "did you mean \"libssh2\"?");
    assert_host_refused("{ ssh: { via: [auto] } }", 15, "via must be \"auto\", \"libssh2\" or \"openssh\"",
                        "");
    assert_host_refused("{ ssh: { vai: auto } }", 10, "unknown key \"vai\"", "did you mean \"via\"?");
    assert_host_refused("{ ssh: { port: '22' } }", 16, "port must be a number from 1 to 65535", "");
    assert_host_refused("{ ssh: { identity: } }", 20, "identity must be text", "");
    assert_host_refused("{ labels: [a] }", 11, "labels must be a mapping of labels, not a list",
                        "write keys without \"- \":\nlabels:\n  KEY: VALUE");
    assert_host_refused("{ labels: { a: ~ } }", 16, "a must be text", "");
    assert_host_refused("{ labels: { a: [] } }", 16, "a must be text", "");
    assert_host_refused("{ labels: { a: '' } }", 16, "a must be text", "");
    assert_host_refused(
        "{ labels: { 'a b': c } }", 13, "\"a b\" is no name for a label",
        "a name has letters, digits, \".\", \"_\" and \"-\", begins with a letter or digit and has at "
        "most 253 characters");
}

static void invalid_addresses_are_refused(void **state)
{
    (void)state;
    assert_host_refused("{ address: ~ }", 12, "address must be text", "");
    assert_host_refused("{ services: [], address: '{nam}' }", 26, "only {name} is allowed in braces", "");
    assert_host_refused("{ services: [], address: -oX }", 26,
                        "bad address \"-oX\": it must be [user@]host or ssh://[user@]host[:port]", "");
    assert_host_refused("{ services: [], address: a/b }", 26,
                        "bad address \"a/b\": it must be [user@]host or ssh://[user@]host[:port]", "");
    assert_host_refused("{ services: [], address: 'a:22' }", 26,
                        "address must be a host, without \"ssh://\" or a port",
                        "SSH's port goes under \"ssh\": { port: N }");
    assert_host_refused("{ services: [], address: 'a:22', connect: direct }", 26,
                        "address must be a host, without \"ssh://\" or a port",
                        "the port belongs to the service");
    assert_host_refused("{ services: [], address: 'ssh://a' }", 26,
                        "address must be a host, without \"ssh://\" or a port",
                        "SSH's port goes under \"ssh\": { port: N }");
    assert_host_refused("{ services: [], address: u@a, connect: direct }", 26,
                        "a direct connection has no user", "");
}

static void invalid_host_names_are_refused(void **state)
{
    (void)state;
    assert_inventory_refused(
        "version: 1\nhosts:\n  a[1-3]: { services: [] }\n  b: { services: [] }\n  a2: { services: [] }\n",
        "inv.yaml:5:3: host \"a2\" is defined twice, first at inv.yaml:3:3", "");
    assert_inventory_refused("version: 1\nhosts:\n  a[1,1]: { services: [] }\n",
                             "inv.yaml:3:3: host \"a1\" is defined twice, first at inv.yaml:3:3", "");
    assert_inventory_refused("version: 1\nhosts:\n  a: { services: [] }\n  a: { services: [] }\n",
                             "inv.yaml:4:3: \"a\" is listed twice, first in line 3", "");
    assert_inventory_refused("version: 1\nhosts:\n  a[3-1]: { services: [] }\n",
                             "inv.yaml:3:3: bad range in \"a[3-1]\": the range counts down", "");
    assert_inventory_refused("version: 1\nhosts:\n  a[1-100001]: { services: [] }\n",
                             "inv.yaml:3:3: \"a[1-100001]\" expands to more than 100000 names", "");
    assert_inventory_refused("version: 1\nhosts:\n  b: { services: [] }\n  a[1-100000]: { services: [] }\n",
                             "inv.yaml:4:3: more than 100000 hosts", "");
    assert_inventory_refused(
        "version: 1\nhosts:\n  a*: { services: [] }\n", "inv.yaml:3:3: \"a*\" is no name for a host",
        "a name has letters, digits, \".\", \"_\" and \"-\", begins with a letter or digit and has at most "
        "253 characters");
}

#define TWO_HOSTS "version: 1\nhosts:\n  web-[1-2]: { services: [] }\ngroups:\n"

static void invalid_groups_are_refused(void **state)
{
    (void)state;
    assert_inventory_refused(TWO_HOSTS "  g: [web-3]\n", "inv.yaml:5:7: no host or group \"web-3\"",
                             "did you mean \"web-1\" or \"web-2\"?");
    assert_inventory_refused(TWO_HOSTS "  g: ['web-[1-3]']\n", "inv.yaml:5:7: no host or group \"web-3\"",
                             "did you mean \"web-1\" or \"web-2\"?");
    assert_inventory_refused(TWO_HOSTS "  g: ['db*']\n", "inv.yaml:5:7: no host matches \"db*\"", "");
    assert_inventory_refused(TWO_HOSTS "  g: ['web-[2-1]']\n",
                             "inv.yaml:5:7: bad range in \"web-[2-1]\": the range counts down", "");
    assert_inventory_refused(TWO_HOSTS "  g: ['[1-1001]*']\n",
                             "inv.yaml:5:7: \"[1-1001]*\" expands to more than 1000 names", "");
    assert_inventory_refused(TWO_HOSTS "  g: [{}]\n",
                             "inv.yaml:5:7: an entry must be a host, a glob, a range or a group", "");
    assert_inventory_refused(TWO_HOSTS "  g: ['']\n",
                             "inv.yaml:5:7: an entry must be a host, a glob, a range or a group", "");
    assert_inventory_refused(TWO_HOSTS "  g: web-1\n", "inv.yaml:5:6: g must be a list of hosts and groups",
                             "write g: [web-1]");
    assert_inventory_refused(TWO_HOSTS "  g: [g]\n", "inv.yaml:5:7: group \"g\" contains itself", "");
    assert_inventory_refused(TWO_HOSTS "  g: [h]\n  h: [web-1, g]\n",
                             "inv.yaml:6:14: group \"g\" contains itself", "");
    assert_inventory_refused(TWO_HOSTS "  web-1: [web-2]\n",
                             "inv.yaml:5:3: \"web-1\" is a host, so no group can have that name", "");
}

/* Groups that contain groups, 17 levels deep, are refused in either order of the file. */
static void too_deep_groups_are_refused(void **state)
{
    (void)state;
    struct buf down = BUF_INIT(4096), up = BUF_INIT(4096);
    buf_adds(&down, TWO_HOSTS);
    buf_adds(&up, TWO_HOSTS "  g17: [web-1]\n");
    for (int i = 1; i <= 16; i++) {
        buf_addf(&down, "  g%d: [g%d]\n", i, i + 1);
        buf_addf(&up, "  g%d: [g%d]\n", 17 - i, 18 - i);
    }
    buf_adds(&down, "  g17: [web-1]\n");
    assert_inventory_refused(buf_str(&down), "inv.yaml:20:9: groups are nested deeper than 16 levels", "");
    assert_inventory_refused(buf_str(&up), "inv.yaml:21:8: groups are nested deeper than 16 levels", "");
    buf_release(&down);
    buf_release(&up);
}

static void a_long_file_name_is_cut_in_messages(void **state)
{
    (void)state;
    char name[600];
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(inventory_parse(name, (struct str){"a: 1", 4}, NULL, &inv, &err), -1);
    assert_non_null(strstr(err.msg, ": unknown key \"a\""));
}

static void check_error_names_file(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    if (inventory_parse("inv.yaml", (struct str){s->p, s->n}, NULL, &inv, &err) < 0) {
        assert_int_equal(err.kind, ERR_USAGE);
        assert_memory_equal(err.msg, "inv.yaml:", 9);
    }
    inventory_free(inv);
}

static void errors_of_damaged_inventories_name_the_file(void **state)
{
    (void)state;
    struct buf teams = scratch_read("tests/fuzz/corpus/inventory/teams");
    damage_everywhere(full, sizeof full - 1, check_error_names_file, NULL);
    damage_everywhere(teams.data, teams.len, check_error_names_file, NULL);
    buf_release(&teams);
}

static void ten_thousand_hosts_are_read(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(4 << 20);
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;
    buf_adds(&text, "version: 1\nservices: { api: { port: 6060 } }\nhosts:\n");
    for (int i = 0; i < 10000; i++)
        buf_addf(&text, "  web-%05d: { address: web-%05d.example.internal, services: [api] }\n", i, i);
    buf_adds(&text, "groups: { all: ['web-*'] }\n");
    int64_t start = clock_now();
    assert_int_equal(inventory_parse("inv.yaml", (struct str){buf_str(&text), text.len}, NULL, &inv, &err),
                     0);
    int64_t took = clock_now() - start;
    print_message("10,000 hosts, %zu bytes: %lld ms\n", text.len, (long long)took);
    inventory_hosts(inv, &n);
    assert_int_equal(n, 10000);
    /* The limit is far above the time needed, also with sanitizers and on a busy machine, and far below
     * quadratic time. */
    assert_in_range(took, 0, 3000);
    inventory_free(inv);
    buf_release(&text);
}

static void deep_nesting_fails_at_once(void **state)
{
    (void)state;
    static const char *const pieces[] = {"[", "{", "- ", "? "};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT(100000);
        struct inventory *inv = NULL;
        struct err err = ERR_INIT;
        while (text.len + strlen(pieces[i]) <= text.max)
            buf_adds(&text, pieces[i]);
        int64_t start = clock_now();
        assert_int_equal(
            inventory_parse("inv.yaml", (struct str){buf_str(&text), text.len}, NULL, &inv, &err), -1);
        assert_in_range(clock_now() - start, 0, 1000);
        if (i == 0)
            assert_string_equal(err.msg, "inv.yaml:1:17: nested deeper than 16 levels");
        buf_release(&text);
    }
}

static void a_file_above_the_limit_is_refused(void **state)
{
    (void)state;
    size_t n = ((size_t)8 << 20) + 1;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, '\n', n);
    text[n] = '\0';
    assert_inventory_refused(text, "inv.yaml:1:1: the file is larger than 8 MB", "");
    free(text);
}

/* libyaml compares each %TAG directive with all before it. */
static void too_many_directives_are_refused(void **state)
{
    (void)state;
    for (int n = 100; n <= 101; n++) {
        struct buf text = BUF_INIT(YAML_MAX_BYTES);
        struct yaml_tree *tree = NULL;
        struct err err = ERR_INIT;
        for (int i = 0; i < n; i++)
            buf_addf(&text, "%%TAG !a%d! tag:x\n", i);
        buf_adds(&text, "---\nx: y\n");
        int rc = yaml_tree_parse("t.yaml", buf_str(&text), text.len, &tree, &err);
        assert_int_equal(rc, n == 100 ? 0 : -1);
        assert_string_equal(err.msg,
                            n == 100 ? "" : "t.yaml:1:1: the file has more than 100 %TAG directives");
        yaml_tree_free(tree);
        buf_release(&text);
    }
}

/* These short pieces take the most memory for each byte of the file. The message names the place on the
 * second line where the memory exceeded the limit. */
static void yaml_that_needs_much_memory_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *head, *unit;
    } shapes[] = {{"x: {\n", "a,"}, {"x: [\n", "a,"}, {"x: [\n", "{a,b},"}, {"x: [\n", "[],"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct buf text = BUF_INIT(YAML_MAX_BYTES);
        struct yaml_tree *tree = NULL;
        struct err err = ERR_INIT;
        unsigned column = 0;
        int end = 0;
        buf_adds(&text, shapes[i].head);
        while (text.len + strlen(shapes[i].unit) <= text.max)
            buf_adds(&text, shapes[i].unit);
        assert_int_equal(yaml_tree_parse("t.yaml", buf_str(&text), text.len, &tree, &err), -1);
        assert_null(tree);
        assert_int_equal(err.kind, ERR_USAGE);
        assert_int_equal(sscanf(err.msg,
                                "t.yaml:2:%u: the file is too large: it would take more than 100.7 MB of "
                                "memory%n",
                                &column, &end),
                         1);
        assert_int_equal(end, strlen(err.msg));
        assert_in_range(column, 2, text.len - 1);
        buf_release(&text);
    }
}

/* The limit of memory includes the table that finds repeated keys. The tree alone would be small enough. */
static void too_many_keys_are_refused(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(YAML_MAX_BYTES);
    struct yaml_tree *tree = NULL;
    struct err err = ERR_INIT;
    for (unsigned i = 0; i < 600000; i++)
        buf_addf(&text, "%x:\n", i);
    assert_int_equal(buf_check(&text, "it", &err), 0);
    assert_int_equal(yaml_tree_parse("t.yaml", buf_str(&text), text.len, &tree, &err), -1);
    assert_string_equal(err.msg,
                        "t.yaml:1:1: the file is too large: it would take more than 100.7 MB of memory");
    buf_release(&text);
}

static void a_hundred_thousand_hosts_are_read(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(YAML_MAX_BYTES);
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;
    buf_adds(&text, "version: 1\nservices: { api: { port: 6060 } }\nhosts:\n");
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "  web-%05d: { address: web-%05d.example.internal, services: [api] }\n", i, i);
    assert_int_equal(inventory_parse("inv.yaml", (struct str){buf_str(&text), text.len}, NULL, &inv, &err),
                     0);
    inventory_hosts(inv, &n);
    assert_int_equal(n, 100000);
    inventory_free(inv);
    buf_release(&text);
}

/* Makes a directory for one test. */
static int make_dir(void **state)
{
    const char *base = getenv("TMPDIR");
    char *dir = NULL;
    if (asprintf(&dir, "%s/profgrab-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(dir))
        return -1;
    *state = dir;
    return 0;
}

static int remove_dir(void **state)
{
    int rc = file_remove(*state, NULL);
    free(*state);
    return rc;
}

static char *write_inventory(const char *dir, const char *name)
{
    char *path = file_join(dir, name);
    assert_non_null(path);
    assert_int_equal(file_write(path, full, sizeof full - 1, NULL), 0);
    return path;
}

static void a_file_that_others_own_or_can_write_is_not_loaded(void **state)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    char expected[600];
    char *path = write_inventory(*state, "inv.yaml");
    assert_int_equal(inventory_load(path, NULL, &inv, &err), 0);
    assert_string_equal(inventory_path(inv), path);
    inventory_free(inv);
    inv = NULL;
    static const mode_t modes[] = {0620, 0602, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(inventory_load(path, NULL, &inv, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        snprintf(expected, sizeof expected, "%s can be written by others", path);
        assert_string_equal(err.msg, expected);
        snprintf(expected, sizeof expected, "chmod go-w %s", path);
        assert_string_equal(err.hint, expected);
    }
    assert_int_equal(chmod(path, 0644), 0);
    /* Only root can change a file's owner. */
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        assert_int_equal(inventory_load(path, NULL, &inv, &err), -1);
        snprintf(expected, sizeof expected, "%s belongs to neither you nor root", path);
        assert_string_equal(err.msg, expected);
    }
    assert_null(inv);
    free(path);
}

static void missing_files_and_directories_are_not_loaded(void **state)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    char *missing = file_join(*state, "missing.yaml");
    assert_int_equal(inventory_load(missing, NULL, &inv, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(inventory_load(*state, NULL, &inv, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_null(inv);
    assert_int_equal(inventory_load(NULL, NULL, &inv, &err), 0);
    assert_null(inventory_path(inv));
    size_t n = 1;
    inventory_hosts(inv, &n);
    assert_int_equal(n, 0);
    inventory_free(inv);
    free(missing);
}

/* NULL in `expected`: no file, or the file of the system. */
static void assert_file_found(const char *option, const char *expected)
{
    char *found = NULL;
    struct err err = ERR_INIT;
    if (inventory_find(option, &found, &err) < 0)
        fail_msg("%s", err.msg);
    if (expected)
        assert_string_equal(found, expected);
    else if (found)
        assert_string_equal(found, "/etc/profgrab/inventory.yaml");
    free(found);
}

static void inventory_files_are_searched_in_order(void **state)
{
    struct err err = ERR_INIT;
    char *path = NULL, *none = file_join(*state, "none.yaml"), *a = write_inventory(*state, "a.yaml"),
         *b = write_inventory(*state, "b.yaml");
    static const char *const dirs[] = {".config/profgrab", "xdg/profgrab"};
    for (size_t i = 0; i < 2; i++) {
        char *dir = file_join(*state, dirs[i]);
        assert_int_equal(file_mkdirs(dir, NULL, NULL), 0);
        free(dir);
    }
    char *home = write_inventory(*state, ".config/profgrab/inventory.yaml");
    char *xdg = write_inventory(*state, "xdg/profgrab/inventory.yaml"), *xdg_dir = file_join(*state, "xdg");
    setenv("HOME", *state, 1);
    setenv("PROFGRAB_INVENTORY", b, 1);
    setenv("XDG_CONFIG_HOME", xdg_dir, 1);
    assert_file_found(a, a);
    assert_file_found(NULL, b);
    setenv("PROFGRAB_INVENTORY", none, 1);
    assert_int_equal(inventory_find(NULL, &path, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.msg, "none.yaml (from PROFGRAB_INVENTORY)"));
    assert_int_equal(inventory_find(none, &path, &err), -1);
    assert_non_null(strstr(err.msg, "none.yaml (from -i)"));
    assert_null(path);
    setenv("PROFGRAB_INVENTORY", "", 1);
    assert_file_found(NULL, xdg);
    setenv("XDG_CONFIG_HOME", "xdg", 1);
    assert_file_found(NULL, home);
    unsetenv("XDG_CONFIG_HOME");
    assert_file_found(NULL, home);
    assert_int_equal(unlink(home), 0);
    assert_file_found(NULL, NULL);
    free(none);
    free(a);
    free(b);
    free(home);
    free(xdg);
    free(xdg_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_read),
        cmocka_unit_test(tls_and_auth_are_read),
        cmocka_unit_test(unix_sockets_are_read),
        cmocka_unit_test(hosts_are_read),
        cmocka_unit_test(brackets_of_an_address_are_removed),
        cmocka_unit_test(patterns_select_hosts),
        cmocka_unit_test(invalid_yaml_is_refused),
        cmocka_unit_test(errors_of_syntax_are_explained),
        cmocka_unit_test(a_setting_in_the_column_of_names_is_explained),
        cmocka_unit_test(lists_instead_of_mappings_are_explained),
        cmocka_unit_test(several_errors_are_found_in_one_run),
        cmocka_unit_test(errors_of_a_file_with_a_long_name_are_sorted),
        cmocka_unit_test(the_number_of_errors_is_limited),
        cmocka_unit_test(invalid_top_level_keys_are_refused),
        cmocka_unit_test(invalid_services_are_refused),
        cmocka_unit_test(invalid_schemes_and_sockets_are_refused),
        cmocka_unit_test(too_long_paths_of_sockets_are_refused),
        cmocka_unit_test(invalid_tls_settings_are_refused),
        cmocka_unit_test(invalid_auth_settings_are_refused),
        cmocka_unit_test(two_secrets_are_refused),
        cmocka_unit_test(secrets_themselves_are_refused),
        cmocka_unit_test(invalid_hosts_are_refused),
        cmocka_unit_test(invalid_addresses_are_refused),
        cmocka_unit_test(invalid_host_names_are_refused),
        cmocka_unit_test(invalid_groups_are_refused),
        cmocka_unit_test(too_deep_groups_are_refused),
        cmocka_unit_test(a_long_file_name_is_cut_in_messages),
        cmocka_unit_test(errors_of_damaged_inventories_name_the_file),
        cmocka_unit_test(ten_thousand_hosts_are_read),
        cmocka_unit_test(deep_nesting_fails_at_once),
        cmocka_unit_test(a_file_above_the_limit_is_refused),
        cmocka_unit_test(too_many_directives_are_refused),
        cmocka_unit_test(yaml_that_needs_much_memory_is_refused),
        cmocka_unit_test(too_many_keys_are_refused),
        cmocka_unit_test(a_hundred_thousand_hosts_are_read),
        cmocka_unit_test_setup_teardown(a_file_that_others_own_or_can_write_is_not_loaded, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(missing_files_and_directories_are_not_loaded, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(inventory_files_are_searched_in_order, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
