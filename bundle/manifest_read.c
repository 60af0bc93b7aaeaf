/* Reads a manifest from JSON. Checks strictly the manifest of a run that will be resumed. */
#include "bundle/manifest_internal.h"

#include <string.h>

#include "bundle/manifest_rows.h"
#include "bundle/path.h"
#include "base/banned.h"

int manifest_read_json(json_t *root, struct manifest **ret, struct err *err)
{
    struct manifest *m = NULL;
    if (manifest_alloc(&m, err) < 0)
        return -1;
    m->index->source = json_incref(root);
    struct json_rows_reading reading = {.arena = &m->index->arena, .left = MANIFEST_JSON_MAX_LISTS};
    if (json_rows_read(root, manifest_rows, m, &reading, err) < 0) {
        manifest_free(m);
        return -1;
    }
    *ret = m;
    return 0;
}

int manifest_read(const char *text, size_t n, struct manifest **ret, struct err *err)
{
    json_t *root = NULL;
    if (manifest_json_parse(text, n, &root, err) < 0)
        return -1;
    int rc = manifest_read_json(root, ret, err);
    json_decref(root);
    return rc;
}

/* ---- checks that the rows of manifest_rows.c do not make ----------------------------------------------- */

static int refuse_copy(const json_t *root, struct err *err)
{
    if (!json_object_get(root, "handoff"))
        return 0;
    err_set(err, ERR_FAILED, "it is a copy that was handed off, and redaction may have changed its files");
    return err_hint(err, "the sender of this copy has the original bundle");
}

struct entry_counter {
    struct manifest *m;
    const char *last; /* the path added last; NULL: none */
    size_t n_entries; /* files and directories; a directory counts again if its files are not adjacent */
};

/* Adds a path to the index. Refuses a manifest whose files a work directory has no room for. */
static int add_path(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    struct entry_counter *counter = ctx;
    (void)item;
    if (manifest_has_path(counter->m, file->path))
        return err_set(err, ERR_FAILED, PATH_MANIFEST " describes %s twice", file->path);
    counter->n_entries += 1 + path_count_new_directories(counter->last, file->path);
    counter->last = file->path;
    if (counter->n_entries > WORKDIR_MAX_ENTRIES)
        return err_set(err, ERR_FAILED, PATH_MANIFEST " has more than %d files and directories",
                       WORKDIR_MAX_ENTRIES);
    return manifest_add_path(counter->m, file->path, err);
}

static bool is_below(const char *file, const char *outer, const char *inner)
{
    size_t n = strlen(outer), m = strlen(inner);
    return strncmp(file, outer, n) == 0 && file[n] == '/' && strncmp(file + n + 1, inner, m) == 0 &&
           file[n + 1 + m] == '/';
}

/* Checks that the file of each item is below the item's service, so that no item refers to a file of another
 * service. */
static int check_item_paths(const struct manifest_service *s, const char *host, struct err *err)
{
    for (size_t i = 0; i < s->n_items; i++)
        if (s->items[i].file && !is_below(s->items[i].file, host, s->name))
            return err_set(err, ERR_FAILED,
                           PATH_MANIFEST " is malformed: %.200s is not in the directory of %.100s/%.100s",
                           s->items[i].file, host, s->name);
    return 0;
}

/* Checks that the services of a host are unique and have only their own files. */
static int check_services(const struct manifest_host *host, struct err *err)
{
    struct name_map seen = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < host->n_services; i++) {
        const struct manifest_service *s = &host->services[i];
        if (name_map_get(&seen, s->name))
            rc = err_set(err, ERR_FAILED, PATH_MANIFEST " has the service %.100s of %.100s twice", s->name,
                         host->name);
        else if ((rc = name_map_add(&seen, s->name, s, err)) == 0)
            rc = check_item_paths(s, host->name, err);
    }
    name_map_release(&seen);
    return rc;
}

/* Checks the hosts and their services, and adds the hosts to the index. */
static int check_and_index_hosts(struct manifest *m, struct err *err)
{
    size_t *indices = arena_alloc(&m->index->arena, m->n_hosts * sizeof *indices);
    if (!indices)
        return err_nomem(err);
    for (size_t i = 0; i < m->n_hosts; i++) {
        if (check_services(&m->hosts[i], err) < 0)
            return -1;
        if (name_map_get(&m->index->hosts, m->hosts[i].name))
            return err_set(err, ERR_FAILED, PATH_MANIFEST " has the host %.100s twice", m->hosts[i].name);
        indices[i] = i;
        if (name_map_add(&m->index->hosts, m->hosts[i].name, &indices[i], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- loading ------------------------------------------------------------------------------------------- */

/* Drops the keys that the end of a run adds, because the resumed run adds its own. `sync` stays, because the
 * profiles that --sync started together stay. */
static void drop_run_results(json_t *root)
{
    static const char *const keys[] = {"finished", "interrupted", "complete",
                                       "retries",  "deadline_ms", "deadline_reached",
                                       "budget",   "summary",     "report"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_del(root, keys[i]);
}

int manifest_read_for_resume(const char *text, size_t n, struct manifest **ret, struct err *err)
{
    json_t *root = NULL;
    struct manifest *m = NULL;
    int rc = -1;
    if (manifest_json_parse(text, n, &root, err) < 0)
        return -1;
    if (refuse_copy(root, err) < 0 || json_rows_check(root, manifest_rows, err) < 0)
        goto out;
    drop_run_results(root);
    if (manifest_read_json(root, &m, err) < 0 ||
        manifest_json_visit_items(root, add_path, &(struct entry_counter){.m = m}, err) < 0 ||
        check_and_index_hosts(m, err) < 0)
        goto out;
    m->index->resumed = true;
    *ret = m;
    m = NULL;
    rc = 0;
out:
    manifest_free(m);
    json_decref(root);
    return rc;
}
