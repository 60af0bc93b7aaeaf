/*
 * Parses JSON in pieces and extracts a few values. An answer of service discovery may have tens of megabytes,
 * and profgrab needs only a small part of it.
 *
 * Each wanted value has a path from the root: `status`, `data.activeTargets[].scrapeUrl`. `[]` means every
 * element of a list: the first `[]` of `[].targets[]` means the elements of a list at the root. `*` means
 * every key that no other path names, as in `[].labels.*`; json_pick_key returns that key. The parser skips
 * other values, and checks only their brackets and strings. Limits: 64 levels; 64 kB for a wanted string, and
 * for a key.
 */
#ifndef DISCOVERY_JSON_PICK_H
#define DISCOVERY_JSON_PICK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

enum json_pick_kind {
    JSON_PICK_TEXT,  /* a string; `text` is its decoded value, in UTF-8 without NUL */
    JSON_PICK_OTHER, /* a number, true, false or null; `text` is as written */
    JSON_PICK_LIST,  /* the end of a list; `text` is NULL */
    JSON_PICK_MAP,   /* the end of a mapping; `text` is NULL */
};

struct json_pick;

/* Receives each complete wanted value and the index of its path. Returns -1 to end the parsing. */
typedef int json_pick_fn(void *ctx, size_t path_index, enum json_pick_kind kind, const char *text,
                         struct err *err);

/* Creates a parser. `paths` ends with NULL and must outlive the object. */
int json_pick_new(const char *const *paths, json_pick_fn *report, void *ctx, struct json_pick **ret,
                  struct err *err);
void json_pick_free(struct json_pick *c);

/* Returns the key of the current value at a `*`; only valid during the callback. */
const char *json_pick_key(const struct json_pick *c);

/* Parses the next piece. ERR_FAILED for invalid JSON; the message has the number of the invalid byte. After a
 * failure call only json_pick_is_malformed and json_pick_free. */
int json_pick_feed(struct json_pick *c, const void *p, size_t n, struct err *err);

/* Returns whether the input failed because it is not JSON. */
bool json_pick_is_malformed(const struct json_pick *c);

/* Ends the input: ERR_FAILED if the text is incomplete. */
int json_pick_end(struct json_pick *c, struct err *err);

#endif
