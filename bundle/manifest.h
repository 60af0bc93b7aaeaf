/* The inside of struct manifest, for the rest of this folder. */
#ifndef BUNDLE_MANIFEST_H
#define BUNDLE_MANIFEST_H

#include <jansson.h>

#include "bundle/bundle.h"

/* The whole manifest as JSON, its keys in the order of docs/formats.md. NULL if there is no memory. The
 * caller owns a reference, and does not change what it refers to. */
json_t *manifest_json(const struct manifest *m);

#endif
