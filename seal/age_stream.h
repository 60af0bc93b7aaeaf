/*
 * The content of an age file: chunks of 64 KiB under ChaCha20-Poly1305. Each nonce has the chunk's number and
 * whether it is the last one, so that changing, moving, removing or adding a chunk is detected.
 */
#ifndef SEAL_AGE_STREAM_H
#define SEAL_AGE_STREAM_H

#include "seal/age_crypto.h"

#define AGE_CHUNK 65536
#define AGE_SEALED (AGE_CHUNK + AGE_TAG)
#define AGE_NONCE 16 /* bytes of a file's nonce, before its chunks */

struct age_stream;
int age_stream_new(const unsigned char file_key[AGE_FILE_KEY], const unsigned char nonce[AGE_NONCE],
                   struct age_stream **ret, struct err *err);
/* Wipes and frees the stream. Accepts NULL. */
void age_stream_free(struct age_stream *s);

/* Encrypts the next chunk of at most AGE_CHUNK bytes. `ret` needs room for AGE_TAG more. */
int age_stream_seal(struct age_stream *s, struct age_bytes chunk, bool last, void *ret, struct err *err);

/*
 * Decrypts the next chunk with its tag, at most AGE_SEALED bytes. `ret` receives the content, AGE_TAG bytes
 * shorter; on failure it is wiped. *ret_last: this is the last chunk. ERR_FAILED: the chunk was changed, or
 * is not the expected one.
 */
int age_stream_open(struct age_stream *s, struct age_bytes sealed, void *ret, bool *ret_last,
                    struct err *err);

#endif
