#include "httpd/range.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

/* Reads digits at *p, and moves *p behind them. Returns false if there are none. A number above UINT64_MAX
 * becomes UINT64_MAX. */
static bool read_number(const char **p, uint64_t *ret)
{
    const char *start = *p;
    uint64_t n = 0;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        unsigned digit = (unsigned)(**p - '0');
        n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
    }
    *ret = n;
    return *p != start;
}

enum range_result range_parse(const char *header, uint64_t size, uint64_t *ret_first, uint64_t *ret_n)
{
    static const char unit[] = "bytes=";
    uint64_t first = 0, last = UINT64_MAX;
    if (!header || strncasecmp(header, unit, sizeof unit - 1) != 0)
        return RANGE_NONE;
    const char *p = header + sizeof unit - 1;
    bool has_first = read_number(&p, &first);
    if (*p++ != '-')
        return RANGE_NONE;
    bool has_last = read_number(&p, &last);
    if (*p || (!has_first && !has_last) || (has_first && has_last && last < first))
        return RANGE_NONE;
    if (!has_first) { /* the last bytes */
        first = last < size ? size - last : 0;
        if (last == 0)
            return RANGE_UNSATISFIABLE;
        last = UINT64_MAX;
    } else if (!has_last) {
        last = UINT64_MAX;
    }
    if (first >= size)
        return RANGE_UNSATISFIABLE;
    *ret_first = first;
    *ret_n = (last < size ? last + 1 : size) - first;
    return RANGE_PART;
}
