/*
 * Tables of rows that describe the keys of a JSON object and the members of a struct: one row checks, reads
 * and writes a key.
 *
 * json_rows_check is strict, for a manifest that will be changed. json_rows_read accepts any JSON: a value of
 * another type counts as missing. Both ignore keys without a row.
 */
#ifndef BUNDLE_JSON_ROWS_H
#define BUNDLE_JSON_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "bundle/fields.h"

enum row_type {
    ROW_TEXT,
    ROW_NAME,    /* a text that can be a directory's name */
    ROW_PATH,    /* a text that is written unchanged */
    ROW_WORD,    /* a text of `words`; the member is an enum */
    ROW_TIME,    /* a text; the member is int64_t, UTC milliseconds */
    ROW_NUMBER,  /* an integer; the member is int64_t */
    ROW_COUNT,   /* an integer from 0 to `most`; the member is unsigned, or an int that is never negative */
    ROW_FLAG,    /* the member is bool; only true is written */
    ROW_OBJECT,  /* an object with the keys of `inside`; its members are in the same struct */
    ROW_OBJECTS, /* a list of such objects; the member is an array of structs, with `count` */
    ROW_TEXTS,   /* a list of texts; the member is an array of strings, with `count` */
};

/* A key that an object may have. The last row of a table has no key. */
struct json_row {
    const char *key;
    enum row_type type;
    bool needed;                          /* json_rows_check fails without the key */
    bool write_if_zero;                   /* 0 and an empty list are written */
    bool bound;                           /* the row has a member: `at` and `size` are set */
    bool again;                           /* another row writes the key: this row only reads it */
    bool skip_check;                      /* json_rows_check ignores it */
    size_t at, size;                      /* the member */
    size_t presence_flag;                 /* ROW_AT of a bool: the key is present; 0: none */
    size_t count;                         /* ROW_AT of a list's length, a size_t */
    size_t zero_if_set, zero_if_set_size; /* ROW_AT of another member: if that is not 0, 0 is written too */
    const struct json_row *inside;        /* of ROW_OBJECT and ROW_OBJECTS */
    size_t inside_size;                   /* the size of one struct of ROW_OBJECTS */
    const char *const *words;             /* the last is NULL */
    json_int_t most;                      /* the largest number, or length of a list; 0: any */
    const char *doc;                      /* the description in docs/formats.md; NULL: none */
};
#define ROWS_END                                                                                             \
    {                                                                                                        \
        .key = NULL                                                                                          \
    }
/* The member of a struct that a row reads and writes. */
#define ROW_MEMBER(type, member)                                                                             \
    .bound = true, .at = offsetof(type, member), .size = sizeof((type *)0)->member
#define ROW_AT(type, member) (offsetof(type, member) + 1)

/* Checks the keys, and that all text is printable (text_is_visible). ERR_FAILED reports the place of a fault:
 * `hosts[2].services[0].name`. */
int json_rows_check(const json_t *object, const struct json_row *table, struct err *err);

/*
 * Fills the members of the struct at `to`, which is zeroed, from `object` (NULL: nothing). Strings belong to
 * the object. *budget is the number of bytes that lists may take; ERR_FAILED beyond. The caller calls
 * json_rows_release in any case.
 */
int json_rows_read(const json_t *object, const struct json_row *table, void *to, size_t *budget,
                   struct err *err);

/* Frees the lists of the struct. */
void json_rows_release(const struct json_row *table, void *of);

/* Adds the keys of the struct at `from`, in the order of the table. */
void json_rows_write(const struct json_row *table, const void *from, struct fields *to);

#endif
