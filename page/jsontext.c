#include "page/jsontext.h"

#include <string.h>

#include "base/banned.h"

/* Returns the length of the character at p if HTML or JavaScript needs an escape for it; otherwise 0. */
static size_t special_length(const char *p, size_t n)
{
    if (*p == '<' || *p == '>' || *p == '&')
        return 1;
    /* U+2028 and U+2029 */
    return n >= 3 && memcmp(p, "\342\200", 2) == 0 && (p[2] == '\250' || p[2] == '\251') ? 3 : 0;
}

static void add_escape(struct buf *buf, const char *p, size_t n)
{
    if (n == 1)
        buf_addf(buf, "\\u%04x", (unsigned)*p);
    else
        buf_adds(buf, p[2] == '\250' ? "\\u2028" : "\\u2029");
}

/* `quoted`: also escape quotes and backslashes. */
static void add_escaped(struct buf *buf, struct str s, bool quoted)
{
    size_t from = 0;
    for (size_t i = 0; i < s.n;) {
        size_t length = special_length(s.p + i, s.n - i);
        bool escaped = quoted && (s.p[i] == '"' || s.p[i] == '\\');
        if (!length && !escaped) {
            i++;
            continue;
        }
        buf_add(buf, s.p + from, i - from);
        if (escaped)
            buf_addc(buf, '\\');
        else
            add_escape(buf, s.p + i, length);
        from = escaped ? i : i + length;
        i += escaped ? 1 : length;
    }
    buf_add(buf, s.p + from, s.n - from);
}

void jsontext_name(struct buf *buf, struct str s)
{
    char shown[JSONTEXT_MAX_NAME];
    text_printable(shown, sizeof shown, s.p, s.n);
    buf_addc(buf, '"');
    add_escaped(buf, str_of(shown), true);
    buf_addc(buf, '"');
}

void jsontext_string(struct buf *buf, struct str s)
{
    buf_addc(buf, '"');
    for (size_t at = 0, n; at < s.n && !buf->failed; at += n) {
        uint32_t c;
        n = text_decode(s.p + at, s.n - at, &c);
        if (n == 0) {
            buf_adds(buf, "\\ufffd");
            n = 1;
        } else if (c < ' ') {
            buf_addf(buf, "\\u%04x", (unsigned)c);
        } else {
            add_escaped(buf, (struct str){s.p + at, n}, true);
        }
    }
    buf_addc(buf, '"');
}

void jsontext_json(struct buf *buf, struct str s)
{
    add_escaped(buf, s, false);
}

void jsontext_number(struct buf *buf, int64_t v)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (v < 0)
        digits[--at] = '-';
    buf_add(buf, digits + at, sizeof digits - at);
}

void jsontext_text(struct buf *buf, const char *key, const char *value)
{
    if (!value)
        return;
    buf_addf(buf, ",\"%s\":", key);
    jsontext_name(buf, str_of(value));
}
