/*
 * A new file that gets its name only when it is whole, and is removed if it gets none. Mode 0600, never over
 * another file unless draft_replace is called. Until then it has no name at all, so that nothing is left
 * however the process ends; where the system cannot do that, `NAME.tmp-` and letters that nobody can guess.
 *
 * The directory is opened once, when the draft is made: links on the way to it are followed. The names are
 * made in that directory, whatever its path leads to by then, and no link of such a name is followed.
 */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include "base/beneath.h"
#include "base/err.h"

struct draft;

/* For a file that is to be called `path`. Whether that is taken is seen by draft_name; a caller that must
 * know before looks for itself. */
int draft_new(const char *path, struct draft **ret, struct err *err);

/* The same for `path` in a directory that is open: only the last component of `path` counts. The draft has a
 * descriptor of its own. */
int draft_new_in(const struct beneath *directory, const char *path, struct draft **ret, struct err *err);

/* To write to; the draft closes it. */
int draft_fd(const struct draft *d);

/* Writes it to disk. */
int draft_sync(struct draft *d, struct err *err);

/* Gives it its name, the last component of `path`; ERR_EXISTS if that is taken: it may then get another one.
 * The name is on disk when this returns. */
int draft_name(struct draft *d, const char *path, struct err *err);

/* The same, and if `path`, which ends in `ending`, is taken: with `-2`, `-3`, ... in front of that ending.
 * *ret_path: the name it got, a new string. */
int draft_name_free(struct draft *d, const char *path, const char *ending, char **ret_path, struct err *err);

/* Gives it the name in place of whatever has it, in one step: a link of that name is replaced, not followed.
 * It keeps the draft's mode. A directory of that name stays, and is an error. */
int draft_replace(struct draft *d, const char *path, struct err *err);

/* Closes it, and removes it if it has no name. NULL is fine. */
void draft_free(struct draft *d);

#endif
