/* Writes sentences and their arguments. */
#ifndef FINDINGS_SENTENCE_H
#define FINDINGS_SENTENCE_H

#include "findings/rule.h"
#include "findings/tally.h"

/* Replaces {0} to {5} by the arguments of `values`. Returns a new string, or NULL if memory is exhausted. */
char *sentence_make(const char *sentence, const struct finding_values *values);

/* Each of these functions writes one argument: a percentage without the sign %, a printable name, a number of
 * bytes, a number of objects, a time. */
void sentence_percent(char dst[SENTENCE_ARGUMENT_SIZE], double share);
void sentence_name(char dst[SENTENCE_ARGUMENT_SIZE], struct str name);
void sentence_bytes(char dst[SENTENCE_ARGUMENT_SIZE], int64_t n);
void sentence_count(char dst[SENTENCE_ARGUMENT_SIZE], uint64_t n, const char *one, const char *many);
void sentence_time(char dst[SENTENCE_ARGUMENT_SIZE], int64_t ns);
/* Writes the function of tally_top_cum: ", and main.handle with all that it calls 80 %". Writes nothing if
 * that function is `named`, because the sentence names it already. */
void sentence_top_cum(char dst[SENTENCE_ARGUMENT_SIZE], const struct tally *tally, uint32_t named);

#endif
