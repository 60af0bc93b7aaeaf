/*
 * Finds secrets in the text between tags: in an element with the name of a secret (`<password>x</password>`),
 * and in a table cell whose previous cell names a secret (`<td>password</td><td>x</td>`). Reads from each `>`
 * back to its `<`, and each text up to the next `<`, so that no byte is read more than twice. The brackets of
 * the tags may be HTML entities.
 */
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* The most bytes of a tag, and of a text that is a name. */
enum { MAX_TAG = 256, MAX_NAME = 64 };

/* Returns whether a bracket of a tag ends before `at`. */
static bool ends_bracket(struct str s, size_t at, bool entity)
{
    char c = s.p[at - 1];
    return c == '<' || c == '>' ||
           (entity && c == ';' && (redact_is_before(s, at, "&lt;") || redact_is_before(s, at, "&gt;")));
}

/* Returns the text of a tag up to `end`, without its opening bracket `<`, or `&lt;` (`entity`); empty if
 * there is none. */
static struct str find_tag_before(struct str s, size_t end, bool entity)
{
    size_t begin = end;
    while (begin > 0 && end - begin < MAX_TAG && !ends_bracket(s, begin, entity))
        begin--;
    bool is_tag = redact_is_before(s, begin, entity ? "&lt;" : "<");
    return (struct str){s.p + begin, is_tag ? end - begin : 0};
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

/* Returns the text of an element from `at` up to the next tag. If the brackets are entities, the tag must be
 * `&lt;/NAME`, because a text may contain `&lt;token&gt;` as a word; else returns an empty text. */
static struct str find_text(struct redact_search *search, size_t at, struct str name, bool entity)
{
    static const char end_tag[] = "&lt;/";
    struct str s = search->in;
    if (!entity)
        return (struct str){s.p + at, redact_length_until(s, at, "<", s.n - at)};
    const char *next = memmem(s.p + at, s.n - at, "&lt;", strlen("&lt;"));
    size_t n = next ? (size_t)(next - s.p) - at : 0, rest = s.n - at - n;
    search->undecided = search->undecided || !next || rest <= strlen(end_tag) + name.n;
    bool ends = next && rest > strlen(end_tag) && memcmp(next, end_tag, strlen(end_tag)) == 0;
    if (ends) {
        struct str end = get_tag_name((struct str){next + strlen(end_tag), rest - strlen(end_tag)});
        ends = end.n == name.n && strncasecmp(end.p, name.p, name.n) == 0;
    }
    return (struct str){s.p + at, ends ? n : 0};
}

/* Returns the text of `<![CDATA[...]]>` at `at`, up to `max` bytes; empty: there is none. */
static struct str find_cdata(struct str s, size_t at, size_t max)
{
    static const char begin[] = REDACT_CDATA, end[] = REDACT_CDATA_END;
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

enum redact_secrecy redact_markup_classify_value(struct str s, size_t at)
{
    return redact_classify_name(get_tag_name(find_tag_before(s, at, false)));
}

size_t redact_markup_length(struct redact_search *search, size_t at)
{
    static const char *const ends[] = {"/tr", "/table", "/dl", "/property", "tr"};
    struct str s = search->in;
    bool entity = redact_is_before(s, at, "&gt;");
    if (!entity && !redact_is_before(s, at, ">"))
        return 0;
    struct str tag = find_tag_before(s, at - (entity ? strlen("&gt;") : 1), entity), name = get_tag_name(tag);
    if (tag.n > 0 && tag.p[0] == '/')
        name = tag;
    if (is_tag(name, ends, sizeof ends / sizeof *ends))
        search->context.next_cell = REDACT_HARMLESS;
    if (name.n == 0 || tag.p[0] == '/' || tag.p[tag.n - 1] == '/')
        return 0;
    struct str text = find_text(search, at, name, entity), data = {s.p, 0};
    if (text.n == 0 && !entity)
        data = find_cdata(s, at, MAX_TAG);
    if (!is_secret_text(search, tag, name, trim_blanks(data.n > 0 ? data : text)))
        return 0;
    if (data.n > 0) { /* the secret begins behind `<![CDATA[`, not at `at` */
        search->ahead.begin = (size_t)(data.p - s.p);
        search->ahead.end =
            search->ahead.begin +
            redact_rest_divide(search, search->ahead.begin, find_cdata(s, at, s.n).n,
                               (struct redact_rest){.kind = REDACT_REST_TEXT, .end = REDACT_CDATA_END});
        search->ahead.rule = REDACT_OPTION;
        return 0;
    }
    return redact_rest_divide(search, at, text.n,
                              (struct redact_rest){.kind = REDACT_REST_TEXT, .end = entity ? "&lt;" : "<"});
}
