#include "cli/bundle/create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "page/page.h"
#include "cli/term/exit.h"
#include "capture/capture.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/term/message.h"
#include "base/banned.h"

/* The limits of a source directory: its files must fit into a bundle. */
enum { MAX_ENTRIES = BUNDLE_MAX_MEMBERS, MAX_DEPTH = 32 };

struct creation {
    struct workdir *work;
    struct manifest *manifest;
    size_t n_files;
    size_t n_damaged;              /* how many of the files are damaged */
    struct confined_budget budget; /* the time that checking the files may take */
    uint64_t holes;                /* bytes in holes of the files */
    bool unfinished;               /* a source is the work directory of a killed run */
};

/* Returns a new string: the name of a file in the bundle, `files/` and the path. In each part of the path, a
 * dash replaces the characters that text_is_name does not allow there. */
static char *member_name(const char *path)
{
    while (*path == '/' || strncmp(path, "./", 2) == 0)
        path++;
    char *name = NULL;
    if (asprintf(&name, "files/%s", path) < 0)
        return NULL;
    for (char *p = name; *p; p++) {
        char text[2] = {*p, '\0'};
        bool begins_part = p == name || p[-1] == '/';
        if (*p != '/' && !text_is_name(text) && (begins_part || !strchr("._-", *p)))
            *p = '-';
    }
    return name;
}

/* Adds the holes of a file. Fails if there are too many bytes in holes, because copying a hole takes as long
 * as copying data. */
static int count_holes(struct creation *c, const struct fetch_local_file *from, struct err *err)
{
    struct stat st;
    if (fstat(from->fd, &st) < 0)
        return err_sys(err, "cannot read %s", from->path);
    /* A file that grows meanwhile may have more bytes on disk than its size was. */
    uint64_t size = (uint64_t)st.st_size, on_disk = fd_bytes_on_disk(from->fd);
    c->holes += size > on_disk ? size - on_disk : 0;
    if (c->holes <= WORKDIR_MAX_HOLES)
        return 0;
    err_set(err, ERR_FAILED, "%s is a sparse file, and the holes of the files come to more than 256 MiB",
            from->path);
    return err_hint(err, "leave it out, or fill its holes: `cp --sparse=never`");
}

/* Copies a file to `name` in the bundle and checks it. Fails if the bundle has a file of that name: the user
 * must rename the file. */
static int add_copy(struct creation *c, struct fetch_local_file *from, const char *name, struct err *err)
{
    struct fetch_item item = {0};
    int rc = -1;
    if (fd_cancelled(signals_cancel_fd()))
        return err_set(err, ERR_CANCELLED, "interrupted; nothing was written");
    if (strlen(name) >= sizeof item.file) {
        err_set(err, ERR_FAILED, "a path in the bundle would have more than %zu bytes: %s",
                sizeof item.file - 1, from->path);
        return err_hint(
            err,
            "give its directory as the argument: the path in the bundle then begins there; or leave it out");
    }
    if (confined_budget_check(&c->budget, from->path, err) < 0 || count_holes(c, from, err) < 0)
        return -1;
    const struct dir *files = workdir_files(c->work);
    char *dir = file_dir(name);
    if (!dir) {
        err_nomem(err);
        goto out;
    }
    if (dir_mkdirs(files, dir, err) < 0 || (from->copy_fd = dir_create(files, name, err)) < 0 ||
        fetch_examine_file(from, &item, err) < 0)
        goto out;
    snprintf(item.file, sizeof item.file, "%s", name);
    if (item.status != FETCH_OK) {
        message_print("%s: damaged: %s", from->path, item.err.msg);
        c->n_damaged++;
    }
    confined_budget_add(&c->budget, fd_bytes_on_disk(from->fd));
    rc = record_item(c->manifest, NULL, &item, err);
    c->n_files++;
out:
    fd_close(&from->copy_fd);
    fetch_item_release(&item);
    free(dir);
    return rc;
}

static int add_file(struct creation *c, struct fetch_local_file *from, const char *path, struct err *err)
{
    char *name = member_name(path);
    int rc = name ? add_copy(c, from, name, err) : err_nomem(err);
    free(name);
    return rc;
}

/* A directory whose files are copied. dir_walk passes paths that are relative to it. */
struct source_directory {
    struct creation *creation;
    struct dir directory;
};

/* Refuses a file with several hard links in a directory that others can write, because another user may have
 * linked a file of another directory. Accepts a hard link in a directory that only the user or the file's
 * owner can write. */
static int refuse_foreign_link(const struct source_directory *source, const char *path, const struct stat *st,
                               struct err *err)
{
    struct stat parent;
    char *dir = file_dir(path);
    int rc =
        dir ? dir_stat(&source->directory, file_base(path) == path ? "" : dir, &parent, err) : err_nomem(err);
    free(dir);
    if (rc < 0)
        return -1;
    bool owned = parent.st_uid == geteuid() || parent.st_uid == st->st_uid;
    if (owned && !(parent.st_mode & (S_IWGRP | S_IWOTH)))
        return 0;
    err_set(err, ERR_FAILED,
            "%s/%s has several names (hard links) in a directory that others can write: another user may "
            "have linked it",
            source->directory.name, path);
    return err_hint(err, "copy the directory, or name the file itself");
}

static int add_entry(void *ctx, const char *path, const struct stat *st, struct err *err)
{
    struct source_directory *source = ctx;
    if (S_ISDIR(st->st_mode))
        return 0;
    if (S_ISREG(st->st_mode) && st->st_nlink > 1 && refuse_foreign_link(source, path, st, err) < 0)
        return -1;
    char *full_path = file_join(source->directory.name, path);
    struct fetch_local_file from = {
        .fd = -1, .copy_fd = -1, .cancel_fd = signals_cancel_fd(), .path = full_path};
    int rc = -1;
    if (!full_path)
        err_nomem(err);
    else if (!S_ISREG(st->st_mode))
        err_set(err, ERR_FAILED, "%s is not a regular file", full_path);
    else if ((from.fd = dir_open(&source->directory, path, err)) >= 0)
        rc = add_file(source->creation, &from, path, err);
    fd_close(&from.fd);
    free(full_path);
    return rc;
}

static int add_directory(struct creation *c, const char *path, struct err *err)
{
    struct source_directory source = {.creation = c};
    const struct dir_walk walk = {
        .max_entries = MAX_ENTRIES, .max_depth = MAX_DEPTH, .visit = add_entry, .ctx = &source};
    c->unfinished = c->unfinished || text_ends_in(path, ".partial");
    if (workdir_open_copied(path, &source.directory, err) < 0)
        return -1;
    int rc = dir_walk(&source.directory, &walk, err);
    fd_close(&source.directory.fd);
    return rc;
}

/* Adds a file, or all files below a directory. */
static int add_file_or_directory(struct creation *c, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_directory(c, path, err);
    struct fetch_local_file from = {
        .fd = file_open(path, err), .copy_fd = -1, .cancel_fd = signals_cancel_fd(), .path = path};
    int rc = from.fd < 0 ? -1 : add_file(c, &from, file_base(path), err);
    fd_close(&from.fd);
    return rc;
}

/* Adds a path without the slash that the Tab key of a shell appends to a directory. */
static int add_path(struct creation *c, const char *path, struct err *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    char *trimmed = strndup(path, n);
    int rc = trimmed ? add_file_or_directory(c, trimmed, err) : err_nomem(err);
    free(trimmed);
    return rc;
}

void create_print_no_page(const struct err *why)
{
    message_print(BUNDLE_REPORT " could not be made, so the bundle has none: %s", why->msg);
    if (why->kind == ERR_LOCAL_IO)
        message_print("hint: `profgrab report BUNDLE` makes it later");
}

static int fill_bundle(struct creation *c, const struct strlist *sources, char **ret_path, struct err *err)
{
    for (size_t i = 0; i < sources->n; i++)
        if (add_path(c, sources->items[i], err) < 0)
            return -1;
    if (c->n_files == 0)
        return err_set(err, ERR_USAGE, "there is no file in %s", sources->items[0]);
    bool complete = c->n_damaged == 0 && !c->unfinished;
    if (manifest_finish(c->manifest, clock_utc(), c->unfinished, complete, err) < 0)
        return -1;
    struct err page_error = ERR_INIT;
    if (page_build_workdir(c->manifest, c->work, &c->budget, signals_cancel_fd(), &page_error) < 0)
        create_print_no_page(&page_error);
    if (bundle_pack(c->work, c->manifest, signals_cancel_fd(), ret_path, err) < 0)
        return err_hint(err, "no bundle was written; the files are unchanged");
    return 0;
}

/* Refuses bundles as sources, because no command reads the files of a bundle in a bundle. */
static int refuse_bundles(const struct strlist *sources, struct err *err)
{
    struct stat st;
    for (size_t i = 0; i < sources->n; i++) {
        const char *path = sources->items[i];
        /* A directory is not a bundle. */
        if ((stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || !input_is_bundle(path))
            continue;
        if (input_is_encrypted(path)) {
            err_set(err, ERR_USAGE, "%s is encrypted, so its files cannot be read", path);
            return err_hint(err, "profgrab bundle decrypt %s", path);
        }
        err_set(err, ERR_USAGE, "%s: it is a bundle already", path);
        return err_hint(err, "`profgrab view %s` shows it; `profgrab bundle extract %s` unpacks its files",
                        path, path);
    }
    return 0;
}

int create_bundle(const char *output, const char *reason, const struct strlist *sources, struct err *err)
{
    struct creation c = {0};
    char *path = NULL;
    confined_budget_init(0, &c.budget);
    int64_t now = clock_utc();
    if (refuse_bundles(sources, err) < 0 || signals_install(err) < 0 ||
        workdir_new(output, "local", now, &c.work, err) < 0)
        return -1;
    int rc = record_new(workdir_name(c.work), reason, now, &c.manifest, err);
    if (rc == 0)
        rc = fill_bundle(&c, sources, &path, err);
    /* The work directory has only copies, so it can be removed. */
    if (rc < 0)
        workdir_remove(c.work);
    else
        printf("%s\n", path);
    if (rc == 0 && (c.n_damaged > 0 || c.unfinished))
        rc = EXIT_PARTIAL;
    free(path);
    manifest_free(c.manifest);
    workdir_free(c.work);
    return rc;
}
