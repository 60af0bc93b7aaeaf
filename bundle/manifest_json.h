/*
 * The manifest as JSON, for the code that loads, checks and prints it. Other code uses the struct of
 * manifest.h, except that copying and redaction change the JSON, because redaction must also search keys that
 * this program does not know.
 */
#ifndef BUNDLE_MANIFEST_JSON_H
#define BUNDLE_MANIFEST_JSON_H

#include <jansson.h>

#include "bundle/bundle.h"

/* The most memory for a manifest and its tree, as base/data/json.h estimates it. A manifest of 1,000 targets
 * with 8 items each takes about 90 MB. */
#define MANIFEST_JSON_MAX_MEMORY ((size_t)224 << 20)

/* The most memory, in bytes, for the arrays of a manifest that is read into structs (manifest.h). The largest
 * real manifest takes less than a quarter. */
#define MANIFEST_JSON_MAX_LISTS ((size_t)64 << 20)

/* Parses n bytes of an untrusted manifest. Guarantees the format, the version, and that `hosts` and `files`
 * are lists or missing; checks nothing below them. */
int manifest_json_parse(const char *text, size_t n, json_t **ret, struct err *err);

/* Reads a parsed manifest into a struct, which keeps a reference to the JSON. The caller must not change the
 * JSON before manifest_free. */
int manifest_read_json(json_t *root, struct manifest **ret, struct err *err);

/* Writes the manifest's text into an initialised buffer. ERR_LIMIT for a manifest that manifest_json_parse
 * would refuse, so that profgrab never writes a bundle that it cannot read. */
int manifest_json_print(const json_t *root, struct buf *ret, struct err *err);

/* Ends the text of a manifest in the buffer with a newline, and checks it. Errors as
 * in manifest_json_print. */
int manifest_json_finish(struct buf *text, struct err *err);

/* A file of the bundle, as the manifest describes it. */
struct file_entry {
    const char *path;
    uint64_t bytes;
    const char *sha256;
};

/* Reads the path, size and hash that the manifest states for the file of an item or of the report. ERR_FAILED
 * if the path is invalid or reserved, or if the size or hash is malformed. */
int manifest_json_read_file_entry(const json_t *item, struct file_entry *ret, struct err *err);

/* Checks the path, size and hash of an item's file in the same way, and also refuses the path of the report.
 */
int manifest_json_check_file_entry(const struct file_entry *file, struct err *err);

/* Reads what the manifest of a copy states for README.md. ret->path is NULL for other manifests. ERR_FAILED
 * if the size or hash is malformed. */
int manifest_json_read_readme(const json_t *root, struct file_entry *ret, struct err *err);

/* Calls `visit` for the report, then for every item with a file, in the manifest's order, and checks the
 * entry as above. A non-zero return of `visit` stops it. `visit` may change the JSON. */
typedef int manifest_json_item_fn(void *ctx, json_t *item, const struct file_entry *file, struct err *err);
int manifest_json_visit_items(const json_t *root, manifest_json_item_fn *visit, void *ctx, struct err *err);

#endif
