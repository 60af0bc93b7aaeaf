/* JSON for programs, on standard output. */
#ifndef CLI_TERM_DOCUMENT_H
#define CLI_TERM_DOCUMENT_H

#include <jansson.h>
#include <stdio.h>

#include "base/base.h"

/* Prints the document, indented, with a line feed at its end, and flushes `out`. Always releases the
 * caller's reference. A NULL document means that memory ran out: fails. */
int document_print(json_t *document, FILE *out, struct err *err);

#endif
