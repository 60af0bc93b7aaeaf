/*
 * The tables of the manifest: a row for each key. docs/formats.md has the schema for other programs; a unit
 * test compares it with these rows.
 */
#ifndef BUNDLE_MANIFEST_ROWS_H
#define BUNDLE_MANIFEST_ROWS_H

#include "bundle/manifest.h"
#include "bundle/json_rows.h"

/* struct manifest_item. A row checks, reads, writes and documents a key of each item. */
extern const struct json_row manifest_item_rows[];

/* Reads one item, as manifest_read does. Strings belong to the JSON. */
int manifest_item_read(const json_t *item, struct manifest_item *ret, struct err *err);
void manifest_item_release(struct manifest_item *i);

/* struct manifest_contents: the whole manifest. The rows only check and read. */
extern const struct json_row manifest_rows[];

#endif
