/*
 * Bech32 (BIP 173) without the length limit, as in age's keys: a readable prefix, "1", the bytes in groups of
 * five bits, a checksum of six characters. The text is all lower case or all upper case.
 */
#ifndef SEAL_BECH32_H
#define SEAL_BECH32_H

#include "base/base.h"

/* Decodes n characters with the given lower-case prefix into exactly `size` bytes. Returns -1 for any other
 * text. */
int bech32_decode(const char *p, size_t n, const char *prefix, void *dst, size_t size);

/* Encodes the bytes in lower case and appends them. */
void bech32_add(struct buf *b, const char *prefix, const void *p, size_t n);

#endif
