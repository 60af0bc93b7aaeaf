/*
 * JSON from elsewhere, parsed within limits.
 *
 * jansson takes up to 240 bytes of memory for two bytes of text (`{}`), so a text is scanned before jansson
 * sees it, and refused if it is too long, too deep or would make a tree that is too large. All reading of
 * JSON goes through json_parse; tools/check-json holds the source to that.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* jansson's json_t. */
struct json_t;

/* The limits of a text. Each limit but max_text must be set: 0 refuses every text. */
struct json_form {
    const char *what;   /* begins the messages: "manifest.json" */
    size_t max_bytes;   /* of the text */
    size_t max_memory;  /* bytes of text and tree, as json_measure estimates them */
    size_t max_depth;   /* containers in each other */
    size_t max_text;    /* bytes of one string or number; 0: as many as the whole may have */
    bool any;           /* the text may be any value, not only an object or a list */
    bool repeated_keys; /* of keys that are there twice the last counts; otherwise they are refused */
};

/* The estimated cost of parsing a text. */
struct json_measure {
    size_t memory; /* bytes at most: of the text, the tree, and the buffers that jansson grows meanwhile */
    size_t depth;
    size_t longest; /* bytes of the longest string or number */
};

/* Scans n bytes for what their tree would take. The text need not be JSON. */
struct json_measure json_measure(const char *text, size_t n);

/* Whether n bytes are within the form's limits: 0, or ERR_FAILED. */
int json_check(const struct json_form *form, const char *text, size_t n, struct err *err);

/*
 * Parses n bytes. *ret is a new reference, which the caller gives back with json_decref. ERR_FAILED for a
 * text beyond the form's limits, before anything is allocated for it, and for one that is malformed, with the
 * line; ERR_LOCAL_IO without memory.
 */
int json_parse(const struct json_form *form, const char *text, size_t n, struct json_t **ret,
               struct err *err);

#endif
