/*
 * JSON that comes in pieces, of which only a few values are wanted: the answers of service discovery are tens
 * of megabytes, and most of that is of no use here.
 *
 * Each wanted value is named by its path from the root: `status`, `data.activeTargets[].scrapeUrl`; `[]`
 * stands for every element of a list, so `[].targets[]` begins with a list at the root; `*` for every key
 * that no other path names, as in `[].labels.*`: json_cut_key then says which. What is at no such path is
 * passed over: it only has to be balanced, and strings have to end. At most 64 levels; a wanted text, or a
 * key in front of one, has at most 64 kB.
 */
#ifndef INVENTORY_JSON_CUT_H
#define INVENTORY_JSON_CUT_H

#include <stddef.h>

#include "base/base.h"

enum json_cut_kind {
    JSON_CUT_TEXT,  /* a string; `text` is what it means, in UTF-8 without NUL */
    JSON_CUT_OTHER, /* a number, true, false or null; `text` as it stands there */
    JSON_CUT_LIST,  /* the end of a list, and of a mapping; `text` is NULL */
    JSON_CUT_MAP,
};

struct json_cut;

/* Tells of a wanted value, once it is whole. `which` is the index of its path. -1 ends the parsing. */
typedef int json_cut_fn(void *ctx, size_t which, enum json_cut_kind kind, const char *text, struct err *err);

/* `paths` ends with NULL and must outlive the object. */
int json_cut_new(const char *const *paths, json_cut_fn *tell, void *ctx, struct json_cut **ret,
                 struct err *err);
void json_cut_free(struct json_cut *c);

/* The key of the value at a `*` that is told of; until the function that was told returns. */
const char *json_cut_key(const struct json_cut *c);

/* The next piece. ERR_FAILED for what is no JSON, saying at which byte; after a failure only json_cut_free.
 */
int json_cut_feed(struct json_cut *c, const void *p, size_t n, struct err *err);

/* There are no more pieces: ERR_FAILED if the text is not whole. */
int json_cut_end(struct json_cut *c, struct err *err);

#endif
