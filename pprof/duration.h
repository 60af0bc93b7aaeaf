/* Durations as Go prints them. */
#ifndef PPROF_DURATION_H
#define PPROF_DURATION_H

#include "base/base.h"

#define DURATION_TEXT 40

/* Writes a duration as "1h2m3.5s", "1.5ms" or "0s". Returns the length. */
size_t duration_text(char dst[DURATION_TEXT], int64_t ns);

/* The first n characters, like %.nv. */
struct str duration_cut(struct str s, size_t n);

#endif
