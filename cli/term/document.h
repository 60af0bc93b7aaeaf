/* JSON for programs, on standard output. */
#ifndef CLI_TERM_DOCUMENT_H
#define CLI_TERM_DOCUMENT_H

#include <jansson.h>
#include <stdio.h>

#include "base/base.h"

/* Prints the document, indented and with a line's end behind it, and gives its reference back whatever
 * happens. NULL: there was no memory for it. */
int document_print(json_t *document, FILE *out, struct err *err);

#endif
