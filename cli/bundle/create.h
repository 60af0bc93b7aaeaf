/* `profgrab bundle create`: makes a bundle of local files. */
#ifndef CLI_BUNDLE_CREATE_H
#define CLI_BUNDLE_CREATE_H

#include "base/base.h"

/* Copies the files of `sources`, and all files below the directories of `sources`, into a bundle at `output`
 * (see workdir_new), and prints the bundle's path. `reason` NULL: none. Returns the exit code, or -1. */
int create_bundle(const char *output, const char *reason, const struct strlist *sources, struct err *err);

/* Prints that a bundle has no page, and why. */
void create_print_no_page(const struct err *why);

#endif
