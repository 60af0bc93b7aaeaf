/*
 * `ssh -G` prints the configuration after Match, Include and the defaults. Its caller must expand (measured
 * with OpenSSH 9.2): `~`, ${VARIABLES} and tokens in IdentityFile and CertificateFile, tokens in ProxyCommand
 * and ProxyJump, and the variable in IdentityAgent. A HostKeyAlias has no tokens. ssh prints no line for an
 * agent that is not configured, nor for a jump or a proxy command of "none".
 */
#include "gateway/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/config/ssh_keywords.h"
#include "gateway/config/tokens.h"
#include "base/banned.h"

/* Finds the agent's socket. `$NAME` means the variable's value. */
static int find_agent(struct ssh_keywords *result, struct err *err)
{
    const char *variable = result->agent_given ? NULL : "SSH_AUTH_SOCK";
    if (result->config.login.agent && result->config.login.agent[0] == '$' &&
        result->config.login.agent[1] != '{')
        variable = result->config.login.agent + 1;
    if (!variable)
        return 0;
    const char *value = getenv(variable);
    return ssh_keywords_set_optional(&result->config.login.agent, value && *value ? value : "none", err);
}

static int expand_tokens(struct ssh_keywords *result, const char *original, struct err *err)
{
    struct ssh_config *c = &result->config;
    struct strlist *const lists[] = {&c->login.identity_files, &c->login.certificate_files};
    struct tokens t;
    int rc = tokens_init(&t, c, original, result->hash_includes_jump, err);
    if (rc == 0 && c->connect.jump)
        rc = tokens_expand(&t, &c->connect.jump, TOKENS_PROXY, err);
    if (rc == 0 && c->connect.proxy_command)
        rc = tokens_expand(&t, &c->connect.proxy_command, TOKENS_PROXY, err);
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (size_t i = 0; rc == 0 && i < lists[l]->n; i++)
            rc = tokens_expand(&t, &lists[l]->items[i], TOKENS_PATH, err);
    tokens_release(&t);
    return rc;
}

/* Applies settings that change the meaning of others. */
static void apply_dependencies(struct ssh_keywords *result)
{
    struct ssh_config *c = &result->config;
    const char *keyword = "";
    if (result->batch) {
        c->login.password = c->login.keyboard_interactive = false;
        c->login.password_prompts = 0;
    }
    if (result->fd_pass && c->connect.proxy_command)
        keyword = "ProxyUseFdpass";
    else if (result->trusts_localhost && !c->host_key.alias && address_is_loopback(c->hostname))
        keyword = "NoHostAuthenticationForLocalhost";
    if (!c->only_openssh[0])
        snprintf(c->only_openssh, sizeof c->only_openssh, "%s", keyword);
}

static int finish_reading(struct ssh_keywords *result, const char *original, struct err *err)
{
    struct ssh_config *c = &result->config;
    if (!c->hostname || !c->user || !c->port)
        return err_set(err, ERR_FAILED, "ssh -G printed no %s",
                       !c->hostname ? "hostname"
                       : !c->user   ? "user"
                                    : "port");
    c->host_key.n_user_files = c->host_key.files.n;
    for (size_t i = 0; i < result->global_known_hosts.n; i++)
        if (strlist_add(&c->host_key.files, result->global_known_hosts.items[i], err) < 0)
            return -1;
    if (find_agent(result, err) < 0)
        return -1;
    apply_dependencies(result);
    return expand_tokens(result, original, err);
}

int ssh_config_parse(const char *address, const void *p, size_t n, struct ssh_config *ret, struct err *err)
{
    struct ssh_keywords result = {.config = {.login = {.publickey = true,
                                                       .password = true,
                                                       .keyboard_interactive = true,
                                                       .password_prompts = 3}}};
    struct address a = {0};
    int rc = -1;
    if (address_parse(address, &a, err) < 0)
        goto out;
    if (ssh_keywords_read(&result, p, n, err) < 0 || finish_reading(&result, a.host, err) < 0)
        goto out;
    *ret = result.config;
    result.config = (struct ssh_config){0};
    rc = 0;
out:
    address_release(&a);
    strlist_release(&result.global_known_hosts);
    ssh_config_release(&result.config);
    return rc;
}

/* Checks whether the identity file or FILE.pub exists. FILE.pub suffices, because the agent may have the
 * private half. */
static bool identity_exists(const char *file)
{
    char public[4096];
    int n = snprintf(public, sizeof public, "%s.pub", file);
    return access(file, F_OK) == 0 || (n < (int)sizeof public && access(public, F_OK) == 0);
}

static bool certificate_exists(const char *file)
{
    return access(file, F_OK) == 0;
}

static int keep_existing(struct strlist *l, bool (*exists)(const char *file), struct err *err)
{
    struct strlist kept = {0};
    for (size_t i = 0; i < l->n; i++)
        if (exists(l->items[i]) && strlist_add(&kept, l->items[i], err) < 0) {
            strlist_release(&kept);
            return -1;
        }
    strlist_release(l);
    *l = kept;
    return 0;
}

/* Replaces the list by one item. */
static int replace_all(struct strlist *l, const char *item, struct err *err)
{
    strlist_release(l);
    return strlist_add(l, item, err);
}

/* Keeps the existing identity files, as ssh does. A file that the user named must exist. */
static int choose_identities(struct ssh_config *c, const char *identity, struct err *err)
{
    if (!identity)
        return keep_existing(&c->login.identity_files, identity_exists, err);
    if (!identity_exists(identity))
        return err_set(err, ERR_USAGE, "there is no identity file %s", identity);
    c->login.identities_only = true;
    return replace_all(&c->login.identity_files, identity, err);
}

/* Ignores the user's master connection if our settings change the route, the host keys or the login. With
 * other settings the same name may mean another machine. */
static void drop_master(struct ssh_config *c, const struct ssh_settings *s)
{
    if (!s->jump && !s->identity && !s->known_hosts && !s->agent)
        return;
    free(c->connect.control_path);
    c->connect.control_path = NULL;
}

static int apply_settings(struct ssh_config *c, const struct ssh_settings *s, struct err *err)
{
    drop_master(c, s);
    if (choose_identities(c, s->identity, err) < 0 ||
        keep_existing(&c->login.certificate_files, certificate_exists, err) < 0)
        return -1;
    if (s->known_hosts) {
        if (replace_all(&c->host_key.files, s->known_hosts, err) < 0)
            return -1;
        c->host_key.n_user_files = 1;
    }
    if (s->accept_new)
        c->host_key.policy = HOST_KEY_ACCEPT_NEW;
    if (s->compress != SSH_COMPRESS_AUTO)
        c->compression = s->compress == SSH_COMPRESS_YES;
    if (s->agent && ssh_keywords_set_optional(&c->login.agent, s->agent, err) < 0)
        return -1;
    if (!s->jump)
        return 0;
    /* As in ssh, an explicit jump, even "none", overrides a proxy command. */
    free(c->connect.proxy_command);
    c->connect.proxy_command = NULL;
    return ssh_keywords_set_optional(&c->connect.jump, s->jump, err);
}

/* Stores the requested address and settings beside the resulting configuration. */
static int store_request(struct ssh_config *c, const char *address, const struct ssh_settings *s,
                         struct err *err)
{
    c->address = strdup(address);
    return c->address ? ssh_settings_copy(s, &c->requested, err) : err_nomem(err);
}

static const char *configuration_file(const struct ssh_settings *s)
{
    return s->config ? s->config : "~/.ssh/config";
}

static int run_ssh(const char *address, const struct ssh_settings *s, const struct proc_limits *limits,
                   struct proc_result *ret, struct err *err)
{
    const char *argv[12] = {"ssh", "-T", "-G"};
    size_t n = 3;
    char port[16];
    snprintf(port, sizeof port, "%u", s->port);
    const char *const options[][2] = {{"-F", s->config}, {"-l", s->user}, {"-p", s->port ? port : NULL}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i][1]) {
            argv[n++] = options[i][0];
            argv[n++] = options[i][1];
        }
    argv[n++] = "--";
    argv[n++] = address;
    struct err why = ERR_INIT;
    int rc = proc_run(argv, limits, ret, &why);
    if (rc == 0)
        return 0;
    if (why.kind == ERR_NOT_FOUND) {
        err_set(err, ERR_DENIED, "there is no ssh in PATH");
        return err_hint(err, "install OpenSSH's client (Debian and Ubuntu: apt install openssh-client)");
    }
    if (why.kind == ERR_TIMEOUT) {
        char limit[40];
        err_set(err, ERR_TIMEOUT, "ssh -G %s: it did not end within %s", address,
                text_duration(limit, sizeof limit, limits->timeout_ms));
        return err_hint(err,
                        "a \"Match exec\", a canonical name or an Include in %s may hang: try `ssh -G %s`",
                        configuration_file(s), address);
    }
    if (err)
        *err = why;
    return err_wrap(err, "ssh -G %s", address);
}

int ssh_config_resolve(const char *address, const struct ssh_settings *settings,
                       const struct proc_limits *limits, struct ssh_config *ret, struct err *err)
{
    static const struct ssh_settings no_settings = {0};
    const struct ssh_settings *s = settings ? settings : &no_settings;
    struct ssh_config c = {0};
    struct proc_result output;
    struct address a = {0};
    /* Check before any program runs: ssh must never parse an address as an option. */
    if (address_parse(address, &a, err) < 0)
        return -1;
    address_release(&a);
    if (run_ssh(address, s, limits, &output, err) < 0)
        return -1;
    int rc = -1;
    if (output.exit_code != 0) {
        err_set(err, ERR_DENIED, "ssh -G %s: %s", address,
                *output.error_output ? output.error_output : "it failed without a message");
        err_hint(err, "ssh itself refuses this; look at its configuration (%s)", configuration_file(s));
        goto out;
    }
    if (ssh_config_parse(address, buf_str(&output.out), output.out.len, &c, err) < 0 ||
        apply_settings(&c, s, err) < 0 || store_request(&c, address, s, err) < 0)
        goto out;
    *ret = c;
    c = (struct ssh_config){0};
    rc = 0;
out:
    ssh_config_release(&c);
    proc_result_release(&output);
    return rc;
}

void ssh_config_release(struct ssh_config *c)
{
    char *const texts[] = {c->address,
                           c->hostname,
                           c->user,
                           c->connect.bind_address,
                           c->login.agent,
                           c->login.preferred,
                           c->algorithms.ciphers,
                           c->host_key.alias,
                           c->algorithms.key_exchanges,
                           c->algorithms.host_keys,
                           c->algorithms.macs,
                           c->algorithms.keys,
                           c->connect.jump,
                           c->connect.proxy_command,
                           c->connect.control_path};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    ssh_settings_release(&c->requested);
    strlist_release(&c->login.identity_files);
    strlist_release(&c->login.certificate_files);
    strlist_release(&c->host_key.files);
    *c = (struct ssh_config){0};
}
