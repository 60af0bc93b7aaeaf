/*
 * Values that begin on the line after their name: a block of YAML (`password: |`), an option in a list with
 * an element a line, an XML element. The form of the line before decides, so each line is read twice.
 */
#include <string.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* The number of bytes before the name or the value of a line: blanks and the dashes of YAML lists. */
static size_t skip_prefix(struct str line)
{
    size_t n = 0;
    while (n < line.n && (redact_is_blank(line.p[n]) ||
                          (line.p[n] == '-' && line.n - n > 1 && redact_is_blank(line.p[n + 1]))))
        n++;
    return n;
}

/* The line without blanks and the carriage return at its end. */
static struct str trim_end(struct str line)
{
    while (line.n > 0 && (redact_is_blank(line.p[line.n - 1]) || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

/* The element of a list in this line, without its quotes and the comma after them. */
static struct str get_element(struct str line)
{
    size_t n = skip_prefix(line);
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

/* Whether the line is `NAME: |` with a name that means a secret. */
static bool begins_block(struct str line, enum redact_name pair, size_t *ret_indent)
{
    static const char styles[] = {'|', '>'},
                      indicators[] = {'+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9'};
    size_t n = skip_prefix(line);
    struct str s = trim_end((struct str){line.p + n, line.n - n});
    if (s.n > 1 && redact_is_quote(s.p[0]))
        s = (struct str){s.p + 1, s.n - 1};
    struct str name = get_name(s);
    size_t at = name.n;
    if (at < s.n && redact_is_quote(s.p[at]))
        at++;
    if (name.n == 0 || at >= s.n || s.p[at++] != ':')
        return false;
    while (at < s.n && redact_is_blank(s.p[at]))
        at++;
    if (at >= s.n || !memchr(styles, s.p[at++], sizeof styles) || s.n - at > 2)
        return false;
    for (; at < s.n; at++)
        if (!memchr(indicators, s.p[at], sizeof indicators))
            return false;
    *ret_indent = n;
    return redact_judge_name(name) == REDACT_SECRET ||
           (pair == REDACT_SECRET && redact_pair_part(name) == REDACT_PAIR_VALUE);
}

/* Whether the line ends in the tag `<NAME>` with a name that means a secret. */
static bool begins_element(struct str line)
{
    enum { MOST_TAG = 256 };
    struct str s = trim_end(line);
    size_t begin = s.n;
    if (s.n == 0 || s.p[s.n - 1] != '>' || (s.n > 1 && s.p[s.n - 2] == '/'))
        return false;
    while (begin > 0 && s.n - begin < MOST_TAG && s.p[begin - 1] != '<')
        begin--;
    if (begin == 0 || s.p[begin - 1] != '<')
        return false;
    return redact_judge_name(get_name((struct str){s.p + begin, s.n - begin})) == REDACT_SECRET;
}

struct redact_carry redact_carry_from(struct str line, enum redact_name pair)
{
    struct redact_carry carry = {0};
    struct str element = get_element(line);
    if (element.n > 2 && element.p[0] == '-' && get_name(element).n == element.n &&
        redact_judge_name(element) == REDACT_SECRET)
        carry.kind = REDACT_CARRY_ARGUMENT;
    else if (begins_block(line, pair, &carry.indent))
        carry.kind = REDACT_CARRY_BLOCK;
    else if (begins_element(line))
        carry.kind = REDACT_CARRY_ELEMENT;
    return carry;
}

struct str redact_carry_value(struct redact_carry *carry, struct str line)
{
    enum { MOST_LINES = 500 };
    struct str value = {line.p, 0};
    size_t n = 0;
    while (n < line.n && redact_is_blank(line.p[n]))
        n++;
    struct str rest = trim_end((struct str){line.p + n, line.n - n});
    if (carry->kind == REDACT_CARRY_NONE || rest.n == 0)
        return value;
    bool continues = ++carry->lines < MOST_LINES;
    if (carry->kind == REDACT_CARRY_ARGUMENT) {
        value = get_element(line);
        if (redact_is_option(value))
            value.n = 0;
        continues = false;
    } else if (carry->kind == REDACT_CARRY_BLOCK) {
        continues = continues && n > carry->indent;
        value = continues ? rest : value;
    } else {
        value = (struct str){rest.p, redact_length_until(rest, 0, "<", rest.n)};
        continues = continues && value.n == rest.n;
    }
    if (!continues)
        *carry = (struct redact_carry){0};
    return redact_is_secret(REDACT_SECRET, value) ? value : (struct str){line.p, 0};
}
