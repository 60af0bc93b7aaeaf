/* Settings of ssh for a host, and its route. Each run of ssh here is `ssh -G` with -F: it connects to
 * nothing and reads no configuration of the user. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/config/config.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"

/* A part of the output of OpenSSH 9.2. */
static const char printed[] = "user ops\n"
                              "hostname file-03.example\n"
                              "port 2222\n"
                              "addressfamily any\n"
                              "identitiesonly yes\n"
                              "hostkeyalias x-%h\n"
                              "identityagent /run/agent dir/sock\n"
                              "identityfile ~/.ssh/%h_%r\n"
                              "identityfile ${PROFGRAB_TEST}/a b/%p-%n-%k-%j\n"
                              "certificatefile /certs/%r-%Z\n"
                              "globalknownhostsfile /etc/ssh/a /etc/ssh/b\n"
                              "userknownhostsfile /home/x/kh /home/x/kh2\n"
                              "connecttimeout 7\n"
                              "proxyjump [::1]:23,u@bastion:22\n";

/* The least that `ssh -G` prints. */
#define BASE "hostname h\nuser u\nport 22\n"

static const struct proc_limits limits = {.timeout_ms = 20000, .cancel_fd = -1, .max_output = 1 << 20};

static void parse_config(const char *address, const char *text, struct ssh_config *ret)
{
    struct err err = ERR_INIT;
    if (ssh_config_parse(address, text, strlen(text), ret, &err) < 0)
        fail_msg("%s", err.msg);
}

static void the_output_of_ssh_is_parsed(void **state)
{
    (void)state;
    struct ssh_config c;
    parse_config("ops@f3", printed, &c);
    assert_string_equal(c.hostname, "file-03.example");
    assert_string_equal(c.user, "ops");
    assert_int_equal(c.port, 2222);
    assert_true(c.login.identities_only);
    assert_string_equal(c.login.agent, "/run/agent dir/sock");
    assert_int_equal(c.host_key.files.n, 4);
    assert_int_equal(c.host_key.n_user_files, 2);
    assert_string_equal(c.host_key.files.items[0], "/home/x/kh");
    assert_string_equal(c.host_key.files.items[1], "/home/x/kh2");
    assert_string_equal(c.host_key.files.items[2], "/etc/ssh/a");
    assert_string_equal(c.host_key.files.items[3], "/etc/ssh/b");
    assert_int_equal(c.connect.timeout_s, 7);
    assert_string_equal(c.connect.jump, "[::1]:23,u@bastion:22");
    assert_null(c.connect.proxy_command);
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
    parse_config("ops@f3", printed, &c);
    snprintf(expected, sizeof expected, "%s/.ssh/file-03.example_ops", pw->pw_dir);
    assert_string_equal(c.login.identity_files.items[0], expected);
    assert_string_equal(c.login.identity_files.items[1], "/v/a b/2222-f3-x-%h-bastion");
    assert_string_equal(c.login.certificate_files.items[0], "/certs/ops-%Z");
    assert_string_equal(c.host_key.alias, "x-%h");
    ssh_config_release(&c);
    parse_config(
        "h", "hostname h\nuser u\nport 1\nidentityfile %d/%u/%i\nidentityfile ${PROFGRAB_NOT_SET}/%\n", &c);
    snprintf(expected, sizeof expected, "%s/%s/%ld", pw->pw_dir, pw->pw_name, (long)getuid());
    assert_string_equal(c.login.identity_files.items[0], expected);
    assert_string_equal(c.login.identity_files.items[1], "${PROFGRAB_NOT_SET}/%");
    ssh_config_release(&c);
}

static void tokens_of_the_local_host_are_expanded(void **state)
{
    (void)state;
    struct ssh_config c;
    char name[256] = "", expected[600];
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    parse_config("h", "hostname h\nuser u\nport 1\nidentityfile /%l\nidentityfile /%L\n", &c);
    snprintf(expected, sizeof expected, "/%s", name);
    assert_string_equal(c.login.identity_files.items[0], expected);
    expected[1 + strcspn(name, ".")] = '\0';
    assert_string_equal(c.login.identity_files.items[1], expected);
    ssh_config_release(&c);
}

static void tokens_in_proxy_commands_and_jumps_are_expanded(void **state)
{
    (void)state;
    struct ssh_config c;
    parse_config(
        "F3", "hostname h.example\nuser u\nport 23\nproxycommand nc -X %h %p %r %n %k ~ ${HOME} 100%%\n", &c);
    assert_string_equal(c.connect.proxy_command, "nc -X h.example 23 u F3 F3 ~ ${HOME} 100%");
    ssh_config_release(&c);
    parse_config("f3", "hostname h\nuser u\nport 23\nhostkeyalias a\nproxyjump %r@via-%k-%n\n", &c);
    assert_string_equal(c.connect.jump, "u@via-a-f3");
    ssh_config_release(&c);
}

/* Asserts that `%C`, the first identity file in `lines`, is the SHA-1 of the local host's name and `input`.
 */
static void assert_hash(const char *lines, const char *input)
{
    struct ssh_config c;
    char name[256] = "", *text = NULL, hex[41] = "";
    unsigned char digest[20];
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    assert_true(asprintf(&text, "%s%s", name, input) > 0);
    assert_int_equal(EVP_Digest(text, strlen(text), digest, NULL, EVP_sha1(), NULL), 1);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    free(text);
    parse_config("f3", lines, &c);
    assert_string_equal(c.login.identity_files.items[0], hex);
    ssh_config_release(&c);
}

static void the_connection_hash_includes_the_jump_host_in_newer_versions(void **state)
{
    (void)state;
    assert_hash("hostname h.example\nuser u\nport 23\nidentityfile %C\nproxyjump a,b@jump:2\n",
                "h.example23u");
    assert_hash(
        "hostname h.example\nuser u\nport 23\nidentityfile %C\nproxyjump a,b@jump:2\nchanneltimeout none\n",
        "h.example23ujump");
}

static void methods_of_authentication_are_read(void **state)
{
    (void)state;
    struct ssh_config c;
    parse_config("h", BASE, &c);
    assert_true(c.login.publickey && c.login.password && c.login.keyboard_interactive);
    assert_false(c.login.gssapi || c.login.hostbased);
    assert_int_equal(c.login.password_prompts, 3);
    assert_null(c.login.preferred);
    ssh_config_release(&c);
    parse_config(
        "h",
        BASE
        "pubkeyauthentication host-bound\npasswordauthentication no\nkbdinteractiveauthentication yes\n"
        "gssapiauthentication yes\nhostbasedauthentication yes\nnumberofpasswordprompts 1\n"
        "preferredauthentications password,publickey\npubkeyacceptedalgorithms ssh-ed25519,rsa-sha2-512\n",
        &c);
    assert_true(c.login.publickey && c.login.keyboard_interactive && c.login.gssapi && c.login.hostbased);
    assert_false(c.login.password);
    assert_int_equal(c.login.password_prompts, 1);
    assert_string_equal(c.login.preferred, "password,publickey");
    assert_string_equal(c.algorithms.keys, "ssh-ed25519,rsa-sha2-512");
    assert_string_equal(c.only_openssh, "");
    ssh_config_release(&c);
    parse_config("h", BASE "pubkeyauthentication false\nbatchmode yes\n", &c);
    assert_false(c.login.publickey || c.login.password || c.login.keyboard_interactive);
    assert_int_equal(c.login.password_prompts, 0);
    ssh_config_release(&c);
}

static void algorithms_and_connection_options_are_read(void **state)
{
    (void)state;
    struct ssh_config c;
    parse_config("h",
                 BASE "addressfamily inet6\nbindaddress 192.0.2.1\ncompression yes\ncontrolpath /run/my cm\n"
                      "kexalgorithms k\nhostkeyalgorithms h,i\nciphers c\nmacs m\nhashknownhosts yes\n",
                 &c);
    assert_int_equal(c.connect.family, ADDRESS_IPV6);
    assert_string_equal(c.connect.bind_address, "192.0.2.1");
    assert_string_equal(c.connect.control_path, "/run/my cm");
    assert_string_equal(c.algorithms.key_exchanges, "k");
    assert_string_equal(c.algorithms.host_keys, "h,i");
    assert_string_equal(c.algorithms.ciphers, "c");
    assert_string_equal(c.algorithms.macs, "m");
    assert_true(c.compression && c.host_key.hash_names);
    ssh_config_release(&c);
    parse_config("h", BASE "addressfamily inet\ncontrolpath none\n", &c);
    assert_int_equal(c.connect.family, ADDRESS_IPV4);
    assert_null(c.connect.control_path);
    assert_null(c.algorithms.ciphers);
    assert_false(c.compression || c.host_key.hash_names);
    ssh_config_release(&c);
}

static void assert_policy(const char *value, enum host_key_policy expected)
{
    char text[200];
    struct ssh_config c;
    snprintf(text, sizeof text, BASE "stricthostkeychecking %s\n", value);
    parse_config("h", text, &c);
    assert_int_equal(c.host_key.policy, expected);
    ssh_config_release(&c);
}

static void host_key_policies_are_read(void **state)
{
    (void)state;
    assert_policy("true", HOST_KEY_STRICT);
    assert_policy("yes", HOST_KEY_STRICT);
    assert_policy("ask", HOST_KEY_STRICT);
    assert_policy("something new", HOST_KEY_STRICT);
    assert_policy("accept-new", HOST_KEY_ACCEPT_NEW);
    assert_policy("false", HOST_KEY_ACCEPT_NEW);
    assert_policy("no", HOST_KEY_ACCEPT_NEW);
    assert_policy("off", HOST_KEY_ACCEPT_NEW);
}

/* Asserts which option of `line` needs OpenSSH; "": none. */
static void assert_only_openssh(const char *line, const char *expected)
{
    char text[200];
    struct ssh_config c;
    snprintf(text, sizeof text, "hostname 127.0.0.1\nuser u\nport 22\n%s\n", line);
    parse_config("h", text, &c);
    assert_string_equal(c.only_openssh, expected);
    ssh_config_release(&c);
}

static void options_that_need_openssh_are_found(void **state)
{
    (void)state;
    assert_only_openssh("pkcs11provider /usr/lib/p11.so", "PKCS11Provider");
    assert_only_openssh("pkcs11provider none", "");
    assert_only_openssh("knownhostscommand /bin/x %H", "KnownHostsCommand");
    assert_only_openssh("revokedhostkeys ~/revoked", "RevokedHostKeys");
    assert_only_openssh("revokedhostkeys none", "");
    assert_only_openssh("verifyhostkeydns true", "VerifyHostKeyDNS");
    assert_only_openssh("verifyhostkeydns ask", "");
    assert_only_openssh("bindinterface tun0", "BindInterface");
    assert_only_openssh("gssapikeyexchange yes", "GSSAPIKeyExchange");
    assert_only_openssh("gssapiauthentication yes", "");
    assert_only_openssh("requiredrsasize 2048", "");
    assert_only_openssh("requiredrsasize 3072", "RequiredRSASize");
    assert_only_openssh("proxyusefdpass yes", "");
    assert_only_openssh("proxyusefdpass yes\nproxycommand nc %h", "ProxyUseFdpass");
    assert_only_openssh("nohostauthenticationforlocalhost yes", "NoHostAuthenticationForLocalhost");
    assert_only_openssh("nohostauthenticationforlocalhost yes\nhostkeyalias x", "");
    assert_only_openssh("nohostauthenticationforlocalhost yes\nhostname h", "");
    assert_only_openssh("bindinterface tun0\npkcs11provider x", "BindInterface");
}

static void assert_paths(const char *value, const char *first, const char *second)
{
    char text[200];
    struct ssh_config c;
    snprintf(text, sizeof text, BASE "userknownhostsfile %s\nglobalknownhostsfile /g\n", value);
    parse_config("h", text, &c);
    assert_int_equal(c.host_key.n_user_files, 1 + (second != NULL));
    assert_string_equal(c.host_key.files.items[0], first);
    if (second)
        assert_string_equal(c.host_key.files.items[1], second);
    assert_string_equal(c.host_key.files.items[c.host_key.files.n - 1], "/g");
    ssh_config_release(&c);
}

/* ssh prints paths without quotes, so a blank may separate two paths or be part of one. */
static void paths_with_blanks_are_separated(void **state)
{
    (void)state;
    assert_paths("/a", "/a", NULL);
    assert_paths("/a /b", "/a", "/b");
    assert_paths("/home/Ann Lee/kh /b", "/home/Ann Lee/kh", "/b");
    assert_paths(" /b  /home/Ann  M. Lee/kh  ", "/b", "/home/Ann  M. Lee/kh");
    assert_paths("one two", "one", "two");
}

static void assert_agent(const char *line, const char *expected)
{
    char text[200];
    struct ssh_config c;
    snprintf(text, sizeof text, "hostname h\nuser u\nport 22\n%s", line);
    parse_config("h", text, &c);
    if (expected)
        assert_string_equal(c.login.agent, expected);
    else
        assert_null(c.login.agent);
    ssh_config_release(&c);
}

static void the_agents_socket_is_found(void **state)
{
    (void)state;
    setenv("SSH_AUTH_SOCK", "/env/sock", 1);
    setenv("PROFGRAB_TEST", "/other/sock", 1);
    assert_agent("", "/env/sock");
    assert_agent("identityagent SSH_AUTH_SOCK\n", "/env/sock");
    assert_agent("identityagent none\n", NULL);
    assert_agent("identityagent /a/b\n", "/a/b");
    assert_agent("identityagent $PROFGRAB_TEST\n", "/other/sock");
    assert_agent("identityagent $PROFGRAB_NOT_SET\n", NULL);
    setenv("SSH_AUTH_SOCK", "", 1);
    assert_agent("", NULL);
    unsetenv("SSH_AUTH_SOCK");
    assert_agent("", NULL);
}

static void the_value_none_unsets_an_option(void **state)
{
    (void)state;
    struct ssh_config c;
    parse_config("h",
                 "hostname h\nuser u\nport 22\nproxyjump none\nproxycommand none\nuserknownhostsfile none\n"
                 "globalknownhostsfile none\nconnecttimeout none\nidentityfile none\nidentitiesonly no",
                 &c);
    assert_null(c.connect.jump);
    assert_null(c.connect.proxy_command);
    assert_null(c.host_key.alias);
    assert_int_equal(c.host_key.files.n, 0);
    assert_int_equal(c.login.identity_files.n, 0);
    assert_int_equal(c.connect.timeout_s, 0);
    assert_false(c.login.identities_only);
    ssh_config_release(&c);
}

static void assert_config_refused(const char *text, const char *message)
{
    struct ssh_config c = {0};
    struct err err = ERR_INIT;
    assert_int_equal(ssh_config_parse("h", text, strlen(text), &c, &err), -1);
    assert_string_equal(err.msg, message);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_null(c.hostname);
}

static void invalid_output_of_ssh_is_refused(void **state)
{
    (void)state;
    assert_config_refused("", "ssh -G printed no hostname");
    assert_config_refused("hostname h\nport 22\n", "ssh -G printed no user");
    assert_config_refused("hostname h\nuser u\n", "ssh -G printed no port");
    assert_config_refused("hostname h\nuser u\nport 0\n", "ssh -G: bad port \"0\"");
    assert_config_refused("hostname h\nuser u\nport \033x\n", "ssh -G: bad port \"?x\"");
    assert_config_refused("hostname h\nuser u\nport 22\nconnecttimeout soon\n",
                          "ssh -G: bad connecttimeout \"soon\"");
    assert_config_refused("hostname h\nuser u\nport 22\nproxycommand date +%Y\n",
                          "ssh does not support \"%Y\" in a ProxyCommand or ProxyJump");
    assert_config_refused("hostname h\nuser u\nport 22\nproxycommand nc %\n",
                          "ssh does not support \"%\" in a ProxyCommand or ProxyJump");
    assert_config_refused("hostname h\nuser u\nport 22\nproxyjump %d\n",
                          "ssh does not support \"%d\" in a ProxyCommand or ProxyJump");
}

static void parse_damaged(void *ctx, const struct damaged *s)
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

static void damaged_output_of_ssh_is_refused_or_complete(void **state)
{
    (void)state;
    damage_everywhere(printed, sizeof printed - 1, parse_damaged, NULL);
}

/* A directory with a configuration file `config` in it. */
struct config_dir {
    char *dir;
    char *config;
};

static int make_config_dir(void **state)
{
    const char *base = getenv("TMPDIR");
    struct config_dir *p = calloc(1, sizeof *p);
    if (!p || asprintf(&p->dir, "%s/profgrab-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(p->dir))
        return -1;
    p->config = file_join(p->dir, "config");
    *state = p;
    return p->config ? 0 : -1;
}

static int remove_config_dir(void **state)
{
    struct config_dir *p = *state;
    int rc = file_remove(p->dir, NULL);
    free(p->dir);
    free(p->config);
    free(p);
    return rc;
}

/* Writes the configuration, with the directory in place of every ^. */
static void write_config(const struct config_dir *p, const char *text)
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

static void create_empty_file(const char *path)
{
    assert_int_equal(file_write(path, "", 0, NULL), 0);
}

static void the_output_of_a_real_ssh_is_read(void **state)
{
    struct config_dir *p = *state;
    struct ssh_config c;
    struct err err = ERR_INIT;
    char *key = file_join(p->dir, "key"), *known = file_join(p->dir, "kh");
    create_empty_file(key);
    write_config(p, "Host f3\n HostName file-03.example\n User ops\n Port 2222\n IdentityFile ^/key\n"
                    " IdentityFile ^/gone\n UserKnownHostsFile ^/kh\n GlobalKnownHostsFile none\n"
                    " IdentityAgent none\n ProxyJump bastion\n IdentityFile ^/public\n IdentityFile ^/%C\n"
                    " CertificateFile ^/gone-cert\n CertificateFile ^/%r-cert.pub\n ControlPath ^/%C\n"
                    " StrictHostKeyChecking no\n");
    char *public = file_join(p->dir, "public.pub"), *certificate = file_join(p->dir, "ops-cert.pub");
    create_empty_file(public);
    create_empty_file(certificate);
    if (ssh_config_resolve("f3", &(struct ssh_settings){.config = p->config}, &limits, &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(c.hostname, "file-03.example");
    assert_string_equal(c.user, "ops");
    assert_int_equal(c.port, 2222);
    assert_int_equal(c.login.identity_files.n, 2);
    assert_string_equal(c.login.identity_files.items[0], key);
    assert_memory_equal(c.login.identity_files.items[1], public, strlen(public) - 4);
    assert_int_equal(c.login.certificate_files.n, 1);
    assert_string_equal(c.login.certificate_files.items[0], certificate);
    assert_int_equal(c.host_key.policy, HOST_KEY_ACCEPT_NEW);
    assert_string_equal(c.address, "f3");
    assert_string_equal(c.requested.config, p->config);
    assert_ptr_not_equal(c.requested.config, p->config);
    assert_false(c.login.identities_only);
    assert_int_equal(c.host_key.files.n, 1);
    assert_string_equal(c.host_key.files.items[0], known);
    assert_null(c.login.agent);
    assert_string_equal(c.connect.jump, "bastion");
    /* Our expansion of %C equals that of ssh. */
    char *control_path = strdup(c.connect.control_path);
    ssh_config_release(&c);
    create_empty_file(control_path);
    assert_ok(ssh_config_resolve("f3", &(struct ssh_settings){.config = p->config}, &limits, &c, &err), &err);
    assert_int_equal(c.login.identity_files.n, 3);
    assert_string_equal(c.login.identity_files.items[2], control_path);
    ssh_config_release(&c);
    free(control_path);
    free(public);
    free(certificate);
    free(key);
    free(known);
}

/* Match exec runs a command of the user, which may never end. */
static void an_ssh_that_hangs_times_out(void **state)
{
    struct config_dir *p = *state;
    struct ssh_config c = {0};
    struct err err = ERR_INIT;
    struct proc_limits short_limits = limits;
    short_limits.timeout_ms = 200;
    write_config(p, "Match exec \"exec sleep 100\"\n User u\n");
    assert_refused(
        ssh_config_resolve("f3", &(struct ssh_settings){.config = p->config}, &short_limits, &c, &err), &err,
        ERR_TIMEOUT, "ssh -G f3: it did not end within 200ms");
    assert_contains(err.hint, "Match exec");
    assert_contains(err.hint, p->config);
}

static void settings_of_the_inventory_override_the_configuration(void **state)
{
    struct config_dir *p = *state;
    struct ssh_config c;
    struct err err = ERR_INIT;
    char *key = file_join(p->dir, "mine");
    create_empty_file(key);
    write_config(
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
    assert_int_equal(c.login.identity_files.n, 1);
    assert_string_equal(c.login.identity_files.items[0], key);
    assert_true(c.login.identities_only);
    assert_int_equal(c.host_key.files.n, 1);
    assert_string_equal(c.host_key.files.items[0], "/my kh");
    assert_string_equal(c.login.agent, "/my/agent");
    assert_string_equal(c.connect.jump, "j1,j2");
    assert_null(c.connect.proxy_command);
    ssh_config_release(&c);
    free(key);
}

static void failures_of_ssh_are_reported_with_hints(void **state)
{
    struct config_dir *p = *state;
    struct ssh_config c = {0};
    struct err err = ERR_INIT;
    struct ssh_settings s = {.config = p->config};
    write_config(p, "NoSuchThing yes\n");
    assert_int_equal(ssh_config_resolve("f3", &s, &limits, &c, &err), -1);
    assert_non_null(strstr(err.msg, "ssh -G f3: "));
    assert_non_null(strstr(err.msg, "Bad configuration option: nosuchthing"));
    assert_non_null(strstr(err.hint, p->config));
    assert_int_equal(err.kind, ERR_DENIED);
    write_config(p, "Host *\n IdentityAgent none\n");
    s.identity = (char[]){"/no/such/key"};
    assert_int_equal(ssh_config_resolve("f3", &s, &limits, &c, &err), -1);
    assert_string_equal(err.msg, "there is no identity file /no/such/key");
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(ssh_config_resolve("-oProxyCommand=x", &s, &limits, &c, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    char *old_path = strdup(getenv("PATH"));
    assert_non_null(old_path);
    setenv("PATH", p->dir, 1);
    assert_int_equal(ssh_config_resolve("f3", &(struct ssh_settings){0}, &limits, &c, &err), -1);
    setenv("PATH", old_path, 1);
    assert_string_equal(err.msg, "there is no ssh in PATH");
    assert_int_equal(err.kind, ERR_DENIED);
    assert_non_null(strstr(err.hint, "install OpenSSH's client"));
    assert_null(c.hostname);
    free(old_path);
}

/* Asserts the hops to `address`, each as user@hostname:port. `own` has the host's settings in the inventory.
 */
static void assert_route(const struct config_dir *p, const char *address, const struct ssh_settings *own,
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

static void jump_hosts_of_jump_hosts_are_added_to_the_route(void **state)
{
    struct config_dir *p = *state;
    write_config(p, "Host target\n HostName t.example\n ProxyJump one,b@two:23,[::1]:24\n"
                    "Host one\n ProxyJump zero\n"
                    "Host two\n ProxyJump never\n"
                    "Host *\n User u\n");
    const struct ssh_settings none = {0};
    assert_route(p, "plain", &none, "u@plain:22");
    assert_route(p, "me@plain", &none, "me@plain:22");
    assert_route(p, "ssh://me@plain:2222", &none, "me@plain:2222");
    assert_route(p, "target", &none, "u@zero:22 u@one:22 b@two:23 u@::1:24 u@t.example:22");
    assert_route(p, "target", &(struct ssh_settings){.jump = (char[]){"none"}}, "u@t.example:22");
    assert_route(
        p, "target",
        &(struct ssh_settings){.jump = (char[]){"ssh://x@two:99"}, .user = (char[]){"me"}, .port = 1},
        "u@never:22 x@two:99 me@t.example:1");
}

/* Asserts that no route is found to a host with this `jump` in the inventory; "": without one. */
static void assert_route_refused(const struct config_dir *p, const char *jump, const char *message,
                                 const char *hint)
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
    "a ProxyJump that also applies to the jump host itself makes an endless route: add \"ProxyJump none\" "  \
    "for that host"

static void endless_and_invalid_jumps_are_refused(void **state)
{
    struct config_dir *p = *state;
    /* Without the HostName ssh itself would report this. */
    write_config(p, "Host bastion\n HostName 192.0.2.1\nHost *\n ProxyJump bastion\n");
    assert_route_refused(p, "", "more than 8 jump hosts in a row", ENDLESS);
    write_config(p, "Host a\n ProxyJump b\nHost b\n ProxyJump a\n");
    assert_route_refused(p, "a", "more than 8 jump hosts in a row", ENDLESS);
    write_config(p, "Host *\n User u\n");
    assert_route_refused(p, "h1,h2,h3,h4,h5,h6,h7,h8,h9", "more than 8 jump hosts in a row", ENDLESS);
    assert_route_refused(p, "-x", "bad address \"-x\": it must be [user@]host or ssh://[user@]host[:port]",
                         "");
    assert_route_refused(p, "a,,b", "empty entry in the list \"a,,b\"", "");
}

static struct route resolve_in(const struct config_dir *p, const struct ssh_settings *own)
{
    struct host host = {.address = (char[]){"target"}, .ssh = *own};
    struct route r;
    struct err err = ERR_INIT;
    assert_ok(route_resolve(&host, &(struct ssh_settings){.config = p->config}, &limits, &r, &err), &err);
    return r;
}

/* Only the first hop can use a proxy command. ssh ignores the proxy commands of the hosts behind it. */
static void only_the_first_hop_uses_a_proxy_command(void **state)
{
    struct config_dir *p = *state;
    write_config(p, "Host *\n User u\n ProxyCommand nc %h %p\n");
    struct route r = resolve_in(p, &(struct ssh_settings){0});
    assert_int_equal(r.n_hops, 1);
    assert_string_equal(r.hops[0].connect.proxy_command, "nc target 22");
    route_release(&r);
    r = resolve_in(p, &(struct ssh_settings){.jump = (char[]){"one,two"}});
    assert_int_equal(r.n_hops, 3);
    assert_string_equal(r.hops[0].connect.proxy_command, "nc one 22");
    assert_null(r.hops[1].connect.proxy_command);
    assert_null(r.hops[2].connect.proxy_command);
    route_release(&r);
    r = resolve_in(p, &(struct ssh_settings){.jump = (char[]){"none"}});
    assert_int_equal(r.n_hops, 1);
    assert_null(r.hops[0].connect.proxy_command);
    route_release(&r);
}

/* The command line overrides the configuration of the host, not of its jump hosts. */
static void the_command_line_sets_compression_only_for_the_host(void **state)
{
    struct config_dir *p = *state;
    static const struct {
        enum ssh_compress asked;
        bool jump,
            target; /* the compression of the jump host, which has Compression yes, and of the target */
    } cases[] = {
        {SSH_COMPRESS_AUTO, true, false}, {SSH_COMPRESS_YES, true, true}, {SSH_COMPRESS_NO, true, false}};
    write_config(p, "Host one\n Compression yes\nHost *\n User u\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route r =
            resolve_in(p, &(struct ssh_settings){.jump = (char[]){"one"}, .compress = cases[i].asked});
        assert_int_equal(r.n_hops, 2);
        assert_int_equal(r.hops[0].compression, cases[i].jump);
        assert_int_equal(r.hops[1].compression, cases[i].target);
        assert_int_equal(r.hops[1].requested.compress, cases[i].asked);
        assert_false(r.hops[0].compressible || r.hops[1].compressible);
        route_release(&r);
    }
    write_config(p, "Host *\n User u\n Compression yes\n");
    struct route r = resolve_in(p, &(struct ssh_settings){.compress = SSH_COMPRESS_NO});
    assert_false(r.hops[0].compression);
    route_release(&r);
}

/* Every hop has `via`, `accept_new` and the configuration file; only the target has its user and port. */
static void jump_hosts_inherit_only_general_options(void **state)
{
    struct config_dir *p = *state;
    write_config(p, "Host *\n User u\n");
    struct route r = resolve_in(p, &(struct ssh_settings){.jump = (char[]){"one,two"},
                                                          .user = (char[]){"me"},
                                                          .port = 23,
                                                          .via = SSH_VIA_OPENSSH,
                                                          .accept_new = true});
    assert_int_equal(r.via, SSH_VIA_OPENSSH);
    for (size_t i = 0; i < r.n_hops; i++) {
        assert_int_equal(r.hops[i].host_key.policy, HOST_KEY_ACCEPT_NEW);
        assert_string_equal(r.hops[i].requested.config, p->config);
        assert_int_equal(r.hops[i].requested.via, SSH_VIA_OPENSSH);
    }
    assert_string_equal(r.hops[0].address, "one");
    assert_null(r.hops[0].requested.user);
    assert_string_equal(r.hops[2].requested.user, "me");
    assert_int_equal(r.hops[2].requested.port, 23);
    assert_string_equal(r.hops[2].requested.jump, "one,two");
    route_release(&r);
    r = resolve_in(p, &(struct ssh_settings){0});
    assert_int_equal(r.via, SSH_VIA_AUTO);
    assert_int_equal(r.hops[0].host_key.policy, HOST_KEY_STRICT);
    route_release(&r);
}

static void values_of_via_are_parsed_or_refused(void **state)
{
    (void)state;
    enum ssh_via via = SSH_VIA_UNSET;
    struct err err = ERR_INIT;
    assert_ok(ssh_via_parse("via", "auto", &via, &err), &err);
    assert_int_equal(via, SSH_VIA_AUTO);
    assert_ok(ssh_via_parse("via", "libssh2", &via, &err), &err);
    assert_int_equal(via, SSH_VIA_LIBSSH2);
    assert_ok(ssh_via_parse("via", "openssh", &via, &err), &err);
    assert_int_equal(via, SSH_VIA_OPENSSH);
    assert_refused(ssh_via_parse("via", "libssh", &via, &err), &err, ERR_USAGE,
                   "via must be \"auto\", \"libssh2\" or \"openssh\", not \"libssh\"");
    assert_string_equal(err.hint, "did you mean \"libssh2\"?");
    assert_refused(ssh_via_parse("via", "", &via, &err), &err, ERR_USAGE,
                   "via must be \"auto\", \"libssh2\" or \"openssh\", not \"\"");
    assert_int_equal(via, SSH_VIA_OPENSSH);
}

static void eight_jumps_are_allowed(void **state)
{
    struct config_dir *p = *state;
    write_config(p, "Host *\n User u\n");
    assert_route(p, "t", &(struct ssh_settings){.jump = (char[]){"h1,h2,h3,h4,h5,h6,h7,h8"}},
                 "u@h1:22 u@h2:22 u@h3:22 u@h4:22 u@h5:22 u@h6:22 u@h7:22 u@h8:22 u@t:22");
}

static void the_command_line_overrides_the_inventory(void **state)
{
    struct config_dir *p = *state;
    write_config(p, "Host *\n User u\n");
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
    assert_null(r.hops[0].login.agent);
    route_release(&r);
}

static void a_direct_route_has_no_hops(void **state)
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

#define IN_CONFIG_DIR(test) cmocka_unit_test_setup_teardown(test, make_config_dir, remove_config_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_of_ssh_is_parsed),
        cmocka_unit_test(tokens_are_expanded),
        cmocka_unit_test(tokens_of_the_local_host_are_expanded),
        cmocka_unit_test(tokens_in_proxy_commands_and_jumps_are_expanded),
        cmocka_unit_test(the_connection_hash_includes_the_jump_host_in_newer_versions),
        cmocka_unit_test(methods_of_authentication_are_read),
        cmocka_unit_test(algorithms_and_connection_options_are_read),
        cmocka_unit_test(host_key_policies_are_read),
        cmocka_unit_test(options_that_need_openssh_are_found),
        cmocka_unit_test(paths_with_blanks_are_separated),
        cmocka_unit_test(the_agents_socket_is_found),
        cmocka_unit_test(the_value_none_unsets_an_option),
        cmocka_unit_test(invalid_output_of_ssh_is_refused),
        cmocka_unit_test(damaged_output_of_ssh_is_refused_or_complete),
        IN_CONFIG_DIR(the_output_of_a_real_ssh_is_read),
        IN_CONFIG_DIR(an_ssh_that_hangs_times_out),
        IN_CONFIG_DIR(settings_of_the_inventory_override_the_configuration),
        IN_CONFIG_DIR(failures_of_ssh_are_reported_with_hints),
        IN_CONFIG_DIR(jump_hosts_of_jump_hosts_are_added_to_the_route),
        IN_CONFIG_DIR(endless_and_invalid_jumps_are_refused),
        IN_CONFIG_DIR(eight_jumps_are_allowed),
        IN_CONFIG_DIR(only_the_first_hop_uses_a_proxy_command),
        IN_CONFIG_DIR(jump_hosts_inherit_only_general_options),
        IN_CONFIG_DIR(the_command_line_sets_compression_only_for_the_host),
        cmocka_unit_test(values_of_via_are_parsed_or_refused),
        IN_CONFIG_DIR(the_command_line_overrides_the_inventory),
        cmocka_unit_test(a_direct_route_has_no_hops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
