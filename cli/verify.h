/* `profgrab bundle verify`. */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <stdbool.h>

#include "bundle/bundle.h"

struct verify_options {
    const char *file;
    const char *allowed_signers; /* NULL: nobody says who may sign */
    bool json;
};
/* Prints who made it, who signed it and whether every file is as the manifest says. -1: it is not good, or it
 * cannot be told. */
int verify_bundle(const struct verify_options *o, struct age_identities *by, struct err *err);

#endif
