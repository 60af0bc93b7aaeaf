#include <stdio.h>
#include <string.h>

#include "pprof/duration.h"
#include "base/banned.h"

/* Writes a value in 10^-digits of a unit, such as "1.5ms", without trailing zeros. */
static size_t write_decimal(char *dst, size_t cap, uint64_t v, unsigned digits, const char *unit)
{
    uint64_t whole = 1;
    for (unsigned i = 0; i < digits; i++)
        whole *= 10;
    int n = snprintf(dst, cap, "%llu.%0*llu", (unsigned long long)(v / whole), (int)(digits ? digits : 1),
                     (unsigned long long)(v % whole));
    while (dst[n - 1] == '0')
        n--;
    n -= dst[n - 1] == '.';
    return (size_t)n + (size_t)snprintf(dst + n, cap - (size_t)n, "%s", unit);
}

size_t duration_text(char dst[DURATION_TEXT], int64_t ns)
{
    uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, seconds = v / 1000000000;
    size_t n = 0;
    if (v == 0)
        return (size_t)snprintf(dst, DURATION_TEXT, "0s");
    if (ns < 0)
        dst[n++] = '-';
    if (v < 1000)
        return n + write_decimal(dst + n, DURATION_TEXT - n, v, 0, "ns");
    if (v < 1000000)
        return n + write_decimal(dst + n, DURATION_TEXT - n, v, 3, "\xc2\xb5s");
    if (v < 1000000000)
        return n + write_decimal(dst + n, DURATION_TEXT - n, v, 6, "ms");
    if (seconds >= 3600)
        n += (size_t)snprintf(dst + n, DURATION_TEXT - n, "%lluh", (unsigned long long)(seconds / 3600));
    if (seconds >= 60)
        n += (size_t)snprintf(dst + n, DURATION_TEXT - n, "%llum", (unsigned long long)(seconds / 60 % 60));
    return n + write_decimal(dst + n, DURATION_TEXT - n, v % 60000000000, 9, "s");
}

struct str duration_cut(struct str s, size_t n)
{
    for (size_t i = 0; i < s.n; i++) {
        if (((unsigned char)s.p[i] & 0xc0) == 0x80)
            continue;
        if (n-- == 0)
            return (struct str){s.p, i};
    }
    return s;
}
