/* What a note on an issue says of a bundle: what was found, and how to read it. From the bundle's manifest.
 */
#ifndef CLI_DIGEST_H
#define CLI_DIGEST_H

#include <stdbool.h>

#include "base/base.h"

struct digest {
    char *summary; /* lines; host names and all */
    char *reading; /* lines with commands */
};

/* `copy` is the file that is handed over, by the name it has there or on the disk. */
int digest_read(const char *bundle, const char *copy, bool encrypted, struct digest *ret, struct err *err);
void digest_release(struct digest *d);

#endif
