/* Builds the call of our own ssh, which becomes a master: it logs in, runs no command, and waits for our
 * requests. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/openssh/openssh_internal.h"
#include "base/banned.h"

/* Adds a formatted argument. Like the other functions here, records an error in *failure and returns. */
__attribute__((format(printf, 3, 4))) static void add_argument(struct strlist *l, struct err *failure,
                                                               const char *fmt, ...)
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

/* Adds an option whose value is a path: ssh's configuration needs quotes and a doubled %. */
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
        add_argument(l, failure, "-o");
        add_argument(l, failure, "%s", buf_str(&b));
    }
    buf_release(&b);
}

static long long round_to_seconds(int64_t ms)
{
    return ms < 1000 ? 1 : (long long)(ms + 999) / 1000;
}

/* Adds the SSH settings of the inventory or the command line, which override the user's configuration. */
static void add_settings(struct strlist *l, const struct ssh_settings *s, struct err *failure)
{
    if (s->user) {
        add_argument(l, failure, "-l");
        add_argument(l, failure, "%s", s->user);
    }
    if (s->port) {
        add_argument(l, failure, "-p");
        add_argument(l, failure, "%u", s->port);
    }
    if (s->identity) {
        add_path(l, failure, "IdentityFile", s->identity);
        add_argument(l, failure, "-oIdentitiesOnly=yes");
    }
    if (s->known_hosts) {
        add_path(l, failure, "UserKnownHostsFile", s->known_hosts);
        add_argument(l, failure, "-oGlobalKnownHostsFile=/dev/null");
    }
    if (s->agent)
        add_path(l, failure, "IdentityAgent", s->agent);
    if (s->jump)
        add_argument(l, failure, "-oProxyJump=%s", s->jump);
    if (s->compress != SSH_COMPRESS_AUTO)
        add_argument(l, failure, "-oCompression=%s", s->compress == SSH_COMPRESS_YES ? "yes" : "no");
}

/* Chooses the settings of our own ssh and of each ssh that it starts for a jump host. The settings disable
 * the commands and forwardings of the user's configuration, and ssh's question whether to trust a key. */
static void choose_fixed_options(const struct ssh_config *config, const struct login_options *options,
                                 bool can_ask, struct strlist *ret, struct err *failure)
{
    static const char *const fixed[] = {"ControlPersist=no",       "ForkAfterAuthentication=no",
                                        "RemoteCommand=none",      "PermitLocalCommand=no",
                                        "ClearAllForwardings=yes", "ForwardAgent=no",
                                        "ForwardX11=no",           "Tunnel=no",
                                        "UpdateHostKeys=no",       "VisualHostKey=no",
                                        "ServerAliveCountMax=3",   "ConnectionAttempts=1"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        add_argument(ret, failure, "%s", fixed[i]);
    add_argument(ret, failure, "StrictHostKeyChecking=%s",
                 config->host_key.policy == HOST_KEY_ACCEPT_NEW ? "accept-new" : "yes");
    if (!can_ask)
        add_argument(ret, failure, "BatchMode=yes");
    /* With an askpass that gives no answer, ssh would send an empty password to the server. */
    if (options->ask_keys_only) {
        add_argument(ret, failure, "PasswordAuthentication=no");
        add_argument(ret, failure, "KbdInteractiveAuthentication=no");
    }
}

/* Adds the user's configuration. Without -F ssh reads these two files; with -F it reads neither. */
static void add_configuration(struct buf *b, const char *file, struct err *failure)
{
    if (!file)
        buf_adds(b, "Include ~/.ssh/config\nHost *\nInclude /etc/ssh/ssh_config\n");
    else if (strcmp(file, "none") != 0 && strcmp(file, "/dev/null") != 0)
        file_read(file, b, failure);
}

/*
 * ssh passes only -F to the ssh of a jump host. So our own file has the options of choose_fixed_options, then
 * the user's configuration: ssh uses the first value of a keyword. The file begins with the host key policy
 * for jump hosts, which accepts new hosts only with --accept-new. The host's own policy must not apply to
 * jump hosts, so it is in the arguments, which override the file. The file that the user named is copied,
 * because ssh checks the mode of included files. *ret is the path of our own file; the caller frees it.
 */
static int write_configuration(const struct openssh *o, const struct ssh_settings *requested,
                               const struct strlist *settings, char **ret, struct err *err)
{
    struct buf b = BUF_INIT(1 << 20), user_file = BUF_INIT(1 << 20);
    struct err failure = ERR_INIT;
    int fd = -1, rc = -1;
    char *path = file_join(o->directory, "config");
    buf_addf(&b, "Host *\n    StrictHostKeyChecking %s\n", requested->accept_new ? "accept-new" : "yes");
    for (size_t i = 0; i < settings->n; i++)
        buf_addf(&b, "    %s\n", settings->items[i]);
    buf_adds(&b, "Host *\n");
    add_configuration(&user_file, requested->config, &failure);
    buf_add(&b, buf_str(&user_file), user_file.len);
    if (failure.kind != ERR_NONE)
        *err = failure;
    else if (!path)
        err_nomem(err);
    else if (buf_check(&user_file, "ssh's configuration", err) == 0 &&
             buf_check(&b, "ssh's configuration", err) == 0 && (fd = file_create(path, err)) >= 0)
        rc = fd_write_all(fd, b.data, b.len, err);
    fd_close(&fd);
    buf_release(&user_file);
    buf_release(&b);
    if (rc == 0)
        *ret = path;
    else
        free(path);
    return rc;
}

/* Adds -F with the user's configuration, or with our own file if there are jump hosts. */
static void add_configuration_option(const struct openssh *o, const struct ssh_config *config,
                                     const struct strlist *settings, struct strlist *ret, struct err *failure)
{
    const char *file = config->requested.config;
    char *ours = NULL;
    if ((config->requested.jump || config->connect.jump) && failure->kind == ERR_NONE &&
        write_configuration(o, &config->requested, settings, &ours, failure) == 0)
        file = ours;
    if (file) {
        add_argument(ret, failure, "-F");
        add_argument(ret, failure, "%s", file);
    }
    free(ours);
}

int openssh_call_arguments(const struct openssh_call *call, struct strlist *ret, struct err *err)
{
    const struct openssh *o = call->o;
    const struct ssh_config *config = call->config;
    const struct login_options *options = call->options;
    struct err failure = ERR_INIT;
    struct strlist settings = {0};
    choose_fixed_options(config, options, call->can_ask, &settings, &failure);
    add_argument(ret, &failure, "ssh");
    add_argument(ret, &failure, "-v");
    add_argument(ret, &failure, "-E");
    add_argument(ret, &failure, "%s/log", o->directory);
    add_argument(ret, &failure, "-MNTS");
    add_argument(ret, &failure, "%s", o->path);
    add_configuration_option(o, config, &settings, ret, &failure);
    for (size_t i = 0; i < settings.n; i++)
        add_argument(ret, &failure, "-o%s", settings.items[i]);
    add_argument(ret, &failure, "-oLogVerbose=" SSH_LOG_CONFIRMATIONS);
    add_argument(ret, &failure, "-oServerAliveInterval=%lld", round_to_seconds(options->limits.keepalive_ms));
    add_argument(ret, &failure, "-oConnectTimeout=%lld",
                 config->connect.timeout_s ? (long long)config->connect.timeout_s
                                           : round_to_seconds(options->limits.step_timeout_ms));
    add_settings(ret, &config->requested, &failure);
    add_argument(ret, &failure, "--");
    add_argument(ret, &failure, "%s", config->address);
    strlist_release(&settings);
    if (failure.kind == ERR_NONE)
        return 0;
    if (err)
        *err = failure;
    return -1;
}
