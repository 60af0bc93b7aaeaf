/* Names the format of a body that is not the requested one, from its first bytes. */
#ifndef FETCH_BODY_FORMAT_H
#define FETCH_BODY_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a static string such as "JSON", "an execution trace", "text" or "a zip archive"; NULL if the format
 * is unknown. Does not recognise HTML. */
const char *format_name(const char *p, size_t n);

/* Returns whether the bytes are text: no control characters but white space, and not only white space. */
bool format_is_text(const char *p, size_t n);

/* Returns whether a body with this beginning is an HTML page. */
bool format_is_html(const char *p, size_t n);

/* Writes the page's title, printable, into dst and returns it; "" if there is none. */
char *format_html_title(const char *p, size_t n, char *dst, size_t cap);

#endif
