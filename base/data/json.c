#include "base/data/json.h"

#include <jansson.h>
#include <string.h>

#include "base/data/text.h"
#include "base/banned.h"

/* Bytes that jansson 2.14 allocates for each kind of value on a 64-bit machine, with malloc's overhead: the
 * value's struct, an object's first buckets, a list's first slots, a copy of a string. Lists double their
 * slots and objects their buckets as they grow. A key takes TEXT_BYTES and COLON_BYTES. */
enum {
    OBJECT_BYTES = 240,
    LIST_BYTES = 144,
    TEXT_BYTES = 80,
    LITERAL_BYTES = 32,
    COLON_BYTES = 48,
    COMMA_BYTES = 24
};

/* jansson holds up to three copies of a string while it reads it: two in its growing buffer, one unescaped.
 */
#define LONGEST_TEXT_COPIES 3

static size_t string_end(const char *p, size_t n, size_t at)
{
    while (at < n && p[at] != '"')
        at += p[at] == '\\' ? 2 : 1;
    return at < n ? at : n;
}

static bool is_literal_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == 'E';
}

static size_t literal_end(const char *p, size_t n, size_t at)
{
    while (at < n && is_literal_char(p[at]))
        at++;
    return at;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct json_measure json_measure(const char *p, size_t n)
{
    struct json_measure m = {.memory = n};
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '"') {
            size_t end = string_end(p, n, i + 1);
            m.memory += TEXT_BYTES + (end - i);
            m.longest = max_size(end - i, m.longest);
            i = end;
        } else if (p[i] == '{' || p[i] == '[') {
            m.memory += p[i] == '{' ? OBJECT_BYTES : LIST_BYTES;
            m.depth = max_size(++depth, m.depth);
        } else if ((p[i] == '}' || p[i] == ']') && depth > 0) {
            depth--;
        } else if (p[i] == ':') {
            m.memory += COLON_BYTES;
        } else if (p[i] == ',') {
            m.memory += COMMA_BYTES;
        } else if (is_literal_char(p[i])) {
            size_t end = literal_end(p, n, i);
            m.memory += LITERAL_BYTES;
            m.longest = max_size(end - i, m.longest);
            i = end - 1;
        }
    }
    m.memory += LONGEST_TEXT_COPIES * m.longest;
    return m;
}

int json_check(const struct json_limits *limits, const char *text, size_t n, struct err *err)
{
    char size[32];
    if (n > limits->max_bytes)
        return err_set(err, ERR_FAILED, "%s is larger than %s", limits->what,
                       text_bytes(size, sizeof size, limits->max_bytes));
    struct json_measure m = json_measure(text, n);
    if (m.depth > limits->max_depth)
        return err_set(err, ERR_FAILED, "%s is nested deeper than %zu levels", limits->what,
                       limits->max_depth);
    if (m.memory > limits->max_memory)
        return err_set(err, ERR_FAILED, "%s is too large: it would take more than %s of memory", limits->what,
                       text_bytes(size, sizeof size, limits->max_memory));
    if (limits->max_string > 0 && m.longest > limits->max_string)
        return err_set(err, ERR_FAILED, "%s contains a string of more than %s", limits->what,
                       text_bytes(size, sizeof size, limits->max_string));
    return 0;
}

int json_parse(const struct json_limits *limits, const char *text, size_t n, json_t **ret, struct err *err)
{
    if (json_check(limits, text, n, err) < 0)
        return -1;
    size_t flags = (limits->accept_any_value ? JSON_DECODE_ANY : 0) |
                   (limits->accept_repeated_keys ? 0 : JSON_REJECT_DUPLICATES);
    json_error_t why = {.line = 0};
    json_t *root = json_loadb(text, n, flags, &why);
    /* jansson sets no text if memory ran out. */
    if (!root && !why.text[0])
        return err_nomem(err);
    if (!root) {
        char shown[sizeof why.text];
        return err_set(err, ERR_FAILED, "%s is malformed: line %d: %s", limits->what, why.line,
                       text_printable(shown, sizeof shown, why.text, strlen(why.text)));
    }
    *ret = root;
    return 0;
}
