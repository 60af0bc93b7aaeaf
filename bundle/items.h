/* The manifest as JSON, for the files that copy, verify and read bundles. */
#ifndef BUNDLE_ITEMS_H
#define BUNDLE_ITEMS_H

#include <jansson.h>

#include "bundle/bundle.h"

/* The most memory for a manifest and its tree, as base/data/json.h estimates it. A manifest of 1,000 targets
 * with 8 items each takes about 90 MB. */
#define ITEMS_MAX_MEMORY ((size_t)224 << 20)

/* The most memory for the lists of a manifest's structs. The largest real manifest takes less than a quarter.
 */
#define ITEMS_MAX_LISTS ((size_t)64 << 20)

/* Parses n bytes of an untrusted manifest. Guarantees the format, the version, and that `hosts` and `files`
 * are lists; nothing below them. */
int items_parse(const char *text, size_t n, json_t **ret, struct err *err);

/* Writes the manifest's text into an initialised buffer. ERR_LIMIT for a manifest that items_parse would
 * refuse, so that profgrab never writes a bundle that it cannot read. */
int items_print(const json_t *root, struct buf *ret, struct err *err);
/* Ends the text of a manifest in the buffer with a newline, and checks it. The same errors. */
int items_finish_text(struct buf *text, struct err *err);

/* The file of an item. */
struct items_file {
    const char *path;
    uint64_t bytes;
    const char *sha256;
};

/* Reads the file of an item or of the report: a valid path that is not reserved, a well-formed size and hash;
 * else ERR_FAILED. */
int items_file(const json_t *item, struct items_file *ret, struct err *err);
/* Checks the file of an item in the same way; refuses the report's path too. */
int items_check_item_file(const struct items_file *file, struct err *err);

/* Calls `visit` for the report, then for every item with a file. `visit` may change the JSON. */
typedef int items_item_fn(void *ctx, json_t *item, const struct items_file *file, struct err *err);
int items_visit_items(const json_t *root, items_item_fn *visit, void *ctx, struct err *err);

/* Calls `visit` for every item with a file, in the manifest's order. A non-zero return of `visit` stops it.
 */
typedef int items_file_fn(void *ctx, const struct items_file *file, struct err *err);
int items_visit_files(const json_t *root, items_file_fn *visit, void *ctx, struct err *err);

#endif
