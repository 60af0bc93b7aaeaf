/*
 * Bech32 (BIP 173) without its limit on length, as age's keys are written: a readable prefix, "1", the bytes
 * in groups of five bits, a checksum of six characters. All in lower case or all in upper case.
 */
#ifndef SEAL_BECH32_H
#define SEAL_BECH32_H

#include "base/base.h"

/* Decodes n characters whose prefix must be `prefix` (given in lower case), into exactly `size` bytes. -1: it
 * is anything else. */
int bech32_decode(const char *p, size_t n, const char *prefix, void *dst, size_t size);

/* Adds the bytes in lower case. */
void bech32_add(struct buf *b, const char *prefix, const void *p, size_t n);

#endif
