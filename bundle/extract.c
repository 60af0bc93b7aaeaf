/*
 * Creates the top directory (0700) in the directory that the user names and keeps it open: files are created
 * below its descriptor, even if its path changes.
 */
#include "bundle/manifest_internal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/reader.h"
#include "base/banned.h"

/* The limit for all files of a bundle that resume unpacks. */
#define RESTORE_MAX (UINT64_C(64) << 30)

struct extraction {
    struct reader *r;
    const char *dir;
    struct dir parent; /* the user's directory, open */
    struct dir files;  /* the top directory, its fd -1 until it is made; the work directory when restoring */
    char *top; /* the path of the top directory, for the caller; NULL before it is made, and when restoring */
    const struct strlist *wanted;
    bool *matched;                   /* the entries of `wanted` that have matched */
    struct err top_error;            /* ERR_EXISTS if the top directory exists: nothing is written then */
    const struct manifest *manifest; /* names the files to restore, with their times; NULL: do not restore */
    uint64_t room;                   /* bytes that may still be written */
    uint64_t max_bytes;
    size_t n_complete; /* completely written files */
};

static int make_top(struct extraction *x, struct err *err)
{
    char *top = file_join(x->dir, reader_top(x->r));
    if (!top)
        return err_nomem(err);
    if (dir_mkdir(&x->parent, reader_top(x->r), err) < 0) {
        free(top);
        return -1;
    }
    x->top = top;
    x->files.name = top;
    x->files.fd = dir_open_subdir(&x->parent, reader_top(x->r), err);
    return x->files.fd < 0 ? -1 : 0;
}

/* Returns whether to extract a member. A restore extracts the files of the manifest. Otherwise a name or a
 * glob of `wanted` must match the member's path or a directory above it; without names all members match.
 * Sets `matched` for the names that match. */
static bool match_member(struct extraction *x, const char *path)
{
    bool wanted = x->manifest ? manifest_has_path(x->manifest, path) : !x->wanted || x->wanted->n == 0;
    for (size_t i = 0; x->wanted && i < x->wanted->n; i++)
        if (fnmatch(x->wanted->items[i], path, FNM_LEADING_DIR) == 0)
            wanted = x->matched[i] = true;
    return wanted;
}

/* Copies the current member into a file. */
static int copy_current_member(struct extraction *x, const char *path, int fd, struct err *err)
{
    char chunk[32768];
    for (;;) {
        size_t n = 0;
        if (reader_read(x->r, chunk, sizeof chunk, &n, err) < 0)
            return -1;
        if (n == 0)
            return 0;
        if (n > x->room)
            return err_set(err, ERR_FAILED, "the bundle unpacks to more than %llu bytes",
                           (unsigned long long)x->max_bytes);
        x->room -= n;
        if (fd_write_all(fd, chunk, n, err) < 0)
            return err_wrap(err, "%s/%s", x->files.name, path);
    }
}

/* Sets the time of a file. Ignores a failure. */
static void set_time(int fd, int64_t mtime)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)mtime}};
    futimens(fd, times);
}

static int write_member(struct extraction *x, const struct reader_member *m, struct err *err)
{
    /* Reading invalidates the member's path. */
    char *path = strdup(m->path);
    int64_t mtime = m->mtime;
    if (!path)
        return err_nomem(err);
    int fd = dir_create(&x->files, path, err);
    int rc = fd < 0 ? -1 : copy_current_member(x, path, fd, err);
    if (rc == 0 && x->manifest)
        set_time(fd, mtime);
    /* Some file systems report a full disk only here. */
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = err_sys(err, "cannot write %s/%s", x->files.name, path);
    if (rc < 0 && fd >= 0)
        dir_remove(&x->files, path, NULL);
    x->n_complete += rc == 0;
    free(path);
    return rc;
}

static bool has_member_names(const struct extraction *x)
{
    return x->wanted && x->wanted->n > 0;
}

/* Creates the top directory once. If the user named members and the directory exists, stores the error,
 * because a name that matches no member is reported first. */
static int ensure_top(struct extraction *x, struct err *err)
{
    struct err why = ERR_INIT;
    if (x->files.fd >= 0 || x->top_error.kind == ERR_EXISTS || make_top(x, &why) == 0)
        return 0;
    if (has_member_names(x) && why.kind == ERR_EXISTS) {
        x->top_error = why;
        return 0;
    }
    if (err)
        *err = why;
    return -1;
}

static int extract_member(struct extraction *x, const struct reader_member *m, struct err *err)
{
    bool wanted =
        *m->path && !(m->is_dir && (x->manifest || has_member_names(x))) && match_member(x, m->path);
    if ((wanted || !has_member_names(x)) && ensure_top(x, err) < 0)
        return -1;
    if (!wanted || x->files.fd < 0)
        return 0;
    if (m->is_dir)
        return dir_mkdirs(&x->files, m->path, err);
    if (m->size > x->room)
        return err_set(err, ERR_FAILED, "the bundle unpacks to more than %llu bytes",
                       (unsigned long long)x->max_bytes);
    const char *slash = strrchr(m->path, '/');
    if (slash) {
        char *dir = strndup(m->path, (size_t)(slash - m->path));
        int rc = dir ? dir_mkdirs(&x->files, dir, err) : err_nomem(err);
        free(dir);
        if (rc < 0)
            return -1;
    }
    return write_member(x, m, err);
}

static int extract_all(struct extraction *x, struct err *err)
{
    for (;;) {
        const struct reader_member *m = NULL;
        if (reader_next(x->r, &m, err) < 0)
            return -1;
        if (!m)
            break;
        if (extract_member(x, m, err) < 0)
            return -1;
    }
    for (size_t i = 0; x->wanted && i < x->wanted->n; i++)
        if (!x->matched[i])
            return err_set(err, ERR_NOT_FOUND, "no file in the bundle matches \"%s\"", x->wanted->items[i]);
    if (x->top_error.kind != ERR_EXISTS)
        return 0;
    if (err)
        *err = x->top_error;
    return -1;
}

/* After a cancellation, keeps the complete files. After another failure, removes all files. */
static void keep_or_remove_files(const struct extraction *x, struct err *why)
{
    bool interrupted = why->kind == ERR_CANCELLED;
    if (interrupted && x->n_complete > 0)
        err_set(why, ERR_CANCELLED, "interrupted; %s has the first %zu file%s of the bundle", x->top,
                x->n_complete, text_plural_s(x->n_complete));
    else if (x->top)
        dir_remove(&x->parent, file_base(x->top), NULL);
    if (interrupted && x->n_complete == 0)
        err_set(why, ERR_CANCELLED, "interrupted; nothing was written");
}

int bundle_extract(const struct bundle_extract_options *options, char **ret_dir, struct err *err)
{
    const struct strlist *members = options->members;
    struct extraction x = {.dir = options->dir,
                           .wanted = members,
                           .room = options->max_bytes,
                           .max_bytes = options->max_bytes,
                           .files.fd = -1};
    x.parent = (struct dir){.fd = dir_open_user_path(options->dir, err), .name = options->dir};
    if (x.parent.fd < 0)
        return -1;
    int rc = -1;
    x.matched = calloc(members && members->n ? members->n : 1, sizeof *x.matched);
    if (!x.matched) {
        err_nomem(err);
        goto out;
    }
    if (reader_open(options->path, options->identities, &x.r, err) < 0)
        goto out;
    struct err why = ERR_INIT;
    if (extract_all(&x, &why) < 0) {
        keep_or_remove_files(&x, &why);
        if (err)
            *err = why;
        goto out;
    }
    *ret_dir = x.top;
    x.top = NULL;
    rc = 0;
out:
    reader_free(x.r);
    fd_close(&x.files.fd);
    fd_close(&x.parent.fd);
    free(x.matched);
    free(x.top);
    return rc;
}

int bundle_restore(const struct bundle_restore_options *options, struct err *ret_damage, struct err *err)
{
    struct extraction x = {.manifest = options->manifest, .room = RESTORE_MAX, .max_bytes = RESTORE_MAX};
    struct err why = ERR_INIT;
    if (reader_open(options->path, NULL, &x.r, err) < 0)
        return -1;
    const struct stop stop = stop_begin(options->cancel_fd, 0);
    reader_set_stop(x.r, &stop);
    x.files = *workdir_files(options->work);
    int rc = extract_all(&x, &why);
    /* Keep the files that precede the damage: the caller compares them with the manifest. */
    if (rc < 0 && why.kind == ERR_FAILED && x.room > 0) {
        *ret_damage = why;
        rc = 0;
    } else if (rc < 0 && err) {
        *err = why;
    }
    reader_free(x.r);
    return rc;
}
