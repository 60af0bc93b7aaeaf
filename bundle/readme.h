/* README.md: explains the bundle to the person who opens it. */
#ifndef BUNDLE_README_H
#define BUNDLE_README_H

#include <jansson.h>

#include "base/base.h"

/* Adds the text for the manifest `root` to an initialised buffer. Escapes untrusted text for Markdown and
 * never begins a line with it. */
int readme_write(json_t *root, struct buf *ret, struct err *err);

#endif
