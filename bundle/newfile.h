/* A file that gets its name only when it is whole and safe on disk: until then it has a temporary one beside
 * its place. Never over another file; mode 0600. */
#ifndef BUNDLE_NEWFILE_H
#define BUNDLE_NEWFILE_H

#include <stdbool.h>

#include "base/base.h"

struct newfile {
    int fd;
    bool numbered;
    char *stem, *ending; /* its path in two */
    char *temporary;
};
#define NEWFILE_INIT                                                                                         \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* Makes the temporary file. The path is `stem` and `ending` (".tar.gz"). One that is taken at the end is
 * ERR_EXISTS, or if `numbered` gets `-2`, `-3`, ... between the two. */
int newfile_open(const char *stem, const char *ending, bool numbered, struct newfile *ret, struct err *err);

/* Down to the disk, and the name. *ret_path: a new string. */
int newfile_commit(struct newfile *f, char **ret_path, struct err *err);

/* Frees, and removes what was not committed. */
void newfile_release(struct newfile *f);

#endif
