/*
 * Files whose paths come from the user or the user's configuration. Symbolic links in the path are followed.
 * A link in the last component is not followed when a file is created, replaced or removed. Use base/dir.h
 * for paths below a work directory and for all paths from untrusted input.
 *
 * New files have mode 0600 and new directories 0700, whatever the umask is.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/buf.h"
#include "base/data/err.h"
#include "base/data/strlist.h"

/* Reads a whole file into `ret` (an initialised buffer whose `max` is the limit). ERR_NOT_FOUND if it does
 * not exist, ERR_FAILED if it is larger than the limit or is not a regular file. */
int file_read(const char *path, struct buf *ret, struct err *err);

/* Creates a file for writing and reading. Returns the descriptor or -1; ERR_EXISTS if the name is taken. */
int file_create(const char *path, struct err *err);

/* Creates a file PREFIX-XXXXXX with the ending, for writing and reading, in the first of these directories in
 * which it can: $XDG_RUNTIME_DIR, `preferred` (NULL: none), $TMPDIR, /tmp. *ret_path is its path, as a new
 * string. Returns the descriptor or -1. */
int file_create_temporary(const char *prefix, const char *ending, const char *preferred, char **ret_path,
                          struct err *err);

/* Creates a file in memory for writing and reading; the system may swap it out. Returns the descriptor, or -1
 * with ERR_UNSUPPORTED if the system has no such files. */
int file_create_in_memory(struct err *err);

/* Creates a file without a name, for writing and reading, for bytes that should reach no disk: in memory, or
 * in $TMPDIR or /tmp if the system has no files in memory. Returns the descriptor or -1. */
int file_create_scratch(struct err *err);

/* Creates a file without a name, for writing and reading, in the directory of `path`. The file vanishes when
 * its last descriptor closes, however the process ends. Returns the descriptor or -1. */
int file_create_nameless(const char *path, struct err *err);

/* Opens a regular file for reading; refuses pipes, devices and directories. Returns the descriptor or -1. */
int file_open(const char *path, struct err *err);

/* Returns fd_bytes_on_disk of the file (base/fd.h); 0 if it cannot be opened. */
uint64_t file_bytes_on_disk(const char *path);

/* Creates or replaces the file `path`: writes the bytes to a temporary file beside it, calls fsync, and
 * renames the temporary file. At any time either the old or the new file exists. */
int file_write(const char *path, const void *p, size_t n, struct err *err);

/* Creates a directory; ERR_EXISTS if the name is taken. */
int file_mkdir(const char *path, struct err *err);

/* Creates a directory and its missing parents. The directory may exist already. Appends the path of each
 * created directory to `created` (may be NULL), parents first, also after a failure. */
int file_mkdirs(const char *path, struct strlist *created, struct err *err);

/* Removes the directories that file_mkdirs created, the last one first. Stops at the first directory that it
 * cannot remove, such as one that is not empty. */
void file_remove_created(const struct strlist *created);

/* Removes a file, or a directory with everything below it. Follows no symbolic link. A missing file is no
 * error. */
int file_remove(const char *path, struct err *err);

bool file_exists(const char *path);

/* Returns a new string: dir and name with one slash between, or just `name` if it is absolute or dir is NULL.
 * The caller frees it. NULL: out of memory. */
char *file_join(const char *dir, const char *name);

/* Returns the part after the last slash. */
const char *file_base(const char *path);

/* Returns a new string: the part before the last slash, `.` without a slash, `/` for the root. */
char *file_dir(const char *path);

/* Returns a new string: the path with a leading `~` or `~/` replaced by the user's home directory ($HOME,
 * else the password database); any other path unchanged. NULL: out of memory, or no home directory. */
char *file_expand_home(const char *path);

#endif
