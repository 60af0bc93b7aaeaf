/*
 * Compares a loaded manifest with the files of its work directory: finds changes by a disk, a person or a
 * transport before the run resumes.
 */
#include "bundle/manifest_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bundle/json_rows.h"
#include "bundle/path.h"
#include "base/banned.h"

struct comparison {
    struct manifest *m;
    const struct dir *files;
    const struct manifest_compare_options *options;
};

/* The current state of a file. */
struct file_state {
    bool exists;
    struct sha256_file content;
};

/* Reads the state of a file. An entry that is no regular file counts as missing. A file that cannot be read
 * is an error, because it may be intact. */
static int examine_file(const struct comparison *c, const char *path, struct file_state *ret, struct err *err)
{
    struct stat st;
    struct err why = ERR_INIT;
    *ret = (struct file_state){0};
    if (dir_stat(c->files, path, &st, &why) < 0) {
        if (why.kind == ERR_NOT_FOUND)
            return 0;
        if (err)
            *err = why;
        return -1;
    }
    if (!S_ISREG(st.st_mode))
        return 0;
    int fd = dir_open(c->files, path, err);
    if (fd < 0)
        return -1;
    ret->exists = true;
    int rc = sha256_file(fd, 0, c->options->cancel_fd, &ret->content, err);
    fd_close(&fd);
    return rc < 0 ? err_wrap(err, "%s", path) : 0;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

/* Renames the file to its damaged name. If a larger file already has that name, removes the file instead, and
 * sets *state to the state of the larger file. */
static int rename_damaged(const struct comparison *c, const char *path, const char *damaged,
                          struct file_state *state, struct err *err)
{
    struct stat st;
    if (dir_stat(c->files, damaged, &st, NULL) < 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size < state->content.bytes)
        return dir_rename(c->files, path, damaged, err);
    return dir_remove(c->files, path, err) < 0 ? -1 : examine_file(c, damaged, state, err);
}

/* Removes the file from the record of the item. */
static int drop_file(struct comparison *c, struct manifest_item *item, enum manifest_status status,
                     const char *error, struct err *err)
{
    if (manifest_remove_path(c->m, item->file, err) < 0)
        return -1;
    manifest_set_status(item, status);
    item->error = error;
    item->file = NULL;
    item->bytes = 0;
    item->sha256 = NULL;
    item->has_profile = false;
    item->findings = NULL;
    item->n_findings = 0;
    return 0;
}

static int record_missing(struct comparison *c, struct manifest_item *item, struct err *err)
{
    c->options->changed(c->options->ctx, item->file, "is missing");
    return drop_file(c, item, MANIFEST_FAILED, "its file was not there any more", err);
}

/* Records a changed file, whose name is now `file`. */
static int record_damaged(struct comparison *c, struct manifest_item *item, const char *file,
                          const struct file_state *now, struct err *err)
{
    const char *name = json_rows_copy_text(file, &c->m->index->arena),
               *sha256 = json_rows_copy_text(now->content.hex, &c->m->index->arena);
    c->options->changed(c->options->ctx, item->file, "is not the file that was collected");
    if (!name || !sha256)
        return err_nomem(err);
    if (drop_file(c, item, MANIFEST_DAMAGED, "the file was changed after it was collected", err) < 0 ||
        manifest_add_path(c->m, name, err) < 0)
        return -1;
    item->file = name;
    item->bytes = now->content.bytes;
    item->sha256 = sha256;
    return 0;
}

/* Returns the file's path with .damaged appended. If the item was damaged before, its path has that ending
 * already. */
static char *make_damaged_path(const struct manifest_item *item)
{
    char *name = NULL;
    return asprintf(&name, "%s%s", item->file, item->status == MANIFEST_OK ? ".damaged" : "") < 0 ? NULL
                                                                                                  : name;
}

static int record_changed(struct comparison *c, struct manifest_item *item, const struct file_state *found,
                          struct err *err)
{
    const char *path = item->file;
    struct file_state now = *found;
    char *name = make_damaged_path(item);
    int rc = -1;
    if (!name)
        err_nomem(err);
    else if (strcmp(name, path) == 0)
        rc = record_damaged(c, item, name, &now, err);
    else if (manifest_has_path(c->m, name))
        err_set(err, ERR_FAILED, PATH_MANIFEST " is malformed: it describes both %s and %s", path, name);
    else if (path_check(name, err) == 0 && rename_damaged(c, path, name, &now, err) == 0)
        rc = record_damaged(c, item, name, &now, err);
    free(name);
    return rc;
}

static int compare_item(struct comparison *c, struct manifest_item *item, struct err *err)
{
    struct file_state now;
    if (fd_cancelled(c->options->cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (examine_file(c, item->file, &now, err) < 0)
        return -1;
    if (now.exists && now.content.bytes == item->bytes && strcmp(now.content.hex, item->sha256) == 0)
        return 0;
    return now.exists ? record_changed(c, item, &now, err) : record_missing(c, item, err);
}

static int compare_items(struct comparison *c, struct manifest_item *items, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].file && compare_item(c, &items[i], err) < 0)
            return -1;
    return 0;
}

int manifest_compare(struct manifest *m, const struct manifest_compare_options *options, struct err *err)
{
    struct comparison c = {m, workdir_files(options->work), options};
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++) {
            const struct manifest_service *s = &m->hosts[i].services[k];
            if (compare_items(&c, s->items, s->n_items, err) < 0)
                return -1;
        }
    return compare_items(&c, m->files, m->n_files, err);
}
