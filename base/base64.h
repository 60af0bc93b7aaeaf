/*
 * Base64 (RFC 4648, section 4), canonical and nothing else, as the age format wants it. No blanks, no line
 * ends, no bits set behind the last byte, padding where it is due and nowhere else. (OpenSSL's reader and
 * ssh_base64_decode are more tolerant, which is right for what people paste.)
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/buf.h"

enum base64_form {
    BASE64_RAW,    /* without padding: age's headers */
    BASE64_PADDED, /* age's armor, pages */
};

/* Decodes n characters into dst; *ret_n is how many bytes that gave. -1: not canonical, or more than cap. */
int base64_decode(enum base64_form form, const char *p, size_t n, void *dst, size_t cap, size_t *ret_n);

/* Adds the n bytes. */
void base64_add(struct buf *b, enum base64_form form, const void *p, size_t n);

#endif
