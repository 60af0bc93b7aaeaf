/* README.md: explains the bundle to the person who opens it. */
#ifndef BUNDLE_README_H
#define BUNDLE_README_H

#include <jansson.h>

#include "base/base.h"

/* Adds the whole text to `ret`. Escapes untrusted text for Markdown and never begins a line with it. */
void readme_write(const json_t *root, struct buf *ret);

#endif
