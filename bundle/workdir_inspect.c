/*
 * A run makes only directories and regular files of its user. A rename takes two steps, link and unlink. If a
 * run is killed between them, the file keeps two names. So the inspection counts the names of each file with
 * two links, and requires that both are in the directory.
 */
#include "bundle/workdir_internal.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/path.h"

#include "base/banned.h"

/* The limit of files with two names. */
enum { MAX_LINKED_FILES = 100 };

/* The limit of the size of one file. The largest body of any kind has 2 GiB (proto/kind.c). */
#define MAX_FILE ((int64_t)4 << 30)

struct linked_file {
    dev_t device;
    ino_t number;
    nlink_t names, found; /* the number of its names, and of those found in the directory */
    char path[256];       /* one of its names, printable */
};

struct inspection {
    const struct dir *directory;
    const char *use;
    struct linked_file linked_files[MAX_LINKED_FILES];
    size_t n_linked_files;
    uint64_t holes; /* bytes in holes, in all files so far */
};

static int refuse_entry(const struct inspection *inspection, const char *path, const char *why,
                        struct err *err)
{
    char shown[256];
    err_set(err, ERR_FAILED, "%s is not safe to %s: %s in it %s", inspection->directory->name,
            inspection->use, text_printable(shown, sizeof shown, path, strlen(path)), why);
    return err_hint(err,
                    "profgrab makes no such entry: look where the directory is from; remove the entry and "
                    "run the command again, or collect anew with `profgrab grab`");
}

/* Returns why no run makes an entry with this state, or NULL if a run may make it. */
static const char *find_fault(const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "is a symbolic link";
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return "is neither a file nor a directory";
    if (st->st_uid != geteuid())
        return "belongs to another user";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by others";
    return NULL;
}

static int check_size(struct inspection *inspection, const char *path, const struct stat *st, struct err *err)
{
    if (st->st_size > MAX_FILE)
        return refuse_entry(inspection, path, "is larger than 4 GiB, and no run makes such a file", err);
    inspection->holes += (uint64_t)st->st_size - dir_bytes_on_disk(inspection->directory, path);
    return inspection->holes <= WORKDIR_MAX_HOLES
               ? 0
               : refuse_entry(inspection, path,
                              "is a sparse file, and the holes of the files come to more than 256 MiB", err);
}

static int count_name(struct inspection *inspection, const char *path, const struct stat *st, struct err *err)
{
    size_t i = 0;
    if (st->st_nlink > 2)
        return refuse_entry(inspection, path, "has more than two names (hard links)", err);
    while (i < inspection->n_linked_files && (inspection->linked_files[i].device != st->st_dev ||
                                              inspection->linked_files[i].number != st->st_ino))
        i++;
    if (i == MAX_LINKED_FILES)
        return refuse_entry(inspection, path,
                            "is one of more than 100 files that have several names (hard links)", err);
    struct linked_file *file = &inspection->linked_files[i];
    if (i == inspection->n_linked_files) {
        *file = (struct linked_file){.device = st->st_dev, .number = st->st_ino, .names = st->st_nlink};
        text_printable(file->path, sizeof file->path, path, strlen(path));
        inspection->n_linked_files++;
    }
    file->found++;
    return 0;
}

static int inspect_entry(void *ctx, const char *path, const struct stat *st, struct err *err)
{
    struct inspection *inspection = ctx;
    const char *why = find_fault(st);
    if (why)
        return refuse_entry(inspection, path, why, err);
    if (!S_ISREG(st->st_mode))
        return 0;
    if (check_size(inspection, path, st, err) < 0)
        return -1;
    return st->st_nlink > 1 ? count_name(inspection, path, st, err) : 0;
}

int workdir_inspect(const struct dir *directory, const char *use, struct err *err)
{
    struct inspection inspection = {.directory = directory, .use = use};
    const struct dir_walk options = {.max_entries = WORKDIR_MAX_ENTRIES,
                                     .max_depth = PATH_MAX_DEPTH,
                                     .visit = inspect_entry,
                                     .ctx = &inspection};
    if (dir_walk(directory, &options, err) < 0)
        return -1;
    for (size_t i = 0; i < inspection.n_linked_files; i++)
        if (inspection.linked_files[i].found < inspection.linked_files[i].names)
            return refuse_entry(&inspection, inspection.linked_files[i].path,
                                "has another name outside of it (a hard link)", err);
    return 0;
}
