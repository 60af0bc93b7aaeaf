/*
 * Files by a path that the user or the user's configuration names: links on the way to it are followed, the
 * last component is not where something is made, replaced or removed. Paths below a work directory, and all
 * paths that a stranger may have chosen, are base/beneath.h's.
 *
 * Everything made here has mode 0600 (directories 0700) whatever the umask says.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Reads a whole file into `ret` (an initialised buffer, its `max` is the limit). ERR_NOT_FOUND if there is
 * none, ERR_FAILED if it is larger than the limit or no regular file. */
int file_read(const char *path, struct buf *ret, struct err *err);

/* Makes a new file for writing and reading; ERR_EXISTS if the name is taken. Returns the descriptor or -1. */
int file_create(const char *path, struct err *err);

/* A new file for writing and reading that lies in memory alone, and may be swapped out as all memory. Returns
 * the descriptor or -1: ERR_UNSUPPORTED where the system has no such files. */
int file_create_in_memory(struct err *err);

/* A new file for writing and reading in the directory of `path` that has no name there: it goes with its last
 * descriptor, whatever becomes of us. Returns the descriptor or -1. */
int file_create_nameless(const char *path, struct err *err);

/* Opens a regular file for reading; refuses everything else (pipes, devices, directories). -1 on failure. */
int file_open(const char *path, struct err *err);

/* Replaces `path` with these bytes: temporary name beside it, fsync, rename. Either the old or the new file
 * is there at any time. */
int file_write(const char *path, const void *p, size_t n, struct err *err);

/* Makes a directory; ERR_EXISTS if the name is taken. */
int file_mkdir(const char *path, struct err *err);

/* Makes a directory and those missing above it; it may exist. */
int file_mkdirs(const char *path, struct err *err);

/* Removes a file or a whole directory, never following a symbolic link. Missing is fine. */
int file_remove(const char *path, struct err *err);

bool file_exists(const char *path);

/* A new string: dir and name with one slash between; just `name` for an absolute one or a NULL dir. NULL if
 * there is no memory. The caller frees it. */
char *file_join(const char *dir, const char *name);

/* The part behind the last slash. */
const char *file_base(const char *path);

/* A new string: everything before the last slash, `.` without one, `/` for the root. */
char *file_dir(const char *path);

/* A new string: `~` or `~/...` with the user's home directory ($HOME, else the password database) in place
 * of `~`; anything else as it is. NULL if there is no memory or no home. */
char *file_expand_home(const char *path);

#endif
