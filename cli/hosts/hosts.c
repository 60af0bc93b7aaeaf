/* `profgrab hosts`: prints the hosts and services of the inventory. Queries discovery sources. Opens a host
 * only to query a source behind it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args/command.h"
#include "cli/term/document.h"
#include "cli/term/exit.h"
#include "cli/hosts/hosts_from.h"
#include "cli/hosts/hosts_ssh.h"
#include "cli/hosts/inventory_file.h"
#include "cli/hosts/target.h"
#include "base/banned.h"

struct hosts_options {
    struct target_options target;
    const char *from;
    bool ssh;
    bool json;
    bool names, groups, services, teams, labels;
};

static const struct option options[] = {
    {"inventory", 'i', OPTION_TEXT, "FILE", "the inventory", offsetof(struct hosts_options, target.inventory),
     0},
    {"label", 0, OPTION_LIST, "NAME=VALUE[,...]", "only hosts with that label; with --from only such targets",
     offsetof(struct hosts_options, target.selection.labels), 0},
    {"exclude", 0, OPTION_LIST, "NAME[,...]", "not these hosts, patterns or groups",
     offsetof(struct hosts_options, target.selection.exclude), 0},
    {"from", 0, OPTION_TEXT, "SOURCE",
     "print the targets of this source: its name in the inventory, a file, a URL, KIND:FILE or KIND:URL",
     offsetof(struct hosts_options, from), 0},
    {"refresh", 0, OPTION_FLAG, NULL, "query the sources again, without the cache",
     offsetof(struct hosts_options, target.refresh), 0},
    {"ssh-config", 'F', OPTION_TEXT, "FILE", "an ssh configuration file instead of your own",
     offsetof(struct hosts_options, target.ssh_config), 0},
    {"batch", 0, OPTION_FLAG, NULL, "never prompt for a passphrase or password; fail instead",
     offsetof(struct hosts_options, target.batch), 0},
    {"timeout", 't', OPTION_DURATION, "DURATION", "the time limit for a silent source (default 30s)",
     offsetof(struct hosts_options, target.timeout_ms), 0},
    {"ssh", 0, OPTION_FLAG, NULL,
     "also print the address that ssh's configuration gives for each host (always for a single host)",
     offsetof(struct hosts_options, ssh), 0},
    {"json", 0, OPTION_FLAG, NULL, "as JSON", offsetof(struct hosts_options, json), 0},
    {"names", 0, OPTION_FLAG, NULL, "only the hosts' names, one a line",
     offsetof(struct hosts_options, names), 0},
    {"groups", 0, OPTION_FLAG, NULL, "only the names of all groups", offsetof(struct hosts_options, groups),
     0},
    {"services", 0, OPTION_FLAG, NULL, "only the names of all services",
     offsetof(struct hosts_options, services), 0},
    {"teams", 0, OPTION_FLAG, NULL, "only the names of all teams", offsetof(struct hosts_options, teams), 0},
    {"labels", 0, OPTION_FLAG, NULL, "only all labels, as NAME=VALUE", offsetof(struct hosts_options, labels),
     0},
    OPTIONS_END,
};

static json_t *labels_json(const struct label *labels, size_t n)
{
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(o, labels[i].name, json_string(labels[i].value));
    return o;
}

/* The description of a source, which all services of that source share. */
struct shared_source {
    const struct source_use *use;
    json_t *json;
};

/* Returns a new reference to the description of `use`. Makes it if `last` describes another source. */
static json_t *share_source(struct shared_source *last, const struct source_use *use)
{
    if (last->use != use) {
        json_decref(last->json);
        *last = (struct shared_source){use, hosts_source_json(use)};
    }
    return json_incref(last->json);
}

static json_t *service_json(const struct service *s, struct shared_source *last)
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
    if (s->source)
        json_object_set_new(service, "source", share_source(last, s->source));
    if (s->n_labels)
        json_object_set_new(service, "labels", labels_json(s->labels, s->n_labels));
    return service;
}

static json_t *host_json(const struct targets *t, const struct host *h)
{
    const struct service *s;
    struct shared_source last = {0};
    json_t *services = json_array();
    for (size_t i = 0; (s = targets_service_at(t, h, i)); i++)
        json_array_append_new(services, service_json(s, &last));
    json_decref(last.json);
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", h->name, "address", h->address, "route",
                     h->direct ? "direct" : "ssh", "services", services, "labels",
                     labels_json(h->labels, h->n_labels));
}

static int print_json(const struct targets *t, const struct host *const *hosts, size_t n, struct err *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, host_json(t, hosts[i]));
    if (list && json_array_size(list) == n)
        return document_print(list, stdout, err);
    json_decref(list);
    return err_nomem(err);
}

/* The buffers of a row. All rows share them, and a source's text is formatted once for adjacent rows. */
struct row {
    struct buf services;
    const struct source_use *source; /* described by `source_text` */
    struct buf source_text;
};

/* Adds the name of the source, and the age of its answer. */
static void add_source(struct row *row, const struct source_use *use)
{
    const struct source *s = use->source;
    char age[32];
    if (use != row->source) {
        row->source = use;
        buf_clear(&row->source_text);
        buf_addf(&row->source_text, " (%s", s->name);
        if (s->endpoint)
            buf_addf(&row->source_text, ", %s", discovery_age(age, sizeof age, use->answered_at));
        buf_addc(&row->source_text, ')');
    }
    buf_adds(&row->services, buf_str(&row->source_text));
}

static void join_services(struct row *row, const struct targets *t, const struct host *h)
{
    struct buf *to = &row->services;
    const struct service *s;
    buf_clear(to);
    for (size_t i = 0; (s = targets_service_at(t, h, i)); i++) {
        buf_adds(to, i ? "," : "");
        buf_adds(to, s->name);
        if (s->unix_path) {
            buf_addc(to, ':');
            buf_adds(to, s->unix_path);
        } else {
            buf_addf(to, ":%u", s->port);
        }
        if (s->source)
            add_source(row, s->source);
    }
}

/* Prints the text, padded with blanks. printf would take longer than all other work. */
static void print_cell(const char *text, size_t width)
{
    static const char blanks[] = "                                        ";
    size_t n = strlen(text);
    fwrite(text, 1, n, stdout);
    for (size_t missing = n < width ? width - n : 0, written; missing > 0; missing -= written) {
        written = missing < sizeof blanks - 1 ? missing : sizeof blanks - 1;
        fwrite(blanks, 1, written, stdout);
    }
}

/* Prints a row. The last cell is not padded, so that no line ends with blanks. */
static void print_row(const struct host *h, const char *services, const size_t *widths)
{
    bool has_labels = h->n_labels > 0;
    print_cell(h->name, widths[0] + 2);
    print_cell(h->address, widths[1] + 2);
    print_cell(h->direct ? "direct" : "ssh", *services || has_labels ? 6 + 2 : 0);
    print_cell(services, has_labels ? widths[2] + 1 : 0);
    for (size_t l = 0; l < h->n_labels; l++) {
        putchar(' ');
        fputs(h->labels[l].name, stdout);
        putchar('=');
        fputs(h->labels[l].value, stdout);
    }
    putchar('\n');
}

/* The maximum width of the services' column, so that one host with many services does not widen all rows. */
#define SERVICES_WIDTH 80

static void widen_column(size_t *width, size_t n)
{
    *width = n > *width ? n : *width;
}

static int print_table(const struct targets *t, const struct host *const *hosts, size_t n, struct err *err)
{
    size_t widths[3] = {4, 7, 8};
    struct row row = {.services = BUF_INIT(16u << 20), .source_text = BUF_INIT(4096)};
    struct strlist joined = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        join_services(&row, t, hosts[i]);
        rc = buf_check(&row.services, "the list of a host's services", err);
        if (rc == 0)
            rc = strlist_addn(&joined, buf_str(&row.services), row.services.len, err);
        widen_column(&widths[0], strlen(hosts[i]->name));
        widen_column(&widths[1], strlen(hosts[i]->address));
        widen_column(&widths[2], row.services.len < SERVICES_WIDTH ? row.services.len : SERVICES_WIDTH);
    }
    if (rc == 0)
        printf("%-*s  %-*s  %-6s  %-*s  LABELS\n", (int)widths[0], "HOST", (int)widths[1], "ADDRESS", "ROUTE",
               (int)widths[2], "SERVICES");
    for (size_t i = 0; rc == 0 && i < n; i++)
        print_row(hosts[i], joined.items[i], widths);
    strlist_release(&joined);
    buf_release(&row.services);
    buf_release(&row.source_text);
    return rc;
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

/* Prints the hosts that are probably one machine. */
static int print_duplicates(const struct targets *t, const struct host *const *hosts, size_t n,
                            struct err *err)
{
    struct targets all = {0};
    const struct service *service;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        for (size_t j = 0; rc == 0 && (service = targets_service_at(t, hosts[i], j)); j++) {
            rc = array_reserve((void **)&all.items, &all.cap, all.n + 1, sizeof *all.items, err);
            if (rc == 0)
                all.items[all.n++] = (struct target){hosts[i], service};
        }
    if (rc == 0)
        target_print_notes(&all);
    targets_release(&all);
    return rc;
}

static int print_hosts(const struct hosts_options *o, const struct targets *t,
                       const struct host *const *hosts, size_t n, struct err *err)
{
    if (o->json)
        return print_json(t, hosts, n, err);
    for (size_t i = 0; o->names && i < n; i++)
        printf("%s\n", hosts[i]->name);
    if (o->names)
        return 0;
    if (print_table(t, hosts, n, err) < 0 || ((o->ssh || n == 1) && hosts_ssh(hosts, n, &o->target, err) < 0))
        return -1;
    return print_duplicates(t, hosts, n, err);
}

static int refuse_missing_inventory(struct err *err)
{
    err_set(err, ERR_USAGE, "no inventory");
    return err_hint(
        err, "write one to ~/.config/profgrab/inventory.yaml (docs/inventory.md), or name it with -i FILE");
}

/* Lists of names use only the cache, because the shell's completion queries them often. */
static enum discovery_policy choose_policy(const struct hosts_options *o)
{
    if (o->names || o->groups || o->services || o->teams || o->labels)
        return DISCOVERY_CACHED;
    return o->target.refresh ? DISCOVERY_REFRESH : DISCOVERY_AS_NEEDED;
}

static int list_hosts(const struct hosts_options *o, const struct inventory *inventory,
                      const struct targets *t, const char *pattern, struct err *err)
{
    struct host_list hosts = {0};
    int rc = inventory_match(inventory, pattern, &hosts.items, &hosts.n, err);
    if (rc == 0 && (rc = inventory_filter(inventory, t, &o->target.selection, &hosts, err)) == 0)
        rc = print_hosts(o, t, (const struct host *const *)hosts.items, hosts.n, err);
    free(hosts.items);
    return rc;
}

static int list_inventory(struct hosts_options *o, const struct discovery_command *discovery,
                          const char *pattern, size_t *ret_failed, struct err *err)
{
    const struct inventory *inventory = discovery->inventory;
    int rc = 0;
    if (o->groups || o->teams) {
        print_names(o->groups ? inventory_group_name : inventory_team_name, inventory);
        return 0;
    }
    if (o->labels)
        return print_labels(inventory, err);
    if (!o->names)
        rc = discovery_apply(discovery, ret_failed, err);
    if (rc == 0 && !o->services)
        rc = list_hosts(o, inventory, discovery->targets, pattern, err);
    else if (rc == 0) {
        const char *name;
        print_names(inventory_service_name, inventory);
        for (size_t i = 0; (name = targets_discovered_name(discovery->targets, i)); i++)
            printf("%s\n", name);
    }
    return rc;
}

static int load_inventory(const struct hosts_options *o, struct inventory **ret, struct err *err)
{
    if (inventory_file_load(o->target.inventory, ret, err) < 0)
        return -1;
    return inventory_path(*ret) || o->from ? 0 : refuse_missing_inventory(err);
}

/* Refuses options that cannot be combined. */
static int check_options(const struct hosts_options *o, const struct strlist *rest, struct err *err)
{
    bool lists_names = o->groups || o->services || o->teams || o->labels;
    bool has_selection = rest->n > 0 || o->target.selection.labels.n > 0 || o->target.selection.exclude.n > 0;
    if (rest->n > 1)
        return err_set(err, ERR_USAGE, "hosts takes one pattern, not %zu", rest->n);
    if (o->json + o->names + o->groups + o->services + o->teams + o->labels > 1)
        return err_set(err, ERR_USAGE,
                       "only one of --json, --names, --groups, --services, --teams and --labels at a time");
    if (o->ssh && (o->json || o->names || lists_names || o->from))
        return err_set(err, ERR_USAGE, "--ssh is only for the table of hosts");
    if (o->from && (rest->n > 0 || o->target.selection.exclude.n > 0 || o->names || lists_names))
        return err_set(err, ERR_USAGE,
                       "--from lists the targets of one source, as a table or with --json; only --label "
                       "selects among them");
    if (lists_names && has_selection)
        return err_set(err, ERR_USAGE,
                       "--groups, --services, --teams and --labels list all names and cannot be combined "
                       "with a selection");
    return 0;
}

static int run_hosts(int argc, char **argv, struct err *err)
{
    struct hosts_options o = {.target = TARGET_OPTIONS_INIT};
    struct strlist rest = {0};
    struct inventory *inventory = NULL;
    struct targets targets = {0};
    struct prompt prompt;
    size_t failed = 0;
    prompt_init(&prompt);
    int rc = options_parse(options, &(struct arguments){argc, argv}, &o, &rest, err);
    if (rc == 0)
        rc = check_options(&o, &rest, err);
    if (rc == 0)
        rc = load_inventory(&o, &inventory, err);
    const struct discovery_command discovery = {.inventory = inventory,
                                                .targets = &targets,
                                                .options = &o.target,
                                                .prompt = &prompt,
                                                .policy = choose_policy(&o),
                                                .verbose = true};
    if (rc == 0 && o.from)
        rc = hosts_from(&discovery, o.from, o.json, err);
    else if (rc == 0)
        rc = list_inventory(&o, &discovery, rest.n ? rest.items[0] : NULL, &failed, err);
    targets_release(&targets);
    inventory_free(inventory);
    strlist_release(&rest);
    target_options_release(&o.target);
    prompt_release(&prompt);
    return rc < 0 ? exit_status_of(err) : failed && !o.services ? EXIT_PARTIAL : EXIT_OK;
}

const struct command command_hosts = {
    .name = "hosts",
    .synopsis = "[PATTERN]",
    .summary = "print the resolved inventory; opens no host",
    .details =
        "PATTERN is a host's name, a glob (file-*), a range (file-[04-06]) or a group's name. hosts queries\n"
        "the discovery sources of the inventory if the cache is missing or too old; exit code 3: a source\n"
        "failed. SOURCE is the name of a source, a file or a URL, or KIND:PLACE if the kind cannot be\n"
        "detected: prometheus:URL, http_sd:URL, file_sd:FILE, parca:FILE or scrape_configs:FILE. It needs "
        "no\n"
        "inventory. `profgrab --from SOURCE --host NAME` collects from its services.",
    .options = options,
    .words = ARGUMENTS_HOSTS,
    .run = run_hosts,
};
