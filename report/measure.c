#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/measure.h"
#include "base/banned.h"

struct unit {
    const char *name;       /* as it is shown */
    const char *aliases[4]; /* as they are understood: lower case, no s at the end */
    double factor;
};

struct unit_type {
    struct unit units[10];
    const char *other; /* what values are shown in whose unit is of another type */
    double other_factor;
};

static const struct unit_type unit_types[] = {
    {.units = {{"B", {"b", "byte"}, 1},
               {"kB", {"kb", "kbyte", "kilobyte"}, 0x1p10},
               {"MB", {"mb", "mbyte", "megabyte"}, 0x1p20},
               {"GB", {"gb", "gbyte", "gigabyte"}, 0x1p30},
               {"TB", {"tb", "tbyte", "terabyte"}, 0x1p40},
               {"PB", {"pb", "pbyte", "petabyte"}, 0x1p50}},
     .other = "B",
     .other_factor = 1},
    {.units = {{"ns", {"ns", "nanosecond"}, 1},
               {"us", {"\xce\xbcs", "us", "microsecond"}, 1e3},
               {"ms", {"ms", "millisecond"}, 1e6},
               {"s", {"s", "sec", "second"}, 1e9},
               {"hrs", {"hour", "hr"}, 3600e9}},
     .other = "s",
     .other_factor = 1e9},
    {.units = {{"n*GCU", {"nanogcu"}, 1e-9},
               {"u*GCU", {"microgcu"}, 1e-6},
               {"m*GCU", {"milligcu"}, 1e-3},
               {"GCU", {"gcu"}, 1},
               {"k*GCU", {"kilogcu"}, 1e3},
               {"M*GCU", {"megagcu"}, 1e6},
               {"G*GCU", {"gigagcu"}, 1e9},
               {"T*GCU", {"teragcu"}, 1e12},
               {"P*GCU", {"petagcu"}, 1e15}},
     .other = "GCU",
     .other_factor = 1},
};

/* The unit of this type with such a name, or NULL. */
static const struct unit *unit_named(const struct unit_type *type, struct str name)
{
    char lower[16];
    if (name.n > sizeof lower)
        return NULL;
    for (size_t i = 0; i < name.n; i++)
        lower[i] = (char)tolower((unsigned char)name.p[i]);
    struct str alias = {lower, name.n};
    if (alias.n > 2 && lower[alias.n - 1] == 's')
        alias.n--;
    for (const struct unit *u = type->units; u->name; u++)
        for (const char *const *a = u->aliases; *a; a++)
            if (str_is(alias, *a))
                return u;
    return NULL;
}

/* The largest unit in which v is at least 1, or NULL. */
static const struct unit *fitting(const struct unit_type *type, double v)
{
    const struct unit *ret = NULL;
    for (const struct unit *u = type->units; u->name; u++)
        if ((!ret || u->factor >= ret->factor) && v / u->factor >= 1.0)
            ret = u;
    return ret;
}

static bool convert(const struct unit_type *type, int64_t value, struct str from, struct str to, double *ret,
                    struct str *ret_unit)
{
    const struct unit *unit = unit_named(type, from);
    if (!unit)
        return false;
    double v = (double)value * unit->factor;
    bool any = str_is(to, "minimum") || str_is(to, "auto");
    const struct unit *wanted = any ? fitting(type, v) : unit_named(type, to);
    *ret = v / (wanted ? wanted->factor : type->other_factor);
    *ret_unit = str_of(wanted ? wanted->name : type->other);
    return true;
}

double measure_scale(int64_t value, struct str from, struct str to, struct str *ret_unit)
{
    static const char *const dull[] = {"count", "sample", "unit", "minimum", "auto"};
    double v = 0;
    if (value < 0 && value != INT64_MIN)
        return -measure_scale(-value, from, to, ret_unit);
    for (size_t i = 0; i < sizeof unit_types / sizeof *unit_types; i++)
        if (convert(&unit_types[i], value, from, to, &v, ret_unit))
            return v;
    *ret_unit = to;
    for (size_t i = 0; i < sizeof dull / sizeof *dull; i++)
        if (str_is(to, dull[i]))
            *ret_unit = STR("");
    return (double)value;
}

bool measure_compatible(struct str a, struct str b)
{
    if (str_equal(a, b))
        return true;
    for (size_t i = 0; i < sizeof unit_types / sizeof *unit_types; i++)
        if (unit_named(&unit_types[i], a) && unit_named(&unit_types[i], b))
            return true;
    return false;
}

void measure_label(char dst[MEASURE_TEXT], int64_t value, struct str from, struct str to)
{
    struct str unit = {"", 0};
    double v = measure_scale(value, from, to, &unit);
    int n = snprintf(dst, MEASURE_TEXT, "%.2f", v);
    if (n > 3 && strcmp(dst + n - 3, ".00") == 0) {
        n -= 3;
        dst[n] = '\0';
    }
    if (strcmp(dst, "0") == 0 || strcmp(dst, "-0") == 0)
        snprintf(dst, MEASURE_TEXT, "0");
    else
        snprintf(dst + n, MEASURE_TEXT - (size_t)n, "%.*s", (int)(unit.n < 64 ? unit.n : 64), unit.p);
}

void measure_percentage(char dst[MEASURE_TEXT], int64_t value, int64_t total)
{
    double ratio = total ? fabs((double)value / (double)total) * 100 : 0;
    if (ratio >= 99.95 && ratio <= 100.05)
        snprintf(dst, MEASURE_TEXT, "  100%%");
    else if (ratio >= 1.0)
        snprintf(dst, MEASURE_TEXT, "%5.2f%%", ratio);
    else
        snprintf(dst, MEASURE_TEXT, "%5.2g%%", ratio);
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
