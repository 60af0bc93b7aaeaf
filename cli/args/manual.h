/* The embedded manual pages of sections 5 and 7, for `profgrab help TOPIC`. */
#ifndef CLI_ARGS_MANUAL_H
#define CLI_ARGS_MANUAL_H

#include <stdio.h>

#include "base/base.h"

/* A page's source in mdoc(7), with the markers of cli/args/man.h. */
struct manual_page {
    const char *name;         /* as in `man NAME` */
    const char *const *lines; /* each ends in a newline; NULL after the last */
};
/* tools/embed-manual generates these pages from docs/man/. The last has no name. */
extern const struct manual_page manual_pages[];

/* Prints the page of that name as text, folded to columns_prose_max(out). ERR_NOT_FOUND: there is no such
 * page. */
int manual_print(const char *name, FILE *out, struct err *err);

#endif
