/*
 * Finds secrets in the text between tags: in an element with the name of a secret (`<password>x</password>`),
 * and in a table cell whose previous cell names a secret (`<td>password</td><td>x</td>`). Reads from each `>`
 * back to its `<`, and each text up to the next `<`, so that no byte is read more than twice.
 */
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* The most bytes of a tag, and of a text that is a name. */
enum { MAX_TAG = 256, MAX_NAME = 64 };

/* Returns the tag that ends before `at`, without its brackets; empty if there is none. */
static struct str find_tag_before(struct str s, size_t at)
{
    size_t end = at - 1, begin = end;
    while (begin > 0 && end - begin < MAX_TAG && s.p[begin - 1] != '<' && s.p[begin - 1] != '>')
        begin--;
    if (begin == 0 || s.p[begin - 1] != '<')
        return (struct str){s.p, 0};
    return (struct str){s.p + begin, end - begin};
}

/* Returns the name of a tag, without a prefix: `password` in `db:password type="x"`. */
static struct str get_tag_name(struct str tag)
{
    size_t n = 0, prefix = 0;
    while (n < tag.n && (redact_is_name_byte(tag.p[n]) || tag.p[n] == ':')) {
        if (tag.p[n] == ':')
            prefix = n + 1;
        n++;
    }
    return (struct str){tag.p + prefix, n - prefix};
}

static bool is_tag(struct str name, const char *const *tags, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(tags[i]) == name.n && strncasecmp(name.p, tags[i], name.n) == 0)
            return true;
    return false;
}

static struct str trim_blanks(struct str v)
{
    while (v.n > 0 && redact_is_blank(v.p[0])) {
        v.p++;
        v.n--;
    }
    while (v.n > 0 && (redact_is_blank(v.p[v.n - 1]) || v.p[v.n - 1] == ':'))
        v.n--;
    return v;
}

/* Returns how secret the next cell is, judged by the text of this cell, which may be the name of a secret. */
static enum redact_secrecy classify_cell(struct str text)
{
    return text.n > 0 && text.n <= MAX_NAME ? redact_classify_name(text) : REDACT_HARMLESS;
}

/* Returns how secret the text of an element is, judged by an attribute, which may name a secret: `<entry
 * key="password">x</entry>`. */
static enum redact_secrecy classify_attribute(struct str tag, struct str name)
{
    static const char *const tags[] = {"entry", "property",  "param",  "parameter", "string", "setting",
                                       "item",  "variable",  "var",    "env",       "field",  "init-param",
                                       "arg",   "attribute", "option", "value",     "config", "secret"};
    static const char *const attributes[] = {" key=", " name="};
    if (!is_tag(name, tags, sizeof tags / sizeof *tags))
        return REDACT_HARMLESS;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const char *at = memmem(tag.p, tag.n, attributes[i], strlen(attributes[i]));
        size_t begin = at ? (size_t)(at - tag.p) + strlen(attributes[i]) : tag.n, n = 0;
        while (begin < tag.n && (tag.p[begin] == '\\' || tag.p[begin] == '"' || tag.p[begin] == '\''))
            begin++; /* the quote, escaped in JSON */
        while (begin + n < tag.n && redact_is_name_byte(tag.p[begin + n]))
            n++;
        enum redact_secrecy secrecy =
            n > 0 ? redact_classify_name((struct str){tag.p + begin, n}) : REDACT_HARMLESS;
        if (secrecy != REDACT_HARMLESS)
            return secrecy;
    }
    return REDACT_HARMLESS;
}

/* Returns the text of `<![CDATA[...]]>` at `at`, up to `max` bytes; empty: there is none. */
static struct str find_cdata(struct str s, size_t at, size_t max)
{
    static const char begin[] = REDACT_CDATA, end[] = "]]>";
    size_t n = sizeof begin - 1;
    if (s.n - at < n || memcmp(s.p + at, begin, n) != 0)
        return (struct str){s.p, 0};
    struct str text = {s.p + at + n, s.n - at - n < max ? s.n - at - n : max};
    const char *close = memmem(text.p, text.n, end, sizeof end - 1);
    return (struct str){text.p, close ? (size_t)(close - text.p) : text.n};
}

/* Whether a cell may contain a name, and whether it may contain a value. */
struct cell_roles {
    bool name, value;
};

static struct cell_roles get_cell_roles(struct str name)
{
    static const char *const names[] = {"td", "th", "dt", "key", "name"};
    static const char *const values[] = {"td", "dd", "string", "value"};
    return (struct cell_roles){is_tag(name, names, sizeof names / sizeof *names),
                               is_tag(name, values, sizeof values / sizeof *values)};
}

/* Returns whether to redact the text of a tag. If the tag is a cell, stores in search->context how secret the
 * next cell is. */
static bool is_secret_text(struct redact_search *search, struct str tag, struct str name, struct str text)
{
    struct cell_roles roles = get_cell_roles(name);
    bool is_secret = redact_is_secret(redact_classify_name(name), text) ||
                     redact_is_secret(classify_attribute(tag, name), text);
    if (!roles.name && !roles.value && search->context.nested && text.n > 0) /* <td><code>x</code></td> */
        roles = (struct cell_roles){true, true};
    else if (!roles.name && !roles.value)
        return is_secret;
    is_secret = is_secret || (roles.value && redact_is_secret(search->context.next_cell, text));
    search->context.nested = text.n == 0;
    if (text.n > 0)
        search->context.next_cell = roles.name && !is_secret ? classify_cell(text) : REDACT_HARMLESS;
    search->context.lines = 0;
    return is_secret;
}

size_t redact_markup_length(struct redact_search *search, size_t at)
{
    static const char *const ends[] = {"/tr", "/table", "/dl", "/property", "tr"};
    struct str s = search->in;
    if (at == 0 || s.p[at - 1] != '>')
        return 0;
    struct str tag = find_tag_before(s, at), name = get_tag_name(tag);
    if (tag.n > 0 && tag.p[0] == '/')
        name = tag;
    if (is_tag(name, ends, sizeof ends / sizeof *ends))
        search->context.next_cell = REDACT_HARMLESS;
    if (name.n == 0 || tag.p[0] == '/' || tag.p[tag.n - 1] == '/')
        return 0;
    struct str text = {s.p + at, redact_length_until(s, at, "<", s.n - at)}, data = {s.p, 0};
    if (text.n == 0)
        data = find_cdata(s, at, MAX_TAG);
    if (!is_secret_text(search, tag, name, trim_blanks(data.n > 0 ? data : text)))
        return 0;
    if (data.n > 0) { /* the secret begins behind `<![CDATA[`, not at `at` */
        search->ahead.begin = (size_t)(data.p - s.p);
        search->ahead.end = search->ahead.begin + find_cdata(s, at, s.n).n;
        search->ahead.rule = REDACT_OPTION;
        return 0;
    }
    return text.n;
}
