/*
 * Files and directories below an open directory. A path is relative: one slash separates its components, and
 * no component is empty, `.` or `..`. Every operation resolves the path from the directory's descriptor and
 * follows no symbolic link at any component. Therefore no operation opens, creates, renames or removes
 * anything outside the directory, even if another process changes the tree at the same time. No operation
 * blocks on a FIFO.
 *
 * Linux resolves a path in one step: openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. Kernels without
 * openat2 (ENOSYS), filters of system calls that refuse it (EPERM), and other systems use one openat(2) with
 * O_NOFOLLOW for each component.
 *
 * Errors: ERR_NOT_FOUND if a read or a stat finds no entry, ERR_EXISTS if a new name is taken, ERR_FAILED for
 * a link at any component, a malformed path or an entry that is no regular file, otherwise ERR_LOCAL_IO. New
 * files have mode 0600 and new directories 0700, whatever the umask is.
 */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/data/buf.h"
#include "base/data/err.h"

struct beneath {
    int fd;               /* the directory; the caller closes it */
    const char *name;     /* its path, only for messages; NULL: messages omit it */
    bool without_openat2; /* do not use openat2: for tests */
};

/* Opens a directory that the user names, following links. Returns the descriptor or -1. */
int beneath_open_top(const char *path, struct err *err);

/* Opens a directory below b and returns its descriptor or -1. "" is the directory itself. */
int beneath_open_dir(const struct beneath *b, const char *path, struct err *err);

/* Opens a regular file for reading; refuses everything else (links, FIFOs, devices, directories). */
int beneath_open(const struct beneath *b, const char *path, struct err *err);

/* Reads a regular file into `ret`, an initialised buffer whose `max` is the limit. A larger file is
 * ERR_FAILED. */
int beneath_read(const struct beneath *b, const char *path, struct buf *ret, struct err *err);

/* Creates a file for writing and reading. Returns the descriptor or -1. */
int beneath_create(const struct beneath *b, const char *path, struct err *err);

/* Creates a file beside `path` under an unguessable name, `PATH.tmp-` and letters. *ret_path is the path, a
 * new string; the caller frees it. */
int beneath_create_temporary(const struct beneath *b, const char *path, char **ret_path, struct err *err);

/* Creates a file without a name in the directory. The file vanishes when its last descriptor closes. */
int beneath_create_nameless(const struct beneath *b, struct err *err);

/* Gives a file of beneath_create_nameless the name `path`. ERR_UNSUPPORTED if the system or the file system
 * cannot name such files; beneath_can_give_name checks that beforehand. */
int beneath_give_name(const struct beneath *b, int fd, const char *path, struct err *err);
bool beneath_can_give_name(int fd);

/* Replaces `path` with these bytes: temporary name beside it, fsync, rename. At any time either the old or
 * the new file exists. A link with that name is replaced, not followed. */
int beneath_write(const struct beneath *b, const char *path, const void *p, size_t n, struct err *err);

/* beneath_mkdir creates one new directory. beneath_mkdirs also creates missing parents, and the directory may
 * exist. */
int beneath_mkdir(const struct beneath *b, const char *path, struct err *err);
int beneath_mkdirs(const struct beneath *b, const char *path, struct err *err);

/* beneath_rename replaces an existing `to`; beneath_rename_new does not. */
int beneath_rename(const struct beneath *b, const char *from, const char *to, struct err *err);
int beneath_rename_new(const struct beneath *b, const char *from, const char *to, struct err *err);

/* Removes a file, a link or a directory with everything below it. A missing entry is no error. */
int beneath_remove(const struct beneath *b, const char *path, struct err *err);

/* Calls lstat(2). "" is the directory itself. */
int beneath_stat(const struct beneath *b, const char *path, struct stat *ret, struct err *err);
bool beneath_exists(const struct beneath *b, const char *path);

/* Calls fsync on the directory that contains `path`, so that a rename in it survives a power cut. A file
 * system that does not support it is no error. */
int beneath_sync(const struct beneath *b, const char *path, struct err *err);

/* Calls `visit` for every entry at any depth, a directory before its entries. The walk ends when `visit`
 * returns -1. ERR_FAILED if the tree exceeds max_entries or max_depth. */
typedef int beneath_visit_fn(void *ctx, const char *path, const struct stat *st, struct err *err);
struct beneath_walk {
    size_t max_entries;
    unsigned max_depth;
    beneath_visit_fn *visit;
    void *ctx;
};
int beneath_walk(const struct beneath *b, const struct beneath_walk *walk, struct err *err);

#endif
