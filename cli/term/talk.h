/* Messages for the user: they start with `profgrab: `, in lower case, without a full stop. */
#ifndef CLI_TERM_TALK_H
#define CLI_TERM_TALK_H

#include <stdio.h>

#include "base/base.h"

/* Prints a message on stderr, or on `out`. Replaces unprintable bytes. */
void talk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void talk_to(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints one line like talk; a callback that ignores ctx. */
void talk_line(void *ctx, const char *line);

/* Prints the error and, on a second line, its hint. */
void talk_error(FILE *out, const struct err *err);

#endif
