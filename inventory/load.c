#include "inventory/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/schema.h"
#include "inventory/sections.h"
#include "base/banned.h"

/* The nodes of the sections; NULL: missing. read_sections reads them in the order of their references: hosts
 * name services, groups name hosts, teams name trackers. */
struct sections {
    const struct yaml_node *version;
    const struct yaml_node *services;
    const struct yaml_node *hosts;
    const struct yaml_node *groups;
    const struct yaml_node *trackers;
    const struct yaml_node *teams;
    const struct yaml_node *self;
    const struct yaml_node *discovery;
};

static int read_version(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    ((struct sections *)into)->version = value;
    if (value->kind == YAML_SCALAR && value->plain && strcmp(value->text, "1") == 0)
        return 0;
    return yaml_tree_err(s->tree, value, err, "version must be 1");
}

/* Defines the function that stores the node of a section. */
#define SECTION(name)                                                                                        \
    static int store_##name(const struct schema *s, const struct yaml_node *value, void *into,               \
                            struct err *err)                                                                 \
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
    {"version", read_version}, {"services", store_services},   {"hosts", store_hosts},
    {"groups", store_groups},  {"trackers", store_trackers},   {"teams", store_teams},
    {"self", store_self},      {"discovery", store_discovery}, {NULL, NULL},
};

/* ---- checks across sections ---------------------------------------------------------------------------- */

static const struct yaml_node *section_named(const struct yaml_node *root, const char *name)
{
    for (const struct yaml_node *v = root->first; v; v = v->next)
        if (strcmp(v->key->text, name) == 0)
            return v;
    return NULL;
}

/* Sets the error of a setting that is indented like the names of hosts or services (`what`), and so is not
 * below any of them. Returns -1. */
static int refuse_misplaced(const struct schema *s, const struct yaml_node *key, const char *what,
                            struct err *err)
{
    const char *example = strcmp(key->text, "port") == 0 ? "6060" : "...";
    yaml_tree_err(s->tree, key, err, "\"%.60s\" is a setting, but is indented like the %ss' names", key->text,
                  what);
    return err_hint(err, "indent it below the name of its %s:\n%ss:\n  NAME:\n    %.60s: %s", what, what,
                    key->text, example);
}

/* Notes every misplaced setting of a section. Returns -1 if it finds one. The caller must then skip the
 * section, because each misplaced setting would be read as a host or a service and cause more errors. */
static int note_misplaced(const struct schema *s, const struct yaml_node *section, const char *what,
                          const struct schema_key *settings, struct err *err)
{
    int rc = 0;
    for (const struct yaml_node *v = section && section->kind == YAML_MAP ? section->first : NULL; v;
         v = v->next) {
        if (!schema_is_misplaced(v, settings))
            continue;
        rc = refuse_misplaced(s, v->key, what, err);
        if (schema_note_mistake(s, err) < 0)
            return -1;
    }
    return rc;
}

/* Notes every repeated key in or below the node. */
static int note_repeated(const struct schema *s, const struct yaml_node *node, struct err *err)
{
    for (const struct yaml_node *v = node->first; v; v = v->next) {
        if (v->key && v->key->earlier) {
            yaml_tree_err_repeated(s->tree, v->key, err);
            if (schema_note_mistake(s, err) < 0)
                return -1;
        }
        if (note_repeated(s, v, err) < 0)
            return -1;
    }
    return 0;
}

static int refuse_version(const struct schema *s, struct err *err)
{
    yaml_tree_err(s->tree, yaml_tree_root(s->tree), err, "\"version\" is missing");
    return err_hint(err, "begin with \"version: 1\"");
}

/* Notes the mistakes that the readers of single sections do not find: misplaced settings and repeated keys.
 */
static int check_all_sections(const struct schema *s, struct err *err)
{
    int rc = note_misplaced(s, s->services, "service", service_keys, err);
    if ((rc == 0 || s->mistakes) && note_misplaced(s, s->hosts, "host", host_keys, err) < 0)
        rc = -1;
    return rc < 0 ? -1 : note_repeated(s, yaml_tree_root(s->tree), err);
}

/* After a mistake, sections that name hosts or trackers are skipped, because each name that was not read
 * would cause another mistake. Hosts are always read: add_service in host.c ignores broken services. */
static int read_sections(const struct schema *s, const struct sections *found, struct err *err)
{
    const struct {
        const struct yaml_node *section;
        int (*read)(const struct schema *s, const struct yaml_node *section, struct err *err);
        bool names_others; /* the section names hosts or trackers of an earlier section */
    } order[] = {
        {found->services, service_read_all, false}, {found->hosts, host_read_all, false},
        {found->groups, group_read_all, true},      {found->trackers, tracker_read_all, false},
        {found->teams, team_read_all, true},        {found->self, self_read, false},
        {found->discovery, source_read_all, true},
    };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        bool broken = s->mistakes && s->mistakes->n > 0;
        if (!order[i].section || (broken && order[i].names_others))
            continue;
        if (order[i].read(s, order[i].section, err) < 0 && schema_note_mistake(s, err) < 0)
            return -1;
    }
    return 0;
}

static int read_all(struct schema *s, struct err *err)
{
    struct sections found = {0};
    const struct yaml_node *root = yaml_tree_root(s->tree);
    if (root->kind != YAML_MAP) {
        yaml_tree_err(s->tree, root, err, "an inventory is a mapping");
        return err_hint(err, "begin with \"version: 1\"");
    }
    s->services = section_named(root, "services");
    s->hosts = section_named(root, "hosts");
    if (check_all_sections(s, err) < 0 ||
        (schema_read_settings(s, root, keys, &found, err) < 0 && schema_note_mistake(s, err) < 0))
        return -1;
    s->inv->has_discovery = found.discovery != NULL;
    if (!found.version && refuse_version(s, err) < 0 && schema_note_mistake(s, err) < 0)
        return -1;
    if (read_sections(s, &found, err) < 0)
        return -1;
    return s->mistakes && s->mistakes->n > 0 ? -1 : 0;
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static bool is_before(const struct err *a, const struct err *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* Sorts by the position in the file, because the sections were read in another order. */
static void sort_mistakes(struct mistakes *m)
{
    for (size_t i = 1; i < m->n; i++)
        for (size_t j = i; j > 0 && is_before(&m->items[j], &m->items[j - 1]); j--) {
            struct err swapped = m->items[j];
            m->items[j] = m->items[j - 1];
            m->items[j - 1] = swapped;
        }
}

/* Sets err to the only mistake, or to the number of mistakes. */
static void summarize_mistakes(struct mistakes *m, const char *name, struct err *err)
{
    if (!m || m->n == 0 || err->kind != ERR_USAGE)
        return;
    sort_mistakes(m);
    if (m->n == 1)
        *err = m->items[0];
    else
        err_set(err, ERR_USAGE, "%s has %s%zu mistakes", name, m->n == MISTAKES_MAX ? "at least " : "", m->n);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static struct inventory *new_inventory(void)
{
    struct inventory *inv = calloc(1, sizeof *inv);
    if (inv)
        inv->host_names.ignore_case = true;
    return inv;
}

int inventory_parse(const char *name, struct str text, const struct inventory_options *options,
                    struct inventory **ret, struct err *err)
{
    static const struct tracker_kind *const no_kinds[] = {NULL};
    struct inventory_options o = options ? *options : (struct inventory_options){.mistakes = NULL};
    int rc = -1;
    struct yaml_tree *tree = NULL;
    struct err mistake = ERR_INIT;
    char *dir = file_dir(name);
    struct inventory *inv = new_inventory();
    if (!inv || !dir || !(inv->path = strdup(name))) {
        err_nomem(&mistake);
        goto out;
    }
    struct schema s = {.dir = dir,
                       .inv = inv,
                       .tracker_kinds = o.tracker_kinds ? o.tracker_kinds : no_kinds,
                       .mistakes = o.mistakes};
    int read = yaml_tree_parse_with_repeats(name, text.p, text.n, &tree, &mistake);
    s.tree = tree;
    if (read == 0)
        read = read_all(&s, &mistake);
    if (read < 0) {
        schema_note_mistake(&s, &mistake);
        summarize_mistakes(o.mistakes, name, &mistake);
        goto out;
    }
    *ret = inv;
    inv = NULL;
    rc = 0;
out:
    if (rc < 0 && err)
        *err = mistake;
    yaml_tree_free(tree);
    free(dir);
    inventory_free(inv);
    return rc;
}

/* Checks that no other user can write to the file, because its settings can make ssh run commands. */
static int check_owner(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "cannot look at %s", path);
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        err_set(err, ERR_USAGE, "%s belongs to neither you nor root", path);
        return err_hint(err, "make your own copy and name it with -i");
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
    /* Read more bytes than the limit, if there are more, so that the parser refuses the file. */
    while (into->len <= (size_t)YAML_MAX_BYTES) {
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

int inventory_load(const char *path, const struct inventory_options *options, struct inventory **ret,
                   struct err *err)
{
    if (!path) {
        struct inventory *empty = new_inventory();
        if (!empty)
            return err_nomem(err);
        *ret = empty;
        return 0;
    }
    int rc = -1;
    struct buf text = BUF_INIT(2 * YAML_MAX_BYTES);
    int fd = file_open(path, err);
    if (fd < 0) {
        if (err)
            err->kind = ERR_USAGE;
        return -1;
    }
    if (check_owner(fd, path, err) == 0 && read_file(fd, path, &text, err) == 0)
        rc = inventory_parse(path, (struct str){buf_str(&text), text.len}, options, ret, err);
    buf_release(&text);
    fd_close(&fd);
    return rc;
}

void inventory_free(struct inventory *inv)
{
    if (!inv)
        return;
    services_release(&inv->services);
    hosts_release(&inv->hosts);
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
    sources_release(&inv->sources);
    name_map_release(&inv->service_names);
    name_map_release(&inv->broken_services);
    name_map_release(&inv->host_names);
    name_map_release(&inv->group_names);
    name_map_release(&inv->tracker_names);
    name_map_release(&inv->team_names);
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
