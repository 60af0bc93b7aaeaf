/* What the rest of this folder knows of a work directory beyond bundle.h. */
#ifndef BUNDLE_WORKDIR_H
#define BUNDLE_WORKDIR_H

#include "bundle/bundle.h"

/* The directory that holds NAME.partial, and will hold NAME.tar.gz. */
const struct beneath *workdir_place(const struct workdir *w);

/*
 * Looks through a work directory that an earlier run, or a stranger's archive, has left. `use` is what
 * is to be done with it, for messages: "resume". ERR_FAILED, naming the path, for an entry that no run of
 * profgrab makes: a symbolic link, a FIFO, a socket or a device; a file or directory that belongs to another
 * user or that others can write; a file that has a name outside of the directory too (a hard link), whose
 * content may be none of this run's; a file with more than two names; a file larger than 4 GiB; files with
 * holes of more than 1 GiB in all; more entries than a bundle may have members, or more levels than its
 * paths. These bounds also bound the time that hashing the files takes, by their size on disk.
 */
int workdir_inspect(const struct beneath *directory, const char *use, struct err *err);

/* Whether the user chose the name; a default one may get a number behind it. */
bool workdir_is_chosen(const struct workdir *w);

#endif
