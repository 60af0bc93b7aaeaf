/*
 * Reads files of Prometheus and Parca: groups of targets (file_sd), and configurations with `scrape_configs`.
 *
 * The files belong to other programs, so the reader ignores unknown keys. It adds a note for an unsupported
 * key that would add or change targets.
 *
 * Source: Prometheus, docs/configuration/configuration.md; Parca, pkg/config/config.go.
 */
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/discovered.h"
#include "discovery/discovered_parca.h"
#include "base/banned.h"

#define MAX_FILES 1000
/* The limit of processor time for all files of a configuration, which may name one large file many times. */
#define MAX_FILES_MS 3000

/* A file that is being read. */
struct reading {
    const struct yaml_tree *tree;
    const char *dir;
    enum source_kind kind;
    struct discovered *into;
    struct stop stop; /* the limit of time of a configuration */
};

/* One entry of scrape_configs. */
struct scrape_config {
    const struct yaml_node *node;
    size_t job;
    bool https;
};

static const struct yaml_node *find_value(const struct yaml_node *map, const char *key)
{
    for (const struct yaml_node *v = map->kind == YAML_MAP ? map->first : NULL; v; v = v->next)
        if (strcmp(v->key->text, key) == 0)
            return v;
    return NULL;
}

/* Reads the text under that key; *ret is NULL if there is none. */
static int read_text(const struct reading *r, const struct yaml_node *map, const char *key, const char **ret,
                     struct err *err)
{
    const struct yaml_node *v = find_value(map, key);
    if (v && v->kind != YAML_SCALAR)
        return yaml_tree_err(r->tree, v, err, "%s must be text", key);
    *ret = v && *v->text ? v->text : NULL;
    return 0;
}

/* Reads the list under that key; *ret is its first item, NULL if the list is empty or missing. */
static int read_list(const struct reading *r, const struct yaml_node *map, const char *key,
                     const struct yaml_node **ret, struct err *err)
{
    const struct yaml_node *v = find_value(map, key);
    /* `targets:` without a value is an empty list. */
    if (v && v->kind == YAML_SCALAR && !*v->text)
        v = NULL;
    if (v && v->kind != YAML_LIST)
        return yaml_tree_err(r->tree, v, err, "%s must be a list", key);
    *ret = v ? v->first : NULL;
    return 0;
}

/* ---- groups of targets --------------------------------------------------------------------------------- */

/* Finds or adds the job that a group's labels name. A new job gets the settings of `template_job`. */
static int find_group_job(struct discovered *found, const char *name, size_t template_job, size_t *ret,
                          struct err *err)
{
    if (discovered_get_job(found, name, ret))
        return 0;
    if (discovered_add_job(found, name, ret, err) < 0)
        return -1;
    struct discovered_job *job = &found->jobs[*ret];
    const struct discovered_job *from = &found->jobs[template_job];
    if (template_job == *ret)
        return 0;
    if ((from->path && !(job->path = strdup(from->path))) ||
        (from->query && !(job->query = strdup(from->query))))
        return err_nomem(err);
    for (size_t i = 0; i < from->kinds.n; i++)
        if (strlist_add(&job->kinds, from->kinds.items[i], err) < 0)
            return -1;
    return 0;
}

/* Reads the labels of a group for its targets, which begin at index `from`. */
static int read_labels(const struct reading *r, const struct yaml_node *labels, size_t from, struct err *err)
{
    struct strlist set = {0};
    int rc = 0;
    for (const struct yaml_node *v = labels && labels->kind == YAML_MAP ? labels->first : NULL; rc == 0 && v;
         v = v->next)
        if (v->kind == YAML_SCALAR)
            rc = discovered_add_label(&set, v->key->text, v->text, err);
    if (rc == 0)
        rc = discovered_set_labels(r->into, from, &set, err);
    strlist_release(&set);
    return rc;
}

/* Reads a group of targets: {targets: [...], labels: {...}}. `config` is NULL outside of a configuration. */
static int read_group(const struct reading *r, const struct yaml_node *group,
                      const struct scrape_config *config, struct err *err)
{
    const struct yaml_node *targets = NULL, *labels = find_value(group, "labels");
    const char *name = NULL, *scheme = NULL;
    size_t job = config ? config->job : 0;
    if (group->kind != YAML_MAP)
        return yaml_tree_err(r->tree, group, err, "a group of targets must be a mapping with \"targets\"");
    if (read_list(r, group, "targets", &targets, err) < 0)
        return -1;
    if (labels &&
        (read_text(r, labels, "job", &name, err) < 0 || read_text(r, labels, "__scheme__", &scheme, err) < 0))
        return -1;
    if (targets && (name || !config) && find_group_job(r->into, name ? name : "", job, &job, err) < 0)
        return -1;
    bool https = scheme ? strcmp(scheme, "https") == 0 : config && config->https;
    size_t before = r->into->n;
    for (const struct yaml_node *v = targets; v; v = v->next) {
        if (v->kind != YAML_SCALAR)
            return yaml_tree_err(r->tree, v, err, "a target must be HOST:PORT");
        if (discovered_add_target(r->into, job, v->text, https, err) < 0)
            return -1;
    }
    return read_labels(r, labels, before, err);
}

static int read_json(const char *name, struct str text, struct discovered *into, struct err *err)
{
    struct discovered_reader *reader = NULL;
    int rc = discovered_reader_new(SOURCE_HTTP_SD, into, &reader, err);
    if (rc == 0)
        rc = discovered_reader_feed(reader, text.p, text.n, err);
    if (rc == 0)
        rc = discovered_reader_end(reader, err);
    discovered_reader_free(reader);
    return rc < 0 ? err_wrap(err, "%s", name) : 0;
}

/* Decides by the name whether a file is JSON, as Prometheus does. Files of a configuration are always read as
 * YAML, because the JSON reader cannot assign their groups to the job of the configuration. */
static bool is_json(const char *name, const struct scrape_config *config)
{
    return text_ends_in(name, ".json") && !config;
}

static int read_groups(const char *name, struct str text, const struct scrape_config *config,
                       struct discovered *into, struct err *err)
{
    struct yaml_tree *tree = NULL;
    if (is_json(name, config))
        return read_json(name, text, into, err);
    if (yaml_tree_parse(name, text.p, text.n, &tree, err) < 0)
        return -1;
    struct reading r = {.tree = tree, .into = into};
    const struct yaml_node *root = yaml_tree_root(tree);
    int rc = root->kind == YAML_LIST
                 ? 0
                 : yaml_tree_err(tree, root, err, "this must be a list of groups of targets");
    for (const struct yaml_node *v = rc == 0 ? root->first : NULL; rc == 0 && v; v = v->next)
        rc = read_group(&r, v, config, err);
    yaml_tree_free(tree);
    return rc;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* Reads a file. A missing file is ERR_FAILED, as discovered_read promises. */
static int read_whole(const char *path, struct buf *ret, struct err *err)
{
    int rc = file_read(path, ret, err);
    if (rc < 0 && err && err->kind == ERR_NOT_FOUND)
        err->kind = ERR_FAILED;
    return rc;
}

static int read_groups_file(const char *path, const struct scrape_config *config, struct discovered *into,
                            struct err *err)
{
    struct buf text = BUF_INIT(is_json(path, config) ? SOURCE_MAX_BYTES : YAML_MAX_BYTES);
    int rc = read_whole(path, &text, err);
    if (rc == 0)
        rc = read_groups(path, (struct str){buf_str(&text), text.len}, config, into, err);
    buf_release(&text);
    return rc;
}

/* Returns the path as a glob whose first `n_literal` bytes match only themselves. NULL if memory runs out. */
static char *make_pattern(const char *path, size_t n_literal)
{
    char *pattern = malloc(2 * strlen(path) + 1), *to = pattern;
    for (size_t i = 0; pattern && path[i]; i++) {
        if (i < n_literal && strchr("*?[\\", path[i]))
            *to++ = '\\';
        *to++ = path[i];
    }
    if (pattern)
        *to = '\0';
    return pattern;
}

/* Reads all files that match the path, sorted by name. The path's first `n_literal` bytes match literally. */
static int read_matching_files(const char *path, size_t n_literal, const struct scrape_config *config,
                               struct discovered *into, struct err *err)
{
    glob_t files = {0};
    char *pattern = make_pattern(path, n_literal);
    int rc = pattern ? glob(pattern, 0, NULL, &files) : GLOB_NOSPACE;
    free(pattern);
    if (rc == GLOB_NOMATCH)
        rc = err_set(err, ERR_FAILED, "there is no file %s", path);
    else if (rc != 0)
        rc = err_set(err, ERR_FAILED, "cannot search for %s", path);
    else if (files.gl_pathc > MAX_FILES)
        rc = err_set(err, ERR_FAILED, "%s matches more than %d files", path, MAX_FILES);
    for (size_t i = 0; rc == 0 && i < files.gl_pathc; i++)
        rc = read_groups_file(files.gl_pathv[i], config, into, err);
    globfree(&files);
    return rc;
}

/* Reads the files that match one path of `files`. As in Prometheus, only the last component of the path may
 * be a pattern, because a pattern of directories could search the whole disk. The configuration's own
 * directory matches literally. */
static int read_files_of_path(const struct reading *r, const struct scrape_config *c, const char *path,
                              struct err *err)
{
    if (strcspn(path, "*?[") < strlen(path) - strlen(file_base(path)))
        return err_set(err, ERR_FAILED, "%s: only the last component of a path may be a pattern", path);
    if (stop_is_out_of_time(&r->stop))
        return err_set(err, ERR_LIMIT, "reading its files takes more than %d s of processor time",
                       MAX_FILES_MS / 1000);
    char *full_path = file_join(r->dir, path);
    int rc = full_path ? read_matching_files(full_path, strlen(full_path) - strlen(path), c, r->into, err)
                       : err_nomem(err);
    free(full_path);
    return rc;
}

/* Reads the files of all file_sd_configs of one entry of scrape_configs. Adds a note for a file that is
 * missing or unreadable on this machine. Fails at a limit of the whole source. */
static int read_file_sd(const struct reading *r, const struct scrape_config *c, struct err *err)
{
    const struct yaml_node *sd = NULL, *files = NULL;
    if (read_list(r, c->node, "file_sd_configs", &sd, err) < 0)
        return -1;
    for (; sd; sd = sd->next) {
        if (read_list(r, sd, "files", &files, err) < 0)
            return -1;
        for (const struct yaml_node *v = files; v; v = v->next) {
            struct err why = ERR_INIT;
            if (v->kind != YAML_SCALAR || !r->dir)
                return yaml_tree_err(r->tree, v, err, "a file must be a path");
            int rc = read_files_of_path(r, c, v->text, &why);
            if (rc < 0 && why.kind == ERR_LIMIT) {
                *err = why;
                return yaml_tree_err_wrap(r->tree, v, err);
            }
            if (rc < 0 &&
                discovered_note(r->into, err, "job \"%s\": %s: the targets of this file are missing",
                                r->into->jobs[c->job].name, why.msg) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- scrape_configs ------------------------------------------------------------------------------------ */

static const struct {
    const char *key;
    const char *consequence;
} unsupported_keys[] = {
    {"relabel_configs", "not applied: the targets that they drop are listed, and labels are not renamed"},
    {"params", "not sent, because they belong to requests for metrics"},
    {"basic_auth", "not used: set `service:` of the source to a service that has `auth:`"},
    {"authorization", "not used: set `service:` of the source to a service that has `auth:`"},
    {"oauth2", "not used: set `service:` of the source to a service that has `auth:`"},
    {"bearer_token", "not used: set `service:` of the source to a service that has `auth:`"},
    {"bearer_token_file", "not used: set `service:` of the source to a service that has `auth:`"},
    {"tls_config", "not used: set `service:` of the source to a service that has `tls:`"},
    {"proxy_url", "not used"},
};

/* Adds notes on unsupported keys, without the values, which may be secrets. */
static int note_unsupported(const struct reading *r, const struct scrape_config *c, struct err *err)
{
    const char *job = r->into->jobs[c->job].name;
    for (const struct yaml_node *v = c->node->first; v; v = v->next) {
        const char *key = v->key->text;
        if (text_ends_in(key, "_sd_configs") && strcmp(key, "file_sd_configs") != 0 &&
            discovered_note(r->into, err, "job \"%s\": %.60s are not supported: their targets are missing",
                            job, key) < 0)
            return -1;
        for (size_t i = 0; i < sizeof unsupported_keys / sizeof *unsupported_keys; i++)
            if (strcmp(key, unsupported_keys[i].key) == 0 &&
                (r->kind != SOURCE_PARCA || strcmp(key, "params") != 0) &&
                discovered_note(r->into, err, "job \"%s\": %s: %s", job, key,
                                unsupported_keys[i].consequence) < 0)
                return -1;
    }
    return 0;
}

static int read_config(const struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *name = NULL, *scheme = NULL;
    struct scrape_config c = {.node = node};
    const struct yaml_node *groups = NULL, *profiling = find_value(node, "profiling_config"),
                           *params = find_value(node, "params");
    if (node->kind != YAML_MAP)
        return yaml_tree_err(r->tree, node, err, "an entry of scrape_configs must be a mapping");
    if (read_text(r, node, "job_name", &name, err) < 0 || read_text(r, node, "scheme", &scheme, err) < 0 ||
        read_list(r, node, "static_configs", &groups, err) < 0)
        return -1;
    if (!name)
        return yaml_tree_err(r->tree, node, err, "\"job_name\" is missing");
    c.https = scheme && strcmp(scheme, "https") == 0;
    if (discovered_add_job(r->into, name, &c.job, err) < 0)
        return -1;
    if (profiling && r->kind == SOURCE_PARCA &&
        discovered_parca_read(r->tree, profiling, r->into, &r->into->jobs[c.job], err) < 0)
        return -1;
    if (params && r->kind == SOURCE_PARCA &&
        discovered_parca_params(r->tree, params, &r->into->jobs[c.job], err) < 0)
        return -1;
    for (; groups; groups = groups->next)
        if (read_group(r, groups, &c, err) < 0)
            return -1;
    return read_file_sd(r, &c, err) < 0 ? -1 : note_unsupported(r, &c, err);
}

static int read_configs(const struct reading *r, struct err *err)
{
    const struct yaml_node *root = yaml_tree_root(r->tree), *configs = NULL;
    if (root->kind != YAML_MAP)
        return yaml_tree_err(r->tree, root, err, "this must be a mapping with \"scrape_configs\"");
    if (read_list(r, root, "scrape_configs", &configs, err) < 0)
        return -1;
    if (!configs && discovered_note(r->into, err, "it has no scrape_configs") < 0)
        return -1;
    for (; configs; configs = configs->next)
        if (read_config(r, configs, err) < 0)
            return -1;
    if (find_value(root, "scrape_config_files"))
        return discovered_note(r->into, err, "scrape_config_files are not read: name each file as a source");
    return 0;
}

int discovered_parse(const struct discovered_file *file, struct discovered *into, struct err *err)
{
    struct yaml_tree *tree = NULL;
    if (file->kind == SOURCE_FILE_SD)
        return read_groups(file->name, file->text, NULL, into, err);
    if (yaml_tree_parse(file->name, file->text.p, file->text.n, &tree, err) < 0)
        return -1;
    struct reading r = {.tree = tree,
                        .dir = file->dir,
                        .kind = file->kind,
                        .into = into,
                        .stop = stop_begin(-1, MAX_FILES_MS)};
    int rc = read_configs(&r, err);
    yaml_tree_free(tree);
    return rc;
}

static int read_configs_file(const struct source *source, struct discovered *into, struct err *err)
{
    struct buf text = BUF_INIT(YAML_MAX_BYTES);
    char *dir = file_dir(source->url_or_path);
    int rc = dir ? read_whole(source->url_or_path, &text, err) : err_nomem(err);
    struct discovered_file file = {
        .name = source->url_or_path, .dir = dir, .kind = source->kind, .text = {buf_str(&text), text.len}};
    if (rc == 0)
        rc = discovered_parse(&file, into, err);
    free(dir);
    buf_release(&text);
    return rc;
}

int discovered_read(const struct source *source, struct discovered *ret, struct err *err)
{
    struct discovered found = {.at = clock_utc()};
    int rc = source->kind == SOURCE_FILE_SD
                 ? read_matching_files(source->url_or_path, source->n_literal, NULL, &found, err)
                 : read_configs_file(source, &found, err);
    if (rc < 0)
        discovered_release(&found);
    else
        *ret = found;
    return rc;
}
