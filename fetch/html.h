/* Enough of HTML to say what came instead of a profile. */
#ifndef FETCH_HTML_H
#define FETCH_HTML_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this beginning of a body is that of a page. */
bool html_is_page(const char *p, size_t n);

/* Writes the page's title, printable, into dst and returns it; "" where there is none. */
char *html_title(const char *p, size_t n, char *dst, size_t cap);

#endif
