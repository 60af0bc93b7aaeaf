/*
 * Generates the manual page's lists from the tables of the help. The build runs `profgrab help --man`, which
 * reads a page in mdoc(7) and replaces each of these lines:
 *
 *     .\" @commands@          every command with its summary and its verbs
 *     .\" @options@           the options of each command, a subsection each
 *     .\" @kinds@             the kinds of profile
 *     .\" @exit-codes@        the exit codes
 */
#ifndef CLI_ARGS_MAN_H
#define CLI_ARGS_MAN_H

#include <stdio.h>

#include "base/base.h"

/* Copies a page from `in` to `out` and replaces its markers. Fails for an unknown marker, and if reading or
 * writing fails. */
int man_fill(FILE *in, FILE *out, struct err *err);

#endif
