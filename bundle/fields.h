/*
 * A JSON object in the making: many keys are added, failure is looked at once. What is not known (NULL, "",
 * a time of 0) leaves no key behind.
 */
#ifndef BUNDLE_FIELDS_H
#define BUNDLE_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fields {
    json_t *o;
    bool failed; /* no memory: sticky */
};

struct fields fields_new(void);

/* A string from anywhere as one that jansson always takes: valid UTF-8, printable, on one line, at most
 * FIELDS_MAX_TEXT bytes. NULL if there is no memory. */
#define FIELDS_MAX_TEXT 4096
json_t *fields_string(const char *s);

/* Takes over `value`, which may be NULL for "no memory". */
void fields_put(struct fields *r, const char *key, json_t *value);
void fields_text(struct fields *r, const char *key, const char *s);
void fields_number(struct fields *r, const char *key, int64_t v);
void fields_count(struct fields *r, const char *key, uint64_t v);
void fields_time(struct fields *r, const char *key, int64_t utc_ms);

/* The key as another object has it, if that has it. */
void fields_keep(struct fields *r, const char *key, const json_t *before);

/* Ends `part` and appends it to `list`, or puts it under `key`. */
void fields_append(struct fields *r, json_t *list, struct fields *part);
void fields_nest(struct fields *r, const char *key, struct fields *part);

/* The object, or NULL if anything failed; it is empty afterwards. */
json_t *fields_take(struct fields *r);

#endif
