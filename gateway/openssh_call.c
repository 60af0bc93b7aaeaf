/* How our own ssh is called: it shall open a session that nothing runs in, and wait for us. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/openssh_inside.h"
#include "base/banned.h"

/* Adds an argument. */
__attribute__((format(printf, 3, 4))) static void add(struct strlist *l, struct err *failure, const char *fmt,
                                                      ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        err_nomem(failure);
    else
        strlist_add(l, text, failure);
    free(n < 0 ? NULL : text);
}

/* An option with a path for its value, as ssh's configuration has it: in quotes, and % stands for itself. */
static void add_path(struct strlist *l, struct err *failure, const char *option, const char *path)
{
    struct buf b = BUF_INIT(8192);
    buf_addf(&b, "%s=\"", option);
    for (const char *p = path; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_addc(&b, '\\');
        if (*p == '%')
            buf_addc(&b, '%');
        buf_addc(&b, *p);
    }
    buf_addc(&b, '"');
    if (buf_check(&b, option, failure) == 0) {
        add(l, failure, "-o");
        add(l, failure, "%s", buf_str(&b));
    }
    buf_release(&b);
}

static long long seconds(int64_t ms)
{
    return ms < 1000 ? 1 : (long long)(ms + 999) / 1000;
}

/* What it was asked for with, over the user's configuration. */
static void add_settings(struct strlist *l, const struct ssh_settings *s, struct err *failure)
{
    if (s->user) {
        add(l, failure, "-l");
        add(l, failure, "%s", s->user);
    }
    if (s->port) {
        add(l, failure, "-p");
        add(l, failure, "%u", s->port);
    }
    if (s->identity) {
        add_path(l, failure, "IdentityFile", s->identity);
        add(l, failure, "-oIdentitiesOnly=yes");
    }
    if (s->known_hosts) {
        add_path(l, failure, "UserKnownHostsFile", s->known_hosts);
        add(l, failure, "-oGlobalKnownHostsFile=/dev/null");
    }
    if (s->agent)
        add_path(l, failure, "IdentityAgent", s->agent);
    if (s->jump)
        add(l, failure, "-oProxyJump=%s", s->jump);
    if (s->compress != SSH_COMPRESS_AUTO)
        add(l, failure, "-oCompression=%s", s->compress == SSH_COMPRESS_YES ? "yes" : "no");
}

/* What holds for every ssh that is started, also those that ours starts for jump hosts: nothing else shall
 * happen that the user's configuration has it do for a person, and nobody is asked whether to trust a key. */
static void choose_settings(const struct ssh_config *config, const struct gateway_options *options, bool ask,
                            struct strlist *ret, struct err *failure)
{
    static const char *const fixed[] = {"ControlPersist=no",       "ForkAfterAuthentication=no",
                                        "RemoteCommand=none",      "PermitLocalCommand=no",
                                        "ClearAllForwardings=yes", "ForwardAgent=no",
                                        "ForwardX11=no",           "Tunnel=no",
                                        "UpdateHostKeys=no",       "VisualHostKey=no",
                                        "ServerAliveCountMax=3",   "ConnectionAttempts=1"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        add(ret, failure, "%s", fixed[i]);
    add(ret, failure, "StrictHostKeyChecking=%s",
        config->host_key_policy == HOST_KEY_ACCEPT_NEW ? "accept-new" : "yes");
    if (!ask)
        add(ret, failure, "BatchMode=yes");
    /* ssh takes no answer for an empty one, and would offer the server that. */
    if (options->ask_keys_only) {
        add(ret, failure, "PasswordAuthentication=no");
        add(ret, failure, "KbdInteractiveAuthentication=no");
    }
}

/* The user's configuration. Without -F ssh reads these two; with it, it would read neither. */
static void add_configuration(struct buf *b, const char *file, struct err *failure)
{
    if (!file)
        buf_adds(b, "Include ~/.ssh/config\nHost *\nInclude /etc/ssh/ssh_config\n");
    else if (strcmp(file, "none") != 0 && strcmp(file, "/dev/null") != 0)
        file_read(file, b, failure);
}

/*
 * The ssh of a jump host hears nothing of our options but -F. So the settings stand in front of the user's
 * configuration, in a file of ours: of several values ssh takes the first. A file that was named is copied,
 * since one that is included has to satisfy ssh's idea of its mode. *ret is the file, a new string.
 */
static int write_configuration(const struct openssh *o, const char *file, const struct strlist *settings,
                               char **ret, struct err *err)
{
    struct buf b = BUF_INIT(1 << 20), user = BUF_INIT(1 << 20);
    struct err failure = ERR_INIT;
    int fd = -1, rc = -1;
    char *path = file_join(o->directory, "config");
    buf_adds(&b, "Host *\n");
    for (size_t i = 0; i < settings->n; i++)
        buf_addf(&b, "    %s\n", settings->items[i]);
    buf_adds(&b, "Host *\n");
    add_configuration(&user, file, &failure);
    buf_add(&b, buf_str(&user), user.len);
    if (failure.kind != ERR_NONE)
        *err = failure;
    else if (!path)
        err_nomem(err);
    else if (buf_check(&user, "ssh's configuration", err) == 0 &&
             buf_check(&b, "ssh's configuration", err) == 0 && (fd = file_create(path, err)) >= 0)
        rc = fd_write_all(fd, b.data, b.len, err);
    fd_close(&fd);
    buf_release(&user);
    buf_release(&b);
    if (rc == 0)
        *ret = path;
    else
        free(path);
    return rc;
}

/* Which configuration: the user's, or ours in front of it when there are jump hosts. */
static void add_file(const struct openssh *o, const struct ssh_config *config, const struct strlist *settings,
                     struct strlist *ret, struct err *failure)
{
    const char *file = config->asked.config;
    char *ours = NULL;
    if ((config->asked.jump || config->proxy_jump) && failure->kind == ERR_NONE &&
        write_configuration(o, file, settings, &ours, failure) == 0)
        file = ours;
    if (file) {
        add(ret, failure, "-F");
        add(ret, failure, "%s", file);
    }
    free(ours);
}

int openssh_call(const struct openssh *o, const struct ssh_config *config,
                 const struct gateway_options *options, bool ask, struct strlist *ret, struct err *err)
{
    struct err failure = ERR_INIT;
    struct strlist settings = {0};
    choose_settings(config, options, ask, &settings, &failure);
    add(ret, &failure, "ssh");
    add(ret, &failure, "-v");
    add(ret, &failure, "-E");
    add(ret, &failure, "%s/log", o->directory);
    add(ret, &failure, "-MNTS");
    add(ret, &failure, "%s", o->path);
    add_file(o, config, &settings, ret, &failure);
    for (size_t i = 0; i < settings.n; i++)
        add(ret, &failure, "-o%s", settings.items[i]);
    add(ret, &failure, "-oLogVerbose=" SSH_LOG_CONFIRMATIONS);
    add(ret, &failure, "-oServerAliveInterval=%lld", seconds(options->keepalive_ms));
    add(ret, &failure, "-oConnectTimeout=%lld",
        config->connect_timeout_s ? (long long)config->connect_timeout_s : seconds(options->step_timeout_ms));
    add_settings(ret, &config->asked, &failure);
    add(ret, &failure, "--");
    add(ret, &failure, "%s", config->address);
    strlist_release(&settings);
    if (failure.kind == ERR_NONE)
        return 0;
    if (err)
        *err = failure;
    return -1;
}
