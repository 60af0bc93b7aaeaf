/*
 * Base64 (RFC 4648, section 4), canonical form only, as the age format requires: no blanks, no line ends,
 * zero bits after the last byte, and padding only in the padded form. (OpenSSL's decoder and
 * ssh_base64_decode accept more; they suit text that people paste.)
 */
#ifndef BASE_DATA_BASE64_H
#define BASE_DATA_BASE64_H

#include <stddef.h>

#include "base/data/buf.h"
#include "base/data/str.h"

enum base64_form {
    BASE64_RAW,    /* without padding: age's headers */
    BASE64_PADDED, /* with padding: age's armor, report.html */
};

/* Decodes the text into dst; *ret_n is the number of bytes. Returns -1 if the text is not canonical or
 * needs more than cap bytes. */
int base64_decode(enum base64_form form, struct str text, void *dst, size_t cap, size_t *ret_n);

/* Encodes the n bytes and appends the text. */
void base64_add(struct buf *b, enum base64_form form, const void *p, size_t n);

#endif
