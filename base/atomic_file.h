/*
 * A new file that gets its name only when it is complete. Until then it is nameless (O_TMPFILE), so that a
 * killed process leaves no file. Two cases need a temporary name, `NAME.tmp-` and random characters: a system
 * without nameless files, and atomic_file_replace just before it renames the file. A file that never gets its
 * name is removed. New files have mode 0600. Only atomic_file_replace replaces an existing file.
 *
 * The directory is opened once, when the atomic file is created, and links in its path are followed. The name
 * is created in that directory, even if the path names another directory by then. If the name is a symbolic
 * link, the link is not followed.
 */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include "base/dir.h"
#include "base/data/err.h"

struct atomic_file;

/* Creates an atomic file for `path`. Does not check whether the name is taken; atomic_file_give_name does. */
int atomic_file_new(const char *path, struct atomic_file **ret, struct err *err);

/* Works like atomic_file_new, in an open directory, and uses only the last component of `path`. Duplicates
 * the directory's descriptor. */
int atomic_file_new_in(const struct dir *directory, const char *path, struct atomic_file **ret,
                       struct err *err);

/* Returns the descriptor to write to; the atomic file closes it. */
int atomic_file_fd(const struct atomic_file *file);

/* Calls fsync on the file. */
int atomic_file_sync(struct atomic_file *file, struct err *err);

/* Gives the file its name, the last component of `path`, and writes the name to disk. ERR_EXISTS if the name
 * is taken; the caller may then try another name. */
int atomic_file_give_name(struct atomic_file *file, const char *path, struct err *err);

/* Works like atomic_file_give_name, but if the name is taken, adds `-2`, then `-3` and so on before `ending`
 * until the name is not taken; `path` must end in `ending`. Tries about a thousand names at most. *ret_path
 * is the path with the chosen name, a new string; the caller frees it. */
int atomic_file_give_unused_name(struct atomic_file *file, const char *path, const char *ending,
                                 char **ret_path, struct err *err);

/* Gives the file its name and atomically replaces an existing file. A symbolic link with that name is
 * replaced, not followed. The new file keeps its own mode. A directory with that name is an error. */
int atomic_file_replace(struct atomic_file *file, const char *path, struct err *err);

/* Closes the file, and removes it if it never got its name. Accepts NULL. */
void atomic_file_free(struct atomic_file *file);

#endif
