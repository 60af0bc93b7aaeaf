/*
 * The header of an age file: a line with its version, a stanza for each recipient, a MAC.
 *
 * The parser accepts only the canonical form, as the format requires. Limits: AGE_HEADER_MAX bytes,
 * AGE_STANZAS_MAX stanzas.
 */
#ifndef SEAL_AGE_HEADER_H
#define SEAL_AGE_HEADER_H

#include "seal/age_stanza.h"

#define AGE_VERSION_LINE "age-encryption.org/v1\n"
#define AGE_HEADER_MAX (1u << 20)
#define AGE_STANZAS_MAX 1024

struct age_header {
    struct age_stanza *stanzas;
    size_t n, cap;
    size_t n_covered; /* bytes that the MAC covers, from the start */
    unsigned char mac[AGE_KEY];
};
/* Parses n bytes as a whole header, up to the end of the MAC's line. ERR_FAILED names the fault. */
int age_header_parse(const void *p, size_t n, struct age_header *ret, struct err *err);
void age_header_release(struct age_header *h);

/* Checks the MAC with the file key. `p` points to the bytes that age_header_parse parsed. ERR_FAILED: the
 * header was changed. */
int age_header_check(const struct age_header *h, const void *p, const unsigned char file_key[AGE_FILE_KEY],
                     struct err *err);

/* Appends the MAC to a header with all its stanzas. */
int age_header_finish(struct buf *header, const unsigned char file_key[AGE_FILE_KEY], struct err *err);

#endif
