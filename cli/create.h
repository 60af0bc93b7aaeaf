/* `profgrab bundle create`: local profiles into a bundle. */
#ifndef CLI_CREATE_H
#define CLI_CREATE_H

#include "base/base.h"

/* Takes the files, and all files below directories, into a bundle at `output` (as workdir_new has it), and
 * prints its path. Returns the exit code, or -1. */
int create_bundle(const char *output, const char *reason, const struct strlist *sources, struct err *err);

#endif
