#include "fetch/body/format.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/banned.h"

/* Source: the specifications of the formats. */
static const struct {
    const char *magic;
    size_t size;
    const char *what;
} magics[] = {
    {"\x1f\x8b", 2, "gzip data"},
    {"go 1.", 5, "an execution trace"},
    {"\x7f"
     "ELF",
     4, "an ELF file"},
    {"PK\x03\x04", 4, "a zip archive"},
    {"\x28\xb5\x2f\xfd", 4, "zstd data"},
    {"\xfd"
     "7zXZ",
     5, "xz data"},
    {"BZh", 3, "bzip2 data"},
    {"\x89PNG", 4, "a PNG image"},
};

bool format_is_text(const char *p, size_t n)
{
    bool visible = false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == 0x7f || (c < 0x20 && !isspace(c)))
            return false;
        visible |= !isspace(c);
    }
    return visible;
}

static bool is_json(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)p[i]))
        i++;
    if (i == n || (p[i] != '{' && p[i] != '['))
        return false;
    bool is_object = p[i++] == '{';
    while (i < n && isspace((unsigned char)p[i]))
        i++;
    /* A goroutine dump or a log may begin with a bracket too. */
    return i < n && (is_object ? p[i] == '"' || p[i] == '}' : strchr("{[\"]-0123456789", p[i]) != NULL);
}

const char *format_name(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (n >= magics[i].size && memcmp(p, magics[i].magic, magics[i].size) == 0)
            return magics[i].what;
    if (!format_is_text(p, n))
        return NULL;
    return is_json(p, n) ? "JSON" : "text";
}

/* ---- HTML ---------------------------------------------------------------------------------------------- */

/* Source: WHATWG, MIME Sniffing, 7.1: the beginnings of text/html, each followed by a blank or `>`. */
bool format_is_html(const char *p, size_t n)
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

/* Finds the first `tag`, in any letter case; NULL: none. */
static const char *find_tag(const char *p, const char *end, const char *tag)
{
    size_t length = strlen(tag);
    for (; (size_t)(end - p) >= length; p++)
        if (strncasecmp(p, tag, length) == 0)
            return p;
    return NULL;
}

char *format_html_title(const char *p, size_t n, char *dst, size_t cap)
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
