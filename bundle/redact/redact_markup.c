/*
 * Text between tags: `<password>x</password>`, and a cell of a table after one with a name,
 * `<td>password</td><td>x</td>`. Reads from each `>` back to its `<`, and each text up to the next `<`, so
 * that no byte is read more than twice.
 */
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* Most bytes of a tag, and of a text that is a name. */
enum { MOST_TAG = 256, MOST_NAME = 64 };

/* The tag that ends before `at`, without its brackets; empty if there is none. */
static struct str find_tag_before(struct str s, size_t at)
{
    size_t end = at - 1, begin = end;
    while (begin > 0 && end - begin < MOST_TAG && s.p[begin - 1] != '<' && s.p[begin - 1] != '>')
        begin--;
    if (begin == 0 || s.p[begin - 1] != '<')
        return (struct str){s.p, 0};
    return (struct str){s.p + begin, end - begin};
}

/* The name of a tag, without a prefix: `password` in `db:password type="x"`. */
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

/* The hint that a cell gives for the next one. */
static enum redact_name judge_cell(struct str text)
{
    return text.n > 0 && text.n <= MOST_NAME ? redact_judge_name(text) : REDACT_HARMLESS;
}

size_t redact_markup_length(struct redact_search *search, size_t at)
{
    static const char *const names[] = {"td", "th", "dt", "key", "name"};
    static const char *const values[] = {"td", "dd", "string", "value"};
    static const char *const ends[] = {"/tr", "/table", "/dl", "/property", "tr"};
    struct str s = search->in;
    if (at == 0 || s.p[at - 1] != '>')
        return 0;
    struct str tag = find_tag_before(s, at), name = get_tag_name(tag);
    if (tag.n > 0 && tag.p[0] == '/')
        name = tag;
    if (is_tag(name, ends, sizeof ends / sizeof *ends))
        search->said.cell = REDACT_HARMLESS;
    if (name.n == 0 || tag.p[0] == '/' || tag.p[tag.n - 1] == '/')
        return 0;
    struct str text = {s.p + at, redact_reach_until(s, at, "<", s.n - at)};
    bool is_name = is_tag(name, names, sizeof names / sizeof *names),
         is_value = is_tag(name, values, sizeof values / sizeof *values);
    bool goes = redact_goes(redact_judge_name(name), trim_blanks(text)) ||
                (is_value && redact_goes(search->said.cell, trim_blanks(text)));
    if (is_name || is_value) {
        search->said.cell = is_name && !goes ? judge_cell(trim_blanks(text)) : REDACT_HARMLESS;
        search->said.lines = 0;
    }
    return goes ? text.n : 0;
}
