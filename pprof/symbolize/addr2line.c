/*
 * Parses the output of addr2line and nm of the GNU binutils.
 *
 * Source: google/pprof internal/binutils/addr2liner.go and addr2liner_nm.go. This file parses unusual lines
 * exactly as those files do, because the result is visible in reports.
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

/* The next line without its end and surrounding white space. Returns false if there is no complete line. */
static bool next_line(struct str *rest, struct str *ret)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - rest->p);
    *ret = str_trim((struct str){rest->p, n});
    rest->p += n + 1;
    rest->n -= n + 1;
    return true;
}

/* Reads all of s as a hexadecimal number of 64 bits. */
static bool read_hex(struct str s, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16 || value >> 60)
            return false;
        value = value << 4 | digit;
    }
    *ret = value;
    return s.n > 0;
}

/* ---- addr2line ----------------------------------------------------------------------------------------- */

/* Reads all of s as a decimal number, like Go's Atoi. */
static bool read_number(struct str s, int64_t *ret)
{
    uint64_t value;
    char digits[20];
    bool minus = s.n && s.p[0] == '-';
    if (s.n && (minus || s.p[0] == '+'))
        s = (struct str){s.p + 1, s.n - 1};
    if (s.n >= sizeof digits)
        return false;
    memcpy(digits, s.p, s.n);
    digits[s.n] = '\0';
    if (text_to_uint(digits, INT64_MAX, &value) < 0)
        return false;
    *ret = minus ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Reads `FILE:LINE (discriminator N)`. If no number follows the colon, the whole text is the file's name. */
static void read_place(struct str place, struct frame *f)
{
    static const char mark[] = " (discriminator";
    if (str_is(place, "??:0"))
        return;
    f->file = place;
    const char *colon = place.n ? memrchr(place.p, ':', place.n) : NULL;
    if (!colon)
        return;
    const char *behind = memmem(place.p, place.n, mark, sizeof mark - 1);
    if (behind && behind > place.p)
        f->file.n = (size_t)(behind - place.p);
    size_t at = (size_t)(colon - place.p);
    if (at < f->file.n && read_number((struct str){colon + 1, f->file.n - at - 1}, &f->line))
        f->file.n = at;
}

static int add_frame(struct frames *to, struct frame f, struct err *err)
{
    if (f.function.n == 0 && f.file.n == 0 && f.line == 0)
        return 0;
    if (array_reserve((void **)&to->items, &to->cap, to->n + 1, sizeof *to->items, err) < 0)
        return -1;
    to->items[to->n++] = f;
    return 0;
}

int addr2line_next(struct str *rest, uint64_t *ret_address, struct frames *ret, struct err *err)
{
    struct str line, place;
    uint64_t address;
    if (!next_line(rest, &line) || !str_begins(line, "0x") ||
        !read_hex((struct str){line.p + 2, line.n - 2}, &address))
        return 0;
    ret->n = 0;
    /* The next address ends the list. */
    for (struct str at = *rest; next_line(&at, &line) && !str_begins(line, "0x"); *rest = at) {
        struct frame f = {.function = str_is(line, "??") ? STR("") : line, .file = STR("")};
        if (!next_line(&at, &place))
            break;
        read_place(place, &f);
        if (add_frame(ret, f, err) < 0)
            return -1;
    }
    *ret_address = address;
    return 1;
}

/* ---- nm ------------------------------------------------------------------------------------------------ */

/* Reads `NAME TYPE ADDRESS SIZE`, separated by one blank. */
static bool read_symbol(struct str line, struct nm_symbol *ret)
{
    struct str fields[4];
    size_t n = 0;
    for (;;) {
        const char *blank = line.n ? memchr(line.p, ' ', line.n) : NULL;
        if (n == 4)
            return false;
        fields[n++] = (struct str){line.p, blank ? (size_t)(blank - line.p) : line.n};
        if (!blank)
            break;
        line.n -= (size_t)(blank + 1 - line.p);
        line.p = blank + 1;
    }
    if (n != 4 || !read_hex(fields[2], &ret->address) || !read_hex(fields[3], &ret->size))
        return false;
    ret->name = fields[0];
    ret->is_data = false;
    for (size_t i = 0; i < fields[1].n; i++)
        ret->is_data = ret->is_data || (fields[1].p[i] && strchr("bBdDrRvVW", fields[1].p[i]));
    return true;
}

int nm_read(struct str text, uint64_t base, struct nm *ret, struct err *err)
{
    struct nm nm = {0};
    struct str line;
    while (next_line(&text, &line)) {
        struct nm_symbol symbol;
        if (!read_symbol(line, &symbol))
            continue;
        if (array_reserve((void **)&nm.symbols, &nm.cap, nm.n + 1, sizeof *nm.symbols, err) < 0) {
            nm_release(&nm);
            return -1;
        }
        symbol.address += base;
        nm.symbols[nm.n++] = symbol;
    }
    *ret = nm;
    return 0;
}

void nm_release(struct nm *nm)
{
    free(nm->symbols);
    *nm = (struct nm){0};
}

const struct nm_symbol *nm_find(const struct nm *nm, uint64_t address)
{
    if (nm->n == 0 || address < nm->symbols[0].address ||
        address >= nm->symbols[nm->n - 1].address + nm->symbols[nm->n - 1].size)
        return NULL;
    size_t low = 0, high = nm->n;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t v = nm->symbols[middle].address;
        if (address < v) {
            high = middle;
            continue;
        }
        low = middle;
        if (address == v)
            break;
    }
    const struct nm_symbol *s = &nm->symbols[low];
    /* A function's size may be unknown, but data ends at its size. */
    return s->is_data && address >= s->address + s->size ? NULL : s;
}
