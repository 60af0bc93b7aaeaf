#include <ctype.h>
#include <string.h>

#include "proto/proto.h"
#include "base/banned.h"

/* Returns the length of `1.22` or `1.22.3` at p, or 0. */
static size_t version_length(const char *p, const char *end)
{
    size_t n = 0, parts = 0;
    while (parts < 3) {
        size_t digits = 0;
        while (p + n + digits < end && isdigit((unsigned char)p[n + digits]))
            digits++;
        if (digits == 0 || digits > 3)
            return 0;
        n += digits;
        parts++;
        if (parts == 3 || p + n + 1 >= end || p[n] != '.' || !isdigit((unsigned char)p[n + 1]))
            break;
        n++;
    }
    return parts > 1 && p[0] == '1' && p[1] == '.' ? n : 0;
}

bool go_version_of_path(const char *path, size_t n, char *dst, size_t cap)
{
    static const char runtime[] = "/src/runtime/";
    /* Reject most strings with a cheap check: a Go or assembly file ends in o or s. */
    if (n < sizeof runtime + 8 || (path[n - 1] != 'o' && path[n - 1] != 's'))
        return false;
    const char *end = memmem(path, n, runtime, sizeof runtime - 1);
    for (const char *p = path; end && p + 4 < end; p++) {
        if (p[0] != 'g' || p[1] != 'o' || (p > path && p[-1] != '/' && p[-1] != '-'))
            continue;
        const char *version = p + 2 + (p[2] == '-' || p[2] == '/');
        size_t length = version_length(version, end);
        if (length == 0 || length >= cap)
            continue;
        memcpy(dst, version, length);
        dst[length] = '\0';
        return true;
    }
    return false;
}
