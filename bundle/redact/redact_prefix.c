/*
 * Reads the text before a value backwards: a quote, blanks, a sign, a name. Each step is bounded or stops at
 * the sign before.
 *
 * A name may be encoded (`%74oken`, `pass\u0077ord`) or have an index (`user[password]`, `token%5B%5D`). Then
 * its last bytes are decoded, and the name begins after the last byte that no name can contain.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_escape.h"
#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* MAX_BLANKS: between a name, its sign and its value. */
enum { MAX_BLANKS = 64 };

static bool is_sign(char c)
{
    return c == '=' || c == ':' || c == ',';
}

bool redact_is_before(struct str s, size_t at, const char *text)
{
    size_t n = strlen(text);
    return at >= n && strncasecmp(s.p + at - n, text, n) == 0;
}

const char *redact_find_before(struct str s, size_t at, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (redact_is_before(s, at, texts[i]))
            return texts[i];
    return NULL;
}

size_t redact_length_until(struct str s, size_t at, const char *stops, size_t max)
{
    size_t n = 0;
    while (at + n < s.n && n < max && (!s.p[at + n] || !strchr(stops, s.p[at + n])))
        n++;
    return n;
}

static size_t skip_blanks_back(struct str s, size_t at)
{
    size_t n = 0;
    while (at > 0 && n < MAX_BLANKS && redact_is_blank(s.p[at - 1])) {
        at--;
        n++;
    }
    return at;
}

/* The typographic quotes that open, with the quotes that close them. Any other quote closes itself. */
static const struct {
    const char *opening, *closing;
} typographic[] = {{"\xe2\x80\x9c", "\xe2\x80\x9d"}, /* as in English */
                   {"\xe2\x80\x98", "\xe2\x80\x99"},
                   {"\xe2\x80\x9e", "\xe2\x80\x9c"}}; /* as in German */

const char *redact_prefix_long_quote(struct str s, size_t at)
{
    static const char *const quotes[] = {
        "&quot;", "&#34;", "&#39;",        "&apos;",       "&#034;",       "&#039;",       "&#x22;",
        "&#x27;", "%22",   "%27",          "%2522",        "%2527",        "\\u0022",      "\\u0027",
        "\\x22",  "\\x27", "\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x98", "\xe2\x80\x99", "\xe2\x80\x9e"};
    if (at < 3 || !strchr(";27\x98\x99\x9c\x9d\x9e", s.p[at - 1]))
        return NULL;
    return redact_find_before(s, at, quotes, sizeof quotes / sizeof *quotes);
}

const char *redact_prefix_closing(const char *long_quote)
{
    for (size_t i = 0; i < sizeof typographic / sizeof *typographic; i++)
        if (strcmp(long_quote, typographic[i].opening) == 0)
            return typographic[i].closing;
    return long_quote;
}

size_t redact_prefix_encoded_sign(struct str s, size_t at)
{
    if (at < 3 || !strchr(";dDaA", s.p[at - 1]))
        return 0;
    struct redact_unit u = redact_unit_before(s, at);
    return u.n_bytes == 1 && (u.bytes[0] == '=' || u.bytes[0] == ':') ? u.length : 0;
}

/* Returns whether the unit is a blank, a tab, or one of the blanks of Unicode, such as U+00A0, U+2002 (en
 * space) and U+2009 (thin space). */
static bool is_blank_unit(struct redact_unit u)
{
    static const char *const others[] = {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (u.n_bytes == strlen(others[i]) && memcmp(u.bytes, others[i], u.n_bytes) == 0)
            return true;
    bool wide = u.n_bytes == 3 && memcmp(u.bytes, "\xe2\x80", 2) == 0; /* U+2000 to U+200A */
    return wide ? u.bytes[2] <= 0x8a : u.n_bytes == 1 && redact_is_blank((char)u.bytes[0]);
}

/* Returns whether the unit ends a line or a page, which is a blank in HTML. */
static bool is_newline(struct redact_unit u)
{
    return u.n_bytes == 1 && u.bytes[0] >= '\n' && u.bytes[0] <= '\r';
}

size_t redact_prefix_encoded_blank(struct str s, size_t at)
{
    if (at < 3 || !strchr(";09", s.p[at - 1]))
        return 0;
    struct redact_unit u = redact_unit_before(s, at);
    bool is_entity = s.p[at - 1] == ';';
    return is_blank_unit(u) || (is_entity && is_newline(u)) ? u.length : 0;
}

size_t redact_prefix_skip_blanks(struct str s, size_t at)
{
    for (int n = 0; n < MAX_BLANKS && at > 0; n++) {
        size_t length = redact_prefix_encoded_blank(s, at);
        if (length == 0 && !redact_is_blank(s.p[at - 1]) && s.p[at - 1] != '+')
            break;
        at -= length > 0 ? length : 1;
    }
    return at;
}

/* Returns whether an encoded blank begins at `at`. */
static bool begins_blank(struct str s, size_t at)
{
    if (at >= s.n || !s.p[at] || !strchr("%&+", s.p[at]))
        return false;
    for (size_t n = 3; n <= REDACT_ENTITY_MAX && n <= s.n - at; n++)
        if (redact_prefix_encoded_blank(s, at + n) == n)
            return true;
    return s.p[at] == '+';
}

/* ---- decoding a name ----------------------------------------------------------------------------------- */

/* Returns the byte that `digits` hexadecimal digits at `at` encode; -1: none. */
static long read_byte(struct str s, size_t at, size_t digits)
{
    long value = redact_read_hex(s, at, digits);
    return value > 0 && value < 256 ? value : -1;
}

/* Decodes `%74`, `\u0074`, `\x74` and `\n` once, in place. */
static size_t decode_once(char *p, size_t n)
{
    size_t to = 0;
    struct str s = {p, n};
    for (size_t i = 0; i < n;) {
        char c = p[i];
        if (c == '\\' && n - i > 1)
            c = p[i + 1];
        size_t digits = c == 'u' ? 4 : 2, n_prefix = c == '%' ? 1 : 2;
        bool escaped = c != p[i], coded = c == '%' || (escaped && (c == 'u' || c == 'x'));
        long byte = coded ? read_byte(s, i + n_prefix, digits) : -1;
        bool blank = escaped && strchr("nrt", c);
        p[to++] = (char)(byte >= 0 ? byte : blank ? ' ' : p[i]);
        i += byte >= 0 ? n_prefix + digits : blank ? 2 : 1;
    }
    return to;
}

/* Removes `[x]` from the end of the name; `x` becomes prefix->inner. */
static struct str strip_index(struct str name, struct redact_prefix *prefix)
{
    for (int times = 0; times < 3 && name.n > 1 && name.p[name.n - 1] == ']'; times++) {
        size_t begin = name.n - 1;
        while (begin > 0 && name.p[begin] != '[')
            begin--;
        if (name.p[begin] != '[')
            break;
        struct str inner = {name.p + begin + 1, name.n - begin - 2};
        while (inner.n > 0 && redact_is_quote(inner.p[inner.n - 1]))
            inner.n--;
        while (inner.n > 0 && redact_is_quote(inner.p[0])) {
            inner.p++;
            inner.n--;
        }
        if (prefix->inner.n == 0)
            prefix->inner = inner;
        name.n = begin;
    }
    return name;
}

/* Decodes the name that ends before `end`. */
static void decode_name(struct redact_search *search, size_t end, struct redact_prefix *prefix)
{
    enum { MAX_TIMES = 3 };
    struct str s = search->in;
    bool indexed = s.p[end - 1] == ']';
    size_t begin = end;
    while (begin > 0 && end - begin < REDACT_NAME_MAX &&
           (redact_is_name_byte(s.p[begin - 1]) || strchr("%\\[]", s.p[begin - 1]) ||
            (indexed && redact_is_quote(s.p[begin - 1]))))
        begin--;
    memcpy(search->name, s.p + begin, end - begin);
    size_t n = end - begin;
    for (int times = 0; times < MAX_TIMES && (memchr(search->name, '%', n) || memchr(search->name, '\\', n));
         times++)
        n = decode_once(search->name, n);
    struct str name = {search->name, n};
    while (name.n > 0 && redact_is_blank(name.p[name.n - 1]))
        name.n--;
    name = strip_index(name, prefix);
    size_t from = name.n;
    while (from > 0 && redact_is_name_byte(name.p[from - 1]))
        from--;
    if (from > 0) {
        prefix->parameter = strchr("?&", name.p[from - 1]);
        prefix->after_separator = prefix->after_separator || strchr(" {[(", name.p[from - 1]);
    } else if (begin > 0) {
        prefix->parameter = strchr("?&", s.p[begin - 1]);
    }
    struct str raw = prefix->name; /* the `\t` in `C:\token` is not a tab */
    if (name.n > from)
        prefix->name = (struct str){name.p + from, name.n - from};
    if (prefix->inner.n == 0 && raw.n > 0)
        prefix->inner = raw;
}

/* ---- the name and its sign ----------------------------------------------------------------------------- */

/* Returns the end of the name that ends before `at`, without its quotes. */
static size_t find_name_end(struct str s, size_t at, struct redact_prefix *prefix)
{
    const char *long_quote = redact_prefix_long_quote(s, at);
    size_t end = at;
    if (long_quote) {
        prefix->name_quoted = true;
        end -= strlen(long_quote);
    } else if (at > 0 && redact_is_quote(s.p[at - 1])) {
        prefix->name_quoted = true;
        end--;
        while (end > 0 && s.p[end - 1] == '\\')
            end--;
    }
    return prefix->name_quoted ? skip_blanks_back(s, end) : end;
}

/* Reads the string of a list around a name, as in JSON arguments: `["--password=a b"]`. */
static void read_string_around(struct str s, size_t begin, struct redact_prefix *prefix)
{
    if (prefix->name_quoted || prefix->quote || prefix->long_quote || begin == 0 ||
        !redact_is_quote(s.p[begin - 1]))
        return;
    prefix->quote = s.p[begin - 1];
    prefix->quote_opens_string = true;
    size_t at = begin - 1;
    for (; at > 0 && s.p[at - 1] == '\\'; at--)
        prefix->escapes++;
    at = skip_blanks_back(s, at);
    prefix->in_list = at > 0 && strchr("[,", s.p[at - 1]);
}

/* Returns whether a Windows option begins at the slash before `begin`: `/password:x`. */
static bool is_slash_option(struct str s, size_t begin)
{
    return begin > 0 && s.p[begin - 1] == '/' &&
           (begin == 1 || redact_is_blank(s.p[begin - 2]) || redact_is_quote(s.p[begin - 2]));
}

/* Returns whether the name of `NAME:VALUE` begins at `begin`, in the path or a parameter of a request. The
 * host of a URL is no name. */
static bool begins_colon_name(struct str s, size_t begin)
{
    bool host = begin > 2 && memcmp(s.p + begin - 3, "://", 3) == 0;
    return begin > 0 && strchr("/?&=;,", s.p[begin - 1]) && !host;
}

/* Reads the name that ends before `at`. */
static bool read_name(struct redact_search *search, size_t at, struct redact_prefix *prefix)
{
    struct str s = search->in;
    size_t end = find_name_end(s, at, prefix), begin = end;
    while (begin > 0 && redact_is_name_byte(s.p[begin - 1]))
        begin--;
    prefix->name = (struct str){s.p + begin, end - begin};
    size_t before = skip_blanks_back(s, begin);
    prefix->after_separator =
        before < begin || begin == 0 || strchr("{,[(", s.p[before - 1]) || is_slash_option(s, begin);
    prefix->begins_word = prefix->sign == ':' && !prefix->name_quoted && begin > 0 &&
                          (redact_is_quote(s.p[begin - 1]) || strchr("=;|<>", s.p[begin - 1]));
    prefix->begins_column = begin == 0 || s.p[begin - 1] == '\t' || s.p[begin - 1] == '\n';
    prefix->first_word = before == 0;
    prefix->colon =
        search->request && prefix->sign == ':' && !prefix->name_quoted && begins_colon_name(s, begin);
    prefix->in_path =
        search->request && begin > 0 && (s.p[begin - 1] == ';' || (prefix->colon && s.p[begin - 1] == '/'));
    prefix->parameter = prefix->in_path ||
                        (begin > 0 && (strchr("?&", s.p[begin - 1]) || redact_is_before(s, begin, "&amp;")));
    if (end > 0 && (s.p[end - 1] == ']' || (begin > 0 && strchr("%\\", s.p[begin - 1]))))
        decode_name(search, end, prefix);
    read_string_around(s, begin, prefix);
    return prefix->name.n > 0 || prefix->inner.n > 0;
}

/* Returns the beginning of the sign that ends before `at`; `at` if there is none. A sign may be `:=`, `==` or
 * `=>`. */
static size_t read_sign(struct str s, size_t at, struct redact_prefix *prefix)
{
    size_t n = redact_prefix_encoded_sign(s, at);
    if (n > 0) {
        prefix->sign = '=';
        prefix->encoded = s.p[at - n] == '%';
        prefix->entity = prefix->entity || s.p[at - n] == '&';
        prefix->header = redact_unit_before(s, at).bytes[0] == ':';
        return at - n;
    }
    if (redact_is_before(s, at, "=>"))
        prefix->sign = '=';
    else if (at > 0 && is_sign(s.p[at - 1]))
        prefix->sign = s.p[at - 1];
    else
        return at;
    prefix->header = prefix->sign == ':';
    size_t begin = at - (s.p[at - 1] == '>' ? 2 : 1);
    for (n = 0; prefix->sign == '=' && n < 2 && begin > 0 && strchr("=:", s.p[begin - 1]); n++)
        begin--;
    return begin;
}

/* Returns whether `at` is inside a sign, so that no value begins here. */
static bool is_inside_sign(struct str s, size_t at)
{
    if (at == 0 || at == s.n)
        return false;
    char before = s.p[at - 1], c = s.p[at];
    return (c == '=' && (before == '=' || before == ':')) || (c == '>' && before == '=');
}

/* Returns the beginning of the quote that ends before `at`; `at` if there is none. */
static size_t read_quote(struct str s, size_t at, struct redact_prefix *prefix)
{
    prefix->long_quote = redact_prefix_long_quote(s, at);
    if (prefix->long_quote)
        return at - strlen(prefix->long_quote);
    if (at == 0 || !redact_is_quote(s.p[at - 1]))
        return at;
    prefix->quote = s.p[--at];
    prefix->triple = at > 1 && s.p[at - 1] == prefix->quote && s.p[at - 2] == prefix->quote;
    if (prefix->triple)
        return at - 2;
    for (; at > 0 && s.p[at - 1] == '\\'; at--)
        prefix->escapes++;
    return at;
}

/* Skips the blanks before a value. They may be encoded before an encoded quote and after an encoded sign;
 * HTML entities may follow any sign. */
static size_t skip_gap(struct str s, size_t at, struct redact_prefix *prefix)
{
    size_t plain = skip_blanks_back(s, at);
    if (plain == 0 || !strchr(";09+", s.p[plain - 1]))
        return plain;
    size_t end = redact_prefix_skip_blanks(s, plain);
    bool entity = end < plain && s.p[plain - 1] == ';';
    if (redact_prefix_encoded_sign(s, end) > 0 || entity ||
        (prefix->long_quote && strchr("%&", prefix->long_quote[0]))) {
        prefix->entity = entity;
        return end;
    }
    return plain;
}

/* Returns whether the value follows an option without a sign: `--password VALUE`, `"--password","VALUE"`. */
static bool is_option_before(struct str s, size_t at, const struct redact_prefix *prefix)
{
    bool is_string =
        prefix->quote && !prefix->quote_opens_string; /* Go's %q of a list: "--password" "VALUE" */
    bool fits = prefix->sign == ',' ? prefix->name_quoted : !prefix->name_quoted || is_string;
    if (prefix->name.n == 0 || prefix->name.p[0] != '-' || !fits)
        return false;
    struct str value = {s.p + at, redact_length_until(s, at, " \t&;,\"'\\", REDACT_RANDOM_MAX)};
    return !redact_is_option(value);
}

bool redact_prefix_read(struct redact_search *search, size_t at, struct redact_prefix *ret)
{
    struct str s = search->in;
    *ret = (struct redact_prefix){.sign = ' ', .request = search->request};
    size_t back = read_quote(s, at, ret);
    if (back == at && (at == s.n || redact_is_blank(s.p[at]) || is_inside_sign(s, at)))
        return false;
    size_t end = skip_gap(s, back, ret), sign = read_sign(s, end, ret);
    ret->space_after_sign = end < back;
    if (sign == end && !ret->space_after_sign)
        return false;
    bool escaped = ret->encoded || ret->entity;
    if (escaped && back == at && begins_blank(s, at))
        return false; /* the value begins behind the blank */
    size_t name = skip_blanks_back(s, sign);
    if (escaped || (name > 0 && s.p[name - 1] == ';'))
        name = redact_prefix_skip_blanks(s, name);
    if (!read_name(search, name, ret))
        return false;
    ret->header = ret->header && ret->space_after_sign && !ret->name_quoted;
    if (ret->sign == ' ' && ret->begins_column && !ret->name_quoted && memchr(s.p + end, '\t', back - end))
        return at == s.n || !is_sign(s.p[at]); /* TOKEN and a tab */
    if (ret->sign == ' ' || ret->sign == ',')
        return is_option_before(s, at, ret);
    return ret->sign == '=' || ret->name_quoted || name == sign || (ret->first_word && ret->space_after_sign);
}
