/* Names the format of a body that is not the requested one, from its first bytes. */
#ifndef FETCH_LOOKS_H
#define FETCH_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* "JSON", "an execution trace", "text", "a zip archive": static; NULL if unknown. html.h recognises HTML. */
const char *looks_like(const char *p, size_t n);

/* Whether the bytes are text: no control characters but white space, and not white space alone. */
bool looks_text(const char *p, size_t n);

#endif
