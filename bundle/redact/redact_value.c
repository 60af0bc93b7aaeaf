/*
 * The value of a name: whether to redact it, and its length. A value is redacted because of its name, the
 * name beside it in a pair (`{"name": "DB_PASSWORD", "value": "x"}`), or as the argument of an option.
 *
 * First reads enough of it for the decision; reads the rest only to redact it, and then skips it.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* ---- the end of a value -------------------------------------------------------------------------------- */

/* The length of a quoted value, up to `most` bytes: to its closing quote, or to the end of a string around
 * it. */
static size_t quoted_reach(struct str s, size_t at, const struct redact_lead *l, size_t most)
{
    size_t run = 0, n = 0; /* of backslashes before this byte */
    for (; at + n < s.n && n < most; n++) {
        size_t r = run, k = l->escapes;
        run = s.p[at + n] == '\\' ? run + 1 : 0;
        if (s.p[at + n] != l->quote)
            continue;
        for (; k > 0 && r >= k && r % 2; k /= 2)
            r /= 2;
        if (k > 0 || r % 2 == 0)
            return n - (l->escapes < n ? l->escapes : n);
    }
    return n;
}

/* The same for a list or an object: to its closing bracket. */
static size_t bracket_reach(struct str s, size_t at, size_t most)
{
    size_t n = 0, depth = 0;
    do {
        char c = s.p[at + n++];
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    } while (depth > 0 && at + n < s.n && n < most);
    return n;
}

size_t redact_reach_until(struct str s, size_t at, const char *stops, size_t most)
{
    size_t n = 0;
    while (at + n < s.n && n < most && (!s.p[at + n] || !strchr(stops, s.p[at + n])))
        n++;
    return n;
}

/* To the entity that closes a quoted value of HTML or of a request, or to a tag. */
static size_t entity_reach(struct str s, size_t at, const char *entity, size_t most)
{
    size_t n = 0, length = strlen(entity);
    const char *ends = entity[0] == '%' ? "< \t&\"'" : "<";
    while (
        at + n < s.n && n < most && (s.p[at + n] == '\0' || !strchr(ends, s.p[at + n])) &&
        (s.p[at + n] != entity[0] || s.n - at - n < length || strncasecmp(s.p + at + n, entity, length) != 0))
        n++;
    return n;
}

/* To a percent-encoded byte that ends a value. */
static size_t encoded_reach(struct str s, size_t at, const struct redact_lead *l, size_t most)
{
    static const char *const ends[] = {"26", "20", "22", "23", "27", "3b", "7d", "5d", "2c"};
    size_t n = 0, n_ends = sizeof ends / sizeof *ends - (l->name_quoted ? 0 : 3);
    while (at + n < s.n && n < most) {
        n += redact_reach_until(s, at + n, l->request ? " \t&#%" : " \t&;,\"'%<", most - n);
        if (n >= most || at + n >= s.n || s.p[at + n] != '%')
            break;
        for (size_t i = 0; s.n - at - n > 2 && i < n_ends; i++)
            if (strncasecmp(s.p + at + n + 1, ends[i], 2) == 0)
                return n;
        n++;
    }
    return n;
}

/* Whether the value is a parameter in a request: it ends at `&`, `#` or a blank, and may contain anything
 * else. */
static bool is_parameter(const struct redact_lead *l)
{
    return l->request && l->parameter && l->sign == '=' && !l->encoded && !l->entity;
}

static size_t value_reach(struct str s, size_t at, const struct redact_lead *l, size_t most)
{
    if (is_parameter(l))
        return redact_reach_until(s, at, " \t&#", most);
    bool header = l->sign == ':' && !l->name_quoted && l->apart;
    if (l->entity)
        return entity_reach(s, at, l->entity, most);
    if (l->encoded)
        return encoded_reach(s, at, l, most);
    if (l->quote && (!l->whole || header || (l->element && l->sign == '=')))
        return quoted_reach(s, at, l, most);
    if (l->sign != ':')
        return redact_reach_until(s, at, " \t&;,\"'", most);
    if (header) /* to the end of the line */
        return s.n - at < most ? s.n - at : most;
    if (!l->name_quoted)
        return l->listed ? redact_reach_until(s, at, " \t&;,\"'}])", most) : 0;
    if (at < s.n && (s.p[at] == '{' || s.p[at] == '['))
        return bracket_reach(s, at, most);
    return redact_reach_until(s, at, " \t&;,\"'}])\\", most);
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* The hint that a name, itself a value, gives for the value beside it. */
static enum redact_name judge_value(struct str v)
{
    size_t n = 0;
    while (n < v.n && (redact_is_name_byte(v.p[n])))
        n++;
    return redact_judge_name((struct str){v.p, n});
}

/* The hint of the text before this `value`, in the same object or tag. */
static enum redact_name judge_by_text_before(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    enum redact_name says = search->said.pair;
    struct str between = {s.p + search->pair_at, at - search->pair_at};
    search->said.pair = REDACT_HARMLESS;
    for (size_t i = 0; says != REDACT_HARMLESS && i < between.n; i++)
        if (between.p[i] != '\0' && strchr("{}<>", between.p[i]))
            return REDACT_HARMLESS;
    return says;
}

/* The hint of the text after it, as in `"value": "x", "name": "DB_PASSWORD"`. */
static enum redact_name judge_by_text_after(struct redact_search *search, size_t at,
                                            const struct redact_lead *l)
{
    enum { MOST_BETWEEN = 24 };
    struct str s = search->in;
    struct redact_lead other;
    if (!l->name_quoted)
        return REDACT_HARMLESS;
    at += value_reach(s, at, l, REDACT_RANDOM_MOST);
    size_t begin = at;
    while (at < s.n && at - begin < MOST_BETWEEN && s.p[at] != ':' && !strchr("{}[]", s.p[at]))
        at++;
    if (at >= s.n || s.p[at] != ':')
        return REDACT_HARMLESS;
    at++;
    while (at < s.n && at - begin < 2 * MOST_BETWEEN &&
           (redact_is_blank(s.p[at]) || redact_is_quote(s.p[at]) || s.p[at] == '\\'))
        at++;
    if (at >= s.n || !redact_lead_read(search, at, &other) ||
        redact_pair_part(other.name) != REDACT_PAIR_NAME)
        return REDACT_HARMLESS;
    return judge_value((struct str){s.p + at, redact_reach_until(s, at, "\"'\\ ,}", REDACT_NAME_MOST)});
}

/* What the other half of a pair implies for this value; stores what this value implies for the other half. */
static enum redact_name judge_pair(struct redact_search *search, size_t at, const struct redact_lead *l,
                                   struct str first)
{
    struct redact_lead copy = *l; /* its name is in search->name, which the next read overwrites */
    enum redact_pair part = redact_pair_part(l->name);
    if (part == REDACT_PAIR_NAME) {
        search->said.pair = judge_value(first);
        search->said.lines = 0;
        search->pair_at = at;
    }
    if (part != REDACT_PAIR_VALUE)
        return REDACT_HARMLESS;
    enum redact_name says = judge_by_text_before(search, at);
    return says != REDACT_HARMLESS ? says : judge_by_text_after(search, at, &copy);
}

/* ---- the decision -------------------------------------------------------------------------------------- */

/* JSON's values for "not set" are not secrets. */
static bool is_not_set(const struct redact_lead *l, struct str v)
{
    return l->name_quoted && !l->quote && (str_is(v, "null") || str_is(v, "true") || str_is(v, "false"));
}

/* Whether a list or an object contains a string, or any other value is not a number. */
static bool contains_text(const struct redact_lead *l, struct str v)
{
    if (v.n == 0 || (v.p[0] != '{' && v.p[0] != '['))
        return v.n > 0 && l->quote && !l->whole && !isdigit((unsigned char)v.p[0]);
    char before = v.p[0];
    for (size_t i = 1; i < v.n; i++) {
        if (redact_is_quote(v.p[i]) && (before == ':' || before == '['))
            return true;
        if (!redact_is_blank(v.p[i]) && v.p[i] != '\\')
            before = v.p[i];
    }
    return false;
}

/* Whether to redact the value of `-p`: not a port, a path, a protocol or a list of addresses. */
static bool is_password_of_p(struct str v)
{
    static const char *const protocols[] = {"tcp", "udp", "icmp", "all"};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (str_is(v, protocols[i]))
            return false;
    size_t n = 0;
    while (n < v.n && (isdigit((unsigned char)v.p[n]) || (v.p[n] && strchr(":.,-/", v.p[n]))))
        n++;
    if (n > 0 && v.p[n - 1] == '/' && v.n - n == 3 &&
        (memcmp(v.p + n, "tcp", 3) == 0 || memcmp(v.p + n, "udp", 3) == 0))
        return false; /* 127.0.0.1:80:80/tcp */
    return n < v.n && !strchr("/.$~", v.p[0]) && redact_goes(REDACT_SECRET, v);
}

/* The password of USER:PASSWORD begins later than the value: stores it for its position. */
static void read_user_password(struct redact_search *search, size_t at, const struct redact_lead *l)
{
    struct str s = search->in;
    struct str v = {s.p + at, value_reach(s, at, l, REDACT_RANDOM_MOST)};
    size_t password = redact_user_password(v);
    if (password == 0)
        return;
    search->ahead.begin = at + password;
    search->ahead.end = at + value_reach(s, at, l, s.n);
    search->ahead.rule = REDACT_OPTION;
}

/* Whether a parameter of a request is a secret, given what its name means: its whole value, or the first of
 * several in it. */
static bool parameter_goes(enum redact_name says, struct str name, struct str value)
{
    struct str first = {value.p, redact_reach_until(value, 0, ";,\"'", value.n)};
    return redact_goes(says, first) || redact_goes_as_parameter(name, value) ||
           redact_goes_as_parameter(name, first);
}

size_t redact_value_length(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    struct redact_lead l;
    if (at < 2 || !redact_lead_read(search, at, &l))
        return 0;
    enum redact_name says = redact_judge_name(l.name), inner = redact_judge_name(l.inner);
    says = inner > says ? inner : says;
    bool plural = redact_is_plural(l.name), argument = l.sign == ' ' || l.sign == ',';
    bool is_p = argument && str_is(l.name, "-p");
    enum redact_pair part = says == REDACT_SECRET ? REDACT_NO_PAIR : redact_pair_part(l.name);
    if (redact_is_user_option(l.name))
        read_user_password(search, at, &l);
    if (says == REDACT_HARMLESS && !l.parameter && !plural && !is_p && part == REDACT_NO_PAIR)
        return 0;
    struct str name = l.name, first = {s.p + at, value_reach(s, at, &l, REDACT_RANDOM_MOST)};
    bool goes = redact_goes(says, first) || (l.parameter && parameter_goes(says, name, first)) ||
                (plural && contains_text(&l, first) && redact_goes(REDACT_SECRET, first)) ||
                (is_p && is_password_of_p(first));
    if (!goes && part != REDACT_NO_PAIR && first.n > 0)
        goes = redact_goes(judge_pair(search, at, &l, first), first);
    return goes && !is_not_set(&l, first) ? value_reach(s, at, &l, s.n) : 0;
}
