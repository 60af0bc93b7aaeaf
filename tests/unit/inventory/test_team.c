/* The inventory's trackers, teams and self: valid and invalid settings. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/inventory.h"
#include "tests/unit/unit.h"

#define AGE_KEY "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

static const char full[] =
    "version: 1\n"
    "teams:\n"
    "  gitaly: { recipients: [ keys/gitaly.txt, ~/team.keys, \"ssh-ed25519 AAAA a b\", " AGE_KEY " ],\n"
    "    tracker: gitlab, project: group/sub/proj, labels: [profiling, \"a b\"], assignees: [ann], "
    "signature: "
    "required }\n"
    "  quiet: { recipients: [ /k ], signature: optional }\n"
    "self: { recipients: [ me.pub ], sign_with: ~/.ssh/id_ed25519.pub }\n"
    "trackers:\n"
    "  gitlab: { kind: gitlab, url: \"https://gitlab.example:8443/sub//\", token_env: GITLAB_TOKEN, ca: "
    "corp.pem }\n"
    "  red: { kind: redmine, url: \"http://127.0.0.1:3000\", token_file: ~/red }\n"
    "  tickets: { kind: rt, url: \"http://[::1]\", token_command: pass rt }\n";

/* The folder inventory knows no kinds of trackers: the caller passes them. */
static const struct tracker_kind gitlab = {.name = "gitlab",
                                           .title = "GitLab",
                                           .project = "a project's path, GROUP/PROJECT",
                                           .has_labels = true,
                                           .max_assignees = 20},
                                 redmine = {.name = "redmine", .title = "Redmine"},
                                 rt = {.name = "rt", .title = "Request Tracker", .project = "a queue's name"};
static const struct tracker_kind *const kinds[] = {&gitlab, &redmine, &rt, NULL};
static const struct inventory_options options = {.tracker_kinds = kinds};

static struct inventory *parse_inventory(const char *text)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    assert_ok(inventory_parse("/etc/team/inv.yaml", str_of(text), &options, &inv, &err), &err);
    return inv;
}

static void assert_inventory_refused(const char *text, const char *message, const char *hint)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(inventory_parse("inv.yaml", str_of(text), &options, &inv, &err), -1);
    assert_string_equal(err.msg, message);
    assert_string_equal(err.hint, hint);
    assert_int_equal(err.kind, ERR_USAGE);
}

static void trackers_are_read(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    struct inventory *inv = parse_inventory(full);
    struct err err = ERR_INIT;
    const struct tracker *t = NULL;
    assert_ok(inventory_tracker(inv, "gitlab", &t, &err), &err);
    assert_ptr_equal(t->kind, &gitlab);
    assert_string_equal(t->url, "https://gitlab.example:8443/sub");
    assert_int_equal(t->token.kind, SECRET_ENV);
    assert_string_equal(t->token.locator, "GITLAB_TOKEN");
    assert_string_equal(t->ca, "/etc/team/corp.pem");
    assert_ok(inventory_tracker(inv, "red", &t, &err), &err);
    assert_ptr_equal(t->kind, &redmine);
    assert_string_equal(t->url, "http://127.0.0.1:3000");
    assert_string_equal(t->token.locator, "/home/someone/red");
    assert_null(t->ca);
    assert_ok(inventory_tracker(inv, "tickets", &t, &err), &err);
    assert_string_equal(t->url, "http://[::1]");
    assert_int_equal(t->token.kind, SECRET_COMMAND);
    assert_int_equal(inventory_tracker(inv, "gitlap", &t, &err), -1);
    assert_string_equal(err.msg, "no tracker \"gitlap\" in the inventory");
    assert_string_equal(err.hint, "did you mean \"gitlab\"?");
    inventory_free(inv);
}

static void teams_are_read(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    struct inventory *inv = parse_inventory(full);
    struct err err = ERR_INIT;
    const struct team *t = NULL;
    assert_ok(inventory_team(inv, "gitaly", &t, &err), &err);
    assert_string_equal(inventory_team_name(inv, 0), "gitaly");
    assert_string_equal(inventory_team_name(inv, 1), "quiet");
    assert_null(inventory_team_name(inv, 2));
    assert_int_equal(t->recipients.n, 4);
    const struct recipient *r = t->recipients.items;
    assert_true(r[0].is_file && r[1].is_file && !r[2].is_file && !r[3].is_file);
    assert_string_equal(r[0].text, "/etc/team/keys/gitaly.txt");
    assert_string_equal(r[1].text, "/home/someone/team.keys");
    assert_string_equal(r[2].text, "ssh-ed25519 AAAA a b");
    assert_string_equal(r[3].text, AGE_KEY);
    assert_int_equal(r[3].line, 3);
    assert_string_equal(t->tracker->name, "gitlab");
    assert_string_equal(t->project, "group/sub/proj");
    assert_int_equal(t->labels.n, 2);
    assert_string_equal(t->labels.items[1], "a b");
    assert_string_equal(t->assignees.items[0], "ann");
    assert_true(t->signature_required);
    assert_ok(inventory_team(inv, "quiet", &t, &err), &err);
    assert_null(t->tracker);
    assert_false(t->signature_required);
    assert_int_equal(inventory_team(inv, "gitaly2", &t, &err), -1);
    assert_string_equal(err.hint, "did you mean \"gitaly\"?");
    const struct self *self = inventory_self(inv);
    assert_string_equal(self->sign_with, "/home/someone/.ssh/id_ed25519.pub");
    assert_string_equal(self->recipients.items[0].text, "/etc/team/me.pub");
    inventory_free(inv);
}

static void self_and_teams_may_be_missing(void **state)
{
    (void)state;
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    const struct team *t = NULL;
    assert_ok(inventory_load(NULL, NULL, &inv, &err), &err);
    assert_int_equal(inventory_self(inv)->recipients.n, 0);
    assert_null(inventory_self(inv)->sign_with);
    assert_int_equal(inventory_team(inv, "gitaly", &t, &err), -1);
    assert_string_equal(err.hint, "there is no inventory: write one (docs/inventory.md), or name it with -i");
    inventory_free(inv);
}

/* Asserts the refusal of one tracker. `column` is the column within its settings, counted from 1. */
static void assert_tracker_refused(const char *settings, size_t column, const char *message, const char *hint)
{
    char text[700], expected[700];
    snprintf(text, sizeof text, "version: 1\ntrackers:\n  lab: %s\n", settings);
    snprintf(expected, sizeof expected, "inv.yaml:3:%zu: %s", column + 7, message);
    assert_inventory_refused(text, expected, hint);
}

static void invalid_trackers_are_refused(void **state)
{
    (void)state;
    const char *needs_hint = "it needs kind: gitlab, redmine or rt, and url: https://HOST";
    assert_inventory_refused("version: 1\ntrackers:\n  lab: {}\n",
                             "inv.yaml:3:3: tracker \"lab\" has no \"kind\"", needs_hint);
    assert_inventory_refused("version: 1\ntrackers:\n  lab: { kind: rt }\n",
                             "inv.yaml:3:3: tracker \"lab\" has no \"url\"", needs_hint);
    assert_inventory_refused("version: 1\ntrackers:\n  lab: { kind: rt, url: https://a }\n",
                             "inv.yaml:3:3: tracker \"lab\" does not name the location of its token",
                             "add token_env, token_file or token_command");
    assert_tracker_refused("{ kind: jira }", 9, "kind must be \"gitlab\", \"redmine\" or \"rt\"", "");
    assert_tracker_refused(
        "{ token: glpat-hunter2 }", 3, "\"token\" would contain the secret itself",
        "secrets are not allowed in the inventory; write where the token is: token_file: FILE, "
        "or token_env with a "
        "variable, or token_command");
    assert_tracker_refused("{ token_env: glpat-hunter2 }", 14,
                           "token_env must be the name of an environment variable",
                           "a name has letters, digits and \"_\"; the secret is the variable's value");
    assert_tracker_refused("{ token_env: A, token_file: b }", 17,
                           "\"token_env\" and \"token_file\" both name a secret", "keep one of them");
    assert_tracker_refused("{ tokn_env: A }", 3, "unknown key \"tokn_env\"", "did you mean \"token_env\"?");
}

static void a_tracker_url_is_https_to_one_host(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "https://",          "https:///a",   "https://user@a",      "https://a:b@c",      "https://a:0",
        "https://a:65536",   "https://a:",   "https://a:1x",        "https://a?b",        "https://a/#b",
        "https://a/%2e",     "https://a b",  "https://[::1",        "https://[g]",        "https://a\\\\b",
        "https://a:123456/", "https://a/?b", "https://a:000000080", "https://evil\\u00e9"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char settings[100];
        snprintf(settings, sizeof settings, "{ url: \"%s\" }", forms[i]);
        assert_tracker_refused(settings, 8,
                               "url must be https://HOST, https://HOST:PORT or https://HOST/PATH", "");
    }
    assert_tracker_refused("{ url: ftp://a }", 8, "url must begin with \"https://\"", "");
    assert_tracker_refused("{ url: HTTPS://a }", 8, "url must begin with \"https://\"", "");
    static const char *const without_tls[] = {"http://a", "http://127.0.0.1.example",
                                              "http://localhost.example:80", "http://[2001:db8::1]/x"};
    for (size_t i = 0; i < sizeof without_tls / sizeof *without_tls; i++) {
        char settings[100];
        snprintf(settings, sizeof settings, "{ url: \"%s\" }", without_tls[i]);
        assert_tracker_refused(
            settings, 8, "url must begin with \"https://\": without TLS the token would be sent unencrypted",
            "");
    }
}

/* Asserts the refusal of one team. `column` is the column within its settings, counted from 1. */
static void assert_team_refused(const char *settings, size_t column, const char *message, const char *hint)
{
    char text[700], expected[700];
    snprintf(text, sizeof text,
             "version: 1\ntrackers: { lab: { kind: rt, url: https://a, token_env: A } }\nteams:\n  ops: %s\n",
             settings);
    snprintf(expected, sizeof expected, "inv.yaml:4:%zu: %s", column + 7, message);
    assert_inventory_refused(text, expected, hint);
}

static void invalid_teams_are_refused(void **state)
{
    (void)state;
    assert_inventory_refused("version: 1\nteams:\n  ops: {}\n",
                             "inv.yaml:3:3: team \"ops\" has no recipients",
                             "add recipients: a list of public keys and files of them");
    assert_team_refused("{ recipients: [] }", 15, "recipients is empty", "");
    assert_team_refused("{ recipients: keys.txt }", 15, "recipients must be a list of keys and files of keys",
                        "write recipients: [keys.txt]");
    assert_team_refused(
        "{ recipients: [ AGE-SECRET-KEY-1QQ ] }", 17, "this is a secret key",
        "recipients are public keys (\"age1...\"); make a new identity with age-keygen, because "
        "everyone who could read this file knows this secret key");
    assert_team_refused("{ recipients: [ a ], tracker: lap, project: x }", 31,
                        "no tracker \"lap\" in the inventory", "did you mean \"lab\"?");
    assert_team_refused("{ recipients: [ a ], tracker: lab }", 22, "\"tracker\" needs a \"project\"",
                        "Request Tracker: a queue's name");
    assert_team_refused("{ recipients: [ a ], project: x }", 22,
                        "\"project\" has no meaning without \"tracker\"", "");
    assert_team_refused("{ recipients: [ a ], labels: [ x ] }", 22,
                        "\"labels\" has no meaning without \"tracker\"", "");
    assert_team_refused("{ recipients: [ a ], tracker: lab, project: x, labels: [ x ] }", 48,
                        "\"labels\" has no meaning with rt, which has none", "");
    assert_team_refused("{ recipients: [ a ], labels: [ 'x,y' ] }", 32, "labels must not contain \",\"", "");
    assert_team_refused("{ signature: maybe }", 14, "signature must be \"required\" or \"optional\"", "");
    assert_inventory_refused("version: 1\nself: { sign_wiht: a }\n",
                             "inv.yaml:2:9: unknown key \"sign_wiht\"", "did you mean \"sign_with\"?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trackers_are_read),
        cmocka_unit_test(teams_are_read),
        cmocka_unit_test(self_and_teams_may_be_missing),
        cmocka_unit_test(invalid_trackers_are_refused),
        cmocka_unit_test(a_tracker_url_is_https_to_one_host),
        cmocka_unit_test(invalid_teams_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
