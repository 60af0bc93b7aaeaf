/*
 * Tables of rows that describe the keys of a JSON object and the members of a struct: one row checks, reads,
 * copies and prints a key.
 *
 * json_rows_check is strict: it is for a manifest that a run continues. json_rows_read accepts any JSON: a
 * value of an unexpected type counts as missing.
 */
#ifndef BUNDLE_JSON_ROWS_H
#define BUNDLE_JSON_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "bundle/arena.h"

enum row_type {
    ROW_TEXT,
    ROW_NAME,    /* a text that can be a directory's name */
    ROW_PATH,    /* a text that is copied unchanged */
    ROW_ENUM,    /* a text of `words`; the member is an enum */
    ROW_TIME,    /* a text; the member is int64_t, UTC milliseconds, 0: unknown */
    ROW_NUMBER,  /* an integer; the member is int64_t */
    ROW_COUNT,   /* an integer from 0 to `max`; the member is unsigned, or an int that is never negative */
    ROW_FLAG,    /* the member is bool */
    ROW_OBJECT,  /* an object with the keys of `inner_rows`. Their members are in the struct of this row's
                    member, or in the same struct if the row has no member */
    ROW_OBJECTS, /* a list of such objects; the member is an array of structs, with `count` */
    ROW_TEXTS,   /* a list of texts; the member is an array of strings, with `count` */
};

/*
 * A key that an object may have. The last row of a table has no key. ROWS_END_SOURCE makes a last row with
 * the member `source`: the JSON object from which the struct was read, or NULL if the table has rows for all
 * keys of the object. json_rows_print takes the keys without a row from `source`.
 */
struct json_row {
    const char *key;
    enum row_type type;
    bool required;        /* json_rows_check fails without the key */
    bool write_if_zero;   /* print also 0, false, and an empty text or list; NULL is never printed */
    bool keep_empty;      /* an empty text differs from a missing one */
    bool has_member;      /* the row has a member of the struct: `offset` and `size` are set */
    bool read_only;       /* another row with the same key copies and prints the value */
    bool skip_check;      /* json_rows_check ignores the row */
    size_t offset, size;  /* the member */
    size_t presence_flag; /* ROW_AT of a bool that is true if the key is present; 0: none */
    size_t count;         /* ROW_AT of a list's length, a size_t */
    /* ROW_AT and size of another member. If that member is not 0, the key is printed even if its own value is
     * 0. A ROW_OBJECT with this option is printed only then. */
    size_t write_zero_if_set, zero_if_set_size;
    const struct json_row *inner_rows; /* of ROW_OBJECT and ROW_OBJECTS */
    size_t entry_size;                 /* the size of one entry of a list */
    const char *const *words;          /* the last is NULL */
    json_int_t max;                    /* limit of a ROW_COUNT or of a list's length; 0: none */
    const char *doc;                   /* the description in docs/formats.md; NULL: none */
};
#define ROWS_END                                                                                             \
    {                                                                                                        \
        .key = NULL                                                                                          \
    }
#define ROWS_END_SOURCE(type)                                                                                \
    {                                                                                                        \
        .key = NULL, ROW_MEMBER(type, source)                                                                \
    }
/* The member of a struct that a row reads and prints. */
#define ROW_MEMBER(type, member)                                                                             \
    .has_member = true, .offset = offsetof(type, member), .size = sizeof((type *)0)->member
/* The offset of a member plus 1, because 0 means that a row has no such member. */
#define ROW_AT(type, member) (offsetof(type, member) + 1)

/* Checks the keys, and that all text is printable (text_is_visible). ERR_FAILED names the position of a
 * fault: `hosts[2].services[0].name`. */
int json_rows_check(const json_t *object, const struct json_row *table, struct err *err);

/* The state of json_rows_read. */
struct json_rows_reading {
    struct arena *arena;   /* memory for the lists that json_rows_read makes */
    size_t left;           /* the number of bytes that the remaining lists may use */
    bool has_unknown_keys; /* json_rows_read has found keys without a row */
};

/* Fills the members of the struct at `to`, which the caller has zeroed, from `object`. NULL counts as an
 * object without keys. Strings belong to the object. ERR_FAILED if the lists take too much memory. */
int json_rows_read(const json_t *object, const struct json_row *table, void *to,
                   struct json_rows_reading *reading, struct err *err);

/* Copies the struct at `from` to the struct at `to`, its texts and lists into the arena. Makes texts
 * printable, except a ROW_PATH. An empty text becomes NULL, unless its row is `required`, `write_if_zero` or
 * `keep_empty`. After a failure, `to` is invalid. */
int json_rows_copy(const struct json_row *table, const void *from, void *to, struct arena *a,
                   struct err *err);

/* Makes a text printable, on one line, at most 4 kB, as json_rows_copy does. Returns dst. */
#define JSON_ROWS_TEXT_SIZE 4104
char *json_rows_make_printable(char dst[JSON_ROWS_TEXT_SIZE], const char *s);
/* Copies the printable form of a text into the arena. NULL without memory. */
const char *json_rows_copy_text(const char *s, struct arena *a);

/* Appends the struct as JSON, its keys in the order of the table; `compact`: without blanks. All its texts
 * must be UTF-8. */
void json_rows_print(const struct json_row *table, const void *from, bool compact, struct buf *to);

#endif
