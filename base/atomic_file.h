/*
 * A new file that gets its name only when it is complete, and is removed if it gets none. It has mode 0600
 * and replaces no file unless atomic_file_replace is called. Until then it has no name, so that no file is
 * left however the process ends. Systems without nameless files use `NAME.tmp-` and unguessable letters.
 *
 * The directory is opened once, when the atomic file is created, and links in its path are followed. Names
 * are created in that directory, even if its path leads elsewhere by then. A link of such a name is not
 * followed.
 */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include "base/beneath.h"
#include "base/data/err.h"

struct atomic_file;

/* Creates an atomic file for `path`. atomic_file_name reports whether the name is taken; a caller
 * that must know earlier checks it. */
int atomic_file_new(const char *path, struct atomic_file **ret, struct err *err);

/* Works like atomic_file_new, in an open directory: only the last component of `path` counts. The atomic file
 * duplicates the descriptor. */
int atomic_file_new_in(const struct beneath *directory, const char *path, struct atomic_file **ret,
                       struct err *err);

/* Returns the descriptor to write to; the atomic file closes it. */
int atomic_file_fd(const struct atomic_file *d);

/* Calls fsync on the file. */
int atomic_file_sync(struct atomic_file *d, struct err *err);

/* Gives the file its name, the last component of `path`, and writes the name to disk. ERR_EXISTS if the name
 * is taken; the caller may then try another one. */
int atomic_file_name(struct atomic_file *d, const char *path, struct err *err);

/* Works like atomic_file_name. If `path`, which ends in `ending`, is taken, tries `-2`, `-3`, ... before that
 * ending. *ret_path is the name, a new string. */
int atomic_file_name_free(struct atomic_file *d, const char *path, const char *ending, char **ret_path,
                          struct err *err);

/* Gives the file the name and replaces an existing file in one step. A link of that name is replaced, not
 * followed. The file keeps its mode. A directory of that name is an error. */
int atomic_file_replace(struct atomic_file *d, const char *path, struct err *err);

/* Closes the atomic file and removes it if it has no name. Accepts NULL. */
void atomic_file_free(struct atomic_file *d);

#endif
