#include "cli/hosts/check_hint.h"

#include <stdio.h>
#include <string.h>

#include "cli/args/shell.h"
#include "base/banned.h"

/* A longer command line is left out, because a cut one would not run. */
#define LINE_MAX_BYTES 300

static void add_option(struct buf *line, const char *option, const char *value)
{
    if (!value)
        return;
    buf_addf(line, " %s ", option);
    shell_add_word(line, value);
}

static void add_way(struct buf *line, const struct target_options *way)
{
    char limit[32];
    add_option(line, "-i", way->inventory);
    add_option(line, "-F", way->ssh_config);
    add_option(line, "--via", way->via);
    add_option(line, "--passphrase-file", way->passphrase_file);
    if (way->connect_timeout_ms) {
        snprintf(limit, sizeof limit, "%lldms", (long long)way->connect_timeout_ms);
        if (way->connect_timeout_ms % 1000 == 0)
            snprintf(limit, sizeof limit, "%llds", (long long)way->connect_timeout_ms / 1000);
        add_option(line, "--connect-timeout", limit);
    }
    if (way->accept_new)
        buf_adds(line, " --accept-new");
    if (way->batch)
        buf_adds(line, " --batch");
}

/* A service from --port or --unix has no name in the inventory. */
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

/* The service that the command needs for a host outside the inventory, or one selected by its port. NULL: the
 * host's name is enough. */
static const struct service *find_service(const struct targets *targets, const struct host *host)
{
    for (size_t i = 0; targets && i < targets->n; i++)
        if (targets->items[i].host == host && (host->adhoc || targets->items[i].service->adhoc))
            return targets->items[i].service;
    return NULL;
}

struct err check_hint(const struct target_options *way, const struct targets *targets,
                      const struct host *host, const struct service *service, const struct err *failure)
{
    struct err told = *failure;
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    if (!failure->unreached || !way)
        return told;
    if (!service)
        service = find_service(targets, host);
    buf_adds(&line, "profgrab check");
    add_way(&line, way);
    add_option(&line, "--host", host->adhoc ? host->address : host->name);
    if (service)
        add_service(&line, service);
    size_t n = strlen(told.hint);
    const char *sep = n ? "; " : "";
    if (!line.failed && n + line.len + sizeof "; `` shows each step" <= sizeof told.hint)
        snprintf(told.hint + n, sizeof told.hint - n, "%s`%s` shows each step", sep, buf_str(&line));
    buf_release(&line);
    return told;
}
