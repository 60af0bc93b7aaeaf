#include "fetch/html.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/banned.h"

/* Source: WHATWG, MIME Sniffing, 7.1: the beginnings of text/html, each followed by a blank or `>`. */
bool html_is_page(const char *p, size_t n)
{
    static const char *const beginnings[] = {
        "<!doctype html", "<html",  "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a",
        "<style",         "<title", "<b",    "<body",   "<br",     "<p",  "<!--", "<meta",
    };
    const char *end = p + n;
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        p += 3;
    while (p < end && isspace((unsigned char)*p))
        p++;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t length = strlen(beginnings[i]);
        if ((size_t)(end - p) > length && strncasecmp(p, beginnings[i], length) == 0 &&
            (p[length] == '>' || isspace((unsigned char)p[length])))
            return true;
    }
    return false;
}

/* Returns the first place of `tag`, in any letter case; NULL: none. */
static const char *find_tag(const char *p, const char *end, const char *tag)
{
    size_t length = strlen(tag);
    for (; (size_t)(end - p) >= length; p++)
        if (strncasecmp(p, tag, length) == 0)
            return p;
    return NULL;
}

char *html_title(const char *p, size_t n, char *dst, size_t cap)
{
    const char *end = p + n;
    const char *title = find_tag(p, end, "<title");
    const char *begin = title ? memchr(title, '>', (size_t)(end - title)) : NULL;
    const char *stop = begin ? find_tag(begin, end, "</title") : NULL;
    *dst = '\0';
    if (stop)
        text_printable(dst, cap, begin + 1, (size_t)(stop - begin - 1));
    return dst;
}
