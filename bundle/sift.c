#include "bundle/sift.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/path.h"
#include "bundle/reader.h"
#include "bundle/redact.h"
#include "base/banned.h"

enum { CHUNK = 32768 };

struct sifting {
    const struct bundle_copy *how;
    struct reader *r;
    json_t *items;
    size_t n_files; /* made in the directory */
    struct sift out;
};

/* ---- what is looked at ------------------------------------------------------------------------------------
 */

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), n_end = strlen(end);
    return n >= n_end && strcmp(s + n - n_end, end) == 0;
}

static enum redact_form form_of(const json_t *item)
{
    const char *kind = json_string_value(json_object_get(item, "kind"));
    const char *status = json_string_value(json_object_get(item, "status"));
    const char *file = json_string_value(json_object_get(item, "file"));
    if (kind && strcmp(kind, "cmdline") == 0)
        return REDACT_CMDLINE;
    if (json_object_get(item, "profile") && status && strcmp(status, "ok") == 0)
        return REDACT_PROFILE;
    return ends_in(file, ".txt") ? REDACT_DUMP : REDACT_NOTHING;
}

static int add_item(void *ctx, json_t *item, const struct items_file *file, struct err *err)
{
    json_t *items = ctx;
    if (json_object_get(items, file->path))
        return err_set(err, ERR_FAILED, "%s describes %s twice", PATH_MANIFEST, file->path);
    return json_object_set(items, file->path, item) < 0 ? err_nomem(err) : 0;
}

json_t *sift_items(const json_t *root, struct err *err)
{
    json_t *items = json_object();
    if (!items)
        err_nomem(err);
    else if (items_each_item(root, add_item, items, err) < 0) {
        json_decref(items);
        items = NULL;
    }
    return items;
}

/* ---- files ------------------------------------------------------------------------------------------------
 */

static int make_file(struct sifting *s, const char *name, struct err *err)
{
    char *path = file_join(s->out.dir, name);
    int fd = path ? file_create(path, err) : err_nomem(err);
    free(path);
    return fd;
}

static int drop_file(const struct sifting *s, const char *name, struct err *err)
{
    char *path = file_join(s->out.dir, name);
    int rc = path ? file_remove(path, err) : err_nomem(err);
    free(path);
    return rc;
}

/* The present member into a file, and whether it is the one that the manifest describes. */
static int save_member(struct sifting *s, int fd, const struct items_file *want, struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    char chunk[CHUNK], hex[SHA256_HEX];
    int rc = hash ? 0 : -1;
    for (size_t n = 1; rc == 0 && n > 0;) {
        rc = reader_read(s->r, chunk, sizeof chunk, &n, err);
        if (rc == 0 && fd_cancelled(s->how->cancel_fd))
            rc = err_set(err, ERR_CANCELLED, "interrupted");
        if (rc == 0) {
            sha256_add(hash, chunk, n);
            rc = fd_write_all(fd, chunk, n, err);
        }
    }
    if (rc == 0)
        rc = sha256_hex(hash, hex, err);
    sha256_free(hash);
    if (rc == 0 && strcmp(hex, want->sha256) != 0)
        rc = err_set(err, ERR_FAILED, "%s is not as the manifest says", want->path);
    return rc;
}

/* Size and hash of an open file. */
static int measure(int fd, uint64_t *ret_bytes, char ret_hex[SHA256_HEX], struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    char chunk[CHUNK];
    uint64_t bytes = 0;
    int rc = !hash ? -1 : lseek(fd, 0, SEEK_SET) < 0 ? err_sys(err, "cannot read") : 0;
    for (ssize_t n = 1; rc == 0 && n > 0;) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0)
            rc = err_sys(err, "cannot read");
        else
            sha256_add(hash, chunk, (size_t)n);
        bytes += n > 0 ? (uint64_t)n : 0;
    }
    if (rc == 0)
        rc = sha256_hex(hash, ret_hex, err);
    sha256_free(hash);
    *ret_bytes = bytes;
    return rc;
}

/* ---- one member -------------------------------------------------------------------------------------------
 */

/* The item, with what its file is now. */
static int renew_item(json_t *item, uint64_t bytes, const char *hex, struct err *err)
{
    json_t *original = json_pack("{s:O, s:O}", "bytes", json_object_get(item, "bytes"), "sha256",
                                 json_object_get(item, "sha256"));
    if (json_object_set_new(item, "original", original) < 0 ||
        json_object_set_new(item, "bytes", json_integer((json_int_t)bytes)) < 0 ||
        json_object_set_new(item, "sha256", json_string(hex)) < 0)
        return err_nomem(err);
    return 0;
}

static int list_redactions(struct sifting *s, const char *path, const struct redact_tally *tally,
                           struct err *err)
{
    for (int i = 0; i < REDACT_RULES; i++)
        if (tally->n[i] > 0 &&
            json_array_append_new(s->out.redactions,
                                  json_pack("{s:s, s:s, s:I}", "file", path, "rule", redact_rule_name(i),
                                            "count", (json_int_t)tally->n[i])) < 0)
            return err_nomem(err);
    s->out.n += redact_sum(tally);
    return 0;
}

static int replace(struct sifting *s, json_t *item, const struct items_file *file, const char *name, int fd,
                   const struct redact_tally *tally, struct err *err)
{
    uint64_t bytes = 0;
    char hex[SHA256_HEX], *path = strdup(file->path); /* the item's own may go */
    int rc = path ? measure(fd, &bytes, hex, err) : err_nomem(err);
    if (rc == 0)
        rc = renew_item(item, bytes, hex, err);
    if (rc == 0 && json_object_set_new(s->out.replaced, path, json_string(name)) < 0)
        rc = err_nomem(err);
    if (rc == 0)
        rc = list_redactions(s, path, tally, err);
    free(path);
    return rc;
}

static int sift_file(struct sifting *s, json_t *item, const struct items_file *file, enum redact_form form,
                     struct err *err)
{
    struct redact_tally tally = {{0}};
    char name[32];
    snprintf(name, sizeof name, "%zu", ++s->n_files);
    int from = make_file(s, "collected", err), to = from < 0 ? -1 : make_file(s, name, err);
    int rc = to < 0 ? -1 : save_member(s, from, file, err);
    if (rc == 0 && lseek(from, 0, SEEK_SET) < 0)
        rc = err_sys(err, "cannot read");
    struct redact_work work = {.form = form, .labels = s->how->labels, .from = from, .to = to};
    if (rc == 0 && (rc = redact_member(&work, &tally, err)) < 0)
        err_wrap(err, "%s", file->path);
    if (rc == 0)
        rc = redact_sum(&tally) > 0 ? replace(s, item, file, name, to, &tally, err) : drop_file(s, name, err);
    if (rc == 0)
        rc = drop_file(s, "collected", err);
    fd_close(&from);
    fd_close(&to);
    return rc;
}

static int sift_member(struct sifting *s, const struct reader_member *m, struct err *err)
{
    json_t *item = json_object_get(s->items, m->path);
    struct items_file file;
    if (!item)
        return 0;
    enum redact_form form = form_of(item);
    if (form == REDACT_NOTHING)
        return json_array_append_new(s->out.unsearched, json_string(m->path)) < 0 ? err_nomem(err) : 0;
    if (items_file(item, &file, err) < 0)
        return -1;
    if (file.bytes != m->size)
        return err_set(err, ERR_FAILED, "%s is not as the manifest says", file.path);
    return sift_file(s, item, &file, form, err);
}

static int sift_all(struct sifting *s, struct err *err)
{
    const struct reader_member *m = NULL;
    do {
        if (reader_next_file(s->r, &m, err) < 0 || (m && sift_member(s, m, err) < 0))
            return -1;
    } while (m);
    return 0;
}

int sift_bundle(const struct bundle_copy *how, const char *beside, json_t *root, struct sift *ret,
                struct err *err)
{
    struct sifting s = {.how = how};
    int rc = -1;
    s.out = (struct sift){.replaced = json_object(), .redactions = json_array(), .unsearched = json_array()};
    if (asprintf(&s.out.dir, "%s.XXXXXX", beside) < 0)
        s.out.dir = NULL;
    if (!s.out.dir || !s.out.replaced || !s.out.redactions || !s.out.unsearched) {
        free(s.out.dir);
        s.out.dir = NULL;
        err_nomem(err);
    } else if (!mkdtemp(s.out.dir)) {
        err_sys(err, "cannot make a directory %s", s.out.dir);
        free(s.out.dir);
        s.out.dir = NULL;
    } else if ((s.items = sift_items(root, err)) &&
               reader_open(how->bundle, NULL, UINT64_MAX, &s.r, err) == 0) {
        rc = sift_all(&s, err);
    }
    reader_free(s.r);
    json_decref(s.items);
    if (rc < 0)
        sift_release(&s.out);
    else
        *ret = s.out;
    return rc;
}

void sift_release(struct sift *s)
{
    if (s->dir)
        file_remove(s->dir, NULL);
    free(s->dir);
    json_decref(s->replaced);
    json_decref(s->redactions);
    json_decref(s->unsearched);
    *s = (struct sift){0};
}
