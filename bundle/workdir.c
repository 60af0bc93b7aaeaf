/*
 * The existence of NAME.partial reserves NAME: only the run that created the directory makes NAME.tar.gz. So
 * the run first creates the directory, and then checks whether the bundle exists. A lock on the directory
 * shows that a run is using it; the lock ends with its process.
 */
#include "bundle/workdir_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/path.h"

#include "base/banned.h"

#define SUFFIX ".tar.gz"
#define PARTIAL ".partial"

/* The name must leave room for a suffix: file systems allow 255 bytes. */
enum { MAX_NAME = 200, MAX_TRIES = 1000 };

/* Both directories are open; their files are opened relative to them, not by path. */
struct workdir {
    char *parent_name; /* NULL: the working directory */
    struct dir parent; /* contains NAME.partial and NAME.tar.gz */
    struct dir files;  /* NAME.partial; its descriptor has the lock */
    char *path;        /* of NAME.partial, for messages */
    char *name;
    char *bundle;
    struct strlist created; /* the directories that workdir_new created above NAME.partial, parents first */
    bool chosen;            /* the user chose the name */
};

/* DIR and NAME of a work directory DIR/NAME.partial. */
struct destination {
    char *dir; /* NULL: the working directory */
    char *name;
    struct strlist created; /* the directories created for the work directory, parents first */
    bool chosen;            /* the user chose the name */
};

/* Removes the created directories, unless a work directory has taken the list. */
static void destination_release(struct destination *destination)
{
    file_remove_created(&destination->created);
    strlist_release(&destination->created);
    free(destination->dir);
    free(destination->name);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Splits a path that ends in .tar.gz into DIR and NAME. */
static int set_chosen_destination(const char *output, struct destination *destination, struct err *err)
{
    const char *base = file_base(output);
    destination->chosen = true;
    destination->name = strndup(base, strlen(base) - strlen(SUFFIX));
    if (base != output)
        destination->dir = file_dir(output);
    if (!destination->name || (base != output && !destination->dir))
        return err_nomem(err);
    if (!text_is_name(destination->name) || strlen(destination->name) > MAX_NAME)
        return err_set(
            err, ERR_USAGE,
            "the name of output %s must consist of letters, digits, \".\", \"_\" and \"-\" (at most %d), "
            "beginning with a letter or digit",
            output, MAX_NAME);
    return 0;
}

static int set_default_destination(const char *output, const char *subject, int64_t utc_ms,
                                   struct destination *destination, struct err *err)
{
    char when[64];
    destination->dir = output ? strdup(output) : NULL;
    if (asprintf(&destination->name, "profgrab-%.150s-%s", subject,
                 clock_format_for_file_name(when, sizeof when, utc_ms)) < 0)
        destination->name = NULL;
    if (!destination->name || (output && !destination->dir))
        return err_nomem(err);
    if (!text_is_name(destination->name))
        return err_set(err, ERR_USAGE, "a bundle cannot be named after \"%s\"", subject);
    return 0;
}

/* Checks that `output` is a directory. If it ends in a slash, creates the directory and its parents if they
 * are missing. */
static int ensure_directory(const char *output, struct strlist *created, struct err *err)
{
    struct err why = ERR_INIT;
    if (is_directory(output))
        return 0;
    if (!*output) {
        err_set(err, ERR_USAGE, "output is empty");
        return err_hint(err, "-o DIR/ or -o NAME" SUFFIX);
    }
    if (!text_ends_in(output, "/")) {
        size_t stem = strlen(output) - (text_ends_in(output, ".tgz") ? strlen(".tgz") : 0);
        err_set(err, ERR_USAGE, "output %s must be an existing directory or end in " SUFFIX, output);
        return err_hint(err, "-o %s/ makes a directory for the bundle, -o %.*s" SUFFIX " names the bundle",
                        output, (int)stem, output);
    }
    size_t n = strlen(output);
    while (n > 1 && output[n - 1] == '/')
        n--;
    char *dir = strndup(output, n);
    int rc = dir ? file_mkdirs(dir, created, &why) : err_nomem(&why);
    free(dir);
    if (rc == 0)
        return 0;
    if (err)
        *err = why;
    return err_wrap(err, "output");
}

static int find_destination(const char *output, const char *subject, int64_t utc_ms,
                            struct destination *destination, struct err *err)
{
    if (output && text_ends_in(output, SUFFIX))
        return set_chosen_destination(output, destination, err);
    if (output && ensure_directory(output, &destination->created, err) < 0)
        return -1;
    return set_default_destination(output, subject, utc_ms, destination, err);
}

/* Returns the name of a bundle, without the number after a default name. */
static char *get_unnumbered_name(const char *bundle)
{
    const char *base = file_base(bundle);
    size_t n = strlen(base) - strlen(SUFFIX), end = n;
    while (end > 0 && base[end - 1] >= '0' && base[end - 1] <= '9')
        end--;
    if (end < n && end > 1 && base[end - 1] == '-' && base[end - 2] == 'Z')
        n = end - 1;
    return strndup(base, n);
}

static int set_destination_beside(const char *bundle, const char *name, const char *output,
                                  struct destination *destination, struct err *err)
{
    bool beside = !output && file_base(bundle) != bundle;
    if (output && ensure_directory(output, &destination->created, err) < 0)
        return -1;
    destination->dir = output ? strdup(output) : beside ? file_dir(bundle) : NULL;
    destination->name = text_ends_in(bundle, SUFFIX) ? get_unnumbered_name(bundle) : strdup(name);
    if (!destination->name || ((output || beside) && !destination->dir))
        return err_nomem(err);
    if (text_is_name(destination->name) && strlen(destination->name) <= MAX_NAME)
        return 0;
    err_set(err, ERR_USAGE, "the new bundle cannot have the name of %s", bundle);
    return err_hint(err, "-o NAME" SUFFIX " sets its name");
}

/* Makes a struct workdir for `name` in `dir`, and opens `dir`. Creates nothing on disk. */
static int new_workdir_struct(const char *dir, const char *name, struct workdir **ret, struct err *err)
{
    struct workdir *w = calloc(1, sizeof *w);
    if (!w)
        return err_nomem(err);
    w->parent.fd = w->files.fd = -1;
    char *bundle = NULL, *path = NULL;
    if (asprintf(&bundle, "%s" SUFFIX, name) < 0)
        bundle = NULL;
    if (asprintf(&path, "%s" PARTIAL, name) < 0)
        path = NULL;
    w->name = strdup(name);
    w->parent_name = dir ? strdup(dir) : NULL;
    w->bundle = bundle ? file_join(dir, bundle) : NULL;
    w->path = path ? file_join(dir, path) : NULL;
    free(bundle);
    free(path);
    int rc = w->name && w->bundle && w->path && (!dir || w->parent_name) ? 0 : err_nomem(err);
    if (rc == 0) {
        w->parent.name = w->parent_name;
        w->files.name = w->path;
        w->parent.fd = dir_open_user_path(dir ? dir : ".", err);
        rc = w->parent.fd < 0 ? -1 : 0;
    }
    if (rc < 0)
        workdir_free(w);
    else
        *ret = w;
    return rc;
}

/* Opens the directory and locks it. On a file system without locks on directories, succeeds without a
 * lock. */
static int open_and_lock(struct workdir *w, struct err *err)
{
    w->files.fd = dir_open_subdir(&w->parent, file_base(w->path), err);
    if (w->files.fd < 0) {
        if (err)
            err->kind = ERR_LOCAL_IO;
        return -1;
    }
    if (flock(w->files.fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    err_set(err, ERR_BUSY, "%s is in use: the run of profgrab that works in it has not ended", w->path);
    return err_hint(err, "wait for it, or end it");
}

/* Creates the directory, unless it or the bundle exists. */
static int make_directory(struct workdir *w, struct err *err)
{
    const char *name = file_base(w->path);
    if (dir_mkdir(&w->parent, name, err) < 0) {
        if (err->kind != ERR_EXISTS)
            return -1;
        err_set(err, ERR_EXISTS, "%s exists already: the run that works in it has not ended, or was killed",
                w->path);
        return err_hint(err, "`profgrab resume` finishes the work of a killed grab; or choose another name");
    }
    if (!dir_exists(&w->parent, file_base(w->bundle)))
        return open_and_lock(w, err);
    dir_remove(&w->parent, name, NULL);
    return err_set(err, ERR_EXISTS, "%s exists already, and nothing is overwritten", w->bundle);
}

/* Creates the work directory called `name`; ERR_EXISTS if the name is taken. */
static int make_workdir(const struct destination *destination, const char *name, struct workdir **ret,
                        struct err *err)
{
    struct workdir *w = NULL;
    struct err why = ERR_INIT;
    if (new_workdir_struct(destination->dir, name, &w, err) < 0)
        return -1;
    w->chosen = destination->chosen;
    if (make_directory(w, &why) == 0) {
        *ret = w;
        return 0;
    }
    workdir_free(w);
    if (why.kind == ERR_LOCAL_IO) {
        err_wrap(&why, "cannot write into the directory %s", destination->dir ? destination->dir : ".");
        err_hint(&why, "choose another place for the output");
    }
    if (err)
        *err = why;
    return -1;
}

/* Creates the work directory of `destination`. If a default name is taken, appends the first free number.
 * Moves the list of created directories to *ret. */
static int make_numbered_workdir(struct destination *destination, struct workdir **ret, struct err *err)
{
    struct err why = ERR_INIT;
    char name[256];
    for (int i = 1; i <= MAX_TRIES; i++) {
        if (i == 1)
            snprintf(name, sizeof name, "%s", destination->name);
        else
            snprintf(name, sizeof name, "%s-%d", destination->name, i);
        if (make_workdir(destination, name, ret, &why) == 0) {
            (*ret)->created = destination->created;
            destination->created = (struct strlist){0};
            return 0;
        }
        if (why.kind != ERR_EXISTS || destination->chosen)
            break;
    }
    if (err)
        *err = why;
    return -1;
}

int workdir_new(const char *output, const char *subject, int64_t utc_ms, struct workdir **ret,
                struct err *err)
{
    struct destination destination = {0};
    int rc = -1;
    if (find_destination(output, subject, utc_ms, &destination, err) == 0)
        rc = make_numbered_workdir(&destination, ret, err);
    destination_release(&destination);
    return rc;
}

int workdir_new_beside(const char *bundle, const char *name, const char *output, struct workdir **ret,
                       struct err *err)
{
    struct destination destination = {0};
    int rc = output && text_ends_in(output, SUFFIX)
                 ? set_chosen_destination(output, &destination, err)
                 : set_destination_beside(bundle, name, output, &destination, err);
    if (rc == 0)
        rc = make_numbered_workdir(&destination, ret, err);
    destination_release(&destination);
    return rc;
}

/* ---- an existing work directory ------------------------------------------------------------------------ */

static int set_not_workdir_error(const char *path, const char *why, struct err *err)
{
    err_set(err, ERR_FAILED, "%s is no work directory of profgrab: %s", path, why);
    return err_hint(err, "resume takes the NAME" PARTIAL " that a run has left, or a bundle");
}

/* Returns why another user could change the directory; NULL: none could. Such a directory is refused, because
 * its manifest chooses the hosts to which profgrab connects. */
static const char *find_owner_fault(const struct stat *st)
{
    if (st->st_uid != geteuid())
        return "it belongs to another user";
    return st->st_mode & (S_IWGRP | S_IWOTH) ? "others can write into it" : NULL;
}

static int check_owner(const struct workdir *w, struct err *err)
{
    struct stat st;
    if (dir_stat(&w->files, "", &st, err) < 0)
        return -1;
    const char *fault = find_owner_fault(&st);
    return fault ? set_not_workdir_error(w->path, fault, err) : 0;
}

static int read_manifest(const struct workdir *w, struct buf *ret, struct err *err)
{
    struct err why = ERR_INIT;
    if (dir_read(&w->files, PATH_MANIFEST, ret, &why) == 0)
        return 0;
    if (why.kind == ERR_NOT_FOUND && dir_exists(&w->parent, file_base(w->bundle))) {
        err_set(&why, ERR_FAILED, "%s has no " PATH_MANIFEST, w->path);
        err_hint(&why, "the run has ended: the bundle is %s", w->bundle);
    } else if (why.kind == ERR_NOT_FOUND) {
        err_set(&why, ERR_FAILED, "%s has no " PATH_MANIFEST ": its run ended before anything was recorded",
                w->path);
        err_hint(&why, "remove it, and collect anew");
    }
    if (err)
        *err = why;
    return -1;
}

/* Splits a path that ends in .partial, and perhaps slashes, into DIR and NAME. */
static int parse_partial_path(const char *path, struct destination *destination, struct err *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    char *trimmed = strndup(path, n);
    if (!trimmed)
        return err_nomem(err);
    int rc = -1;
    const char *base = file_base(trimmed);
    if (!text_ends_in(base, PARTIAL)) {
        set_not_workdir_error(path, "it is not called NAME" PARTIAL, err);
        goto out;
    }
    destination->name = strndup(base, strlen(base) - strlen(PARTIAL));
    destination->dir = base != trimmed ? file_dir(trimmed) : NULL;
    if (!destination->name || (base != trimmed && !destination->dir))
        err_nomem(err);
    else
        rc = text_is_name(destination->name)
                 ? 0
                 : set_not_workdir_error(path, "profgrab gives no such name", err);
out:
    free(trimmed);
    return rc;
}

int workdir_open(const char *path, struct workdir **ret, struct buf *ret_manifest, struct err *err)
{
    struct destination destination = {0};
    struct workdir *w = NULL;
    int rc = -1;
    if (parse_partial_path(path, &destination, err) < 0)
        goto out;
    if (new_workdir_struct(destination.dir, destination.name, &w, err) < 0 || open_and_lock(w, err) < 0 ||
        check_owner(w, err) < 0 || workdir_inspect(&w->files, "resume", err) < 0 ||
        read_manifest(w, ret_manifest, err) < 0)
        goto out;
    *ret = w;
    w = NULL;
    rc = 0;
out:
    destination_release(&destination);
    workdir_free(w);
    return rc;
}

int workdir_hint_directory(const char *path, struct err *err)
{
    struct stat st;
    size_t n = strlen(path);
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return -1;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n > sizeof PARTIAL - 1 && memcmp(path + n - (sizeof PARTIAL - 1), PARTIAL, sizeof PARTIAL - 1) == 0)
        return err_hint(err, "`profgrab resume %.*s` fetches the missing items and packs the bundle", (int)n,
                        path);
    return err_hint(err, "it is a directory: name a bundle, or a file in it");
}

/* ---- a directory whose files are copied into a bundle -------------------------------------------------- */

/* Opens a directory. Follows a link, unless the path has the name of a work directory. */
static int open_copied_directory(const char *path, struct err *err)
{
    struct dir parent = {.fd = -1};
    const char *base = file_base(path);
    if (!text_ends_in(base, PARTIAL))
        return dir_open_user_path(path, err);
    char *dir = base == path ? NULL : file_dir(path);
    if (base != path && !dir)
        return err_nomem(err);
    parent.name = dir;
    parent.fd = dir_open_user_path(dir ? dir : ".", err);
    int fd = parent.fd < 0 ? -1 : dir_open_subdir(&parent, base, err);
    fd_close(&parent.fd);
    free(dir);
    return fd;
}

static bool has_valid_manifest(const struct dir *directory)
{
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    struct manifest *m = NULL;
    bool has = dir_read(directory, PATH_MANIFEST, &text, NULL) == 0 &&
               manifest_read_for_resume(buf_str(&text), text.len, &m, NULL) == 0;
    manifest_free(m);
    buf_release(&text);
    return has;
}

int workdir_open_copied(const char *path, struct dir *ret, struct err *err)
{
    struct dir directory = {.fd = open_copied_directory(path, err), .name = path};
    struct stat st;
    const char *fault;
    if (directory.fd < 0)
        return -1;
    if (!text_ends_in(path, PARTIAL) && !has_valid_manifest(&directory)) {
        *ret = directory;
        return 0;
    }
    int rc = dir_stat(&directory, "", &st, err);
    if (rc == 0 && (fault = find_owner_fault(&st))) {
        err_set(err, ERR_FAILED, "%s is not safe to bundle: %s", path, fault);
        rc = err_hint(err, "look where the directory is from, or collect anew with `profgrab grab`");
    }
    if (rc == 0)
        rc = workdir_inspect(&directory, "bundle", err);
    if (rc == 0)
        *ret = directory;
    else
        fd_close(&directory.fd);
    return rc;
}

void workdir_free(struct workdir *w)
{
    if (!w)
        return;
    fd_close(&w->files.fd);
    fd_close(&w->parent.fd);
    strlist_release(&w->created);
    free(w->parent_name);
    free(w->path);
    free(w->name);
    free(w->bundle);
    free(w);
}

/* Removes the directory only if its path still leads to the directory that is locked. */
void workdir_remove(struct workdir *w)
{
    struct stat ours, named;
    const char *name = file_base(w->path);
    if (dir_stat(&w->files, "", &ours, NULL) == 0 && dir_stat(&w->parent, name, &named, NULL) == 0 &&
        ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
        dir_remove(&w->parent, name, NULL);
    file_remove_created(&w->created);
}

const struct dir *workdir_files(const struct workdir *w)
{
    return &w->files;
}

const struct dir *workdir_parent(const struct workdir *w)
{
    return &w->parent;
}

const char *workdir_path(const struct workdir *w)
{
    return w->path;
}

const char *workdir_name(const struct workdir *w)
{
    return w->name;
}

const char *workdir_bundle(const struct workdir *w)
{
    return w->bundle;
}

bool workdir_has_chosen_name(const struct workdir *w)
{
    return w->chosen;
}

int manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err)
{
    return dir_write(workdir_files(w), PATH_MANIFEST, text->data, text->len, err);
}
