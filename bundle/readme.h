/* README.md: what a bundle is, for the person who opens it. */
#ifndef BUNDLE_README_H
#define BUNDLE_README_H

#include <jansson.h>

#include "base/base.h"

/* Adds the whole text to `ret`. Nothing that came from elsewhere acts in it: it is escaped for Markdown and
 * never begins a line. */
void readme_write(const json_t *root, struct buf *ret);

#endif
