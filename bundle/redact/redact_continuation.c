/*
 * Values that begin or continue on the line after their name: a block, a list or a scalar of YAML; the
 * argument of an option, in a list with one element on each line, or after a backslash at the end of a line;
 * the text of an XML element; CDATA; a list or an object of JSON; a text in three quotes. The line before
 * shows which form follows, so each line is read twice.
 */
#include <string.h>

#include "bundle/redact/redact_lines.h"
#include "base/banned.h"

size_t redact_text_column(struct str line)
{
    size_t n = 0;
    while (n < line.n && (redact_is_blank(line.p[n]) ||
                          (line.p[n] == '-' && line.n - n > 1 && redact_is_blank(line.p[n + 1]))))
        n++;
    return n;
}

/* Returns the line without blanks and the carriage return at its end. */
static struct str trim_end(struct str line)
{
    while (line.n > 0 && (redact_is_blank(line.p[line.n - 1]) || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

/* Returns the element of a list in this line, without its quotes and the comma after them. */
static struct str get_element(struct str line)
{
    size_t n = redact_text_column(line);
    struct str s = trim_end((struct str){line.p + n, line.n - n});
    if (s.n > 0 && s.p[s.n - 1] == ',')
        s = trim_end((struct str){s.p, s.n - 1});
    if (s.n > 1 && redact_is_quote(s.p[0]) && s.p[s.n - 1] == s.p[0])
        s = (struct str){s.p + 1, s.n - 2};
    return s;
}

static struct str get_name(struct str s)
{
    size_t n = 0;
    while (n < s.n && redact_is_name_byte(s.p[n]))
        n++;
    return (struct str){s.p, n};
}

/* ---- the line before ----------------------------------------------------------------------------------- */

/* Returns the position after the tags and anchors of a YAML value, and the blanks around them. */
static size_t skip_properties(struct str s, size_t at)
{
    for (;;) {
        while (at < s.n && redact_is_blank(s.p[at]))
            at++;
        if (at >= s.n || (s.p[at] != '!' && s.p[at] != '&'))
            return at;
        at += redact_length_until(s, at, " \t", s.n);
    }
}

/* Returns whether nothing but blanks and a comment follows. */
static bool is_yaml_end(struct str s, size_t at)
{
    size_t begin = at;
    while (at < s.n && redact_is_blank(s.p[at]))
        at++;
    return at >= s.n || (s.p[at] == '#' && at > begin);
}

/* Returns whether the line is `NAME: |` or `NAME:` alone, with a name that means a secret or several secrets.
 */
static bool begins_yaml(struct str line, enum redact_secrecy pair, struct redact_continuation *continuation)
{
    size_t n = redact_text_column(line), max = 2; /* indicators behind `|` */
    struct str s = trim_end((struct str){line.p + n, line.n - n});
    if (s.n > 1 && redact_is_quote(s.p[0]))
        s = (struct str){s.p + 1, s.n - 1};
    struct str name = get_name(s);
    size_t at = name.n;
    if (at < s.n && redact_is_quote(s.p[at]))
        at++;
    if (name.n == 0 || at >= s.n || s.p[at++] != ':')
        return false;
    bool block = false;
    enum redact_secrecy secrecy = redact_classify_name(name);
    if (redact_get_pair_role(name) == REDACT_PAIR_VALUE && pair > secrecy)
        secrecy = pair;
    if (!is_yaml_end(s, at)) {
        at = skip_properties(s, at);
        block = at < s.n && (s.p[at] == '|' || s.p[at] == '>');
        at += block;
        for (; block && max > 0 && at < s.n && strchr("+-123456789", s.p[at]); max--)
            at++;
    }
    if (!is_yaml_end(s, at))
        return false;
    continuation->indent = n;
    continuation->kind = block ? REDACT_CONTINUES_BLOCK : REDACT_CONTINUES_LIST;
    continuation->strings_only = secrecy != REDACT_SECRET;
    return secrecy >= REDACT_PLURAL;
}

/* Returns whether the line ends in the tag `<NAME>` with a name that means a secret. */
static bool begins_element(struct str line)
{
    enum { MAX_TAG = 256 };
    struct str s = trim_end(line);
    size_t begin = s.n;
    if (s.n == 0 || s.p[s.n - 1] != '>' || (s.n > 1 && s.p[s.n - 2] == '/'))
        return false;
    while (begin > 0 && s.n - begin < MAX_TAG && s.p[begin - 1] != '<')
        begin--;
    if (begin == 0 || s.p[begin - 1] != '<')
        return false;
    return redact_classify_name(get_name((struct str){s.p + begin, s.n - begin})) == REDACT_SECRET;
}

/* Finds the last `text` in the line; NULL: none. */
static const char *find_last(struct str line, const char *text)
{
    size_t n = strlen(text);
    const char *at = line.p + (line.n >= n ? line.n - n + 1 : 0);
    while ((at = memrchr(line.p, text[0], (size_t)(at - line.p))))
        if (memcmp(at, text, n) == 0)
            return at;
    return NULL;
}

/* Returns how secret the name before `at` makes the value at `at`. */
static enum redact_secrecy classify_name_before(struct str line, size_t at)
{
    struct redact_search search = {.in = line};
    struct redact_prefix prefix;
    if (!redact_prefix_read(&search, at, &prefix) || (prefix.sign != '=' && prefix.sign != ':'))
        return REDACT_HARMLESS;
    enum redact_secrecy secrecy = redact_classify_name(prefix.name),
                        inner = redact_classify_name(prefix.inner);
    return inner > secrecy ? inner : secrecy;
}

/* Texts that may have several lines, up to these ends. */
static const char *const text_ends[REDACT_TEXT_FORMS] = {"\"\"\"", "'''", REDACT_CDATA_END};

/* Updates for each form whether such a text of a secret is open at the end of `s`, after the bytes from
 * `from` on. */
static void read_texts(bool opens[REDACT_TEXT_FORMS], struct str s, size_t from)
{
    enum { QUOTES = 2 };
    for (size_t i = 0; i < QUOTES; i++) {
        size_t begin = from > 2 ? from - 2 : 0; /* the first quotes may stand before `from` */
        const char *quote = find_last((struct str){s.p + begin, s.n - begin}, text_ends[i]);
        if (quote)
            opens[i] = classify_name_before(s, (size_t)(quote - s.p) + 3) == REDACT_SECRET;
    }
    size_t before = strlen(REDACT_CDATA) - 1, begin = from > before ? from - before : 0;
    struct str rest = {s.p + begin, s.n - begin};
    const char *data = find_last(rest, REDACT_CDATA), *end = find_last(rest, REDACT_CDATA_END);
    if (data || end)
        opens[QUOTES] =
            data && (!end || end < data) && begins_element((struct str){s.p, (size_t)(data - s.p)});
}

/* Returns whether a text of one of the forms is open. */
static bool begins_open_text(const bool opens[REDACT_TEXT_FORMS], struct redact_continuation *continuation)
{
    continuation->kind = REDACT_CONTINUES_TEXT;
    for (size_t i = 0; i < REDACT_TEXT_FORMS; i++) {
        continuation->end = text_ends[i];
        if (opens[i])
            return true;
    }
    return false;
}

/* Returns whether three quotes or CDATA of a secret begin in this line and do not end in it. */
static bool begins_text(struct str line, struct redact_continuation *continuation)
{
    bool opens[REDACT_TEXT_FORMS] = {false};
    read_texts(opens, line, 0);
    return begins_open_text(opens, continuation);
}

/* Returns whether the line ends in the bracket that opens a secret list or object: `"tokens": [`. */
static bool begins_brackets(struct str line, struct redact_continuation *continuation)
{
    enum { MAX_GO_TYPE = 64 };
    struct str s = trim_end(line);
    if (s.n < 3 || s.p[s.n - 1] == '\0' || !strchr("{[(", s.p[s.n - 1]))
        return false;
    size_t at = s.n - 1;
    bool is_list = s.p[at] != '{';
    bool round = s.p[at] == '(';
    while (!round && at > 0 && s.n - at < MAX_GO_TYPE &&
           (redact_is_name_byte(s.p[at - 1]) || strchr("*&[]", s.p[at - 1])))
        at--;
    enum redact_secrecy secrecy = classify_name_before(s, at);
    continuation->kind = REDACT_CONTINUES_BRACKETS;
    continuation->nesting = (struct redact_nesting){.depth = 1, .round = round};
    continuation->strings_only = secrecy != REDACT_SECRET;
    return secrecy == REDACT_SECRET || (secrecy == REDACT_PLURAL && (is_list || at < s.n - 1));
}

/* Returns the meaning of an option for the next argument. *ret_plural: the option means several secrets. */
static enum redact_option classify_argument(struct str option, bool is_argument, bool *ret_plural)
{
    if (option.n < 2 || option.p[0] != '-' || get_name(option).n != option.n)
        return REDACT_OPTION_NONE;
    enum redact_secrecy secrecy = redact_classify_name(option);
    *ret_plural = secrecy == REDACT_PLURAL;
    if (secrecy >= REDACT_PLURAL)
        return option.n > 2 ? REDACT_OPTION_SECRET : REDACT_OPTION_NONE;
    if (!is_argument)
        return REDACT_OPTION_NONE;
    return str_is(option, "-p")            ? REDACT_OPTION_P
           : redact_is_user_option(option) ? REDACT_OPTION_USER
                                           : REDACT_OPTION_NONE;
}

/* Returns whether the line is an option, as an element of a list, or ends in an option and a backslash. */
static bool begins_argument(struct str line, struct redact_continuation *continuation)
{
    struct str s = trim_end(line), element = get_element(line);
    size_t n = 0;
    while (n < line.n && redact_is_blank(line.p[n]))
        n++;
    continuation->kind = REDACT_CONTINUES_ARGUMENT;
    continuation->word = s.n > 0 && s.p[s.n - 1] == '\\';
    bool is_argument = element.n > 0 && (continuation->word || element.p > line.p + n);
    if (continuation->word) {
        s = trim_end((struct str){s.p, s.n - 1});
        size_t begin = s.n;
        while (begin > 0 && !redact_is_blank(s.p[begin - 1]))
            begin--;
        element = (struct str){s.p + begin, s.n - begin};
    }
    continuation->option = classify_argument(element, is_argument, &continuation->strings_only);
    return continuation->option != REDACT_OPTION_NONE;
}

struct redact_continuation redact_continuation_begin(struct str line, enum redact_secrecy pair)
{
    struct redact_continuation continuation = {0};
    if (begins_argument(line, &continuation) || begins_yaml(line, pair, &continuation) ||
        begins_text(line, &continuation) || begins_brackets(line, &continuation))
        return continuation;
    continuation = (struct redact_continuation){0};
    if (begins_element(line))
        continuation.kind = REDACT_CONTINUES_ELEMENT;
    return continuation;
}

struct redact_continuation redact_continuation_begin_yaml(struct str line, enum redact_secrecy pair)
{
    struct redact_continuation continuation = {0};
    return begins_yaml(line, pair, &continuation) ? continuation : (struct redact_continuation){0};
}

void redact_continuation_add(struct redact_line_end *end, struct str s, size_t from)
{
    read_texts(end->opens_text, s, from);
}

struct redact_continuation redact_continuation_end(const struct redact_line_end *end, struct str line)
{
    struct redact_continuation continuation = {0};
    if (begins_argument(line, &continuation) && continuation.word)
        return continuation;
    if (end->yaml.kind != REDACT_CONTINUES_NONE)
        return end->yaml;
    continuation = (struct redact_continuation){0};
    if (begins_open_text(end->opens_text, &continuation) || begins_brackets(line, &continuation))
        return continuation;
    continuation = (struct redact_continuation){0};
    if (begins_element(line))
        continuation.kind = REDACT_CONTINUES_ELEMENT;
    return continuation;
}

/* ---- the lines of the value ---------------------------------------------------------------------------- */

/* Returns the first word of a line that continues a command, without quotes. */
static struct str get_word(struct str rest)
{
    if (rest.n > 0 && redact_is_quote(rest.p[0])) {
        const char quote[] = {rest.p[0], '\0'};
        return (struct str){rest.p + 1, redact_length_until(rest, 1, quote, rest.n)};
    }
    return (struct str){rest.p, redact_length_until(rest, 0, " \t", rest.n)};
}

static struct str get_argument(const struct redact_continuation *continuation, struct str line,
                               struct str rest)
{
    struct str value = continuation->word ? get_word(rest) : get_element(line);
    size_t password = redact_user_password(value);
    bool is_value = continuation->option == REDACT_OPTION_P ? redact_is_password_of_p(value)
                    : continuation->option == REDACT_OPTION_USER
                        ? password > 0
                        : !redact_is_option(value) && (!continuation->strings_only || redact_is_text(value));
    if (continuation->option == REDACT_OPTION_USER)
        value = (struct str){value.p + password, value.n - password};
    return is_value ? value : (struct str){line.p, 0};
}

/* Returns the element of a YAML list in this line, or the scalar after `password:`. *ret_continues: the
 * line is an element. */
static struct str get_list_value(const struct redact_continuation *continuation, struct str line,
                                 size_t indent, struct str rest, bool *ret_continues)
{
    bool element =
             rest.n > 1 && rest.p[0] == '-' && redact_is_blank(rest.p[1]) && indent >= continuation->indent,
         scalar = continuation->lines == 1 && indent > continuation->indent &&
                  (!continuation->strings_only || redact_is_text(rest)) &&
                  redact_length_until(rest, 0, " \t", rest.n) == rest.n;
    struct str value = get_element(line);
    bool is_object = value.n == 0 || (continuation->strings_only && redact_is_number(value)) ||
                     value.p[value.n - 1] == ':' || memmem(value.p, value.n, ": ", 2) ||
                     strchr("{[<", value.p[0]) || redact_is_option(value);
    *ret_continues = element;
    return (element || scalar) && !is_object ? value : (struct str){line.p, 0};
}

/* Returns the part of this line that is inside of the brackets. */
static struct str get_bracketed_text(struct redact_continuation *continuation, struct str rest)
{
    continuation->nesting.quote = '\0'; /* a string ends with its line */
    size_t n = redact_brackets_length(rest, 0, &continuation->nesting, rest.n), skipped = 0;
    struct str value = get_element((struct str){rest.p, n - (continuation->nesting.depth == 0)});
    while (skipped < value.n && strchr("{}[](), \t\"'", value.p[skipped]))
        skipped++;
    bool is_text =
        !continuation->strings_only || (redact_is_quote(rest.p[0]) && memchr(rest.p, ':', rest.n) == NULL);
    return skipped < value.n && is_text ? value : (struct str){rest.p, 0};
}

/* Returns the part of this line before the end of the text. */
static struct str get_text(const struct redact_continuation *continuation, struct str rest,
                           bool *ret_continues)
{
    const char *end = memmem(rest.p, rest.n, continuation->end, strlen(continuation->end));
    *ret_continues = !end;
    return (struct str){rest.p, end ? (size_t)(end - rest.p) : rest.n};
}

/* Returns the part of this line before the next tag. Changes the kind if CDATA begins. */
static struct str get_element_text(struct redact_continuation *continuation, struct str rest,
                                   bool *ret_continues)
{
    size_t n = strlen(REDACT_CDATA);
    if (rest.n >= n && memcmp(rest.p, REDACT_CDATA, n) == 0) {
        continuation->kind = REDACT_CONTINUES_TEXT;
        continuation->end = REDACT_CDATA_END;
        return get_text(continuation, (struct str){rest.p + n, rest.n - n}, ret_continues);
    }
    struct str value = {rest.p, redact_length_until(rest, 0, "<", rest.n)};
    *ret_continues = value.n == rest.n;
    return value;
}

struct str redact_continuation_value(struct redact_continuation *continuation, struct str line)
{
    enum { MAX_LINES = 500 };
    struct str value = {line.p, 0};
    size_t n = 0;
    while (n < line.n && redact_is_blank(line.p[n]))
        n++;
    struct str rest = trim_end((struct str){line.p + n, line.n - n});
    if (continuation->kind == REDACT_CONTINUES_NONE || rest.n == 0)
        return value;
    bool within_limit = ++continuation->lines < MAX_LINES, more = false;
    if (continuation->kind == REDACT_CONTINUES_ARGUMENT) {
        value = get_argument(continuation, line, rest);
    } else if (continuation->kind == REDACT_CONTINUES_BLOCK) {
        more = n > continuation->indent;
        value = more && within_limit ? rest : value;
    } else if (continuation->kind == REDACT_CONTINUES_LIST) {
        value = get_list_value(continuation, line, n, rest, &more);
    } else if (continuation->kind == REDACT_CONTINUES_BRACKETS) {
        value = get_bracketed_text(continuation, rest);
        more = continuation->nesting.depth > 0;
    } else if (continuation->kind == REDACT_CONTINUES_TEXT) {
        value = get_text(continuation, rest, &more);
    } else {
        value = get_element_text(continuation, rest, &more);
    }
    if (!within_limit || !more)
        *continuation = (struct redact_continuation){0};
    return redact_is_secret(REDACT_SECRET, value) ? value : (struct str){line.p, 0};
}

struct redact_rest redact_continuation_rest(const struct redact_continuation *before,
                                            const struct redact_continuation *after, struct str line,
                                            struct str value)
{
    static const char *const quotes[] = {"\"", "'", "`"};
    struct redact_rest rest = {.kind = REDACT_REST_BYTE, .end = ""}; /* up to the end of the line */
    if (after->kind == REDACT_CONTINUES_TEXT) {
        rest.kind = REDACT_REST_TEXT;
        rest.end = after->end;
    } else if (after->kind == REDACT_CONTINUES_BRACKETS) {
        rest.kind = REDACT_REST_BRACKETS;
        rest.nesting = after->nesting;
    } else if (after->kind == REDACT_CONTINUES_ELEMENT) {
        rest.end = "<";
    } else if (before->kind == REDACT_CONTINUES_ARGUMENT && before->word) {
        rest.end = " \t";
        for (size_t i = 0; value.p > line.p && i < sizeof quotes / sizeof *quotes; i++)
            if (value.p[-1] == quotes[i][0])
                rest.end = quotes[i];
    }
    return rest;
}
