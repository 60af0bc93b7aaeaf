/* The manual pages of sections 5 and 7, as the program itself has them: `profgrab help TOPIC`. */
#ifndef CLI_ARGS_MANUAL_H
#define CLI_ARGS_MANUAL_H

#include <stdio.h>

#include "base/base.h"

/* A page's source in mdoc(7), with the markers of cli/args/man.h in it. */
struct manual_page {
    const char *name; /* as in `man NAME` */
    const char *const *lines;
};
/* From docs/man/ (tools/embed-manual); the last has no name. */
extern const struct manual_page manual_pages[];

/* Prints the page of that name as text, folded as columns_page has it. ERR_NOT_FOUND. */
int manual_print(const char *name, FILE *out, struct err *err);

#endif
