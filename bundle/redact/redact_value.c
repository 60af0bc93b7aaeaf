/*
 * The value of a name: whether to redact it, and its length. A value is redacted because of its name, the
 * name beside it in a pair (`{"name": "DB_PASSWORD", "value": "x"}`), or as the argument of an option.
 *
 * The first 256 bytes of the value decide. The true end is found only if the value will be redacted.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_escape.h"
#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* ---- the end of a value -------------------------------------------------------------------------------- */

/* Returns the length of a value up to three quotes. */
static size_t triple_length(struct str s, size_t at, char quote, size_t max)
{
    const char end[] = {quote, quote, quote};
    size_t n = s.n - at < max ? s.n - at : max;
    const char *close = memmem(s.p + at, n, end, sizeof end);
    return close ? (size_t)(close - s.p) - at : n;
}

/* Returns the length of a quoted value up to the closing quote, or up to the end of an enclosing string; at
 * most `max` bytes. */
static size_t quoted_length(struct str s, size_t at, const struct redact_prefix *prefix, size_t max)
{
    size_t backslashes = 0, n = 0; /* backslashes before this byte */
    if (prefix->triple)
        return triple_length(s, at, prefix->quote, max);
    for (; at + n < s.n && n < max; n++) {
        size_t preceding = backslashes, nesting = prefix->escapes;
        backslashes = s.p[at + n] == '\\' ? backslashes + 1 : 0;
        if (s.p[at + n] != prefix->quote)
            continue;
        bool doubled = prefix->escapes == 0 && n > 0 && preceding % 2 == 0 && s.n - at - n > 2 &&
                       s.p[at + n + 1] == prefix->quote && redact_is_name_byte(s.p[at + n + 2]);
        if (doubled) { /* SQL's 'a''b' */
            n++;
            continue;
        }
        for (; nesting > 0 && preceding >= nesting && preceding % 2; nesting /= 2)
            preceding /= 2;
        if (nesting > 0 || preceding % 2 == 0)
            return n - (prefix->escapes < n ? prefix->escapes : n);
    }
    return n;
}

/* Returns whether the byte after a type of Go of that length begins a list or an object. A round bracket
 * after a name begins the arguments of a call. */
static bool begins_list(char c, size_t type_length)
{
    return c == '{' || c == '[' || (c == '(' && type_length == 0);
}

size_t redact_type_length(struct str s, size_t at, size_t max)
{
    size_t n = 0;
    while (at + n < s.n && n < max &&
           (redact_is_name_byte(s.p[at + n]) || s.p[at + n] == '*' || s.p[at + n] == '&'))
        n++;
    return n;
}

/* Returns the length from `at`, inside of a string, up to its closing quote, and of this quote. `escapes`:
 * the backslashes before its opening quote. */
static size_t string_rest_length(struct str s, size_t at, char quote, size_t escapes, size_t max)
{
    const struct redact_prefix prefix = {.quote = quote, .escapes = escapes};
    size_t n = quoted_length(s, at, &prefix, max);
    while (n < max && at + n < s.n && s.p[at + n] == '\\')
        n++;
    return n < max && at + n < s.n && s.p[at + n] == quote ? n + 1 : n;
}

/* Returns the length of the string whose quote is at `at`, with both quotes. If it may go on behind `s`,
 * stores it as open. */
static size_t string_length(struct str s, size_t at, size_t escapes, size_t max,
                            struct redact_nesting *nesting)
{
    size_t n = 1 + string_rest_length(s, at + 1, s.p[at], escapes, max - 1);
    nesting->quote = '\0';
    if (at + n >= s.n) {
        nesting->quote = s.p[at];
        nesting->escapes = escapes;
    }
    return n;
}

/* Returns the length of the rest of an open string at `at`. */
static size_t open_string_length(struct str s, size_t at, struct redact_nesting *nesting, size_t max)
{
    if (!nesting->quote)
        return 0;
    size_t n = string_rest_length(s, at, nesting->quote, nesting->escapes, max);
    if (at + n < s.n)
        nesting->quote = '\0';
    return n;
}

size_t redact_brackets_length(struct str s, size_t at, struct redact_nesting *nesting, size_t max)
{
    const char *opening = nesting->round ? "(" : "[{", *closing = nesting->round ? ")" : "]}";
    size_t n = open_string_length(s, at, nesting, max), escapes = 0;
    char before = ','; /* the last byte that is no blank and no backslash */
    if (at + n > 0)
        before = s.p[at + n - 1];
    while (nesting->depth > 0 && at + n < s.n && n < max) {
        char c = s.p[at + n];
        if (redact_is_quote(c) && strchr("[{(,:=", before)) {
            n += string_length(s, at + n, escapes, max - n, nesting);
            c = '"';
        } else {
            nesting->depth += c != '\0' && strchr(opening, c);
            nesting->depth -= c != '\0' && strchr(closing, c);
            n++;
        }
        escapes = c == '\\' ? escapes + 1 : 0;
        if (!redact_is_blank(c) && c != '\\' && c != '\0')
            before = c;
    }
    return n;
}

/* Returns the length of a list or an object up to its closing bracket, with Go's type in front,
 * `[]string{...}`, or of a tuple of Python. 0: no bracket begins here. */
static size_t bracket_length(struct str s, size_t at, size_t max, struct redact_nesting *nesting)
{
    enum { MAX_GO_TYPE = 64 };
    size_t n = nesting->depth > 0 ? redact_brackets_length(s, at, nesting, max) : 0;
    for (;;) {
        size_t type = redact_type_length(s, at + n, MAX_GO_TYPE);
        if (n + type >= max || at + n + type >= s.n || !begins_list(s.p[at + n + type], type))
            return n;
        n += type + 1;
        *nesting = (struct redact_nesting){.round = s.p[at + n - 1] == '(', .depth = 1};
        n += redact_brackets_length(s, at + n, nesting, max - n);
    }
}

/* Returns the length of a value of HTML or of a request up to the long quote that closes it, or up to a tag.
 */
static size_t long_quoted_length(struct str s, size_t at, const char *long_quote, size_t max)
{
    long_quote = redact_prefix_closing(long_quote);
    size_t n = 0, length = strlen(long_quote);
    const char *ends = long_quote[0] == '%'    ? "< \t&\"'"
                       : long_quote[0] == '&'  ? "<"
                       : long_quote[0] == '\\' ? "\""
                                               : "";
    while (at + n < s.n && n < max && (s.p[at + n] == '\0' || !strchr(ends, s.p[at + n])) &&
           (s.p[at + n] != long_quote[0] || s.n - at - n < length ||
            strncasecmp(s.p + at + n, long_quote, length) != 0))
        n++;
    return n;
}

/* Returns whether a parameter, or the URL around it, ends at `at`. In a request only `&`, `#` and a blank end
 * a parameter; `;`, `/` and `?` also end a parameter in the path. In another text, the end of the string or
 * of the tag around the URL ends the parameter too. */
static bool ends_parameter(struct str s, size_t at, const struct redact_prefix *prefix)
{
    enum { MAX_NESTED = 8 };
    static const char escaped[] = "\\u0026"; /* Go's JSON of `&` */
    char c = s.p[at];
    size_t begin = at;
    if (prefix->request)
        return c != '\0' && strchr(prefix->in_path ? " \t&#;/?" : " \t&#", c);
    if (c != '\0' && strchr(" \t\r\n&<>", c))
        return true;
    while (at < s.n && s.p[at] == '\\' && at - begin < MAX_NESTED)
        at++;
    if (c == '\\' && s.n - at > 4 && memcmp(s.p + at - 1, escaped, sizeof escaped - 1) == 0)
        return true;
    return at < s.n && redact_is_quote(s.p[at]) && redact_ends_string(s, at);
}

/* Returns whether a percent-encoded byte that ends an encoded value is at `at`. `whole`: only an ampersand or
 * the end of the line ends the value. */
static bool ends_encoded(struct str s, size_t at, const struct redact_prefix *prefix, bool whole)
{
    static const char *const ends[] = {"26", "0a", "0d", "20", "22", "23", "27", "3b", "7d", "5d", "2c"};
    enum { WHOLE = 3, IN_OBJECT = 3 };
    size_t n = sizeof ends / sizeof *ends;
    n = whole ? WHOLE : prefix->name_quoted ? n : n - IN_OBJECT;
    for (size_t i = 0; s.p[at] == '%' && s.n - at > 2 && i < n; i++)
        if (strncasecmp(s.p + at + 1, ends[i], 2) == 0)
            return true;
    return false;
}

static bool begins_encoded_bracket(struct str s, size_t at)
{
    char c = '\0';
    if (s.n - at > 2 && s.p[at] == '%')
        c = (char)redact_read_hex(s, at + 1, 2);
    return begins_list(c, 0);
}

/* Returns the length of the value of a URL's parameter. A comma or a semicolon behind a URL in a text is no
 * part of the value. */
static size_t parameter_length(struct str s, size_t at, const struct redact_prefix *prefix, size_t max)
{
    size_t n = 0, quote = at;
    while (quote < s.n && s.p[quote] == '\\')
        quote++;
    if (!prefix->request && quote < s.n && redact_is_quote(s.p[quote])) /* the value begins behind it */
        return 0;
    bool whole = prefix->header || begins_encoded_bracket(s, at);
    while (at + n < s.n && n < max && !ends_parameter(s, at + n, prefix) &&
           (!prefix->encoded || !ends_encoded(s, at + n, prefix, whole)))
        n++;
    while (!prefix->request && n > 0 && (s.p[at + n - 1] == ',' || s.p[at + n - 1] == ';'))
        n--;
    return n;
}

/* Returns whether an unusual quote (backtick, typographic, \x22) begins at `at`: the value then starts after
 * it. */
static bool begins_quote(struct str s, size_t at)
{
    static const size_t lengths[] = {1, 3, 4, 6}; /* of a backtick, of UTF-8, of \x22, of \u0022 */
    static const char firsts[] = {'`', '\\', '\xe2'};
    if (at >= s.n || !memchr(firsts, s.p[at], sizeof firsts))
        return false;
    if (s.p[at] == '`')
        return true;
    for (size_t i = 1; i < sizeof lengths / sizeof *lengths; i++) {
        const char *long_quote = s.n - at >= lengths[i] ? redact_prefix_long_quote(s, at + lengths[i]) : NULL;
        if (long_quote && strlen(long_quote) == lengths[i])
            return true;
    }
    return false;
}

/* Returns the length of a word of a command, which may contain strings: `x'y z'`, Python's `b'x'`. */
static size_t word_length(struct str s, size_t at, size_t max, struct redact_nesting *nesting)
{
    size_t n = open_string_length(s, at, nesting, max);
    for (;;) {
        n += redact_length_until(s, at + n, " \t&;,\"'", max - n);
        if (n == 0 || n >= max || at + n >= s.n || !redact_is_quote(s.p[at + n]) ||
            redact_ends_string(s, at + n))
            return n;
        n += string_length(s, at + n, 0, max - n, nesting);
    }
}

/* Returns whether the value is a parameter of a URL, which may contain commas, semicolons and quotes. */
static bool is_parameter(const struct redact_prefix *prefix)
{
    bool in_url =
        prefix->encoded || prefix->colon || (prefix->parameter && prefix->sign == '=' && !prefix->long_quote);
    return in_url && (prefix->request || !prefix->quote);
}

/* Returns the length of a value without quotes: brackets, a word, or both. *nesting: how it begins at `at`,
 * and how it goes on behind `s`. */
static size_t nested_length(struct str s, size_t at, const struct redact_prefix *prefix, size_t max,
                            struct redact_nesting *nesting)
{
    bool may_nest =
        prefix->sign == '=' || (prefix->sign == ':' && (prefix->after_separator || prefix->name_quoted));
    size_t n = may_nest && !nesting->word ? bracket_length(s, at, max, nesting) : 0;
    if (n > 0 && at + n < s.n && s.p[at + n] != '\0' && strchr(")]}>`:", s.p[at + n]))
        return n;
    at += n; /* brackets may begin a word: `(a)b` */
    nesting->word = at < s.n;
    if (prefix->sign != ':')
        return n + word_length(s, at, max - n, nesting);
    if (prefix->begins_word)
        return n + redact_length_until(s, at, " \t&;,\"'}])\\<|", max - n);
    if (!prefix->name_quoted)
        return prefix->after_separator ? n + redact_length_until(s, at, " \t&;,\"'}])", max - n) : 0;
    return n + redact_length_until(s, at, " \t&;,\"'}])\\", max - n);
}

/* Returns what ends the value; REDACT_REST_NONE: there is none, because it begins behind a quote. */
static enum redact_rest_kind get_end(struct str s, size_t at, const struct redact_prefix *prefix)
{
    if (prefix->long_quote)
        return REDACT_REST_LONG_QUOTE;
    if (is_parameter(prefix) && (prefix->request || !begins_quote(s, at)))
        return REDACT_REST_PARAMETER;
    if (prefix->quote &&
        (!prefix->quote_opens_string || prefix->header || (prefix->in_list && prefix->sign == '=')))
        return REDACT_REST_QUOTE;
    if (!prefix->header && begins_quote(s, at))
        return REDACT_REST_NONE;
    return prefix->header ? REDACT_REST_BYTE : REDACT_REST_WORD;
}

/* Returns the bytes that end a value up to the end of the line or, in HTML, of the text. */
static const char *get_header_end(const struct redact_prefix *prefix)
{
    return prefix->entity ? "<" : "";
}

static size_t value_length(struct str s, size_t at, const struct redact_prefix *prefix, size_t max)
{
    struct redact_nesting nesting = {0};
    switch (get_end(s, at, prefix)) {
    case REDACT_REST_LONG_QUOTE:
        return long_quoted_length(s, at, prefix->long_quote, max);
    case REDACT_REST_PARAMETER:
        return parameter_length(s, at, prefix, max);
    case REDACT_REST_QUOTE:
        return quoted_length(s, at, prefix, max);
    case REDACT_REST_BYTE:
        return redact_length_until(s, at, get_header_end(prefix), max);
    case REDACT_REST_WORD:
        return nested_length(s, at, prefix, max, &nesting);
    default:
        return 0;
    }
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* Returns how secret the name `v` in `"name": v` makes the `value` of the pair. */
static enum redact_secrecy classify_pair_name(struct str v)
{
    size_t n = 0;
    while (n < v.n && (redact_is_name_byte(v.p[n])))
        n++;
    return redact_classify_name((struct str){v.p, n});
}

void redact_end_object(struct redact_search *search, size_t at)
{
    struct str between = {search->in.p + search->pair_at, at - search->pair_at};
    for (size_t i = 0; search->context.pair != REDACT_HARMLESS && i < between.n; i++)
        if (between.p[i] != '\0' && strchr("{}<>", between.p[i]))
            search->context.pair = REDACT_HARMLESS;
    search->pair_at = at;
}

/* Returns how secret an earlier `name` in the same object or tag makes this value. */
static enum redact_secrecy classify_by_text_before(struct redact_search *search, size_t at)
{
    redact_end_object(search, at);
    enum redact_secrecy secrecy = search->context.pair;
    search->context.pair = REDACT_HARMLESS;
    return secrecy;
}

/* Returns where the value after `at` begins, in an object such as `{"value": "x", "secret": true, "name":
 * "DB_PASSWORD"}` or in the attributes of a tag; `at` is the end of the value before. 0: the object or the
 * tag ends first. */
static size_t find_next_value(struct str s, size_t at, const struct redact_prefix *prefix)
{
    enum { MAX_BETWEEN = 32, MAX_BLANKS = 8 };
    size_t begin = at;
    while (at < s.n && at - begin < MAX_BETWEEN && s.p[at] != prefix->sign && s.p[at] != '\0' &&
           !strchr("{}[]<>", s.p[at]))
        at++;
    if (at >= s.n || s.p[at] != prefix->sign)
        return 0;
    begin = ++at;
    while (at < s.n && at - begin < MAX_BLANKS &&
           (redact_is_blank(s.p[at]) || redact_is_quote(s.p[at]) || s.p[at] == '\\'))
        at++;
    return at < s.n ? at : 0;
}

/* Returns how secret a later `name` in the same object or tag makes this value. */
static enum redact_secrecy classify_by_text_after(struct redact_search *search, size_t at,
                                                  const struct redact_prefix *prefix)
{
    enum { MAX_PAIRS = 6 };
    struct str s = search->in;
    bool is_go =
        prefix->sign == ':' && prefix->after_separator && !prefix->space_after_sign; /* {Value:x Name:y} */
    if (!prefix->name_quoted && !is_go && !(prefix->sign == '=' && prefix->quote))
        return REDACT_HARMLESS;
    enum redact_secrecy secrecy = REDACT_HARMLESS;
    struct redact_prefix next = *prefix;
    for (int i = 0; i < MAX_PAIRS && secrecy != REDACT_SECRET; i++) {
        size_t end = at + value_length(s, at, &next, REDACT_RANDOM_MAX);
        at = find_next_value(s, end, prefix);
        if (at == 0 || !redact_prefix_read(search, at, &next))
            break;
        struct str name = {s.p + at, redact_length_until(s, at, "\"'\\ ,}", REDACT_NAME_MAX)};
        enum redact_secrecy more =
            redact_get_pair_role(next.name) == REDACT_PAIR_NAME ? classify_pair_name(name) : REDACT_HARMLESS;
        secrecy = more > secrecy ? more : secrecy;
    }
    return secrecy;
}

/* Stores how secret a `name` makes its `value`. Another word of the same object (`type`, `id`) can only make
 * it more secret; the same word begins the next object. */
static void store_secrecy(struct redact_search *search, size_t at, struct str word,
                          enum redact_secrecy secrecy)
{
    struct redact_context *context = &search->context;
    uint32_t number = redact_pair_number(word);
    redact_end_object(search, at);
    context->lines = 0;
    if (secrecy < context->pair && number != context->pair_word)
        return;
    context->pair = secrecy;
    context->pair_word = number;
    context->pair_column = context->column;
}

/* For a `name`, stores how secret it makes its `value`. For a `value`, returns how secret its name
 * makes it. */
static enum redact_secrecy classify_pair(struct redact_search *search, size_t at,
                                         const struct redact_prefix *prefix, struct str first)
{
    enum redact_pair_role role = redact_get_pair_role(prefix->name);
    if (role == REDACT_PAIR_NAME)
        store_secrecy(search, at, prefix->name, classify_pair_name(first));
    if (role != REDACT_PAIR_VALUE)
        return REDACT_HARMLESS;
    enum redact_secrecy secrecy = classify_by_text_before(search, at);
    if (secrecy == REDACT_HARMLESS)
        secrecy = classify_by_text_after(search, at, prefix);
    bool is_attribute = prefix->sign == '=' && prefix->quote;
    return secrecy == REDACT_HARMLESS && is_attribute ? redact_markup_classify_value(search->in, at)
                                                      : secrecy;
}

/* ---- the decision -------------------------------------------------------------------------------------- */

/* JSON's values for "not set" are not secrets. */
static bool is_not_set(const struct redact_prefix *prefix, struct str v)
{
    return prefix->name_quoted && !prefix->quote &&
           (str_is(v, "null") || str_is(v, "true") || str_is(v, "false"));
}

/* Returns whether an opening bracket or a backslash is the last byte of the line: the value is on the next
 * lines. */
static bool is_on_next_line(struct str s, size_t at)
{
    if (at + 1 == s.n && s.p[at] == '\\')
        return true;
    size_t type = redact_type_length(s, at, REDACT_RANDOM_MAX);
    return at + type + 1 == s.n && begins_list(s.p[at + type], type);
}

/* Returns whether to redact a value because of its name or the name beside it. */
static bool is_secret_value(enum redact_secrecy secrecy, const struct redact_prefix *prefix, struct str v)
{
    struct redact_nesting nesting = {0};
    size_t bracket = redact_type_length(v, 0, v.n);
    bool quoted = prefix->long_quote || (prefix->quote && !prefix->quote_opens_string);
    if (secrecy == REDACT_PLURAL && !quoted && bracket < v.n && begins_list(v.p[bracket], bracket)) {
        if (v.p[bracket] == '(') /* as in `cookies: (optional) a Dict of ...` */
            v.n = bracket_length(v, 0, v.n, &nesting);
        return redact_list_has_text(v, bracket);
    }
    return quoted ? redact_is_secret_string(secrecy, v) : redact_is_secret(secrecy, v);
}

/* Returns whether the last letter of the name is an s. */
static bool is_plural(struct str name)
{
    return name.n > 0 && (name.p[name.n - 1] | 0x20) == 's';
}

/* Returns the length of the further elements of a list without blanks, such as `API_KEYS=a,b`. A word with a
 * sign is no element. */
static size_t elements_length(struct str s, size_t at, const struct redact_prefix *prefix)
{
    size_t n = 0;
    while (is_plural(prefix->name) && !prefix->quote && !prefix->long_quote && at + n < s.n &&
           s.p[at + n] == ',') {
        size_t element = redact_length_until(s, at + n + 1, " \t&;,\"'=:{}[]()<>\\", s.n),
               end = at + n + 1 + element;
        while (end < s.n && s.p[end] == '=') /* of base64 */
            end++;
        if (element == 0 || (end < s.n && s.p[end] && !strchr(" \t&;,)]}", s.p[end])))
            break;
        n = end - at;
    }
    return n;
}

size_t redact_value_rest_length(struct redact_rest *rest, struct str s, size_t at)
{
    const struct redact_prefix *prefix = &rest->prefix;
    size_t n = 0;
    if (rest->kind == REDACT_REST_LONG_QUOTE)
        return long_quoted_length(s, at, prefix->long_quote, s.n);
    if (rest->kind == REDACT_REST_QUOTE)
        return quoted_length(s, at, prefix, s.n);
    if (rest->kind == REDACT_REST_PARAMETER)
        n = parameter_length(s, at, prefix, s.n);
    else
        n = nested_length(s, at, prefix, s.n, &rest->nesting);
    return n + elements_length(s, at + n, prefix);
}

/* Returns the length of the value, with the further elements of a list if `elements`. Divides it if it goes
 * on behind the part of the line. */
static size_t whole_length(struct redact_search *search, size_t at, const struct redact_prefix *prefix,
                           bool elements)
{
    struct str s = search->in;
    size_t n = value_length(s, at, prefix, s.n);
    if (elements)
        n += elements_length(s, at + n, prefix);
    if (!search->more || at + n <= search->division)
        return n;
    struct redact_rest rest = {
        .kind = get_end(s, at, prefix), .end = get_header_end(prefix), .prefix = *prefix};
    rest.prefix.name = str_of(elements && is_plural(prefix->name) ? "s" : "");
    rest.prefix.inner = str_of("");
    rest.prefix.header = prefix->header || begins_encoded_bracket(s, at);
    if (rest.kind == REDACT_REST_WORD)
        nested_length((struct str){s.p, search->division}, at, prefix, s.n, &rest.nesting);
    return redact_rest_divide(search, at, n, rest);
}

/* Finds the password in USER:PASSWORD and stores it in search->ahead, because the password begins after `at`.
 */
static void read_user_password(struct redact_search *search, size_t at, const struct redact_prefix *prefix)
{
    struct str s = search->in;
    struct str v = {s.p + at, value_length(s, at, prefix, REDACT_RANDOM_MAX)};
    size_t password = redact_user_password(v);
    if (password == 0)
        return;
    search->ahead.begin = at + password;
    search->ahead.end = at + whole_length(search, at, prefix, false);
    search->ahead.rule = REDACT_OPTION;
}

/* Returns whether the value of a request's parameter, or the first of several values in it, is a secret. */
static bool is_secret_parameter(enum redact_secrecy secrecy, const struct redact_prefix *prefix,
                                struct str value)
{
    struct str first = {value.p, redact_length_until(value, 0, ";,\"'", value.n)};
    return is_secret_value(secrecy, prefix, first) ||
           redact_is_secret_parameter(prefix->name, value, prefix->request) ||
           redact_is_secret_parameter(prefix->name, first, prefix->request);
}

size_t redact_value_length(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    struct redact_prefix prefix;
    if (at < 2 || !redact_prefix_read(search, at, &prefix))
        return 0;
    enum redact_secrecy secrecy = redact_classify_name(prefix.name),
                        inner = redact_classify_name(prefix.inner);
    secrecy = inner > secrecy ? inner : secrecy;
    bool argument = prefix.sign == ' ' || prefix.sign == ',';
    bool is_p = argument && str_is(prefix.name, "-p");
    enum redact_pair_role role =
        secrecy == REDACT_SECRET ? REDACT_NO_PAIR : redact_get_pair_role(prefix.name);
    if (redact_is_user_option(prefix.name))
        read_user_password(search, at, &prefix);
    if (secrecy == REDACT_HARMLESS && !prefix.parameter && !is_p && role == REDACT_NO_PAIR)
        return 0;
    struct str first = {s.p + at, value_length(s, at, &prefix, REDACT_RANDOM_MAX)};
    bool is_secret = is_secret_value(secrecy, &prefix, first) ||
                     (prefix.parameter && is_secret_parameter(secrecy, &prefix, first)) ||
                     (is_p && redact_is_password_of_p(first));
    /* A method of an API, such as `/token:verify`, or a name of a state. */
    if ((prefix.colon || prefix.begins_word) && redact_is_ordinary_part(first))
        return 0;
    if (!is_secret && role != REDACT_NO_PAIR && first.n > 0)
        is_secret = is_secret_value(classify_pair(search, at, &prefix, first), &prefix, first);
    if (!is_secret || is_not_set(&prefix, first) || is_on_next_line(s, at))
        return 0;
    return whole_length(search, at, &prefix, true);
}
