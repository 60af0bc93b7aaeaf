/*
 * The tables of the manifest: a row for each key checks, reads, copies, prints and documents it.
 * docs/formats.md has the schema for other programs; a unit test compares it with these rows.
 */
#ifndef BUNDLE_MANIFEST_ROWS_H
#define BUNDLE_MANIFEST_ROWS_H

#include "bundle/json_rows.h"
#include "bundle/manifest.h"

extern const struct json_row manifest_rows[];          /* struct manifest */
extern const struct json_row manifest_host_rows[];     /* struct manifest_host */
extern const struct json_row manifest_service_rows[];  /* struct manifest_service */
extern const struct json_row manifest_item_rows[];     /* struct manifest_item */
extern const struct json_row manifest_request_rows[];  /* struct manifest_request */
extern const struct json_row manifest_resumed_rows[];  /* struct manifest_resumption */
extern const struct json_row manifest_sentence_rows[]; /* struct manifest_sentence */

/* The names of an item's status, by enum manifest_status; the last is NULL. */
extern const char *const manifest_statuses[];

#endif
