/* `profgrab hosts`: what the inventory resolves to. Opens nothing, asks nobody. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/target.h"
#include "inventory/inventory.h"
#include "base/banned.h"

struct hosts_options {
    const char *inventory;
    bool json;
    bool names, groups, services, teams, labels;
    struct selection narrow; /* only labels and exclude */
};

static const struct option options[] = {
    {"inventory", 'i', OPTION_TEXT, "FILE", "the inventory", offsetof(struct hosts_options, inventory), 0},
    {"label", 0, OPTION_LIST, "NAME=VALUE[,...]", "only hosts with that label",
     offsetof(struct hosts_options, narrow.labels), 0},
    {"exclude", 0, OPTION_LIST, "NAME[,...]", "not these hosts, patterns or groups",
     offsetof(struct hosts_options, narrow.exclude), 0},
    {"json", 0, OPTION_FLAG, NULL, "as JSON", offsetof(struct hosts_options, json), 0},
    {"names", 0, OPTION_FLAG, NULL, "only the hosts' names, one a line",
     offsetof(struct hosts_options, names), 0},
    {"groups", 0, OPTION_FLAG, NULL, "the names of all groups instead",
     offsetof(struct hosts_options, groups), 0},
    {"services", 0, OPTION_FLAG, NULL, "the names of all services instead",
     offsetof(struct hosts_options, services), 0},
    {"teams", 0, OPTION_FLAG, NULL, "the names of all teams instead", offsetof(struct hosts_options, teams),
     0},
    {"labels", 0, OPTION_FLAG, NULL, "all labels instead, as NAME=VALUE",
     offsetof(struct hosts_options, labels), 0},
    OPTIONS_END,
};

/* Either host and port, or a Unix socket. */
static json_t *service_json(const struct service *s)
{
    json_t *service = json_pack("{s:s}", "name", s->name);
    if (s->unix_path) {
        json_object_set_new(service, "unix", json_string(s->unix_path));
    } else {
        json_object_set_new(service, "host", json_string(s->host));
        json_object_set_new(service, "port", json_integer(s->port));
    }
    json_object_set_new(service, "scheme", json_string(s->https ? "https" : "http"));
    json_object_set_new(service, "path", json_string(s->path));
    return service;
}

static json_t *host_json(const struct host *h)
{
    json_t *services = json_array(), *labels = json_object();
    for (size_t i = 0; i < h->n_services; i++)
        json_array_append_new(services, service_json(h->services[i]));
    for (size_t i = 0; i < h->n_labels; i++)
        json_object_set_new(labels, h->labels[i].name, json_string(h->labels[i].value));
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", h->name, "address", h->address, "route",
                     h->direct ? "direct" : "ssh", "services", services, "labels", labels);
}

static int print_json(const struct host *const *hosts, size_t n, struct err *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, host_json(hosts[i]));
    int rc = list && json_array_size(list) == n && json_dumpf(list, stdout, JSON_INDENT(2)) == 0 ? 0 : -1;
    json_decref(list);
    putchar('\n');
    return rc < 0 ? err_nomem(err) : 0;
}

static void join_services(const struct host *h, struct buf *ret)
{
    buf_clear(ret);
    for (size_t i = 0; i < h->n_services; i++) {
        const struct service *s = h->services[i];
        buf_addf(ret, "%s%s:", i ? "," : "", s->name);
        if (s->unix_path)
            buf_adds(ret, s->unix_path);
        else
            buf_addf(ret, "%u", s->port);
    }
}

static void print_table(const struct host *const *hosts, size_t n)
{
    size_t widths[3] = {4, 7, 8};
    struct buf services = BUF_INIT(4096);
    for (int printing = 0; printing < 2; printing++) {
        if (printing)
            printf("%-*s  %-*s  %-6s  %-*s  LABELS\n", (int)widths[0], "HOST", (int)widths[1], "ADDRESS",
                   "ROUTE", (int)widths[2], "SERVICES");
        for (size_t i = 0; i < n; i++) {
            const struct host *h = hosts[i];
            join_services(h, &services);
            size_t lengths[3] = {strlen(h->name), strlen(h->address), services.len};
            for (int c = 0; c < 3; c++)
                widths[c] = lengths[c] > widths[c] ? lengths[c] : widths[c];
            if (!printing)
                continue;
            printf("%-*s  %-*s  %-6s  %-*s ", (int)widths[0], h->name, (int)widths[1], h->address,
                   h->direct ? "direct" : "ssh", (int)widths[2], buf_str(&services));
            for (size_t l = 0; l < h->n_labels; l++)
                printf(" %s=%s", h->labels[l].name, h->labels[l].value);
            putchar('\n');
        }
    }
    buf_release(&services);
}

static void print_names(const char *(*name)(const struct inventory *inv, size_t i),
                        const struct inventory *inventory)
{
    for (size_t i = 0; name(inventory, i); i++)
        printf("%s\n", name(inventory, i));
}

static int print_labels(const struct inventory *inventory, struct err *err)
{
    struct strlist labels = {0};
    int rc = inventory_labels(inventory, &labels, err);
    for (size_t i = 0; rc == 0 && i < labels.n; i++)
        printf("%s\n", labels.items[i]);
    strlist_release(&labels);
    return rc;
}

/* As they are about to be asked: which of them are one machine. */
static int say_twins(const struct host *const *hosts, size_t n, struct err *err)
{
    struct targets targets = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        for (size_t j = 0; rc == 0 && j < hosts[i]->n_services; j++) {
            rc = array_reserve((void **)&targets.items, &targets.cap, targets.n + 1, sizeof *targets.items,
                               err);
            if (rc == 0)
                targets.items[targets.n++] = (struct target){hosts[i], hosts[i]->services[j]};
        }
    if (rc == 0)
        target_say(&targets);
    targets_release(&targets);
    return rc;
}

static int print_hosts(const struct hosts_options *o, const struct host *const *hosts, size_t n,
                       struct err *err)
{
    if (o->json)
        return print_json(hosts, n, err);
    for (size_t i = 0; o->names && i < n; i++)
        printf("%s\n", hosts[i]->name);
    if (o->names)
        return 0;
    print_table(hosts, n);
    return say_twins(hosts, n, err);
}

static int load(const char *option, struct inventory **ret, struct err *err)
{
    char *path = NULL;
    int rc = inventory_find(option, &path, err);
    if (rc == 0 && !path) {
        err_set(err, ERR_USAGE, "no inventory");
        rc = err_hint(
            err,
            "write one to ~/.config/profgrab/inventory.yaml (docs/inventory.md), or name it with -i FILE");
    }
    if (rc == 0)
        rc = inventory_load(path, ret, err);
    free(path);
    return rc;
}

static int list_hosts(const struct hosts_options *o, const struct inventory *inventory, const char *pattern,
                      struct err *err)
{
    const struct host **hosts = NULL;
    size_t n = 0;
    int rc = inventory_match(inventory, pattern, &hosts, &n, err);
    if (rc == 0 && (rc = inventory_narrow(inventory, &o->narrow, hosts, &n, err)) == 0)
        rc = print_hosts(o, (const struct host *const *)hosts, n, err);
    free(hosts);
    return rc;
}

static int list(const struct hosts_options *o, const char *pattern, struct err *err)
{
    struct inventory *inventory = NULL;
    int rc = load(o->inventory, &inventory, err);
    if (rc == 0 && (o->groups || o->services || o->teams))
        print_names(o->groups     ? inventory_group_name
                    : o->services ? inventory_service_name
                                  : inventory_team_name,
                    inventory);
    else if (rc == 0 && o->labels)
        rc = print_labels(inventory, err);
    else if (rc == 0)
        rc = list_hosts(o, inventory, pattern, err);
    inventory_free(inventory);
    return rc;
}

/* What lists all of something takes neither another list nor a choice. */
static int check(const struct hosts_options *o, size_t n_words, struct err *err)
{
    bool all = o->groups || o->services || o->teams || o->labels;
    if (n_words > 1)
        return err_set(err, ERR_USAGE, "hosts takes one pattern, not %zu", n_words);
    if (o->json + o->names + o->groups + o->services + o->teams + o->labels > 1)
        return err_set(err, ERR_USAGE,
                       "only one of --json, --names, --groups, --services, --teams and --labels at a time");
    if (all && (n_words > 0 || o->narrow.labels.n > 0 || o->narrow.exclude.n > 0))
        return err_set(err, ERR_USAGE,
                       "--groups, --services, --teams and --labels list all of them, and choose nothing");
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    struct hosts_options o = {0};
    struct strlist rest = {0};
    int rc = options_parse(options, argc, argv, &o, &rest, err);
    if (rc == 0)
        rc = check(&o, rest.n, err);
    if (rc == 0)
        rc = list(&o, rest.n ? rest.items[0] : NULL, err);
    strlist_release(&rest);
    selection_release(&o.narrow);
    return rc < 0 ? exit_status_of(err) : EXIT_OK;
}

const struct command command_hosts = {
    .name = "hosts",
    .synopsis = "[PATTERN]",
    .summary = "what the inventory resolves to; opens nothing",
    .details = "PATTERN is a host's name, a glob (file-*), a range (file-[04-06]) or a group's name.",
    .options = options,
    .words = WORDS_HOSTS,
    .run = run,
};
