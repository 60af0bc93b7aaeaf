/*
 * `ssh -G` prints one `keyword value` per line, keywords in lower case, after Match, Include and the
 * defaults were applied. What it leaves to its caller (measured with OpenSSH 9.2): `~`, ${VARIABLES} and
 * tokens in IdentityFile, tokens in HostKeyAlias, the variable that IdentityAgent names. It prints no line
 * for an agent that is not configured, for a jump or a proxy command of "none".
 */
#include "inventory/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inventory/address.h"
#include "inventory/tokens.h"
#include "base/banned.h"

/* What is read before it is expanded and put in order. */
struct reading {
    struct ssh_config c;
    struct strlist global_known_hosts;
    bool agent_given;
};

static int read_text(char **into, const char *value, struct err *err)
{
    char *copy = strdup(value);
    if (!copy)
        return err_nomem(err);
    free(*into);
    *into = copy;
    return 0;
}

/* Text where "none" means that there is nothing. */
static int read_optional(char **into, const char *value, struct err *err)
{
    if (strcmp(value, "none") != 0)
        return read_text(into, value, err);
    free(*into);
    *into = NULL;
    return 0;
}

/* Several paths on one line. A path with blanks cannot be told from two; ssh does not quote. */
static int read_paths(struct strlist *into, const char *value, struct err *err)
{
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, " ");
        bool none = n == 4 && strncmp(p, "none", n) == 0;
        if (n && !none && strlist_addn(into, p, n, err) < 0)
            return -1;
        p += n;
        p += strspn(p, " ");
    }
    return 0;
}

static int read_hostname(struct reading *r, const char *value, struct err *err)
{
    return read_text(&r->c.hostname, value, err);
}

static int read_user(struct reading *r, const char *value, struct err *err)
{
    return read_text(&r->c.user, value, err);
}

static int read_port(struct reading *r, const char *value, struct err *err)
{
    uint64_t v = 0;
    char shown[40];
    if (text_to_uint(value, 65535, &v) < 0 || v == 0)
        return err_set(err, ERR_FAILED, "ssh -G: bad port \"%s\"",
                       text_printable(shown, sizeof shown, value, strlen(value)));
    r->c.port = (unsigned)v;
    return 0;
}

static int read_identity_file(struct reading *r, const char *value, struct err *err)
{
    return strcmp(value, "none") == 0 ? 0 : strlist_add(&r->c.identity_files, value, err);
}

static int read_identities_only(struct reading *r, const char *value, struct err *err)
{
    (void)err;
    r->c.identities_only = strcmp(value, "yes") == 0;
    return 0;
}

static int read_agent(struct reading *r, const char *value, struct err *err)
{
    r->agent_given = strcmp(value, "SSH_AUTH_SOCK") != 0;
    return r->agent_given ? read_optional(&r->c.agent, value, err) : 0;
}

static int read_user_known_hosts(struct reading *r, const char *value, struct err *err)
{
    return read_paths(&r->c.known_hosts, value, err);
}

static int read_global_known_hosts(struct reading *r, const char *value, struct err *err)
{
    return read_paths(&r->global_known_hosts, value, err);
}

static int read_alias(struct reading *r, const char *value, struct err *err)
{
    return read_optional(&r->c.host_key_alias, value, err);
}

static int read_jump(struct reading *r, const char *value, struct err *err)
{
    return read_optional(&r->c.proxy_jump, value, err);
}

static int read_command(struct reading *r, const char *value, struct err *err)
{
    return read_optional(&r->c.proxy_command, value, err);
}

static int read_timeout(struct reading *r, const char *value, struct err *err)
{
    uint64_t v = 0;
    char shown[40];
    if (strcmp(value, "none") != 0 && text_to_uint(value, INT32_MAX, &v) < 0)
        return err_set(err, ERR_FAILED, "ssh -G: bad connecttimeout \"%s\"",
                       text_printable(shown, sizeof shown, value, strlen(value)));
    r->c.connect_timeout_s = (unsigned)v;
    return 0;
}

static const struct keyword {
    const char *name;
    int (*read)(struct reading *r, const char *value, struct err *err);
} keywords[] = {
    {"hostname", read_hostname},
    {"user", read_user},
    {"port", read_port},
    {"identityfile", read_identity_file},
    {"identitiesonly", read_identities_only},
    {"identityagent", read_agent},
    {"userknownhostsfile", read_user_known_hosts},
    {"globalknownhostsfile", read_global_known_hosts},
    {"hostkeyalias", read_alias},
    {"proxyjump", read_jump},
    {"proxycommand", read_command},
    {"connecttimeout", read_timeout},
};

static int read_line(struct reading *r, const char *line, struct err *err)
{
    size_t n = strcspn(line, " ");
    if (!line[n])
        return 0;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strncmp(line, keywords[i].name, n) == 0 && !keywords[i].name[n])
            return keywords[i].read(r, line + n + 1, err);
    return 0;
}

static int read_lines(struct reading *r, const char *p, size_t n, struct err *err)
{
    const char *end = p + n;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((newline ? newline : end) - p);
        char *line = strndup(p, len);
        if (!line)
            return err_nomem(err);
        int rc = read_line(r, line, err);
        free(line);
        if (rc < 0)
            return -1;
        p += len + (newline ? 1 : 0);
    }
    return 0;
}

/* `$NAME` as an agent means the variable's value. */
static int find_agent(struct reading *r, struct err *err)
{
    const char *variable = r->agent_given ? NULL : "SSH_AUTH_SOCK";
    if (r->c.agent && r->c.agent[0] == '$' && r->c.agent[1] != '{')
        variable = r->c.agent + 1;
    if (!variable)
        return 0;
    const char *set = getenv(variable);
    return read_optional(&r->c.agent, set && *set ? set : "none", err);
}

static int finish(struct reading *r, const char *original, struct err *err)
{
    struct ssh_config *c = &r->c;
    if (!c->hostname || !c->user || !c->port)
        return err_set(err, ERR_FAILED, "ssh -G did not say %s",
                       !c->hostname ? "hostname"
                       : !c->user   ? "user"
                                    : "port");
    for (size_t i = 0; i < r->global_known_hosts.n; i++)
        if (strlist_add(&c->known_hosts, r->global_known_hosts.items[i], err) < 0)
            return -1;
    if (find_agent(r, err) < 0)
        return -1;
    struct tokens t;
    int rc = tokens_init(&t, c, original, err);
    for (size_t i = 0; rc == 0 && i < c->identity_files.n; i++)
        rc = tokens_expand(&t, &c->identity_files.items[i], true, err);
    if (rc == 0 && c->host_key_alias)
        rc = tokens_expand(&t, &c->host_key_alias, false, err);
    tokens_release(&t);
    return rc;
}

int ssh_config_parse(const char *address, const void *p, size_t n, struct ssh_config *ret, struct err *err)
{
    struct reading r = {0};
    struct address a = {0};
    int rc = -1;
    if (address_parse(address, &a, err) < 0)
        goto out;
    if (read_lines(&r, p, n, err) < 0 || finish(&r, a.host, err) < 0)
        goto out;
    *ret = r.c;
    r.c = (struct ssh_config){0};
    rc = 0;
out:
    address_release(&a);
    strlist_release(&r.global_known_hosts);
    ssh_config_release(&r.c);
    return rc;
}

/* ssh offers what exists; a file that someone named must exist. */
static int settle_identities(struct ssh_config *c, const char *identity, struct err *err)
{
    struct strlist kept = {0};
    if (identity && access(identity, F_OK) < 0)
        return err_set(err, ERR_USAGE, "there is no identity file %s", identity);
    int rc = identity ? strlist_add(&kept, identity, err) : 0;
    for (size_t i = 0; rc == 0 && !identity && i < c->identity_files.n; i++)
        if (access(c->identity_files.items[i], F_OK) == 0)
            rc = strlist_add(&kept, c->identity_files.items[i], err);
    if (rc < 0) {
        strlist_release(&kept);
        return -1;
    }
    strlist_release(&c->identity_files);
    c->identity_files = kept;
    c->identities_only = c->identities_only || identity;
    return 0;
}

static int apply(struct ssh_config *c, const struct ssh_settings *s, struct err *err)
{
    if (settle_identities(c, s->identity, err) < 0)
        return -1;
    if (s->known_hosts) {
        strlist_release(&c->known_hosts);
        if (strlist_add(&c->known_hosts, s->known_hosts, err) < 0)
            return -1;
    }
    if (s->agent && read_optional(&c->agent, s->agent, err) < 0)
        return -1;
    if (!s->jump)
        return 0;
    /* As in ssh, a jump that is given, even "none", sets aside a proxy command. */
    free(c->proxy_command);
    c->proxy_command = NULL;
    return read_optional(&c->proxy_jump, s->jump, err);
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
        err_set(err, ERR_FAILED, "there is no ssh in PATH");
        return err_hint(err, "install OpenSSH's client (Debian and Ubuntu: apt install openssh-client)");
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
    struct proc_result out;
    struct address a = {0};
    /* Checked before anything runs: ssh must never take an address for an option. */
    if (address_parse(address, &a, err) < 0)
        return -1;
    address_release(&a);
    if (run_ssh(address, s, limits, &out, err) < 0)
        return -1;
    int rc = -1;
    if (out.exit_code != 0) {
        err_set(err, ERR_FAILED, "ssh -G %s: %s", address,
                *out.complaint ? out.complaint : "it failed and did not say why");
        err_hint(err, "ssh itself refuses this; look at its configuration (%s)",
                 s->config ? s->config : "~/.ssh/config");
        goto out;
    }
    if (ssh_config_parse(address, buf_str(&out.out), out.out.len, &c, err) < 0 || apply(&c, s, err) < 0)
        goto out;
    *ret = c;
    c = (struct ssh_config){0};
    rc = 0;
out:
    ssh_config_release(&c);
    proc_result_release(&out);
    return rc;
}

void ssh_config_release(struct ssh_config *c)
{
    free(c->hostname);
    free(c->user);
    strlist_release(&c->identity_files);
    free(c->agent);
    strlist_release(&c->known_hosts);
    free(c->host_key_alias);
    free(c->proxy_jump);
    free(c->proxy_command);
    *c = (struct ssh_config){0};
}
