/* Enough of HTML to describe a page that a service sent instead of a profile. */
#ifndef FETCH_HTML_H
#define FETCH_HTML_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this beginning of a body is that of an HTML page. */
bool html_is_page(const char *p, size_t n);

/* Writes the page's title, printable, into dst and returns it; "" if there is none. */
char *html_title(const char *p, size_t n, char *dst, size_t cap);

#endif
