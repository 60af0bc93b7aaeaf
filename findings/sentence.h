/* The arguments of a sentence, and the sentence itself. */
#ifndef FINDINGS_SENTENCE_H
#define FINDINGS_SENTENCE_H

#include "findings/rule.h"
#include "findings/tally.h"

/* Returns the sentence with its arguments in place of {0} to {5}, or NULL without memory. */
char *sentence_make(const char *sentence, const char of[SENTENCE_ARGUMENTS][SENTENCE_ARGUMENT]);

/* Each function writes one argument: a percentage without its sign, a printable name, a number of bytes, a
 * number of objects, a time. */
void sentence_percent(char dst[SENTENCE_ARGUMENT], double share);
void sentence_name(char dst[SENTENCE_ARGUMENT], struct str name);
void sentence_bytes(char dst[SENTENCE_ARGUMENT], int64_t n);
void sentence_count(char dst[SENTENCE_ARGUMENT], uint64_t n, const char *one, const char *many);
void sentence_time(char dst[SENTENCE_ARGUMENT], int64_t ns);
/* Writes ", and main.handle with all that it calls 80 %", or nothing if the sentence names that function
 * already (`named`). */
void sentence_with_calls(char dst[SENTENCE_ARGUMENT], const struct tally *t, uint32_t named);

#endif
