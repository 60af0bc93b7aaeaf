/*
 * What a file holds: chunks of 64 KiB under ChaCha20-Poly1305, each with its number and whether it is the
 * last one in its nonce, so that none can be changed, moved, left out or added.
 */
#ifndef SEAL_AGE_STREAM_H
#define SEAL_AGE_STREAM_H

#include "seal/age_crypto.h"

#define AGE_CHUNK 65536
#define AGE_SEALED (AGE_CHUNK + AGE_TAG)
#define AGE_NONCE 16 /* of a file, in front of its chunks */

struct age_stream;
int age_stream_new(const unsigned char file_key[AGE_FILE_KEY], const unsigned char nonce[AGE_NONCE],
                   struct age_stream **ret, struct err *err);
/* Wipes and frees. NULL is fine. */
void age_stream_free(struct age_stream *s);

/* Seals the next chunk of at most AGE_CHUNK bytes: `ret` takes AGE_TAG more. */
int age_stream_seal(struct age_stream *s, const void *p, size_t n, bool last, void *ret, struct err *err);

/* Opens the next chunk, n bytes with its tag, at most AGE_SEALED; what `ret` gets, AGE_TAG less, is genuine
 * or wiped. *ret_last: it was sealed as the last one. ERR_FAILED: it was changed, or is another. */
int age_stream_open(struct age_stream *s, const void *p, size_t n, void *ret, bool *ret_last,
                    struct err *err);

#endif
