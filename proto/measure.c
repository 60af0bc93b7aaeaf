#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/measure.h"
#include "base/banned.h"

struct unit {
    const char *name;       /* in output */
    const char *aliases[4]; /* in input: lower case, without a final s */
    double factor;
};

struct unit_type {
    struct unit units[10];
    const char *fallback; /* the unit of the result if the target unit is unknown or of another type */
    double fallback_factor;
};

static const struct unit_type unit_types[] = {
    {.units = {{"B", {"b", "byte"}, 1},
               {"kB", {"kb", "kbyte", "kilobyte"}, 0x1p10},
               {"MB", {"mb", "mbyte", "megabyte"}, 0x1p20},
               {"GB", {"gb", "gbyte", "gigabyte"}, 0x1p30},
               {"TB", {"tb", "tbyte", "terabyte"}, 0x1p40},
               {"PB", {"pb", "pbyte", "petabyte"}, 0x1p50}},
     .fallback = "B",
     .fallback_factor = 1},
    {.units = {{"ns", {"ns", "nanosecond"}, 1},
               {"us", {"\xce\xbcs", "us", "microsecond"}, 1e3},
               {"ms", {"ms", "millisecond"}, 1e6},
               {"s", {"s", "sec", "second"}, 1e9},
               {"hrs", {"hour", "hr"}, 3600e9}},
     .fallback = "s",
     .fallback_factor = 1e9},
    {.units = {{"n*GCU", {"nanogcu"}, 1e-9},
               {"u*GCU", {"microgcu"}, 1e-6},
               {"m*GCU", {"milligcu"}, 1e-3},
               {"GCU", {"gcu"}, 1},
               {"k*GCU", {"kilogcu"}, 1e3},
               {"M*GCU", {"megagcu"}, 1e6},
               {"G*GCU", {"gigagcu"}, 1e9},
               {"T*GCU", {"teragcu"}, 1e12},
               {"P*GCU", {"petagcu"}, 1e15}},
     .fallback = "GCU",
     .fallback_factor = 1},
};

/* A unit's name in the form of unit.aliases. */
struct alias {
    char text[16];
    size_t n; /* 0: no unit has this name */
};

static struct alias alias_of(struct str name)
{
    struct alias a = {.n = name.n <= sizeof a.text ? name.n : 0};
    for (size_t i = 0; i < a.n; i++)
        a.text[i] = (char)tolower((unsigned char)name.p[i]);
    if (a.n > 2 && a.text[a.n - 1] == 's')
        a.n--;
    return a;
}

/* Returns the unit of this type with that name, or NULL. Compares the first letter first, because the
 * function runs for each value of a report. */
static const struct unit *unit_named(const struct unit_type *type, const struct alias *name)
{
    for (const struct unit *u = type->units; name->n && u->name; u++)
        for (const char *const *a = u->aliases; *a; a++)
            if (**a == name->text[0] && str_is((struct str){name->text, name->n}, *a))
                return u;
    return NULL;
}

/* Returns the largest unit in which v is at least 1, or NULL. */
static const struct unit *find_largest(const struct unit_type *type, double v)
{
    const struct unit *ret = NULL;
    for (const struct unit *u = type->units; u->name; u++)
        if ((!ret || u->factor >= ret->factor) && v / u->factor >= 1.0)
            ret = u;
    return ret;
}

/* Converts a value from the type's unit of factor 1 to the unit `to`. */
static double convert_value(const struct unit_type *type, double v, struct str to, struct str *ret_unit)
{
    bool choose_largest = str_is(to, "minimum") || str_is(to, "auto");
    struct alias alias = alias_of(to);
    const struct unit *wanted = choose_largest ? find_largest(type, v) : unit_named(type, &alias);
    *ret_unit = str_of(wanted ? wanted->name : type->fallback);
    return v / (wanted ? wanted->factor : type->fallback_factor);
}

double measure_scale(int64_t value, struct str from, struct str to, struct str *ret_unit)
{
    static const char *const unnamed[] = {"count", "sample", "unit", "minimum", "auto"};
    if (value < 0 && value != INT64_MIN)
        return -measure_scale(-value, from, to, ret_unit);
    struct alias alias = alias_of(from);
    for (size_t i = 0; i < sizeof unit_types / sizeof *unit_types; i++) {
        const struct unit *unit = unit_named(&unit_types[i], &alias);
        if (unit)
            return convert_value(&unit_types[i], (double)value * unit->factor, to, ret_unit);
    }
    *ret_unit = to;
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++)
        if (str_is(to, unnamed[i]))
            *ret_unit = STR("");
    return (double)value;
}

bool measure_are_compatible(struct str a, struct str b)
{
    struct alias one = alias_of(a), other = alias_of(b);
    if (str_equal(a, b))
        return true;
    for (size_t i = 0; i < sizeof unit_types / sizeof *unit_types; i++)
        if (unit_named(&unit_types[i], &one) && unit_named(&unit_types[i], &other))
            return true;
    return false;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

/* write_number can write values below this limit: multiplied by 10,000, they fit into a uint64_t. */
#define PLAIN_MAX 1e14

/* The trailing zeros that write_number removes. */
enum zeros {
    ZEROS_KEEP,
    ZEROS_REMOVE,
    ZEROS_REMOVE_FRACTION, /* remove the digits after the point only if all are zeros */
};

/* Writes v with `digits` digits (at most 4) after the point, with the same bytes as printf's %.*f: rounded
 * from the exact value, halves to even. (printf would take a tenth of the time of a small report.) Returns
 * the length. */
static size_t write_number(char dst[MEASURE_TEXT], double v, unsigned digits, enum zeros zeros)
{
    static const uint64_t scales[] = {1, 10, 100, 1000, 10000};
    char reversed[32];
    size_t n = 0, ret = 0;
    uint64_t scale = scales[digits], whole = (uint64_t)fabs(v);
    double fraction = fabs(v) - (double)whole, scaled = fraction * (double)scale;
    double lost = fma(fraction, (double)scale, -scaled);
    uint64_t part = (uint64_t)scaled;
    double rest = scaled - (double)part - 0.5;
    if (rest > 0 || (rest == 0 && (lost > 0 || (lost == 0 && part % 2))))
        part++;
    uint64_t all_digits = whole * scale + part;
    bool drop = zeros == ZEROS_REMOVE || (zeros == ZEROS_REMOVE_FRACTION && all_digits % scale == 0);
    for (; drop && digits && all_digits % 10 == 0; digits--)
        all_digits /= 10;
    do {
        if (digits && n == digits)
            reversed[n++] = '.';
        reversed[n++] = (char)('0' + all_digits % 10);
        all_digits /= 10;
    } while (all_digits || n < digits + (digits ? 2 : 1));
    if (signbit(v))
        dst[ret++] = '-';
    while (n)
        dst[ret++] = reversed[--n];
    dst[ret] = '\0';
    return ret;
}

void measure_label(char dst[MEASURE_TEXT], int64_t value, struct str from, struct str to)
{
    struct str unit = {"", 0};
    double v = measure_scale(value, from, to, &unit);
    size_t n;
    if (fabs(v) < PLAIN_MAX) {
        n = write_number(dst, v, 2, ZEROS_REMOVE_FRACTION);
    } else {
        n = (size_t)snprintf(dst, MEASURE_TEXT, "%.2f", v);
        if (n > 3 && strcmp(dst + n - 3, ".00") == 0)
            n -= 3;
    }
    if (strcmp(dst, "0") == 0 || strcmp(dst, "-0") == 0) {
        memcpy(dst, "0", 2);
        return;
    }
    size_t shown = unit.n < 64 ? unit.n : 64;
    memcpy(dst + n, unit.p, shown);
    dst[n + shown] = '\0';
}

/* Writes a value below 1 like %.2g. */
static size_t write_small(char dst[MEASURE_TEXT], double v)
{
    if (v > 0 && v < 0.001)
        return (size_t)snprintf(dst, MEASURE_TEXT, "%.2g", v);
    return write_number(dst, v, v >= 0.1 ? 2 : v >= 0.01 ? 3 : 4, ZEROS_REMOVE);
}

void measure_percentage(char dst[MEASURE_TEXT], int64_t value, int64_t total)
{
    char text[MEASURE_TEXT];
    double ratio = total ? fabs((double)value / (double)total) * 100 : 0;
    size_t n, blanks;
    if (ratio >= 99.95 && ratio <= 100.05)
        n = (size_t)snprintf(text, sizeof text, "100");
    else if (ratio >= PLAIN_MAX)
        n = (size_t)snprintf(text, sizeof text, "%.2f", ratio);
    else
        n = ratio >= 1 ? write_number(text, ratio, 2, ZEROS_KEEP) : write_small(text, ratio);
    blanks = n < 5 ? 5 - n : 0;
    memset(dst, ' ', blanks);
    memcpy(dst + blanks, text, n);
    memcpy(dst + blanks + n, "%", 2);
}

int64_t measure_abs(int64_t v)
{
    return v < 0 ? (int64_t) - (uint64_t)v : v;
}

int64_t measure_divide(int64_t v, int64_t by)
{
    if (by == 0)
        return v;
    return by == -1 ? (int64_t) - (uint64_t)v : v / by;
}
