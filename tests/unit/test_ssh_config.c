/*
 * What ssh says of a host, and the way there. The runs of ssh here are all `ssh -G`, with -F: it connects to
 * nothing and reads nobody's own configuration.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "tests/unit/spoil.h"

/* In the form of OpenSSH 9.2, a part of its lines. */
static const char printed[] = "user ops\n"
                              "hostname file-03.example\n"
                              "port 2222\n"
                              "addressfamily any\n"
                              "identitiesonly yes\n"
                              "hostkeyalias x-%h-%%-%n\n"
                              "identityagent /run/agent dir/sock\n"
                              "identityfile ~/.ssh/%h_%r\n"
                              "identityfile ${PROFGRAB_TEST}/a b/%p-%n-%C\n"
                              "globalknownhostsfile /etc/ssh/a /etc/ssh/b\n"
                              "userknownhostsfile /home/x/kh /home/x/kh2\n"
                              "connecttimeout 7\n"
                              "proxyjump u@bastion:22,[::1]:23\n";

static const struct proc_limits limits = {.timeout_ms = 20000, .cancel_fd = -1, .max_output = 1 << 20};

static void parse(const char *address, const char *text, struct ssh_config *ret)
{
    struct err err = ERR_INIT;
    if (ssh_config_parse(address, text, strlen(text), ret, &err) < 0)
        fail_msg("%s", err.msg);
}

static void values_are_read(void **state)
{
    (void)state;
    struct ssh_config c;
    parse("ops@f3", printed, &c);
    assert_string_equal(c.hostname, "file-03.example");
    assert_string_equal(c.user, "ops");
    assert_int_equal(c.port, 2222);
    assert_true(c.identities_only);
    assert_string_equal(c.agent, "/run/agent dir/sock");
    assert_int_equal(c.known_hosts.n, 4);
    assert_string_equal(c.known_hosts.items[0], "/home/x/kh");
    assert_string_equal(c.known_hosts.items[1], "/home/x/kh2");
    assert_string_equal(c.known_hosts.items[2], "/etc/ssh/a");
    assert_string_equal(c.known_hosts.items[3], "/etc/ssh/b");
    assert_int_equal(c.connect_timeout_s, 7);
    assert_string_equal(c.proxy_jump, "u@bastion:22,[::1]:23");
    assert_null(c.proxy_command);
    ssh_config_release(&c);
}

static void tokens_are_expanded(void **state)
{
    (void)state;
    struct ssh_config c;
    char expected[4096];
    const struct passwd *pw = getpwuid(getuid());
    assert_non_null(pw);
    setenv("PROFGRAB_TEST", "/v", 1);
    setenv("HOME", "/not/this", 1);
    parse("ops@f3", printed, &c);
    snprintf(expected, sizeof expected, "%s/.ssh/file-03.example_ops", pw->pw_dir);
    assert_string_equal(c.identity_files.items[0], expected);
    assert_string_equal(c.identity_files.items[1], "/v/a b/2222-f3-%C");
    assert_string_equal(c.host_key_alias, "x-file-03.example-%-f3");
    ssh_config_release(&c);
    parse("h", "hostname h\nuser u\nport 1\nidentityfile %d/%u/%i\nidentityfile ${PROFGRAB_NOT_SET}/%\n", &c);
    snprintf(expected, sizeof expected, "%s/%s/%ld", pw->pw_dir, pw->pw_name, (long)getuid());
    assert_string_equal(c.identity_files.items[0], expected);
    assert_string_equal(c.identity_files.items[1], "${PROFGRAB_NOT_SET}/%");
    ssh_config_release(&c);
}

static void this_machine_tokens(void **state)
{
    (void)state;
    struct ssh_config c;
    char name[256] = "", expected[600];
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    parse("h", "hostname h\nuser u\nport 1\nidentityfile /%l\nidentityfile /%L\n", &c);
    snprintf(expected, sizeof expected, "/%s", name);
    assert_string_equal(c.identity_files.items[0], expected);
    expected[1 + strcspn(name, ".")] = '\0';
    assert_string_equal(c.identity_files.items[1], expected);
    ssh_config_release(&c);
}

static void agent_is(const char *line, const char *expected)
{
    char text[200];
    struct ssh_config c;
    snprintf(text, sizeof text, "hostname h\nuser u\nport 22\n%s", line);
    parse("h", text, &c);
    if (expected)
        assert_string_equal(c.agent, expected);
    else
        assert_null(c.agent);
    ssh_config_release(&c);
}

static void agents(void **state)
{
    (void)state;
    setenv("SSH_AUTH_SOCK", "/env/sock", 1);
    setenv("PROFGRAB_TEST", "/other/sock", 1);
    agent_is("", "/env/sock");
    agent_is("identityagent SSH_AUTH_SOCK\n", "/env/sock");
    agent_is("identityagent none\n", NULL);
    agent_is("identityagent /a/b\n", "/a/b");
    agent_is("identityagent $PROFGRAB_TEST\n", "/other/sock");
    agent_is("identityagent $PROFGRAB_NOT_SET\n", NULL);
    setenv("SSH_AUTH_SOCK", "", 1);
    agent_is("", NULL);
    unsetenv("SSH_AUTH_SOCK");
    agent_is("", NULL);
}

static void none_means_nothing(void **state)
{
    (void)state;
    struct ssh_config c;
    parse("h",
          "hostname h\nuser u\nport 22\nproxyjump none\nproxycommand none\nuserknownhostsfile none\n"
          "globalknownhostsfile none\nconnecttimeout none\nidentityfile none\nidentitiesonly no",
          &c);
    assert_null(c.proxy_jump);
    assert_null(c.proxy_command);
    assert_null(c.host_key_alias);
    assert_int_equal(c.known_hosts.n, 0);
    assert_int_equal(c.identity_files.n, 0);
    assert_int_equal(c.connect_timeout_s, 0);
    assert_false(c.identities_only);
    ssh_config_release(&c);
}

static void refuses(const char *text, const char *message)
{
    struct ssh_config c = {0};
    struct err err = ERR_INIT;
    assert_int_equal(ssh_config_parse("h", text, strlen(text), &c, &err), -1);
    assert_string_equal(err.msg, message);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_null(c.hostname);
}

static void bad_output(void **state)
{
    (void)state;
    refuses("", "ssh -G did not say hostname");
    refuses("hostname h\nport 22\n", "ssh -G did not say user");
    refuses("hostname h\nuser u\n", "ssh -G did not say port");
    refuses("hostname h\nuser u\nport 0\n", "ssh -G: bad port \"0\"");
    refuses("hostname h\nuser u\nport \033x\n", "ssh -G: bad port \"?x\"");
    refuses("hostname h\nuser u\nport 22\nconnecttimeout soon\n", "ssh -G: bad connecttimeout \"soon\"");
}

static void parse_spoiled(void *ctx, const struct spoiled *s)
{
    (void)ctx;
    struct ssh_config c;
    struct err err = ERR_INIT;
    if (ssh_config_parse("h", s->p, s->n, &c, &err) < 0) {
        assert_int_equal(err.kind, ERR_FAILED);
        return;
    }
    assert_true(c.hostname && c.user && c.port >= 1 && c.port <= 65535);
    ssh_config_release(&c);
}

static void cut_and_flipped(void **state)
{
    (void)state;
    spoil(printed, sizeof printed - 1, parse_spoiled, NULL);
}

/* A directory with a configuration file `config` in it. */
struct place {
    char *dir;
    char *config;
};

static int make_place(void **state)
{
    const char *base = getenv("TMPDIR");
    struct place *p = calloc(1, sizeof *p);
    if (!p || asprintf(&p->dir, "%s/profgrab-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(p->dir))
        return -1;
    p->config = file_join(p->dir, "config");
    *state = p;
    return p->config ? 0 : -1;
}

static int remove_place(void **state)
{
    struct place *p = *state;
    int rc = file_remove(p->dir, NULL);
    free(p->dir);
    free(p->config);
    free(p);
    return rc;
}

/* Writes the configuration, with the directory in place of every ^. */
static void configure(const struct place *p, const char *text)
{
    struct buf b = BUF_INIT(8192);
    for (; *text; text++) {
        if (*text == '^')
            buf_adds(&b, p->dir);
        else
            buf_addc(&b, *text);
    }
    assert_int_equal(file_write(p->config, buf_str(&b), b.len, NULL), 0);
    buf_release(&b);
}

static void touch(const char *path)
{
    assert_int_equal(file_write(path, "", 0, NULL), 0);
}

static void a_real_run(void **state)
{
    struct place *p = *state;
    struct ssh_config c;
    struct err err = ERR_INIT;
    char *there = file_join(p->dir, "key"), *known = file_join(p->dir, "kh");
    touch(there);
    configure(p, "Host f3\n HostName file-03.example\n User ops\n Port 2222\n IdentityFile ^/key\n"
                 " IdentityFile ^/gone\n UserKnownHostsFile ^/kh\n GlobalKnownHostsFile none\n"
                 " IdentityAgent none\n ProxyJump bastion\n");
    if (ssh_config_resolve("f3", &(struct ssh_settings){.config = p->config}, &limits, &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(c.hostname, "file-03.example");
    assert_string_equal(c.user, "ops");
    assert_int_equal(c.port, 2222);
    assert_int_equal(c.identity_files.n, 1);
    assert_string_equal(c.identity_files.items[0], there);
    assert_false(c.identities_only);
    assert_int_equal(c.known_hosts.n, 1);
    assert_string_equal(c.known_hosts.items[0], known);
    assert_null(c.agent);
    assert_string_equal(c.proxy_jump, "bastion");
    ssh_config_release(&c);
    free(there);
    free(known);
}

static void settings_win(void **state)
{
    struct place *p = *state;
    struct ssh_config c;
    struct err err = ERR_INIT;
    char *key = file_join(p->dir, "mine");
    touch(key);
    configure(
        p, "Host *\n User ops\n Port 2222\n IdentityFile ^/key\n IdentityAgent none\n ProxyCommand nc %h\n");
    struct ssh_settings s = {.user = (char[]){"me"},
                             .port = 22022,
                             .identity = key,
                             .known_hosts = (char[]){"/my kh"},
                             .jump = (char[]){"j1,j2"},
                             .agent = (char[]){"/my/agent"},
                             .config = p->config};
    if (ssh_config_resolve("f3", &s, &limits, &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(c.user, "me");
    assert_int_equal(c.port, 22022);
    assert_int_equal(c.identity_files.n, 1);
    assert_string_equal(c.identity_files.items[0], key);
    assert_true(c.identities_only);
    assert_int_equal(c.known_hosts.n, 1);
    assert_string_equal(c.known_hosts.items[0], "/my kh");
    assert_string_equal(c.agent, "/my/agent");
    assert_string_equal(c.proxy_jump, "j1,j2");
    assert_null(c.proxy_command);
    ssh_config_release(&c);
    free(key);
}

static void failures_of_ssh(void **state)
{
    struct place *p = *state;
    struct ssh_config c = {0};
    struct err err = ERR_INIT;
    struct ssh_settings s = {.config = p->config};
    configure(p, "NoSuchThing yes\n");
    assert_int_equal(ssh_config_resolve("f3", &s, &limits, &c, &err), -1);
    assert_non_null(strstr(err.msg, "ssh -G f3: "));
    assert_non_null(strstr(err.msg, "Bad configuration option: nosuchthing"));
    assert_non_null(strstr(err.hint, p->config));
    configure(p, "Host *\n IdentityAgent none\n");
    s.identity = (char[]){"/no/such/key"};
    assert_int_equal(ssh_config_resolve("f3", &s, &limits, &c, &err), -1);
    assert_string_equal(err.msg, "there is no identity file /no/such/key");
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(ssh_config_resolve("-oProxyCommand=x", &s, &limits, &c, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    char *path = strdup(getenv("PATH"));
    assert_non_null(path);
    setenv("PATH", p->dir, 1);
    assert_int_equal(ssh_config_resolve("f3", &(struct ssh_settings){0}, &limits, &c, &err), -1);
    setenv("PATH", path, 1);
    assert_string_equal(err.msg, "there is no ssh in PATH");
    assert_non_null(strstr(err.hint, "install OpenSSH's client"));
    assert_null(c.hostname);
    free(path);
}

/* The hops to `address`, as user@hostname:port. */
static void leads(const struct place *p, const char *address, const struct ssh_settings *own,
                  const char *expected)
{
    struct host host = {.address = strdup(address), .ssh = *own};
    struct route r;
    struct err err = ERR_INIT;
    struct buf joined = BUF_INIT(4096);
    assert_non_null(host.address);
    if (route_resolve(&host, &(struct ssh_settings){.config = p->config}, &limits, &r, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < r.n_hops; i++)
        buf_addf(&joined, "%s%s@%s:%u", i ? " " : "", r.hops[i].user, r.hops[i].hostname, r.hops[i].port);
    assert_string_equal(buf_str(&joined), expected);
    assert_false(r.direct);
    buf_release(&joined);
    route_release(&r);
    free(host.address);
}

static void jumps(void **state)
{
    struct place *p = *state;
    configure(p, "Host target\n HostName t.example\n ProxyJump one,b@two:23,[::1]:24\n"
                 "Host one\n ProxyJump zero\n"
                 "Host two\n ProxyJump never\n"
                 "Host *\n User u\n");
    const struct ssh_settings none = {0};
    leads(p, "plain", &none, "u@plain:22");
    leads(p, "me@plain", &none, "me@plain:22");
    leads(p, "ssh://me@plain:2222", &none, "me@plain:2222");
    leads(p, "target", &none, "u@zero:22 u@one:22 b@two:23 u@::1:24 u@t.example:22");
    leads(p, "target", &(struct ssh_settings){.jump = (char[]){"none"}}, "u@t.example:22");
    leads(p, "target",
          &(struct ssh_settings){.jump = (char[]){"ssh://x@two:99"}, .user = (char[]){"me"}, .port = 1},
          "u@never:22 x@two:99 me@t.example:1");
}

static void route_refuses(const struct place *p, const char *jump, const char *message, const char *hint)
{
    struct host host = {.address = (char[]){"target"}, .ssh = {.config = p->config, .jump = strdup(jump)}};
    struct route r = {0};
    struct err err = ERR_INIT;
    if (!*jump) {
        free(host.ssh.jump);
        host.ssh.jump = NULL;
    }
    assert_int_equal(route_resolve(&host, NULL, &limits, &r, &err), -1);
    assert_string_equal(err.msg, message);
    assert_string_equal(err.hint, hint);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_null(r.hops);
    free(host.ssh.jump);
}

#define ENDLESS                                                                                              \
    "a ProxyJump that also holds for the jump host itself never ends: add \"ProxyJump none\" for that host"

static void bad_jumps(void **state)
{
    struct place *p = *state;
    /* Without the HostName ssh would notice this by itself. */
    configure(p, "Host bastion\n HostName 192.0.2.1\nHost *\n ProxyJump bastion\n");
    route_refuses(p, "", "more than 8 jump hosts in a row", ENDLESS);
    configure(p, "Host a\n ProxyJump b\nHost b\n ProxyJump a\n");
    route_refuses(p, "a", "more than 8 jump hosts in a row", ENDLESS);
    configure(p, "Host *\n User u\n");
    route_refuses(p, "h1,h2,h3,h4,h5,h6,h7,h8,h9", "more than 8 jump hosts in a row", ENDLESS);
    route_refuses(p, "-x", "bad address \"-x\": it must be [user@]host or ssh://[user@]host[:port]", "");
    route_refuses(p, "a,,b", "empty entry in the list \"a,,b\"", "");
    configure(p, "Host target\n ProxyCommand nc %h %p\nHost jump\n ProxyCommand nc %h %p\n");
    const char *hint = "use ProxyJump there, or \"jump\" under the host's \"ssh\" in the inventory";
    route_refuses(p, "", "ssh's configuration has a ProxyCommand for target, which is not supported", hint);
    route_refuses(p, "jump", "ssh's configuration has a ProxyCommand for jump, which is not supported", hint);
}

static void exactly_eight_jumps(void **state)
{
    struct place *p = *state;
    configure(p, "Host *\n User u\n");
    leads(p, "t", &(struct ssh_settings){.jump = (char[]){"h1,h2,h3,h4,h5,h6,h7,h8"}},
          "u@h1:22 u@h2:22 u@h3:22 u@h4:22 u@h5:22 u@h6:22 u@h7:22 u@h8:22 u@t:22");
}

static void the_command_line_wins(void **state)
{
    struct place *p = *state;
    configure(p, "Host *\n User u\n");
    struct host host = {
        .address = (char[]){"t"},
        .ssh = {.user = (char[]){"inv"}, .port = 1, .jump = (char[]){"a"}, .agent = (char[]){"/a"}}};
    struct ssh_settings over = {
        .user = (char[]){"cli"}, .jump = (char[]){"none"}, .agent = (char[]){"none"}, .config = p->config};
    struct route r;
    assert_int_equal(route_resolve(&host, &over, &limits, &r, NULL), 0);
    assert_int_equal(r.n_hops, 1);
    assert_string_equal(r.hops[0].user, "cli");
    assert_int_equal(r.hops[0].port, 1);
    assert_null(r.hops[0].agent);
    route_release(&r);
}

static void direct_routes(void **state)
{
    (void)state;
    struct host host = {.address = (char[]){"127.0.0.1"}, .direct = true};
    struct route r;
    assert_int_equal(route_resolve(&host, NULL, &limits, &r, NULL), 0);
    assert_true(r.direct);
    assert_string_equal(r.address, "127.0.0.1");
    assert_int_equal(r.n_hops, 0);
    route_release(&r);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(tokens_are_expanded),
        cmocka_unit_test(this_machine_tokens),
        cmocka_unit_test(agents),
        cmocka_unit_test(none_means_nothing),
        cmocka_unit_test(bad_output),
        cmocka_unit_test(cut_and_flipped),
        IN_PLACE(a_real_run),
        IN_PLACE(settings_win),
        IN_PLACE(failures_of_ssh),
        IN_PLACE(jumps),
        IN_PLACE(bad_jumps),
        IN_PLACE(exactly_eight_jumps),
        IN_PLACE(the_command_line_wins),
        cmocka_unit_test(direct_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
