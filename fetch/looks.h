/* What a body looks like that is not what was asked for: by its first bytes. */
#ifndef FETCH_LOOKS_H
#define FETCH_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

/* "JSON", "an execution trace", "text", "a zip archive": static; NULL if it looks like nothing known. HTML is
 * html.h's to tell. */
const char *looks_like(const char *p, size_t n);

/* Whether the bytes read as text: no control characters but white space, and not white
 * space alone. */
bool looks_text(const char *p, size_t n);

#endif
