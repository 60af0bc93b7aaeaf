#include "cli/hosts/suggest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/quote.h"
#include "cli/term/message.h"
#include "base/banned.h"

/* The commands that show the cause of a failed step. `local` runs on this workstation. `remote` is the last
 * argument of `local`: ssh runs it on the host. {A} is the host for ssh, {F} the option for ssh's
 * configuration, {U} the arguments of curl. */
static const struct {
    const char *local;
    const char *remote;
} commands[] = {
    [FETCH_STEP_CONFIG] = {"ssh{F} -G {A}", NULL},
    [FETCH_STEP_CONNECT] = {"ssh{F} -v -o ConnectTimeout=5 {A} true", NULL},
    [FETCH_STEP_HANDSHAKE] = {"ssh{F} -vv {A} true", NULL},
    [FETCH_STEP_HOST_KEY] = {"ssh{F} {A} true", NULL},
    [FETCH_STEP_AUTH] = {"ssh-add -l; ssh{F} -v -o BatchMode=yes {A} true", NULL},
    [FETCH_STEP_DIAL] = {"ssh{F} {A} ", "ss -ltnx"},
    [FETCH_STEP_INDEX] = {"ssh{F} {A} ", "curl -sSi {U}"},
    [FETCH_STEP_EXPOSURE] = {NULL, NULL},
    [FETCH_STEP_REQUEST] = {NULL, NULL},
};

/* Adds curl's arguments for the index page. For a direct host, the host's address replaces localhost. */
static void add_url(struct buf *b, const struct host *host, const struct service *service)
{
    char url[700];
    struct service reached = *service;
    if (host->direct && strcmp(service->host, "localhost") == 0)
        reached.host = host->address;
    if (service->unix_path) {
        buf_adds(b, "--unix-socket ");
        quote_add_word(b, service->unix_path);
        buf_addc(b, ' ');
        snprintf(url, sizeof url, "%s://localhost%s/", service->https ? "https" : "http", service->path);
    } else {
        fetch_service_url(&reached, url, sizeof url - 1);
        size_t n = strlen(url);
        snprintf(url + n, sizeof url - n, "/");
    }
    quote_add_word(b, url);
}

static void add_value(struct buf *b, char name, const struct suggest_subject *s)
{
    if (name == 'A')
        quote_add_word(b, s->host->address);
    if (name == 'F' && s->ssh_config) {
        buf_adds(b, " -F ");
        quote_add_word(b, s->ssh_config);
    }
    if (name == 'U' && s->service)
        add_url(b, s->host, s->service);
}

static void fill_template(struct buf *b, const char *command, const struct suggest_subject *s)
{
    for (const char *p = command; p && *p; p++) {
        if (p[0] == '{' && p[1] && p[2] == '}') {
            add_value(b, p[1], s);
            p += 2;
        } else {
            buf_addc(b, *p);
        }
    }
}

void suggest_command(const struct suggest_subject *s, enum fetch_step_kind kind, struct buf *ret)
{
    struct buf remote = BUF_INIT(2000);
    fill_template(&remote, commands[kind].remote, s);
    if (!s->host->direct) {
        fill_template(ret, commands[kind].local, s);
        /* ssh takes the remote command as one argument. */
        if (remote.len)
            quote_add_word(ret, buf_str(&remote));
    } else if (kind == FETCH_STEP_INDEX) {
        buf_adds(ret, buf_str(&remote));
    }
    buf_release(&remote);
}

/* The maximum length of the suggested command line. A longer one is left out, because a cut one fails. */
#define LINE_MAX_BYTES 300

static void add_option(struct buf *line, const char *option, const char *value)
{
    if (!value)
        return;
    buf_addf(line, " %s ", option);
    quote_add_word(line, value);
}

static void add_access_options(struct buf *line, const struct target_options *o)
{
    char limit[32];
    add_option(line, "-i", o->inventory);
    add_option(line, "-F", o->ssh_config);
    add_option(line, "--from", o->from);
    add_option(line, "--via", o->via);
    add_option(line, "--passphrase-file", o->passphrase_file);
    if (o->connect_timeout_ms) {
        snprintf(limit, sizeof limit, "%lldms", (long long)o->connect_timeout_ms);
        if (o->connect_timeout_ms % 1000 == 0)
            snprintf(limit, sizeof limit, "%llds", (long long)o->connect_timeout_ms / 1000);
        add_option(line, "--connect-timeout", limit);
    }
    if (o->accept_new)
        buf_adds(line, " --accept-new");
    if (o->batch)
        buf_adds(line, " --batch");
}

/* Adds the options that select the service. A service from --port or --unix has no name in the inventory. */
static void add_service(struct buf *line, const struct service *s)
{
    char port[16];
    if (!s->adhoc) {
        add_option(line, "--service", s->name);
        return;
    }
    snprintf(port, sizeof port, "%u", s->port);
    add_option(line, "--port", s->unix_path ? NULL : port);
    add_option(line, "--unix", s->unix_path);
    add_option(line, "--path", strcmp(s->path, SERVICE_PATH) != 0 ? s->path : NULL);
    add_option(line, "--scheme", s->https ? "https" : NULL);
}

/* Returns a service that the command must name: a service of a host outside the inventory, or a service
 * from --port or --unix. NULL: the host's name is enough. */
static const struct service *find_service_to_name(const struct targets *targets, const struct host *host)
{
    for (size_t i = 0; targets && i < targets->n; i++)
        if (targets->items[i].host == host && (host->adhoc || targets->items[i].service->adhoc))
            return targets->items[i].service;
    return NULL;
}

struct err suggest_check(const struct target_options *options, const struct targets *targets,
                         const struct host *host, const struct service *service, const struct err *failure)
{
    struct err suggested = *failure;
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    if (!failure->unreachable || !options)
        return suggested;
    if (!service)
        service = find_service_to_name(targets, host);
    buf_adds(&line, "profgrab check");
    add_access_options(&line, options);
    add_option(&line, "--host", host->adhoc ? host->address : host->name);
    if (service)
        add_service(&line, service);
    size_t n = strlen(suggested.hint);
    const char *sep = n ? "; " : "";
    if (!line.failed && n + line.len + sizeof "; `` shows each step" <= sizeof suggested.hint)
        snprintf(suggested.hint + n, sizeof suggested.hint - n, "%s`%s` shows each step", sep,
                 buf_str(&line));
    buf_release(&line);
    return suggested;
}

void suggest_view(const char *path)
{
    struct buf word = BUF_INIT(8192);
    quote_add_word(&word, path);
    if (isatty(STDERR_FILENO) && !word.failed)
        message_print(
            "next: `profgrab view %s` draws it in a browser, `profgrab report --text %s` prints its findings",
            buf_str(&word), buf_str(&word));
    buf_release(&word);
}
