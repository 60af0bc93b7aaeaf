/* `profgrab bundle verify`. */
#ifndef CLI_BUNDLE_VERIFY_H
#define CLI_BUNDLE_VERIFY_H

#include <stdbool.h>

#include "bundle/bundle.h"

struct verify_options {
    const char *file;
    const char *allowed_signers; /* NULL: any signer is accepted */
    bool json;
};
/* Compares every file with the manifest, and checks the signature. Prints the result, and the bundle's author
 * and signer. Returns -1 if a check fails or is not possible. */
int verify_bundle(const struct verify_options *o, struct age_identities *identities, struct err *err);

#endif
