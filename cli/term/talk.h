/* What is said to people: `profgrab: ` in front, lower case, no full stop. */
#ifndef CLI_TERM_TALK_H
#define CLI_TERM_TALK_H

#include <stdio.h>

#include "base/base.h"

/* On stderr. */
void talk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void talk_to(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* talk, as a callback for one line. */
void talk_line(void *ctx, const char *line);

/* The error and, on a second line, its hint. */
void talk_error(FILE *out, const struct err *err);

#endif
