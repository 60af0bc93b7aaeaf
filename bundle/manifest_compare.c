/*
 * A loaded manifest held against what lies in its work directory: what a disk, a person or a bundle on its
 * way has changed is found before anything is built on it.
 */
#include "bundle/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/path.h"
#include "base/banned.h"

struct comparison {
    struct manifest *m;
    const char *dir;
    int cancel_fd;
    manifest_changed_fn *changed;
    void *ctx;
};

/* What a file is now. */
struct facts {
    bool there;
    uint64_t bytes;
    char sha256[SHA256_HEX];
};

static int hash_file(int fd, const char *path, struct facts *ret, struct err *err)
{
    char chunk[65536];
    struct sha256 *hash = sha256_new(err);
    if (!hash)
        return -1;
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        sha256_add(hash, chunk, (size_t)n);
        ret->bytes += (uint64_t)n;
    }
    int rc = n < 0 ? err_sys(err, "cannot read %s", path) : sha256_hex(hash, ret->sha256, err);
    sha256_free(hash);
    return rc;
}

/* What is no regular file is not there. What cannot be looked at now may be, and be good. */
static int look(const char *path, struct facts *ret, struct err *err)
{
    struct stat st;
    *ret = (struct facts){0};
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, "cannot look at %s", path);
    if (!S_ISREG(st.st_mode))
        return 0;
    int fd = file_open(path, err);
    if (fd < 0)
        return -1;
    ret->there = true;
    int rc = hash_file(fd, path, ret, err);
    fd_close(&fd);
    return rc;
}

static bool is_same(const struct facts *now, const struct items_file *file)
{
    return now->there && now->bytes == file->bytes && strcmp(now->sha256, file->sha256) == 0;
}

/* ---- what is wrong --------------------------------------------------------------------------------------
 */

/* Gives it the name of a damaged file, unless a larger one has that. */
static int set_aside(const char *path, const char *damaged, uint64_t bytes, struct err *err)
{
    struct stat st;
    if (lstat(damaged, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= bytes)
        return unlink(path) == 0 ? 0 : err_sys(err, "cannot remove %s", path);
    return rename(path, damaged) == 0 ? 0 : err_sys(err, "cannot rename %s", path);
}

static void judge(json_t *item, struct fields *change, const char *status, const char *error)
{
    static const char *const gone[] = {"file", "bytes", "sha256", "profile", "verdicts"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        json_object_del(item, gone[i]);
    fields_put(change, "status", json_string(status));
    fields_put(change, "error", fields_string(error));
}

static int apply(struct comparison *c, json_t *item, struct fields *change, const char *file, struct err *err)
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
    judge(item, &change, "failed", "its file was not there any more");
    return apply(c, item, &change, NULL, err);
}

static int record_damaged(struct comparison *c, json_t *item, const char *path, const char *file,
                          const struct facts *now, struct err *err)
{
    struct fields change = fields_new();
    const char *what = "is not the file that was collected";
    c->changed(c->ctx, path, what);
    json_object_del(c->m->paths, path);
    judge(item, &change, "damaged", "the file was changed after it was collected");
    fields_put(&change, "file", json_string(file));
    fields_count(&change, "bytes", now->bytes);
    fields_put(&change, "sha256", json_string(now->sha256));
    return apply(c, item, &change, file, err);
}

/* The name of its path with .damaged behind it, or as it is where it was damaged before. */
static char *damaged_name(const json_t *item, const char *path)
{
    bool good = strcmp(json_string_value(json_object_get(item, "status")), "ok") == 0;
    char *name = NULL;
    return asprintf(&name, "%s%s", path, good ? ".damaged" : "") < 0 ? NULL : name;
}

static int settle(struct comparison *c, json_t *item, const char *path, const char *full,
                  const struct facts *found, struct err *err)
{
    struct facts now = *found;
    char *name = damaged_name(item, path), *damaged = name ? file_join(c->dir, name) : NULL;
    int rc = -1;
    if (!damaged)
        err_nomem(err);
    else if (strcmp(name, path) == 0)
        rc = record_damaged(c, item, path, name, &now, err);
    else if (json_object_get(c->m->paths, name))
        err_set(err, ERR_FAILED, PATH_MANIFEST " is malformed: it describes both %s and %s", path, name);
    else if (path_check(name, err) == 0 && set_aside(full, damaged, found->bytes, err) == 0 &&
             look(damaged, &now, err) == 0)
        rc = record_damaged(c, item, path, name, &now, err);
    free(damaged);
    free(name);
    return rc;
}

static int compare_item(void *ctx, json_t *item, const struct items_file *file, struct err *err)
{
    struct comparison *c = ctx;
    struct facts now;
    if (fd_cancelled(c->cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    /* The item's own string goes with its keys. */
    char *path = strdup(file->path), *full = file_join(c->dir, file->path);
    int rc = -1;
    if (!path || !full)
        err_nomem(err);
    else if (look(full, &now, err) == 0)
        rc = is_same(&now, file) ? 0
             : now.there         ? settle(c, item, path, full, &now, err)
                                 : record_missing(c, item, path, err);
    free(path);
    free(full);
    return rc;
}

int manifest_compare(struct manifest *m, const struct workdir *w, int cancel_fd, manifest_changed_fn *changed,
                     void *ctx, struct err *err)
{
    struct comparison c = {m, workdir_path(w), cancel_fd, changed, ctx};
    json_t *root = json_pack("{s:O, s:O}", "hosts", m->hosts, "files", m->files);
    int rc = root ? items_each_item(root, compare_item, &c, err) : err_nomem(err);
    json_decref(root);
    return rc;
}

/* ---- what is there ------------------------------------------------------------------------------------- */

static bool is_good(const json_t *item)
{
    const char *status = json_string_value(json_object_get(item, "status"));
    return status && strcmp(status, "ok") == 0 && json_object_get(item, "file");
}

static const json_t *service_of(const struct manifest *m, const char *host, const char *service)
{
    json_t *h = NULL, *s = NULL;
    if (manifest_find_host(m, host, &h, NULL) < 0 || manifest_find_service(h, service, &s, NULL) < 0)
        return NULL;
    return s;
}

/* NULL: there is none. */
static const json_t *find_good(const json_t *service, const json_t *like)
{
    const json_t *items = json_object_get(service, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        if (is_good(item) && manifest_same_item(item, like))
            return item;
    }
    return NULL;
}

static int64_t started_of(const json_t *item)
{
    const char *text = json_string_value(json_object_get(item, "started"));
    int64_t started = 0;
    return text && clock_parse(text, &started) == 0 && started > 0 ? started : 0;
}

bool manifest_has(const struct manifest *m, const struct manifest_wanted *w, int64_t *ret_started)
{
    struct fields f = fields_new();
    fields_put(&f, "kind", fields_string(w->kind));
    fields_text(&f, "argument", w->argument);
    if (w->pair)
        fields_number(&f, "pair", w->pair);
    json_t *like = fields_take(&f), *h = NULL, *s = NULL;
    if (like && manifest_find_host(m, w->host, &h, NULL) == 0)
        manifest_find_service(h, w->service, &s, NULL);
    const json_t *found = like ? find_good(s, like) : NULL;
    json_decref(like);
    if (ret_started)
        *ret_started = started_of(found);
    return found != NULL;
}

static bool has_planned(const json_t *service)
{
    const json_t *planned = json_object_get(service, "planned");
    bool all = planned != NULL;
    for (size_t i = 0; all && i < json_array_size(planned); i++)
        all = find_good(service, json_array_get(planned, i)) != NULL;
    return all;
}

bool manifest_has_all(const struct manifest *m, const char *host, const char *service)
{
    return has_planned(service_of(m, host, service));
}

static const char *text_at(const json_t *list, size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(list, i), key));
    return text ? text : "";
}

int manifest_forget_errors(struct manifest *m, struct err *err)
{
    const json_t *targets = json_object_get(json_object_get(m->head, "asked"), "targets");
    bool all = true;
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *name = text_at(targets, i, "host");
        json_t *host = json_object_get(m->by_name, name), *service = NULL;
        if (manifest_find_service(host, text_at(targets, i, "service"), &service, err) < 0)
            return -1;
        if (has_planned(service))
            json_object_del(service, "error");
        else
            all = false;
        if (strcmp(name, text_at(targets, i + 1, "host")) == 0)
            continue;
        if (all)
            json_object_del(host, "error");
        all = true;
    }
    return 0;
}

static bool has_file(const json_t *service, const json_t *like)
{
    const json_t *items = json_object_get(service, "items");
    bool found = false;
    for (size_t i = 0; i < json_array_size(items) && !found; i++) {
        const json_t *item = json_array_get(items, i);
        found = json_object_get(item, "file") && manifest_same_item(item, like);
    }
    return found;
}

int manifest_unrecorded(const struct manifest *m, const char *host, const char *service,
                        struct manifest_planned **ret, size_t *ret_n, struct err *err)
{
    const json_t *s = service_of(m, host, service), *planned = json_object_get(s, "planned");
    struct manifest_planned *all = calloc(json_array_size(planned) + 1, sizeof *all);
    size_t n = 0;
    if (!all)
        return err_nomem(err);
    for (size_t i = 0; i < json_array_size(planned); i++) {
        const json_t *one = json_array_get(planned, i);
        if (!has_file(s, one))
            all[n++] =
                (struct manifest_planned){.kind = json_string_value(json_object_get(one, "kind")),
                                          .argument = json_string_value(json_object_get(one, "argument")),
                                          .pair = (unsigned)json_integer_value(json_object_get(one, "pair"))};
    }
    *ret = all;
    *ret_n = n;
    return 0;
}

size_t manifest_n_files(const struct manifest *m)
{
    return json_object_size(m->paths);
}
