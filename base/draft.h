/*
 * A new file that gets its name only when it is complete, and is removed if it gets none. It has mode 0600
 * and replaces no file unless draft_replace is called. Until then it has no name, so that no file is left
 * however the process ends. Systems without nameless files use `NAME.tmp-` and unguessable letters.
 *
 * The directory is opened once, when the draft is created, and links in its path are followed. Names are
 * created in that directory, even if its path leads elsewhere by then. A link of such a name is not followed.
 */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include "base/beneath.h"
#include "base/err.h"

struct draft;

/* Creates a draft of the file `path`. draft_name reports whether the name is taken; a caller that must know
 * earlier checks it. */
int draft_new(const char *path, struct draft **ret, struct err *err);

/* Like draft_new, in an open directory: only the last component of `path` counts. The draft duplicates the
 * descriptor. */
int draft_new_in(const struct beneath *directory, const char *path, struct draft **ret, struct err *err);

/* The descriptor to write to; the draft closes it. */
int draft_fd(const struct draft *d);

/* Calls fsync on the file. */
int draft_sync(struct draft *d, struct err *err);

/* Gives the file its name, the last component of `path`, and writes the name to disk. ERR_EXISTS if the name
 * is taken; the caller may then try another one. */
int draft_name(struct draft *d, const char *path, struct err *err);

/* Like draft_name. If `path`, which ends in `ending`, is taken, tries `-2`, `-3`, ... before that ending.
 * *ret_path is the name, a new string. */
int draft_name_free(struct draft *d, const char *path, const char *ending, char **ret_path, struct err *err);

/* Gives the file the name and replaces an existing file in one step. A link of that name is replaced, not
 * followed. The file keeps the draft's mode. A directory of that name is an error. */
int draft_replace(struct draft *d, const char *path, struct err *err);

/* Closes the draft and removes it if it has no name. NULL is fine. */
void draft_free(struct draft *d);

#endif
