#include "proto/proto.h"

#include <string.h>

#include "base/banned.h"

/* The whole header for one version: `go 1.`, the version's digits, ` trace`, zeros up to the end. */
static bool header_parse(const char *p, unsigned *ret_minor)
{
    static const char before[] = "go 1.", behind[] = " trace";
    size_t at = sizeof before - 1;
    if (memcmp(p, before, at) != 0)
        return false;
    unsigned minor = 0, digits = 0;
    for (; p[at] >= '0' && p[at] <= '9' && digits < 3; at++, digits++)
        minor = minor * 10 + (unsigned)(p[at] - '0');
    if (digits == 0 || memcmp(p + at, behind, sizeof behind - 1) != 0)
        return false;
    for (at += sizeof behind - 1; at < TRACE_HEADER_SIZE; at++)
        if (p[at])
            return false;
    *ret_minor = minor;
    return true;
}

int trace_header(const void *p, size_t n, unsigned *ret_minor, struct err *err)
{
    char shown[64];
    if (n < TRACE_HEADER_SIZE)
        return err_set(err, ERR_FAILED, "cut off inside the header of a trace after %zu bytes", n);
    if (!header_parse(p, ret_minor)) {
        text_printable(shown, sizeof shown, p, TRACE_HEADER_SIZE);
        return err_set(err, ERR_FAILED, "this is no execution trace: it begins with \"%s\"", shown);
    }
    return 0;
}
