#include "inventory/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/group.h"
#include "inventory/host.h"
#include "inventory/schema.h"
#include "inventory/service.h"
#include "inventory/source.h"
#include "inventory/team.h"
#include "inventory/tracker.h"
#include "base/banned.h"

/* The sections, found first and read in an order of our own: hosts name services, groups name hosts,
 * teams name trackers. */
struct sections {
    const struct tree_node *version;
    const struct tree_node *services;
    const struct tree_node *hosts;
    const struct tree_node *groups;
    const struct tree_node *trackers;
    const struct tree_node *teams;
    const struct tree_node *self;
    const struct tree_node *discovery;
};

static int read_version(const struct schema *s, const struct tree_node *value, void *into, struct err *err)
{
    ((struct sections *)into)->version = value;
    if (value->kind == TREE_SCALAR && value->plain && strcmp(value->text, "1") == 0)
        return 0;
    return tree_err(s->tree, value, err, "version must be 1");
}

/* Defines the function that notes where a section is. */
#define SECTION(name)                                                                                        \
    static int read_##name(const struct schema *s, const struct tree_node *value, void *into,                \
                           struct err *err)                                                                  \
    {                                                                                                        \
        (void)s, (void)err;                                                                                  \
        ((struct sections *)into)->name = value;                                                             \
        return 0;                                                                                            \
    }
SECTION(services)
SECTION(hosts)
SECTION(groups)
SECTION(trackers)
SECTION(teams)
SECTION(self)
SECTION(discovery)

static const struct schema_key keys[] = {
    {"version", read_version}, {"services", read_services},   {"hosts", read_hosts},
    {"groups", read_groups},   {"trackers", read_trackers},   {"teams", read_teams},
    {"self", read_self},       {"discovery", read_discovery}, {NULL, NULL},
};

static int read_all(const struct schema *s, struct err *err)
{
    struct sections found = {0};
    const struct tree_node *root = tree_root(s->tree);
    if (root->kind != TREE_MAP) {
        tree_err(s->tree, root, err, "an inventory is a mapping");
        return err_hint(err, "begin with \"version: 1\"");
    }
    if (schema_settings(s, root, keys, &found, err) < 0)
        return -1;
    s->inv->may_find = found.discovery != NULL;
    if (!found.version) {
        tree_err(s->tree, root, err, "\"version\" is missing");
        return err_hint(err, "begin with \"version: 1\"");
    }
    const struct {
        const struct tree_node *section;
        int (*read)(const struct schema *s, const struct tree_node *section, struct err *err);
    } order[] = {
        {found.services, service_read_all}, {found.hosts, host_read_all}, {found.groups, group_read_all},
        {found.trackers, tracker_read_all}, {found.teams, team_read_all}, {found.self, self_read},
        {found.discovery, source_read_all},
    };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i].section && order[i].read(s, order[i].section, err) < 0)
            return -1;
    return 0;
}

static struct inventory *new_inventory(void)
{
    struct inventory *inv = calloc(1, sizeof *inv);
    if (inv)
        inv->host_names.fold = true;
    return inv;
}

int inventory_parse(const char *name, const void *p, size_t n, struct inventory **ret, struct err *err)
{
    int rc = -1;
    struct tree *tree = NULL;
    char *dir = file_dir(name);
    struct inventory *inv = new_inventory();
    if (!inv || !dir || !(inv->path = strdup(name))) {
        err_nomem(err);
        goto out;
    }
    if (tree_parse(name, p, n, &tree, err) < 0)
        goto out;
    if (read_all(&(struct schema){.tree = tree, .dir = dir, .inv = inv}, err) < 0)
        goto out;
    *ret = inv;
    inv = NULL;
    rc = 0;
out:
    tree_free(tree);
    free(dir);
    inventory_free(inv);
    return rc;
}

/* Whoever can write the file decides which commands ssh runs and where profiles come from. */
static int check_owner(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "cannot look at %s", path);
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        err_set(err, ERR_USAGE, "%s belongs to neither you nor root", path);
        return err_hint(err, "make a copy of your own and name it with -i");
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        err_set(err, ERR_USAGE, "%s can be written by others", path);
        return err_hint(err, "chmod go-w %s", path);
    }
    return 0;
}

static int read_file(int fd, const char *path, struct buf *into, struct err *err)
{
    char chunk[16384];
    /* One byte more than allowed is enough for the parser to refuse it. */
    while (into->len <= (size_t)TREE_MAX_BYTES) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read %s", path);
        if (n == 0)
            break;
        buf_add(into, chunk, (size_t)n);
        if (buf_check(into, path, err) < 0)
            return -1;
    }
    return 0;
}

int inventory_load(const char *path, struct inventory **ret, struct err *err)
{
    if (!path) {
        struct inventory *empty = new_inventory();
        if (!empty)
            return err_nomem(err);
        *ret = empty;
        return 0;
    }
    int rc = -1;
    struct buf text = BUF_INIT(2 * TREE_MAX_BYTES);
    int fd = file_open(path, err);
    if (fd < 0) {
        if (err)
            err->kind = ERR_USAGE;
        return -1;
    }
    if (check_owner(fd, path, err) == 0 && read_file(fd, path, &text, err) == 0)
        rc = inventory_parse(path, buf_str(&text), text.len, ret, err);
    buf_release(&text);
    fd_close(&fd);
    return rc;
}

void inventory_free(struct inventory *inv)
{
    if (!inv)
        return;
    struct services *services[] = {&inv->services, &inv->made_services, &inv->found_services};
    struct hosts *hosts[] = {&inv->hosts, &inv->made_hosts};
    for (int l = 0; l < 3; l++) {
        for (size_t i = 0; i < services[l]->n; i++)
            service_free(services[l]->items[i]);
        free(services[l]->items);
    }
    for (int l = 0; l < 2; l++) {
        for (size_t i = 0; i < hosts[l]->n; i++)
            host_free(hosts[l]->items[i]);
        free(hosts[l]->items);
    }
    for (size_t i = 0; i < inv->groups.n; i++)
        group_free(inv->groups.items[i]);
    free(inv->groups.items);
    for (size_t i = 0; i < inv->trackers.n; i++)
        tracker_free(inv->trackers.items[i]);
    free(inv->trackers.items);
    for (size_t i = 0; i < inv->teams.n; i++)
        team_free(inv->teams.items[i]);
    free(inv->teams.items);
    self_release(&inv->self);
    for (size_t i = 0; i < inv->sources.n; i++)
        source_free(inv->sources.items[i]);
    free(inv->sources.items);
    free(inv->candidates.items);
    free(inv->found_only.items);
    strlist_release(&inv->address_texts);
    strlist_release(&inv->failures);
    names_release(&inv->found_names);
    names_release(&inv->addresses);
    names_release(&inv->service_names);
    names_release(&inv->host_names);
    names_release(&inv->group_names);
    names_release(&inv->tracker_names);
    names_release(&inv->team_names);
    names_release(&inv->made_addresses);
    free(inv->path);
    free(inv);
}

const struct host *const *inventory_hosts(const struct inventory *inv, size_t *ret_n)
{
    *ret_n = inv->hosts.n;
    return (const struct host *const *)inv->hosts.items;
}

const char *inventory_group_name(const struct inventory *inv, size_t i)
{
    return i < inv->groups.n ? inv->groups.items[i]->name : NULL;
}

const char *inventory_service_name(const struct inventory *inv, size_t i)
{
    return i < inv->services.n ? inv->services.items[i]->name : NULL;
}

const char *inventory_path(const struct inventory *inv)
{
    return inv->path;
}
