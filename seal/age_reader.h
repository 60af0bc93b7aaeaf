/* A file that is being read, from the inside: first its header, then what that was the key to. */
#ifndef SEAL_AGE_READER_H
#define SEAL_AGE_READER_H

#include "seal/age.h"
#include "seal/age_header.h"

/* Reads the header; cancel_fd as age_input_new has it. */
int age_reader_begin(int fd, int cancel_fd, struct age_reader **ret, struct err *err);
const struct age_header *age_reader_header(const struct age_reader *r);
/* Checks the header with the file key, and goes on to the chunks. */
int age_reader_start(struct age_reader *r, const unsigned char file_key[AGE_FILE_KEY], struct err *err);

#endif
