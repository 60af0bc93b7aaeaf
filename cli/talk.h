/* What is said to people, on stderr: `profgrab: ` in front, lower case, no full stop. */
#ifndef CLI_TALK_H
#define CLI_TALK_H

#include "base/base.h"

void talk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The error and, on a second line, its hint. */
void talk_error(const struct err *err);

#endif
