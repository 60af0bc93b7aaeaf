/*
 * JSON for a page, piece by piece into a buffer: large arrays of numbers, and names from anywhere.
 *
 * Whatever is written may stand between <script> and </script>: of what HTML acts on, and of what older
 * JavaScript takes for the end of a line, nothing is left but an escape.
 */
#ifndef REPORT_JSONTEXT_H
#define REPORT_JSONTEXT_H

#include "base/base.h"

/* The most of a name that is written; a longer one ends in "...". */
#define JSONTEXT_MAX_NAME 2048

/* A string, made printable. */
void jsontext_name(struct buf *b, struct str s);
void jsontext_number(struct buf *b, int64_t v);
/* JSON that somebody else has written, in UTF-8. */
void jsontext_json(struct buf *b, struct str s);

/* `,"KEY":` and the string; nothing for NULL. */
void jsontext_text(struct buf *b, const char *key, const char *value);

/* An array's next number, a comma in front of all but the first. */
static inline void jsontext_item(struct buf *b, size_t i, int64_t v)
{
    if (i > 0)
        buf_addc(b, ',');
    jsontext_number(b, v);
}

#endif
