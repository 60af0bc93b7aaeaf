/* The work directory: the files of a capture until they are packed. */
#ifndef BUNDLE_WORKDIR_H
#define BUNDLE_WORKDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct workdir;

/* The most files and directories of a work directory that is resumed, also if a bundle is unpacked into it.
 */
#define WORKDIR_MAX_ENTRIES 50000

/* The most bytes that the holes of all files of one work directory may have in total. The same limit holds
 * for the files of a new bundle. Only a power cut makes holes. Reading a file takes time in proportion to its
 * size, so without this limit a sparse file of 4 kB on disk could take minutes. */
#define WORKDIR_MAX_HOLES (UINT64_C(256) << 20)

/*
 * Makes `DIR/NAME.partial` (0700). DIR and NAME depend on `output`. If `output` ends in .tar.gz, it is the
 * path of the bundle. If it is an existing directory, ends in a slash (the directory is created if missing)
 * or is NULL (the working directory), the bundle gets the default name
 * `profgrab-SUBJECT-2026-11-21T07-48-00Z` in that directory. If a bundle or work directory with the default
 * name exists, `-2`, `-3`, ... is appended. If `output` names the bundle, and that bundle or its work
 * directory exists, the function fails with ERR_EXISTS. Fails if the directory is not usable.
 */
int workdir_new(const char *output, const char *subject, int64_t utc_ms, struct workdir **ret,
                struct err *err);
/*
 * Makes a work directory to resume a bundle, beside the bundle or in the directory `output`. The directory
 * gets the bundle's name; a number after a default name (`...Z-2`) is left out. If the bundle's file is not
 * called NAME.tar.gz, the directory gets `name`. If the name is taken, the first free one of `-2`, `-3`, ...
 * is appended. An `output` that ends in .tar.gz is the path of the new bundle, as in workdir_new.
 */
int workdir_new_beside(const char *bundle, const char *name, const char *output, struct workdir **ret,
                       struct err *err);

/*
 * Opens a work directory of an earlier run. ERR_FAILED if it is not one: its name is not NAME.partial, it
 * belongs to another user, others can write it, it has no manifest, or an entry at any depth is a link, a
 * FIFO, a device or another user's. ERR_LOCAL_IO if it does not exist or cannot be opened. *ret_manifest: the
 * manifest's text, in an initialised buffer.
 *
 * A struct workdir locks its directory: opening it again, in this process or another, is ERR_BUSY.
 */
int workdir_open(const char *path, struct workdir **ret, struct buf *ret_manifest, struct err *err);

/* Adds a hint to the error if `path`, which should be a file, is a directory. Always returns -1. */
int workdir_hint_directory(const char *path, struct err *err);

/*
 * Opens a directory whose files are copied into a bundle; the caller closes ret->fd, and ret->name is `path`.
 * A directory called NAME.partial, or with a manifest of profgrab, may be from an untrusted archive. If it
 * does not belong to the user, if others can write it, or if it has an entry that workdir_open would refuse,
 * the function fails with ERR_FAILED. The message names that entry. The function takes no lock: it also opens
 * a directory that a run is using.
 */
int workdir_open_copied(const char *path, struct dir *ret, struct err *err);

/* Frees the struct; the files stay on disk. */
void workdir_free(struct workdir *w);

/* Removes the directory and everything below it, as far as possible, and the directories that workdir_new or
 * workdir_new_beside created for it, if they are empty. */
void workdir_remove(struct workdir *w);

/* Returns the open directory, through which callers open, create, rename and remove its files. Valid until
 * workdir_free. */
const struct dir *workdir_files(const struct workdir *w);
const char *workdir_path(const struct workdir *w);   /* of NAME.partial, only for messages */
const char *workdir_name(const struct workdir *w);   /* NAME */
const char *workdir_bundle(const struct workdir *w); /* the future path of NAME.tar.gz */

#endif
