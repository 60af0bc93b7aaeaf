/* README.md: explains the bundle to the person who opens it. */
#ifndef BUNDLE_README_H
#define BUNDLE_README_H

#include "bundle/manifest.h"

/* Adds the text for a manifest to an initialised buffer. Escapes untrusted text for Markdown and never begins
 * a line with it. */
int readme_write(const struct manifest *m, struct buf *ret, struct err *err);

#endif
