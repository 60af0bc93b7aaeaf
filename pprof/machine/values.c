/* Texts of values, and expressions that are addresses. */
#include "pprof/machine/formats.h"
#include "base/banned.h"

/* Returns the number's base, and sets *ret to its digits. A leading 0 alone means octal. */
static unsigned base_of(const char *text, const char **ret)
{
    *ret = text;
    if (text[0] != '0' || !text[1])
        return 10;
    *ret = text + 2;
    switch (text[1]) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        *ret = text + 1;
        return 8;
    }
}

bool machine_parse_address(const char *text, uint64_t *ret)
{
    const char *digits;
    unsigned base = base_of(text, &digits);
    uint64_t value = 0;
    /* An underscore may stand between two digits, or after a prefix. */
    bool may_separate = digits != text;
    if (!*digits)
        return false;
    for (const char *c = digits; *c; c++) {
        int digit = text_hex_digit(*c);
        if (*c == '_' && may_separate && c[1]) {
            may_separate = false;
            continue;
        }
        if (digit < 0 || (unsigned)digit >= base || value > (UINT64_MAX - (unsigned)digit) / base)
            return false;
        value = value * base + (unsigned)digit;
        may_separate = true;
    }
    *ret = value;
    return true;
}

const char *machine_value_or_dot(const struct report *report, char dst[MEASURE_TEXT], int64_t value)
{
    if (value == 0)
        return ".";
    report_format_value(report, dst, value);
    return dst;
}
