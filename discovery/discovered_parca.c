#include "discovery/discovered_parca.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define PPROF_DIRECTORY "/debug/pprof"
#define MAX_PROFILES 32
#define MAX_QUERY 400

/* One profile of pprof_config, or one of Parca's defaults. */
struct parca_profile {
    const char *name;
    const char *path;
    bool enabled;
};

struct parca_profiles {
    struct parca_profile items[MAX_PROFILES];
    size_t n;
};

static const struct parca_profile parca_defaults[] = {
    {"memory", PPROF_DIRECTORY "/allocs", true},       {"block", PPROF_DIRECTORY "/block", true},
    {"goroutine", PPROF_DIRECTORY "/goroutine", true}, {"mutex", PPROF_DIRECTORY "/mutex", true},
    {"process_cpu", PPROF_DIRECTORY "/profile", true},
};

/* Returns profgrab's kind for a pprof handler. */
static const char *handler_kind(const char *handler)
{
    return strcmp(handler, "profile") == 0     ? "cpu"
           : strcmp(handler, "goroutine") == 0 ? "goroutines"
                                               : handler;
}

static struct parca_profile *find_or_add_profile(struct parca_profiles *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i].name, name) == 0)
            return &l->items[i];
    if (l->n == MAX_PROFILES)
        return NULL;
    l->items[l->n] = (struct parca_profile){.name = name};
    return &l->items[l->n++];
}

static int read_profile(const struct yaml_tree *tree, const struct yaml_node *value,
                        struct parca_profiles *into, struct err *err)
{
    struct parca_profile *p = find_or_add_profile(into, value->key->text);
    struct service service = {0};
    if (!p)
        return yaml_tree_err(tree, value, err, "more than %d profiles", MAX_PROFILES);
    for (const struct yaml_node *v = value->kind == YAML_MAP ? value->first : NULL; v; v = v->next) {
        if (strcmp(v->key->text, "enabled") == 0) {
            p->enabled = v->kind == YAML_SCALAR && strcmp(v->text, "true") == 0;
            if (!p->enabled && (v->kind != YAML_SCALAR || strcmp(v->text, "false") != 0))
                return yaml_tree_err(tree, v, err, "enabled must be true or false");
        } else if (strcmp(v->key->text, "path") == 0) {
            if (v->kind != YAML_SCALAR)
                return yaml_tree_err(tree, v, err, "path must be text");
            if (service_set_path(&service, v->text, err) < 0)
                return yaml_tree_err_wrap(tree, v, err);
            free(service.path);
            p->path = v->text;
        }
    }
    return 0;
}

/* Returns the directory of all enabled profiles, or pprof's if their directories differ. */
static struct str common_directory(const struct parca_profiles *l)
{
    struct str common = {0};
    for (size_t i = 0; i < l->n; i++) {
        const char *slash = l->items[i].enabled && l->items[i].path ? strrchr(l->items[i].path, '/') : NULL;
        struct str dir = {l->items[i].path, slash ? (size_t)(slash - l->items[i].path) : 0};
        if (slash && common.p && !str_equal(common, dir))
            return STR(PPROF_DIRECTORY);
        if (slash)
            common = dir;
    }
    return common.p ? common : STR(PPROF_DIRECTORY);
}

/* Adds the kind of a profile: the name of its handler if that is in the directory `dir`, otherwise the whole
 * path. */
static int add_kind(const struct parca_profile *p, struct str dir, const char *prefix,
                    struct discovered_job *job, struct err *err)
{
    const char *rest = p->path + dir.n + 1;
    if (strlen(p->path) > dir.n && strncmp(p->path, dir.p, dir.n) == 0 && p->path[dir.n] == '/' &&
        text_is_name(rest))
        return strlist_add(&job->kinds, handler_kind(rest), err);
    char *path = NULL;
    if (asprintf(&path, "%s%s", prefix, p->path) < 0)
        return err_nomem(err);
    int rc = strlist_add(&job->kinds, path, err);
    free(path);
    return rc;
}

static int add_kinds(const struct parca_profiles *l, const char *prefix, struct discovered *found,
                     struct discovered_job *job, struct err *err)
{
    struct str dir = common_directory(l);
    for (size_t i = 0; i < l->n; i++) {
        const struct parca_profile *p = &l->items[i];
        if (!p->enabled)
            continue;
        if (!p->path) {
            if (discovered_note(found, err, "job \"%s\": profile \"%.60s\" has no path", job->name, p->name) <
                0)
                return -1;
        } else if (add_kind(p, dir, prefix, job, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int discovered_parca_read(const struct yaml_tree *tree, const struct yaml_node *config,
                          struct discovered *found, struct discovered_job *job, struct err *err)
{
    struct parca_profiles l = {.n = sizeof parca_defaults / sizeof *parca_defaults};
    const struct yaml_node *pprof_config = NULL, *path_node = config;
    const char *prefix = "";
    char path[600];
    memcpy(l.items, parca_defaults, sizeof parca_defaults);
    for (const struct yaml_node *v = config->kind == YAML_MAP ? config->first : NULL; v; v = v->next)
        if (strcmp(v->key->text, "path_prefix") == 0 && v->kind == YAML_SCALAR) {
            prefix = v->text;
            path_node = v;
        } else if (strcmp(v->key->text, "pprof_config") == 0 && v->kind == YAML_MAP) {
            pprof_config = v;
        }
    for (const struct yaml_node *v = pprof_config ? pprof_config->first : NULL; v; v = v->next)
        if (read_profile(tree, v, &l, err) < 0)
            return -1;
    struct str dir = common_directory(&l);
    snprintf(path, sizeof path, "%.280s%.*s", prefix, (int)(dir.n < 280 ? dir.n : 280), dir.p);
    if (discovered_set_path(job, path, err) < 0)
        return yaml_tree_err_wrap(tree, path_node, err);
    return pprof_config ? add_kinds(&l, prefix, found, job, err) : 0;
}

/* ---- params -------------------------------------------------------------------------------------------- */

static int add_param(const struct yaml_tree *tree, const struct yaml_node *key, const struct yaml_node *value,
                     struct buf *to, struct err *err)
{
    if (value->kind != YAML_SCALAR)
        return yaml_tree_err(tree, value, err, "a parameter must be text, or a list of texts");
    buf_adds(to, to->len ? "&" : "");
    buf_add_percent_encoded(to, key->text);
    buf_addc(to, '=');
    buf_add_percent_encoded(to, value->text);
    return 0;
}

int discovered_parca_params(const struct yaml_tree *tree, const struct yaml_node *params,
                            struct discovered_job *job, struct err *err)
{
    struct buf query = BUF_INIT(MAX_QUERY);
    int rc = params->kind == YAML_MAP ? 0 : yaml_tree_err(tree, params, err, "params must be a mapping");
    for (const struct yaml_node *v = rc == 0 ? params->first : NULL; rc == 0 && v; v = v->next) {
        if (v->kind != YAML_LIST)
            rc = add_param(tree, v->key, v, &query, err);
        for (const struct yaml_node *item = v->kind == YAML_LIST ? v->first : NULL; rc == 0 && item;
             item = item->next)
            rc = add_param(tree, v->key, item, &query, err);
    }
    if (rc == 0 && buf_check(&query, "params", err) < 0)
        rc = yaml_tree_err_wrap(tree, params, err);
    if (rc == 0)
        job->query = buf_detach(&query);
    buf_release(&query);
    return rc;
}
