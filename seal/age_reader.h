/* The two steps of opening an age file: read its header, then use the file key. Private to this folder. */
#ifndef SEAL_AGE_READER_H
#define SEAL_AGE_READER_H

#include "seal/age.h"
#include "seal/age_header.h"

/* Reads the header; cancel_fd is as in age_input_new. */
int age_reader_read_header(int fd, int cancel_fd, struct age_reader **ret, struct err *err);
const struct age_header *age_reader_header(const struct age_reader *r);
/* Computes the SHA-256 of the header's bytes, which differs for any two files. */
int age_reader_hash_header(const struct age_reader *r, char ret[SHA256_HEX], struct err *err);
/* Checks the header with the file key and starts reading chunks. */
int age_reader_unlock(struct age_reader *r, const unsigned char file_key[AGE_FILE_KEY], struct err *err);

#endif
