/*
 * Compares a loaded manifest with the files of its work directory: finds changes by a disk, a person or a
 * transport before the run resumes.
 */
#include "bundle/manifest_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/path.h"
#include "base/banned.h"

struct comparison {
    struct manifest *m;
    const struct beneath *files;
    int cancel_fd;
    manifest_changed_fn *changed;
    void *ctx;
};

/* The current state of a file. */
struct facts {
    bool there;
    struct sha256_file is;
};

/* Anything but a regular file counts as missing. A failed check is an error: the file may be good. */
static int examine_file(const struct comparison *c, const char *path, struct facts *ret, struct err *err)
{
    struct stat st;
    struct err why = ERR_INIT;
    *ret = (struct facts){0};
    if (beneath_stat(c->files, path, &st, &why) < 0) {
        if (why.kind == ERR_NOT_FOUND)
            return 0;
        if (err)
            *err = why;
        return -1;
    }
    if (!S_ISREG(st.st_mode))
        return 0;
    int fd = beneath_open(c->files, path, err);
    if (fd < 0)
        return -1;
    ret->there = true;
    int rc = sha256_file(fd, 0, c->cancel_fd, &ret->is, err);
    fd_close(&fd);
    return rc < 0 ? err_wrap(err, "%s", path) : 0;
}

static bool is_same(const struct facts *now, const struct items_file *file)
{
    return now->there && now->is.bytes == file->bytes && strcmp(now->is.hex, file->sha256) == 0;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

/* Renames the file to its damaged name, unless a larger file has that name. */
static int set_aside(const struct comparison *c, const char *path, const char *damaged, uint64_t bytes,
                     struct err *err)
{
    struct stat st;
    if (beneath_stat(c->files, damaged, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size >= bytes)
        return beneath_remove(c->files, path, err);
    return beneath_rename(c->files, path, damaged, err);
}

static void set_failure(json_t *item, struct fields *change, const char *status, const char *error)
{
    static const char *const gone[] = {"file", "bytes", "sha256", "profile", "verdicts"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        json_object_del(item, gone[i]);
    fields_put(change, "status", json_string(status));
    fields_put(change, "error", fields_string(error));
}

static int apply_change(struct comparison *c, json_t *item, struct fields *change, const char *file,
                        struct err *err)
{
    json_t *made = fields_take(change);
    int rc = !made || json_object_update(item, made) < 0 ||
             (file && json_object_set_new(c->m->paths, file, json_true()) < 0);
    json_decref(made);
    return rc ? err_nomem(err) : 0;
}

static int record_missing(struct comparison *c, json_t *item, const char *path, struct err *err)
{
    struct fields change = fields_new();
    c->changed(c->ctx, path, "is missing");
    json_object_del(c->m->paths, path);
    set_failure(item, &change, "failed", "its file was not there any more");
    return apply_change(c, item, &change, NULL, err);
}

static int record_damaged(struct comparison *c, json_t *item, const char *path, const char *file,
                          const struct facts *now, struct err *err)
{
    struct fields change = fields_new();
    const char *what = "is not the file that was collected";
    c->changed(c->ctx, path, what);
    json_object_del(c->m->paths, path);
    set_failure(item, &change, "damaged", "the file was changed after it was collected");
    fields_put(&change, "file", json_string(file));
    fields_count(&change, "bytes", now->is.bytes);
    fields_put(&change, "sha256", json_string(now->is.hex));
    return apply_change(c, item, &change, file, err);
}

/* The path with .damaged appended, or unchanged if the item was damaged before. */
static char *damaged_name(const json_t *item, const char *path)
{
    bool good = strcmp(json_string_value(json_object_get(item, "status")), "ok") == 0;
    char *name = NULL;
    return asprintf(&name, "%s%s", path, good ? ".damaged" : "") < 0 ? NULL : name;
}

static int record_changed(struct comparison *c, json_t *item, const char *path, const struct facts *found,
                          struct err *err)
{
    struct facts now = *found;
    char *name = damaged_name(item, path);
    int rc = -1;
    if (!name)
        err_nomem(err);
    else if (strcmp(name, path) == 0)
        rc = record_damaged(c, item, path, name, &now, err);
    else if (json_object_get(c->m->paths, name))
        err_set(err, ERR_FAILED, PATH_MANIFEST " is malformed: it describes both %s and %s", path, name);
    else if (path_check(name, err) == 0 && set_aside(c, path, name, found->is.bytes, err) == 0 &&
             examine_file(c, name, &now, err) == 0)
        rc = record_damaged(c, item, path, name, &now, err);
    free(name);
    return rc;
}

static int compare_item(void *ctx, json_t *item, const struct items_file *file, struct err *err)
{
    struct comparison *c = ctx;
    struct facts now;
    if (fd_cancelled(c->cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    /* The change frees the item's own string. */
    char *path = strdup(file->path);
    int rc = -1;
    if (!path)
        err_nomem(err);
    else if (examine_file(c, path, &now, err) == 0)
        rc = is_same(&now, file) ? 0
             : now.there         ? record_changed(c, item, path, &now, err)
                                 : record_missing(c, item, path, err);
    free(path);
    return rc;
}

int manifest_compare(struct manifest *m, const struct workdir *w, int cancel_fd, manifest_changed_fn *changed,
                     void *ctx, struct err *err)
{
    struct comparison c = {m, workdir_files(w), cancel_fd, changed, ctx};
    json_t *root = json_pack("{s:O, s:O}", "hosts", m->hosts, "files", m->files);
    int rc = root ? items_each_item(root, compare_item, &c, err) : err_nomem(err);
    json_decref(root);
    return rc;
}
