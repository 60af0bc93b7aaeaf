/*
 * Parses untrusted JSON within limits.
 *
 * jansson uses up to 240 bytes of memory for two bytes of text (`{}`). So json_parse scans a text before
 * jansson parses it, and refuses a text that is too long or nested too deep, or whose tree would be too
 * large. All code reads JSON through json_parse; tools/check-calls enforces that.
 */
#ifndef BASE_DATA_JSON_H
#define BASE_DATA_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"

/* jansson's json_t. */
struct json_t;

/* The limits of a text. Every limit but max_string must be set: 0 refuses every text. */
struct json_limits {
    const char *what;          /* the text's name in messages: "manifest.json" */
    size_t max_bytes;          /* of the text */
    size_t max_memory;         /* bytes of text and tree, as json_measure estimates them */
    size_t max_depth;          /* levels of nested containers */
    size_t max_string;         /* bytes of one string or number; 0: no separate limit */
    bool accept_any_value;     /* accept any value, not only an object or a list */
    bool accept_repeated_keys; /* use the last of repeated keys; otherwise they are an error */
};

/* The estimated cost of parsing a text. */
struct json_measure {
    size_t memory; /* upper limit in bytes: the text, the tree, and jansson's growing buffers */
    size_t depth;
    size_t longest; /* bytes of the longest string or number */
};

/* Scans n bytes and estimates their tree. The text need not be JSON. */
struct json_measure json_measure(const char *text, size_t n);

/* Checks n bytes against the limits. ERR_FAILED if the text exceeds one. */
int json_check(const struct json_limits *limits, const char *text, size_t n, struct err *err);

/*
 * Parses n bytes. *ret is a new reference, which the caller releases with json_decref. ERR_FAILED for a text
 * beyond the limits (then nothing is allocated), and for a malformed text (the message has the line's
 * number). ERR_LOCAL_IO if an allocation fails.
 */
int json_parse(const struct json_limits *limits, const char *text, size_t n, struct json_t **ret,
               struct err *err);

#endif
