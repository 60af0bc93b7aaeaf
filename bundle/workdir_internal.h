/* Functions on a work directory for this folder only. */
#ifndef BUNDLE_WORKDIR_INTERNAL_H
#define BUNDLE_WORKDIR_INTERNAL_H

#include "bundle/bundle.h"

/* Returns the directory that contains NAME.partial, and later NAME.tar.gz. */
const struct dir *workdir_parent(const struct workdir *w);

/*
 * Inspects a work directory of an earlier run, or of an untrusted archive. `use` is the caller's purpose, for
 * messages: "resume". ERR_FAILED names an entry that no run of profgrab makes: a symbolic link, a FIFO, a
 * socket or a device; a file or directory of another user or writable by others; a hard link to a file
 * outside of the directory; a file with more than two names; a file above 4 GiB; files with holes of more
 * than WORKDIR_MAX_HOLES; too many entries or levels for a bundle. These limits also bound the time of
 * hashing the files.
 */
int workdir_inspect(const struct dir *directory, const char *use, struct err *err);

/* Returns whether the user chose the name; only a default name may get a number. */
bool workdir_has_chosen_name(const struct workdir *w);

#endif
