/*
 * Files and directories below a directory that is open. A path here is relative: its components are separated
 * by one slash each, and none is empty, `.` or `..`. Every operation resolves it from the directory's own
 * descriptor and follows no symbolic link at any component, so that nothing outside of the directory is
 * opened, created, renamed or removed, whatever somebody does to the tree meanwhile. No operation waits for
 * the other end of a FIFO.
 *
 * Linux resolves a path in one step: openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. Kernels without it
 * (ENOSYS), filters of system calls that refuse it (EPERM), and other systems take one openat(2) with
 * O_NOFOLLOW for each component.
 *
 * Errors: ERR_NOT_FOUND where a read or a stat meets nothing, ERR_EXISTS where a new name is taken,
 * ERR_FAILED for a link at some component, a path of another form, or a file that is none; else ERR_LOCAL_IO.
 * Files that are made have mode 0600 and directories 0700, whatever the umask.
 */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"

struct beneath {
    int fd;           /* the directory; its owner closes it */
    const char *name; /* its path, for messages alone; NULL: they name what lies below it as it is */
    bool by_steps;    /* a descriptor for each component, as where there is no openat2: for tests */
};

/* Opens a directory that the user names; links on the way to it are followed. Returns the descriptor or -1.
 */
int beneath_top(const char *path, struct err *err);

/* Opens a directory below it, for beneath itself, flock(2) and fsync(2). "" is the directory itself. */
int beneath_open_dir(const struct beneath *b, const char *path, struct err *err);

/* Opens a regular file for reading; refuses everything else (links, FIFOs, devices, directories). */
int beneath_open(const struct beneath *b, const char *path, struct err *err);

/* Reads such a file into `ret`, an initialised buffer whose `max` is the limit: ERR_FAILED beyond that. */
int beneath_read(const struct beneath *b, const char *path, struct buf *ret, struct err *err);

/* Makes a new file for writing and reading. Returns the descriptor or -1. */
int beneath_create(const struct beneath *b, const char *path, struct err *err);

/* The same beside `path` under a name that nobody can guess, `PATH.tmp-` and letters. *ret_path: that path, a
 * new string, which the caller frees. */
int beneath_create_temporary(const struct beneath *b, const char *path, char **ret_path, struct err *err);

/* A new file in the directory itself that has no name: it goes with its last descriptor. */
int beneath_create_nameless(const struct beneath *b, struct err *err);

/* Names such a file. ERR_UNSUPPORTED, of every file, where the system or the file system cannot do that;
 * beneath_can_name tells beforehand. */
int beneath_name(const struct beneath *b, int fd, const char *path, struct err *err);
bool beneath_can_name(int fd);

/* Replaces `path` with these bytes: temporary name beside it, fsync, rename. Either the old or the new file
 * is there at any time. A link of that name is replaced, not followed. */
int beneath_write(const struct beneath *b, const char *path, const void *p, size_t n, struct err *err);

/* Makes a directory; makes it and those missing above it, where it may exist. */
int beneath_mkdir(const struct beneath *b, const char *path, struct err *err);
int beneath_mkdirs(const struct beneath *b, const char *path, struct err *err);

/* Renames, over what is at `to`; the other one overwrites nothing. */
int beneath_rename(const struct beneath *b, const char *from, const char *to, struct err *err);
int beneath_rename_new(const struct beneath *b, const char *from, const char *to, struct err *err);

/* Removes a file, a link or a directory with all below it. Missing is fine. */
int beneath_remove(const struct beneath *b, const char *path, struct err *err);

/* lstat(2). "" is the directory itself. */
int beneath_stat(const struct beneath *b, const char *path, struct stat *ret, struct err *err);
bool beneath_exists(const struct beneath *b, const char *path);

/* fsync of the directory that holds `path`, so that a rename in it survives a power cut. File systems that
 * cannot do that are no error. */
int beneath_sync(const struct beneath *b, const char *path, struct err *err);

/* Calls `visit` for every entry at any depth, a directory before what lies in it. -1 from it ends the walk.
 * ERR_FAILED for more entries or levels than the bounds. */
typedef int beneath_visit_fn(void *ctx, const char *path, const struct stat *st, struct err *err);
struct beneath_walk {
    size_t max_entries;
    unsigned max_depth;
    beneath_visit_fn *visit;
    void *ctx;
};
int beneath_walk(const struct beneath *b, const struct beneath_walk *how, struct err *err);

#endif
