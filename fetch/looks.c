#include "fetch/looks.h"

#include <ctype.h>
#include <string.h>

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

bool looks_text(const char *p, size_t n)
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

static bool looks_json(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)p[i]))
        i++;
    if (i == n || (p[i] != '{' && p[i] != '['))
        return false;
    bool object = p[i++] == '{';
    while (i < n && isspace((unsigned char)p[i]))
        i++;
    /* A goroutine dump or a log may begin with a bracket too. */
    return i < n && (object ? p[i] == '"' || p[i] == '}' : strchr("{[\"]-0123456789", p[i]) != NULL);
}

const char *looks_like(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (n >= magics[i].size && memcmp(p, magics[i].magic, magics[i].size) == 0)
            return magics[i].what;
    if (!looks_text(p, n))
        return NULL;
    return looks_json(p, n) ? "JSON" : "text";
}
