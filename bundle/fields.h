/*
 * Builds a JSON object: the caller adds many keys and checks for failure once. Unknown values (NULL, "", a
 * time of 0) add no key.
 */
#ifndef BUNDLE_FIELDS_H
#define BUNDLE_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fields {
    json_t *o;
    bool failed; /* out of memory: sticky */
};

struct fields fields_new(void);

/* Makes a string that jansson accepts from any text: valid UTF-8, printable, on one line, at most
 * FIELDS_MAX_TEXT bytes. NULL without memory. */
#define FIELDS_MAX_TEXT 4096
json_t *fields_string(const char *s);

/* Takes over `value`; NULL means out of memory. */
void fields_put(struct fields *r, const char *key, json_t *value);
void fields_text(struct fields *r, const char *key, const char *s);
void fields_number(struct fields *r, const char *key, int64_t v);
void fields_count(struct fields *r, const char *key, uint64_t v);
void fields_time(struct fields *r, const char *key, int64_t utc_ms);

/* Copies the key from another object if it is present there. */
void fields_keep(struct fields *r, const char *key, const json_t *before);

/* Ends `part` and appends it to `list`, or sets it as `key`. */
void fields_append(struct fields *r, json_t *list, struct fields *part);
void fields_nest(struct fields *r, const char *key, struct fields *part);

/* Returns the object, or NULL if anything failed; `r` is empty afterwards. */
json_t *fields_take(struct fields *r);

#endif
