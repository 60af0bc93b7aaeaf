/*
 * Files and directories below an open directory. A path is relative: one slash separates its components, and
 * no component is empty, `.` or `..`. Every operation resolves the path from the directory's descriptor and
 * follows no symbolic link at any component. Therefore no operation opens, creates, renames or removes
 * anything outside the directory, even if another process changes the tree at the same time. No operation
 * blocks on a FIFO.
 *
 * On Linux, one call resolves a path: openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. If the kernel
 * has no openat2 (ENOSYS) or a filter of system calls refuses it (EPERM), and on other systems, one openat(2)
 * with O_NOFOLLOW opens each component.
 *
 * Errors: ERR_NOT_FOUND if a read or a stat finds no entry, ERR_EXISTS if a new name is taken, ERR_FAILED for
 * a link at any component, a malformed path or an entry that is no regular file, otherwise ERR_LOCAL_IO. New
 * files have mode 0600 and new directories 0700, whatever the umask is.
 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/data/buf.h"
#include "base/data/err.h"

struct dir {
    int fd;               /* the directory; the caller closes it. Operations refuse a negative one */
    const char *name;     /* its path, only for messages; NULL: messages omit it */
    bool without_openat2; /* do not use openat2: for tests */
};

/* Opens a directory that the user names, following links. Returns the descriptor or -1. */
int dir_open_user_path(const char *path, struct err *err);

/* Opens a directory below `dir` and returns its descriptor or -1. "" is the directory itself. */
int dir_open_subdir(const struct dir *dir, const char *path, struct err *err);

/* Opens a regular file for reading; refuses everything else (links, FIFOs, devices, directories). */
int dir_open(const struct dir *dir, const char *path, struct err *err);

/* Reads a regular file into `ret`, an initialised buffer whose `max` is the limit. A larger file is
 * ERR_FAILED. */
int dir_read(const struct dir *dir, const char *path, struct buf *ret, struct err *err);

/* Creates a file for writing and reading. Returns the descriptor or -1. */
int dir_create(const struct dir *dir, const char *path, struct err *err);

/* Creates a file beside `path` under an unguessable name, `PATH.tmp-` and letters. *ret_path is the
 * file's path, a new string; the caller frees it. */
int dir_create_temporary(const struct dir *dir, const char *path, char **ret_path, struct err *err);

/* Creates a file without a name in the directory. The file vanishes when its last descriptor closes. */
int dir_create_nameless(const struct dir *dir, struct err *err);

/* Gives a file of dir_create_nameless the name `path`. ERR_UNSUPPORTED if the system or the file system
 * cannot name such files; dir_can_name_file checks that beforehand. */
int dir_give_name(const struct dir *dir, int fd, const char *path, struct err *err);
bool dir_can_name_file(int fd);

/* Creates or replaces the file `path`: writes the bytes to a temporary file beside it, calls fsync, and
 * renames the temporary file. At any time either the old or the new file exists. A link with that name is
 * replaced, not followed. */
int dir_write(const struct dir *dir, const char *path, const void *p, size_t n, struct err *err);

/* dir_mkdir creates one new directory. dir_mkdirs also creates missing parents, and the directory may
 * exist. */
int dir_mkdir(const struct dir *dir, const char *path, struct err *err);
int dir_mkdirs(const struct dir *dir, const char *path, struct err *err);

/* dir_rename replaces an existing `to`; dir_rename_new does not. */
int dir_rename(const struct dir *dir, const char *from, const char *to, struct err *err);
int dir_rename_new(const struct dir *dir, const char *from, const char *to, struct err *err);

/* Removes a file, a link or a directory with everything below it. A missing entry is no error. */
int dir_remove(const struct dir *dir, const char *path, struct err *err);

/* Works like lstat(2). "" is the directory itself. */
int dir_stat(const struct dir *dir, const char *path, struct stat *ret, struct err *err);
bool dir_exists(const struct dir *dir, const char *path);
/* Returns fd_bytes_on_disk of the file (base/fd.h); 0 if it cannot be opened. */
uint64_t dir_bytes_on_disk(const struct dir *dir, const char *path);

/* Calls fsync on the directory that contains `path`, so that a rename in it survives a power cut. Succeeds
 * without fsync if the directory cannot be opened for reading, or if its file system does not support
 * fsync. */
int dir_sync_parent(const struct dir *dir, const char *path, struct err *err);

/* Calls `visit` for every entry at any depth, a directory before its entries. The walk ends when `visit`
 * returns -1. ERR_FAILED if the tree exceeds max_entries or max_depth. */
typedef int dir_visit_fn(void *ctx, const char *path, const struct stat *st, struct err *err);
struct dir_walk {
    size_t max_entries;
    unsigned max_depth;
    dir_visit_fn *visit;
    void *ctx;
};
int dir_walk(const struct dir *dir, const struct dir_walk *walk, struct err *err);

#endif
