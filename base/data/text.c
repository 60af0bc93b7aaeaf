#include "base/data/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

size_t text_decode(const char *s, size_t n, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)s;
    static const uint32_t min_by_length[] = {0, 0, 0x80, 0x800, 0x10000};
    if (p[0] < 0x80) {
        *ret = p[0];
        return 1;
    }
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (p[0] > 0xf4 || len == 0 || len > n)
        return 0;
    uint32_t c = p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < min_by_length[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return len;
}

int text_hex_digit(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

/* Characters that a terminal or a page interprets instead of showing: DEL and C1 controls, Unicode's
 * Default_Ignorable_Code_Point (bidirectional controls, zero-width and invisible characters, variation
 * selectors, tag characters), separators, the blank Braille pattern, controls of annotations and of
 * hieroglyphs. */
static bool is_hidden(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {{0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
                  {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
                  {0x2028, 0x202e},   {0x2060, 0x206f},   {0x2800, 0x2800},   {0x3164, 0x3164},
                  {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
                  {0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns the length of the character at p, or 0 if `?` must replace it. *ret_step is the number of bytes to
 * skip in the source. */
static size_t printable_length(const unsigned char *p, size_t n, size_t *ret_step)
{
    uint32_t c = 0;
    size_t step = text_decode((const char *)p, n, &c);
    *ret_step = step ? step : 1;
    return c >= 0x20 && !is_hidden(c) ? step : 0;
}

static size_t add_dots(char *dst, size_t cap, size_t len)
{
    for (int i = 0; i < 3 && len + 1 < cap; i++)
        dst[len++] = '.';
    return len;
}

char *text_printable(char *dst, size_t cap, const char *src, size_t n)
{
    const unsigned char *p = (const unsigned char *)src;
    const unsigned char *end = p + n;
    size_t len = 0, dots_at = 0; /* the last length that leaves room for the dots */
    for (size_t step = 1, blank = 0; p < end; p += step, step = 1) {
        if (is_blank(*p)) {
            blank = len > 0;
            continue;
        }
        size_t shown = printable_length(p, (size_t)(end - p), &step), need = shown ? shown : 1;
        if (len + blank + need + 1 > cap) {
            len = add_dots(dst, cap, dots_at);
            break;
        }
        if (blank)
            dst[len++] = ' ';
        blank = 0;
        memcpy(dst + len, shown ? (const char *)p : "?", need);
        len += need;
        dots_at = len + 4 <= cap ? len : dots_at;
    }
    if (cap)
        dst[len] = '\0';
    return dst;
}

bool text_is_visible(const char *s)
{
    size_t n = strlen(s);
    while (n > 0) {
        uint32_t c = 0;
        size_t step = text_decode(s, n, &c);
        if (step == 0 || c < 0x20 || is_hidden(c))
            return false;
        s += step;
        n -= step;
    }
    return true;
}

bool text_is_name(const char *s)
{
    if (!isalnum((unsigned char)s[0]))
        return false;
    size_t n = 0;
    for (; s[n]; n++)
        if (!isalnum((unsigned char)s[n]) && !strchr("._-", s[n]))
            return false;
    return n <= 253;
}

bool text_ends_in(const char *s, const char *ending)
{
    size_t n = strlen(s), m = strlen(ending);
    return n >= m && strcmp(s + n - m, ending) == 0;
}

const char *text_plural_s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

size_t text_first_clause_length(const char *s)
{
    size_t n = strnlen(s, 16);
    while (s[n] && !(strchr(";:", s[n]) && s[n + 1] == ' '))
        n++;
    return n;
}

int text_to_uint(const char *s, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;
    if (!*s)
        return -1;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return -1;
        uint64_t digit = (uint64_t)(*s - '0');
        if (digit > max || v > (max - digit) / 10)
            return -1;
        v = v * 10 + digit;
    }
    *ret = v;
    return 0;
}

#define DURATION_MAX_MS (24 * 3600 * INT64_C(1000))

#define BILLION INT64_C(1000000000)

/* Parses one number such as `12.5` of a duration into the parts before and after the point. Returns its
 * length, 0 if there is no number. */
static size_t parse_duration_number(const char *s, int64_t *ret_whole, int64_t *ret_billionths)
{
    int64_t whole = 0, billionths = 0;
    size_t i = 0, digits = 0;
    for (; s[i] >= '0' && s[i] <= '9'; i++, digits++)
        if ((whole = whole * 10 + (s[i] - '0')) > DURATION_MAX_MS)
            return 0;
    if (s[i] == '.') {
        int64_t unit = BILLION / 10;
        for (i++; s[i] >= '0' && s[i] <= '9'; i++, digits++, unit /= 10)
            billionths += unit * (s[i] - '0');
    }
    *ret_whole = whole;
    *ret_billionths = billionths;
    return digits ? i : 0;
}

int text_to_duration(const char *s, int64_t *ret_ms, struct err *err)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    int64_t total = 0;
    const char *p = s;
    while (*p) {
        int64_t whole = 0, billionths = 0;
        size_t n = parse_duration_number(p, &whole, &billionths);
        if (!n)
            goto bad;
        p += n;
        size_t letters = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        int64_t unit = letters == 0 && !*p && p == s + n ? 1000 : 0;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (letters == strlen(units[i].name) && strncmp(p, units[i].name, letters) == 0)
                unit = units[i].ms;
        /* Refuse a fraction of a millisecond instead of dropping it. */
        if (!unit || billionths * unit % BILLION)
            goto bad;
        total += whole * unit + billionths * unit / BILLION;
        if (total > DURATION_MAX_MS)
            return err_set(err, ERR_USAGE, "duration \"%.40s\" is longer than 24 hours", s);
        p += letters;
    }
    if (p == s)
        goto bad;
    *ret_ms = total;
    return 0;
bad:
    return err_set(err, ERR_USAGE, "\"%.40s\" is not a duration: write 30s, 2m, 1m30s or a number of seconds",
                   s);
}

char *text_duration(char *dst, size_t cap, int64_t ms)
{
    if (ms > 0 && ms < 1000) {
        snprintf(dst, cap, "%dms", (int)ms);
        return dst;
    }
    long long tenths = (ms + 50) / 100, seconds = tenths / 10 % 60;
    char hours[24] = "", minutes[8] = "", fraction[4] = "";
    if (tenths >= 36000)
        snprintf(hours, sizeof hours, "%lldh", tenths / 36000);
    if (tenths / 600 % 60)
        snprintf(minutes, sizeof minutes, "%dm", (int)(tenths / 600 % 60));
    if (tenths % 10)
        snprintf(fraction, sizeof fraction, ".%d", (int)(tenths % 10));
    if (seconds || *fraction || tenths < 600)
        snprintf(dst, cap, "%s%s%lld%ss", hours, minutes, seconds, fraction);
    else
        snprintf(dst, cap, "%s%s", hours, minutes);
    return dst;
}

char *text_bytes(char *dst, size_t cap, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(dst, cap, "%u B", (unsigned)bytes);
        return dst;
    }
    double v = (double)bytes / 1000;
    size_t i = 0;
    for (; v >= 999.95 && i + 1 < sizeof units / sizeof *units; i++)
        v /= 1000;
    snprintf(dst, cap, "%.1f %s", v, units[i]);
    return dst;
}

#define NEAREST_MAX_BYTES 64

static size_t least_of_three(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Returns the optimal string alignment distance of two strings of at most NEAREST_MAX_BYTES bytes. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][NEAREST_MAX_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t cost = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);
            row[j] = least_of_three(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *t = before;
        before = above;
        above = row;
        row = t;
    }
    return above[nb];
}

void nearest_add(struct nearest *near, const char *name)
{
    size_t wanted_n = strlen(near->wanted), name_n = strlen(name);
    if (wanted_n > NEAREST_MAX_BYTES || name_n > NEAREST_MAX_BYTES || wanted_n == 0)
        return;
    size_t distance = edit_distance(near->wanted, wanted_n, name, name_n);
    /* A third of the characters may differ, and one more if the wanted name has fewer than three. A longer
     * name that begins with a wanted name of at least two characters is always near. */
    bool is_prefix = wanted_n >= 2 && name_n > wanted_n && strncmp(near->wanted, name, wanted_n) == 0;
    if (distance > (wanted_n < name_n ? name_n : wanted_n) / 3 + (wanted_n < 3) && !is_prefix)
        return;
    size_t at = near->n;
    while (at > 0 && near->best[at - 1].distance > distance)
        at--;
    size_t room = sizeof near->best / sizeof *near->best;
    if (at >= room)
        return;
    if (near->n < room)
        near->n++;
    for (size_t i = near->n - 1; i > at; i--)
        near->best[i] = near->best[i - 1];
    near->best[at].name = name;
    near->best[at].distance = distance;
}

char *nearest_text(const struct nearest *near, char *dst, size_t cap)
{
    size_t len = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < near->n && len < cap; i++)
        len += (size_t)snprintf(dst + len, cap - len, "%s\"%s\"",
                                i == 0             ? ""
                                : i + 1 == near->n ? " or "
                                                   : ", ",
                                near->best[i].name);
    return dst;
}

int text_to_bytes(const char *s, uint64_t *ret)
{
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {{"", 1},
                 {"kB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"KiB", UINT64_C(1) << 10},
                 {"MiB", UINT64_C(1) << 20},
                 {"GiB", UINT64_C(1) << 30}};
    char digits[24];
    size_t n = strspn(s, "0123456789");
    uint64_t number = 0;
    if (n >= sizeof digits)
        return -1;
    snprintf(digits, sizeof digits, "%.*s", (int)n, s);
    if (text_to_uint(digits, UINT64_MAX, &number) < 0)
        return -1;
    size_t i = 0;
    while (i < sizeof units / sizeof *units && strcasecmp(s + n, units[i].name) != 0)
        i++;
    uint64_t bytes = 0;
    if (i == sizeof units / sizeof *units || __builtin_mul_overflow(number, units[i].factor, &bytes))
        return -1;
    *ret = bytes;
    return 0;
}

char *text_next_entry(char **rest, size_t *line_number)
{
    while (*rest) {
        char *line = *rest, *end = strchr(line, '\n');
        *rest = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        ++*line_number;
        line[strcspn(line, "\r")] = '\0';
        line += strspn(line, " \t");
        if (*line && *line != '#')
            return line;
    }
    return NULL;
}
