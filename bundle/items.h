/* The manifest as JSON, read back: what pack, verify and the README need of it. */
#ifndef BUNDLE_ITEMS_H
#define BUNDLE_ITEMS_H

#include <jansson.h>

#include "bundle/bundle.h"

/* The most memory that a manifest and its tree may take, as base/json.h estimates it. A manifest of 1,000
 * targets with 8 items each takes about 90 MB. */
#define ITEMS_MAX_MEMORY ((size_t)224 << 20)

/* Parses n bytes of a manifest from anywhere. It is an object of our format and version afterwards, and its
 * lists of hosts and files are lists; below them nothing is promised. */
int items_parse(const char *text, size_t n, json_t **ret, struct err *err);

/* The manifest's text, into an initialised buffer. ERR_LIMIT for a manifest that items_parse would refuse: no
 * bundle is written that this program cannot read. */
int items_print(const json_t *root, struct buf *ret, struct err *err);

/* A file an item names. */
struct items_file {
    const char *path;
    uint64_t bytes;
    const char *sha256;
};

/* What the file of an item, or of the report, is: path checked and none of ours, size and hash well formed;
 * else ERR_FAILED. */
int items_file(const json_t *item, struct items_file *ret, struct err *err);
/* The same of an item alone, whose file is not the report. */
int items_own_file(const json_t *item, struct items_file *ret, struct err *err);

/* Calls `each` for every item that has a file, as JSON, to be read or changed; first for the report. */
typedef int items_item_fn(void *ctx, json_t *item, const struct items_file *file, struct err *err);
int items_each_item(const json_t *root, items_item_fn *each, void *ctx, struct err *err);

/* Calls `each` for every item that has a file, in the manifest's order. A non-zero return of `each` stops it.
 */
typedef int items_file_fn(void *ctx, const struct items_file *file, struct err *err);
int items_each_file(const json_t *root, items_file_fn *each, void *ctx, struct err *err);

#endif
