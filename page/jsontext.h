/*
 * JSON for a page, appended to a buffer: large arrays of numbers, and names from any source.
 *
 * All output is safe between <script> and </script>: characters that HTML interprets, or that older
 * JavaScript takes as line ends, are escaped.
 */
#ifndef PAGE_JSONTEXT_H
#define PAGE_JSONTEXT_H

#include "base/base.h"

/* The longest name. A longer one is cut and ends in "...". */
#define JSONTEXT_MAX_NAME 2048

/* Adds a string and makes it printable. */
void jsontext_name(struct buf *buf, struct str s);
/* Adds a string of any length with all its characters; each invalid byte becomes U+FFFD. */
void jsontext_string(struct buf *buf, struct str s);
void jsontext_number(struct buf *buf, int64_t v);
/* Adds existing JSON, in UTF-8, with the escapes that a page needs. */
void jsontext_json(struct buf *buf, struct str s);

/* Adds `,"KEY":` and the string; nothing for NULL. */
void jsontext_text(struct buf *buf, const char *key, const char *value);

/* Adds number i of an array of numbers, after a comma unless i is 0. */
static inline void jsontext_array_number(struct buf *buf, size_t i, int64_t number)
{
    if (i > 0)
        buf_addc(buf, ',');
    jsontext_number(buf, number);
}

#endif
