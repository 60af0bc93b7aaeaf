/*
 * Addresses with a password.
 *
 * Reads a URL forwards from its `://`: the user up to a colon, then the password up to the last `@` that no
 * slash, quote or similar byte separates from the first `@`. If the text after the colon is not a port, a
 * password may contain any byte. Reading stops at the next `://` of the same encoding, so each byte is read
 * once for each of the few encodings.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* The most nested encodings of `%`: `%252F` is 2. */
enum { MAX_LEVELS = 4 };

/* ---- bytes of an address ------------------------------------------------------------------------------- */

/* An address in a text. level 0: plain text, or JSON with `\/`; else the number of percent-encodings. */
struct address {
    struct str s;
    unsigned level;
    bool web;              /* an address with its scheme has a port more often than a password */
    bool odd_user;         /* the user contains an @ or a comma: the text may be a list of hosts */
    bool cut;              /* the text ends before the address does */
    size_t user, password; /* the offsets of both */
};

/* A byte of an address, and the number of bytes that encode it. */
struct unit {
    char c;
    size_t n;
};

static struct unit read_escaped_slash(struct str s, size_t at)
{
    enum { MAX_BACKSLASHES = 8 };
    size_t n = 0;
    while (n < MAX_BACKSLASHES && at + n < s.n && s.p[at + n] == '\\')
        n++;
    if (n > 0 && at + n < s.n && s.p[at + n] == '/')
        return (struct unit){'/', n + 1};
    return (struct unit){s.p[at], 1};
}

static struct unit read_unit(struct str s, size_t at, unsigned level)
{
    if (level == 0)
        return read_escaped_slash(s, at);
    size_t n = 1 + 2 * (size_t)(level - 1);
    bool fits = s.p[at] == '%' && s.n - at >= n + 2;
    for (size_t i = 1; fits && i < n; i += 2)
        fits = s.p[at + i] == '2' && s.p[at + i + 1] == '5';
    int high = fits ? text_hex_digit(s.p[at + n]) : -1, low = fits ? text_hex_digit(s.p[at + n + 1]) : -1;
    if (high < 0 || low < 0)
        return (struct unit){s.p[at], 1};
    return (struct unit){(char)(high * 16 + low), n + 2};
}

/* Returns the length of the `://` that begins at `at`; 0: none. */
static size_t mark_length(struct str s, size_t at, unsigned level)
{
    static const char mark[] = "://";
    size_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        struct unit u = at + n < s.n ? read_unit(s, at + n, level) : (struct unit){0};
        if (u.c != mark[i])
            return 0;
        n += u.n;
    }
    return n;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

/* ---- the parts of a URL -------------------------------------------------------------------------------- */

/* Returns whether a scheme ends before `at`. */
static bool read_scheme(struct str s, size_t at, bool *ret_web)
{
    enum { LONGEST = 32 };
    static const char *const web[] = {"http", "https", "ws", "wss", "ftp"};
    size_t begin = at;
    while (begin > 0 && at - begin < LONGEST &&
           (redact_is_name_byte(s.p[begin - 1]) || s.p[begin - 1] == '+'))
        begin--;
    if (begin > 0 && s.p[begin - 1] == '%' && at - begin > 2) /* %3Dhttps */
        begin += 2;
    *ret_web = false;
    for (size_t i = 0; i < sizeof web / sizeof *web; i++)
        *ret_web =
            *ret_web || (strlen(web[i]) == at - begin && strncasecmp(s.p + begin, web[i], at - begin) == 0);
    return begin < at;
}

/* Finds the colon after the user; false if there is none. A colon in plain text may be
 * percent-encoded; then an @, perhaps encoded too, must follow. A bracket with a colon inside is an IPv6
 * address, and a colon before `//` begins another URL. */
static bool read_user(struct address *a)
{
    size_t encoded = 0; /* the offset after `%3A` */
    bool bracket = false;
    for (size_t i = a->user; i < a->s.n;) {
        struct unit u = read_unit(a->s, i, a->level);
        if (u.c == ':') {
            a->password = i + u.n;
            return !bracket && mark_length(a->s, i, a->level) == 0;
        }
        if (isspace((unsigned char)u.c) || is_one_of(u.c, "/?#\"'<>") ||
            (a->level > 0 && u.n == 1 && is_one_of(u.c, "&;")))
            return false;
        bool encoded_at = u.c == '%' && a->s.n - i > 2 && memcmp(a->s.p + i, "%40", 3) == 0;
        if (encoded > 0 && (u.c == '@' || encoded_at)) {
            a->level = encoded_at ? 1 : a->level; /* https://u%3AX%40h */
            a->password = encoded;
            return true;
        }
        if (encoded == 0 && u.c == '%' && a->s.n - i > 2 && strncasecmp(a->s.p + i, "%3a", 3) == 0)
            encoded = i + 3;
        a->odd_user = a->odd_user || is_one_of(u.c, "@,");
        bracket = u.c == '[' || (bracket && u.c != ']');
        i += u.n;
    }
    a->cut = true;
    return false;
}

/* Returns the position of the last @ from `at` on, within the part of an address that may contain an @; `at`
 * if there is none. Sets *cut if that part may go on behind the text. */
static size_t find_last_at(struct str s, size_t at, unsigned level, bool *cut)
{
    size_t last = at, i = at;
    while (i < s.n) {
        struct unit u = read_unit(s, i, level);
        if (isspace((unsigned char)u.c) || is_one_of(u.c, "/\"'<>,?") ||
            (level > 0 && u.n == 1 && is_one_of(u.c, "&;")))
            break;
        if (u.c == '@')
            last = i;
        i += u.n;
    }
    *cut = *cut || i >= s.n;
    return last;
}

bool redact_ends_string(struct str s, size_t at)
{
    return at + 1 >= s.n || isspace((unsigned char)s.p[at + 1]) || is_one_of(s.p[at + 1], ",;:}])>&\\\"'");
}

/* Returns whether the address ends at `at`. */
static bool ends_address(const struct address *a, size_t at, struct unit u)
{
    static const char *const ends[] = {"</", "<br", "&quot;", "&#34;", "&#39;", "&lt;"};
    struct str s = a->s;
    if (u.c == '\n' || u.c == '\r' || (a->level > 0 && u.n == 1 && is_one_of(u.c, " &;\"'<>")))
        return true;
    size_t quote = u.c == '\\' ? at + 1 : at;
    if (quote < s.n && redact_is_quote(s.p[quote]) && redact_ends_string(s, quote))
        return true;
    for (size_t i = 0; is_one_of(u.c, "<&") && i < sizeof ends / sizeof *ends; i++)
        if (s.n - at >= strlen(ends[i]) && strncasecmp(s.p + at, ends[i], strlen(ends[i])) == 0)
            return true;
    return mark_length(s, at, a->level) > 0;
}

/* Returns the position of the @ after a password whose first part, up to a slash or similar, ends at `at`; 0:
 * none. `strict`: the first part may be a port, so only a path may follow. */
static size_t find_at_sign(struct address *a, size_t at, bool strict)
{
    /* The most bytes from an odd byte to the @, and from a blank to the @. */
    enum { MAX_ODD = 256, MAX_BEHIND_BLANK = 64 };
    size_t max = a->s.n;
    for (size_t i = at; i < max;) {
        struct unit u = read_unit(a->s, i, a->level);
        bool blank = isspace((unsigned char)u.c), odd = blank || is_one_of(u.c, "\"'<>,?#");
        if (u.c == '@')
            return find_last_at(a->s, i, a->level, &a->cut);
        if ((strict && odd) || ends_address(a, i, u))
            return 0;
        size_t limit = i + (blank ? MAX_BEHIND_BLANK : MAX_ODD);
        if (odd && limit < max)
            max = limit;
        i += u.n;
    }
    a->cut = a->cut || max == a->s.n;
    return 0;
}

/* Returns the end of the password; 0: none. */
static size_t find_password_end(struct address *a)
{
    size_t i = a->password;
    bool ends = false;
    struct unit u = {0};
    while (i < a->s.n) {
        u = read_unit(a->s, i, a->level);
        ends = ends_address(a, i, u);
        if (ends || isspace((unsigned char)u.c) || is_one_of(u.c, "/?#@\"'<>,"))
            break;
        i += u.n;
    }
    a->cut = i >= a->s.n;
    if (a->cut)
        return 0;
    struct str first = {a->s.p + a->password, i - a->password};
    bool quote = redact_is_quote(u.c) && !ends, port = redact_is_port(first) || (first.n == 0 && !quote);
    if (u.c == '@')
        return first.n > 0 ? find_last_at(a->s, i, a->level, &a->cut) : 0;
    if (port && (a->web || a->odd_user || u.c != '/'))
        return 0;
    return find_at_sign(a, i, port);
}

/* Returns the end of a user that looks random, as in `https://TOKEN@host` and `https://TOKEN:x@host`; 0:
 * none. *ret_alone: an @ follows the user, so there is no password. */
static size_t find_token_end(const struct address *a, bool *ret_alone)
{
    size_t end = a->user;
    while (end < a->s.n && redact_is_name_byte(a->s.p[end]))
        end++;
    struct str token = {a->s.p + a->user, end - a->user};
    struct unit next = {0};
    if (end < a->s.n)
        next = read_unit(a->s, end, a->level);
    bool random = redact_looks_random(token) || redact_is_secret(REDACT_MAYBE, token);
    *ret_alone = next.c == '@';
    return random && (next.c == '@' || next.c == ':') ? end : 0;
}

void redact_url_read(struct redact_search *search, size_t at)
{
    struct address a = {.s = search->in};
    if (a.s.p[at] == '%')
        for (a.level = 1; a.level < MAX_LEVELS && a.s.n - at > 2 * (size_t)a.level &&
                          memcmp(a.s.p + at + 2 * (size_t)a.level - 1, "25", 2) == 0;)
            a.level++;
    size_t n = mark_length(a.s, at, a.level);
    a.user = at + n;
    if (n == 0 || !read_scheme(a.s, at, &a.web))
        return;
    bool alone = false, has_colon = read_user(&a);
    size_t token = find_token_end(&a, &alone), end = has_colon ? find_password_end(&a) : 0;
    size_t begin = token > 0 ? a.user : a.password;
    if (end == 0 && alone)
        end = token;
    search->undecided = search->undecided || a.cut;
    if (end <= begin || !redact_is_secret(REDACT_SECRET, (struct str){a.s.p + begin, end - begin}))
        return;
    search->ahead.begin = begin;
    search->ahead.end = end;
    search->ahead.rule = REDACT_URL;
}

/* ---- other addresses ----------------------------------------------------------------------------------- */

/* Returns whether the quote at `at` may begin or end a string: it is not inside of a word. */
static bool delimits_string(struct str s, size_t at)
{
    return redact_is_quote(s.p[at]) &&
           (at == 0 || !redact_is_name_byte(s.p[at - 1]) || redact_ends_string(s, at));
}

/* Returns the length of the password at `at` in `USER:"PASSWORD"@`, with its quotes; 0: none. */
static size_t quoted_length(struct str s, size_t at)
{
    enum { LONGEST = 256, MAX_BACKSLASHES = 8 };
    size_t begin = at; /* of the quote, behind the backslashes of JSON */
    while (begin < s.n && begin - at < MAX_BACKSLASHES && s.p[begin] == '\\')
        begin++;
    if (begin >= s.n || !redact_is_quote(s.p[begin]))
        return 0;
    const char quote[] = {s.p[begin], '\0'};
    size_t end = begin + 1 + redact_length_until(s, begin + 1, quote, LONGEST);
    return s.n - end > 1 && s.p[end] == quote[0] && s.p[end + 1] == '@' ? end + 1 - at : 0;
}

/* Returns the position of the last `@tcp(` or the like from `at` on, before a blank or a quote; 0: none.
 * Called with rising `at`. */
static size_t find_dsn(struct redact_search *search, size_t at)
{
    static const char *const networks[] = {"@tcp(", "@tcp6(", "@unix(", "@udp("};
    struct str s = search->in;
    if (search->dsn_end < at) {
        search->dsn_end = at;
        search->dsn_at = 0;
    }
    size_t end = search->dsn_end;
    for (; end < s.n && !isspace((unsigned char)s.p[end]) && !delimits_string(s, end); end++)
        for (size_t i = 0; s.p[end] == '@' && i < sizeof networks / sizeof *networks; i++)
            if (s.n - end > strlen(networks[i]) && memcmp(s.p + end, networks[i], strlen(networks[i])) == 0)
                search->dsn_at = end;
    search->dsn_end = end;
    return search->dsn_at > at ? search->dsn_at : 0;
}

size_t redact_url_password(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    if (at < 2 || s.p[at - 1] != ':' || !redact_is_name_byte(s.p[at - 2]))
        return 0;
    size_t quoted = quoted_length(s, at);
    if (quoted > 0)
        return quoted;
    if (search->password_end < at)
        search->password_end = at;
    size_t end = search->password_end, dsn = find_dsn(search, at);
    while (end < s.n && !isspace((unsigned char)s.p[end]) && !strchr("/@\"'", s.p[end]))
        end++;
    search->password_end = end;
    search->undecided = search->undecided || search->dsn_end == s.n || (dsn == 0 && end == s.n);
    if (dsn == 0 && (end >= s.n || s.p[end] != '@' || end == at))
        return 0;
    size_t last = dsn > 0 ? dsn : find_last_at(s, end, 0, &search->undecided);
    struct str found = {s.p + at, last - at};
    return redact_is_secret(REDACT_SECRET, found) ? found.n : 0;
}

/* Returns whether a part of a path is a secret, given the part before it. Outside of requests a word may be a
 * file name. */
static bool is_secret_part(const struct redact_search *search, struct str name, struct str part)
{
    bool is_plural = name.n > 0 && name.p[name.n - 1] == 's';
    struct str singular = {name.p, name.n - is_plural};
    if (name.n == 0 || redact_classify_name(singular) != REDACT_SECRET || redact_is_ordinary_part(part))
        return false;
    return redact_looks_random(part) || redact_is_secret(REDACT_MAYBE, part) ||
           (search->request && !is_plural && redact_is_secret(REDACT_SECRET, part));
}

/* Returns the length of the secret at `at` up to one of `stops`, divided if it goes on behind the part of the
 * line. */
static size_t divided_length(struct redact_search *search, size_t at, const char *stops)
{
    return redact_rest_divide(search, at, redact_length_until(search->in, at, stops, search->in.n - at),
                              (struct redact_rest){.kind = REDACT_REST_BYTE, .end = stops});
}

size_t redact_url_part(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    if (!search->request || at == 0 || at >= s.n || !is_one_of(s.p[at - 1], "/?&"))
        return 0;
    bool is_host = at > 2 && memcmp(s.p + at - 3, "://", 3) == 0;
    const char *stops = s.p[at - 1] == '/' ? "/=&;?# \t" : "=&;# \t";
    struct str part = {s.p + at, redact_length_until(s, at, stops, REDACT_RANDOM_MAX)};
    return !is_host && redact_is_random_part(part) ? divided_length(search, at, stops) : 0;
}

size_t redact_url_path(struct redact_search *search, size_t at)
{
    static const char *const hooks[] = {"hooks.slack.com/services/", "hooks.slack.com/workflows/",
                                        "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
                                        "api.telegram.org/",         "office.com/webhookb2/"};
    struct str s = search->in;
    if (at < 2 || at >= s.n || s.p[at - 1] != '/')
        return 0;
    if (redact_find_before(s, at, hooks, sizeof hooks / sizeof *hooks)) {
        const char *stops = " \t\"'<>?#&,;)]}\\";
        struct str all = {s.p + at, redact_length_until(s, at, stops, s.n - at)};
        return redact_is_secret(REDACT_SECRET, all) ? divided_length(search, at, stops) : 0;
    }
    size_t end = at - 1, begin;
    while (end > 0 && s.p[end - 1] == '\\') /* JSON's slash */
        end--;
    for (begin = end; begin > 0 && redact_is_name_byte(s.p[begin - 1]);)
        begin--;
    if (begin == end || begin == 0 || s.p[begin - 1] != '/')
        return 0;
    /* In a request a part of the path ends at a slash or with the path. */
    const char *stops = search->request ? "/ \t?#" : "/ \t\"'<>?#&,;)]}\\";
    struct str part = {s.p + at, redact_length_until(s, at, stops, REDACT_RANDOM_MAX)};
    if (!is_secret_part(search, (struct str){s.p + begin, end - begin}, part))
        return 0;
    return divided_length(search, at, stops);
}
