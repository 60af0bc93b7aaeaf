/*
 * A run makes directories and regular files of its own user, and nothing else. Between the two halves of a
 * rename (link, unlink) a file has two names in the directory, and a kill leaves both: so the names found of
 * each such file are counted, and must be all that it has.
 */
#include "bundle/workdir.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/path.h"

#include "base/banned.h"

/* How many files may have two names, which only a kill amid a rename leaves. */
enum { MAX_SEVERAL = 100 };

/* No run makes a larger file: the largest body that any kind allows has 2 GiB (fetch/kind.c). */
#define MAX_FILE ((int64_t)4 << 30)
/* All files together may have holes of so many bytes. A run leaves no holes, but a power cut may. Reading a
 * file takes time by its size, so without this bound a sparse file of a few kB on disk would take hours. */
#define MAX_HOLES ((int64_t)1 << 30)

struct several {
    dev_t device;
    ino_t number;
    nlink_t names, found;
    char path[256]; /* one of them, printable */
};

struct inspection {
    const struct beneath *directory;
    const char *use;
    struct several several[MAX_SEVERAL];
    size_t n;
    int64_t holes; /* bytes in holes, of all files so far */
};

static int refuse(const struct inspection *x, const char *path, const char *why, struct err *err)
{
    char shown[256];
    err_set(err, ERR_FAILED, "%s is not safe to %s: %s in it %s", x->directory->name, x->use,
            text_printable(shown, sizeof shown, path, strlen(path)), why);
    return err_hint(err,
                    "profgrab makes no such entry: look where the directory is from; remove the entry and "
                    "run the command again, or collect anew with `profgrab grab`");
}

/* Why a run makes no such entry, NULL if it does. */
static const char *fault(const struct stat *st)
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

/* The bytes of the file that lie in holes. A file without holes may still take fewer blocks than its size,
 * since some file systems compress: so the system must report a hole. */
static int count_holes(const struct inspection *x, const char *path, const struct stat *st, int64_t *ret,
                       struct err *err)
{
    int64_t on_disk = (int64_t)st->st_blocks * 512;
    *ret = 0;
    if (on_disk >= st->st_size)
        return 0;
    int fd = beneath_open(x->directory, path, err);
    if (fd < 0)
        return -1;
    off_t hole = lseek(fd, 0, SEEK_HOLE);
    fd_close(&fd);
    if (hole >= 0 && hole < st->st_size)
        *ret = st->st_size - on_disk;
    return 0;
}

static int check_size(struct inspection *x, const char *path, const struct stat *st, struct err *err)
{
    int64_t holes = 0;
    if (st->st_size > MAX_FILE)
        return refuse(x, path, "is larger than 4 GiB, and no run makes such a file", err);
    if (count_holes(x, path, st, &holes, err) < 0)
        return -1;
    x->holes += holes;
    return x->holes <= MAX_HOLES
               ? 0
               : refuse(x, path, "is a sparse file, and the holes of the files come to more than 1 GiB", err);
}

static int note_name(struct inspection *x, const char *path, const struct stat *st, struct err *err)
{
    size_t i = 0;
    if (st->st_nlink > 2)
        return refuse(x, path, "has more than two names (hard links)", err);
    while (i < x->n && (x->several[i].device != st->st_dev || x->several[i].number != st->st_ino))
        i++;
    if (i == MAX_SEVERAL)
        return refuse(x, path, "is one of more than 100 files that have several names (hard links)", err);
    struct several *s = &x->several[i];
    if (i == x->n) {
        *s = (struct several){.device = st->st_dev, .number = st->st_ino, .names = st->st_nlink};
        text_printable(s->path, sizeof s->path, path, strlen(path));
        x->n++;
    }
    s->found++;
    return 0;
}

static int inspect(void *ctx, const char *path, const struct stat *st, struct err *err)
{
    struct inspection *x = ctx;
    const char *why = fault(st);
    if (why)
        return refuse(x, path, why, err);
    if (!S_ISREG(st->st_mode))
        return 0;
    if (check_size(x, path, st, err) < 0)
        return -1;
    return st->st_nlink > 1 ? note_name(x, path, st, err) : 0;
}

int workdir_inspect(const struct beneath *directory, const char *use, struct err *err)
{
    struct inspection x = {.directory = directory, .use = use};
    const struct beneath_walk how = {
        .max_entries = BUNDLE_MAX_MEMBERS, .max_depth = PATH_MAX_DEPTH, .visit = inspect, .ctx = &x};
    if (beneath_walk(directory, &how, err) < 0)
        return -1;
    for (size_t i = 0; i < x.n; i++)
        if (x.several[i].found < x.several[i].names)
            return refuse(&x, x.several[i].path, "has another name outside of it (a hard link)", err);
    return 0;
}
