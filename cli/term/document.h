/* JSON for programs, on standard output. */
#ifndef CLI_TERM_DOCUMENT_H
#define CLI_TERM_DOCUMENT_H

#include <jansson.h>
#include <stdio.h>

#include "base/base.h"

/* Prints the document, indented, with a line feed at its end, and flushes `out`. Always releases the
 * caller's reference. Fails with an out-of-memory error if the document is NULL. */
int document_print(json_t *document, FILE *out, struct err *err);

/*
 * Prints the value as a part of a larger document: the first line continues the current line of `out`, and
 * `depth` levels of indent precede the others. Always releases the caller's reference. Fails with an
 * out-of-memory error if the value is NULL. Does not report failed writes: a later flush of `out` does.
 */
int document_print_part(json_t *value, unsigned depth, FILE *out, struct err *err);

#endif
