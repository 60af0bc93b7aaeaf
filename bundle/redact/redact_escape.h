/* Escapes of JSON, Go, HTML and URLs, as programs write them around a secret that they repeat. */
#ifndef BUNDLE_REDACT_REDACT_ESCAPE_H
#define BUNDLE_REDACT_REDACT_ESCAPE_H

#include "base/base.h"

/* The length of the longest entity that redact_unit_read knows, `&NonBreakingSpace;`. */
enum { REDACT_ENTITY_MAX = 18 };

/* The bytes that an escape means, a character in UTF-8. */
struct redact_unit {
    unsigned char bytes[4];
    size_t n_bytes;
    size_t length; /* of the escape in the text */
};

/* Reads the escape at `at` (`\u0026`, `\x26`, `\/`, `&amp;`, `&#38;`, `%26`), or the byte there. */
struct redact_unit redact_unit_read(struct str s, size_t at);

/* Reads the escape that ends right before `at`: a percent-encoding, also a nested one (`%26`, `%2526`), an
 * HTML entity, `\u0026` or `\x26`. length 0: there is none. */
struct redact_unit redact_unit_before(struct str s, size_t at);

/* Returns the number that `digits` hexadecimal digits at `at` mean, or -1 if there are fewer. */
long redact_read_hex(struct str s, size_t at, size_t digits);

/* Returns whether the text may contain an escape. */
bool redact_has_escapes(struct str s);

/* Returns the number of bytes at the beginning of `run`, a part of the text, that belong to an escape which
 * begins before `run`: 1 for the `n` of `\n`, 2 for `3D` in `%3D`; 0: none. */
size_t redact_escape_tail(struct str text, struct str run);

#endif
