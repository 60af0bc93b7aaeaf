/*
 * Secrets inside one string. Each position is asked whether a value that must go begins there; what stands in
 * front of it decides: a name and a sign, a colon behind a user's name, a boundary in front of a token.
 * Backward steps are bounded or stop at the sign before, and forward steps are remembered or skip what they
 * have passed, so that the time grows with the bytes.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/bundle.h"
#include "bundle/redact_names.h"
#include "bundle/redact_words.h"
#include "base/banned.h"

/* MOST_BLANKS: between a name, its sign and its value. What is long and random shows it in its first
 * RANDOM_MOST bytes. */
enum { MOST_BLANKS = 16, RANDOM_MOST = 256 };

/* The last line of a private key begins so. MOST_KEY_LINES: more than any key has. */
#define KEY_END "-----END"
enum { MOST_KEY_LINES = 500 };

static const char *const tokens[] = {
    "ghp_",  "gho_",  "ghu_",  "ghs_",    "github_pat_", "glpat-",   "gldt-",
    "glrt-", "xoxb-", "xoxp-", "xoxa-",   "sk_live_",    "rk_live_", "AKIA",
    "ASIA",  "AIza",  "hvs.",  "dop_v1_", "npm_",        "eyJ",      "AGE-SECRET-KEY-1"};

/* Whether a token may begin with that byte. */
static bool begins_token(char c)
{
    return c != '\0' && strchr("gxsrAhdne", c);
}

struct search {
    struct str in;
    size_t password_end; /* what was found of the one that was looked at last, or of the one after it */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static bool is_sign(char c)
{
    return c == '=' || c == ':' || c == ',';
}

/* Whether [redacted] stands there, and is not the beginning of something else. */
static bool stands_redacted(struct str s, size_t at)
{
    size_t n = strlen(REDACTED);
    return s.n - at >= n && memcmp(s.p + at, REDACTED, n) == 0 &&
           (s.n - at == n || !isalnum((unsigned char)s.p[at + n]));
}

/* Whether `text` ends right before `at`; the case of letters does not count. */
static bool stands_before(struct str s, size_t at, const char *text)
{
    size_t n = strlen(text);
    return at >= n && strncasecmp(s.p + at - n, text, n) == 0;
}

/* The one of `texts` that ends right before `at`; NULL: none. */
static const char *find_before(struct str s, size_t at, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (stands_before(s, at, texts[i]))
            return texts[i];
    return NULL;
}

static size_t skip_blanks_back(struct str s, size_t at)
{
    size_t n = 0;
    while (at > 0 && n < MOST_BLANKS && is_blank(s.p[at - 1])) {
        at--;
        n++;
    }
    return at;
}

/* ---- tokens ---------------------------------------------------------------------------------------------
 */

/* How long the value is of `Bearer VALUE` or `Basic VALUE`; 0: it is none, but a word of a sentence. */
static size_t credentials_length(struct str s, size_t at)
{
    enum { LEAST = 8, LONG = 20 };
    static const char *const schemes[] = {"bearer ", "basic "};
    const char *scheme = at > 0 && s.p[at - 1] == ' ' ? find_before(s, at, schemes, 2) : NULL;
    size_t n = 0;
    bool digit = false;
    if (!scheme || (at > strlen(scheme) && redact_is_name_byte(s.p[at - strlen(scheme) - 1])))
        return 0;
    for (; at + n < s.n && (redact_is_name_byte(s.p[at + n]) || strchr("+/~=", s.p[at + n])); n++)
        digit = digit || isdigit((unsigned char)s.p[at + n]);
    return n >= LONG || (n >= LEAST && digit) ? n : 0;
}

/* Whether `-----BEGIN ... PRIVATE KEY-----` ends right before `at`. */
static bool is_key_header(struct str s, size_t at)
{
    enum { LONGEST = 60 };
    static const char *const ends[] = {"PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"};
    if (at == 0 || s.p[at - 1] != '-' || !find_before(s, at, ends, 2))
        return false;
    size_t begin = at - 5, least = at > LONGEST ? at - LONGEST : 0;
    while (begin > least && s.p[begin - 1] != '-')
        begin--;
    return at - begin > 6 && memcmp(s.p + begin, "BEGIN ", 6) == 0;
}

/* How long the body of a private key is that begins here, up to its last line; 0: there is none. */
static size_t key_length(struct str s, size_t at)
{
    if (!is_key_header(s, at))
        return 0;
    const char *end = memmem(s.p + at, s.n - at, KEY_END, strlen(KEY_END));
    size_t n = end ? (size_t)(end - s.p) - at : s.n - at, blank = 0;
    while (blank < n && isspace((unsigned char)s.p[at + blank]))
        blank++;
    return blank == n || stands_redacted(s, at + blank) ? 0 : n;
}

/* How long the token is that begins here; 0: there is none. */
static size_t token_length(struct search *search, size_t at)
{
    enum { LEAST = 16 };
    struct str s = search->in;
    size_t n = credentials_length(s, at);
    if (n > 0)
        return n;
    if (at == s.n || !begins_token(s.p[at]))
        return 0;
    while (at + n < s.n && redact_is_name_byte(s.p[at + n]))
        n++;
    for (size_t i = 0; n >= LEAST && i < sizeof tokens / sizeof *tokens; i++)
        if (strncmp(s.p + at, tokens[i], strlen(tokens[i])) == 0)
            return n;
    return 0;
}

/* ---- passwords in front of an @ -------------------------------------------------------------------------
 */

/* The last @ behind the one at `at`, before whatever ends the part of an address that an @ may stand in. */
static size_t last_at(struct str s, size_t at)
{
    size_t last = at;
    for (size_t i = at + 1; i < s.n && !isspace((unsigned char)s.p[i]) && !strchr("/\"'<>,?", s.p[i]); i++)
        if (s.p[i] == '@')
            last = i;
    return last;
}

/* Whether `SCHEME://USER` ends right before the colon at `colon`. *ret_web: the scheme is one whose
 * addresses have ports and paths more often than passwords. */
static bool is_url_user(struct str s, size_t colon, bool *ret_web)
{
    static const char *const web[] = {"http", "https", "ws", "wss", "ftp"};
    size_t user = colon;
    while (user > 0 && (redact_is_name_byte(s.p[user - 1]) || strchr("%+~!$*=", s.p[user - 1])))
        user--;
    if (user == colon || user < 4 || memcmp(s.p + user - 3, "://", 3) != 0)
        return false;
    size_t end = user - 3, begin = end;
    while (begin > 0 && end - begin < 32 && redact_is_name_byte(s.p[begin - 1]))
        begin--;
    *ret_web = false;
    for (size_t i = 0; i < sizeof web / sizeof *web; i++)
        *ret_web = *ret_web || str_is((struct str){s.p + begin, end - begin}, web[i]);
    return begin < end;
}

/* The end of a password that has a slash in it, the first at `slash`; 0: it is none, as the port and the path
 * in `https://host:8080/@x` are none. */
static size_t end_behind_slash(struct str s, size_t at, size_t slash)
{
    struct str first = {s.p + at, slash - at};
    bool web = false;
    if (!is_url_user(s, at - 1, &web) || (web && (first.n == 0 || redact_is_port(first))))
        return 0;
    for (size_t i = slash; i < s.n && !isspace((unsigned char)s.p[i]) && !strchr("\"'<>,?", s.p[i]); i++) {
        if (s.p[i] == '@')
            return last_at(s, i);
        if (s.p[i] == ':' && s.n - i > 2 && s.p[i + 1] == '/' && s.p[i + 2] == '/')
            return 0;
    }
    return 0;
}

/* The password of `NAME:PASSWORD@` that begins here, right behind the colon; 0: none. Only in a URL it may
 * hold a slash. */
static size_t password_length(struct search *search, size_t at)
{
    struct str s = search->in;
    bool no_user = at > 3 && memcmp(s.p + at - 4, "://:", 4) == 0; /* redis://:PASSWORD@HOST */
    if (at < 2 || s.p[at - 1] != ':' || !(no_user || redact_is_name_byte(s.p[at - 2])))
        return 0;
    if (search->password_end < at)
        search->password_end = at;
    size_t end = search->password_end;
    while (end < s.n && !isspace((unsigned char)s.p[end]) && !strchr("/@\"'", s.p[end]))
        end++;
    search->password_end = end;
    if (end == s.n)
        return 0;
    if (s.p[end] == '/')
        end = end_behind_slash(s, at, end);
    else if (s.p[end] == '@' && end > at)
        end = last_at(s, end);
    else
        return 0;
    struct str found = {s.p + at, end > at ? end - at : 0};
    return redact_goes(REDACT_SECRET, found) ? found.n : 0;
}

/* ---- values of names ------------------------------------------------------------------------------------
 */

/* The text in front of a value. */
struct lead {
    struct str name;
    char sign;          /* `=`, `:`, or a blank behind an option, or a tab behind the first word of a line */
    bool encoded;       /* the sign is percent-encoded, and so is what ends the value */
    bool parameter;     /* of a request */
    bool name_quoted;   /* as in JSON */
    bool apart;         /* a blank stands behind the sign */
    bool listed;        /* the name stands behind a bracket, a comma, a blank or nothing */
    bool alone;         /* the name is the first word of a line or stands behind a tab */
    char quote;         /* that begins the value; '\0': none */
    size_t escapes;     /* backslashes in front of it: of JSON in JSON there is one, and three, and seven */
    const char *entity; /* HTML's form of the quote that begins the value, or NULL */
};

static const char *entity_before(struct str s, size_t at)
{
    static const char *const quotes[] = {"&quot;", "&#34;", "&#39;", "&apos;", "&#x22;", "&#x27;"};
    return at > 0 && s.p[at - 1] == ';' ? find_before(s, at, quotes, sizeof quotes / sizeof *quotes) : NULL;
}

/* How long the encoded sign is that ends before `at`; 0: there is none. */
static size_t encoded_sign(struct str s, size_t at)
{
    static const char *const signs[] = {"%3d",   "%3a",    "%253d",  "%253a",  "&#61;",
                                        "&#58;", "&#x3d;", "&#x3a;", "\\u003d"};
    char c = at > 2 ? s.p[at - 1] : '\0';
    bool may_end = c == ';' || ((c == 'd' || c == 'D' || c == 'a' || c == 'A') && s.p[at - 2] == '3');
    const char *sign = may_end ? find_before(s, at, signs, sizeof signs / sizeof *signs) : NULL;
    return sign ? strlen(sign) : 0;
}

/* Takes the rest of an escape off the beginning of a name: `%3Ftoken`, `\u0026token`, `\ntoken`. */
static void strip_escape(struct str s, struct lead *l)
{
    size_t begin = (size_t)(l->name.p - s.p), n = 0;
    if (begin == 0)
        return;
    if (s.p[begin - 1] == '%') {
        while (n < 8 && l->name.n - n > 4 && memcmp(l->name.p + n, "25", 2) == 0)
            n += 2;
        n += 2;
        l->parameter = l->name.n > n && (strncasecmp(l->name.p + n - 2, "3f", 2) == 0 ||
                                         strncasecmp(l->name.p + n - 2, "26", 2) == 0);
    } else if (s.p[begin - 1] == '\\') {
        n = l->name.p[0] == 'u' ? 5 : strchr("nrt", l->name.p[0]) != NULL;
        l->parameter = l->name.n > 5 && strncmp(l->name.p, "u0026", 5) == 0;
        l->listed = n == 1;
    }
    if (n < l->name.n)
        l->name = (struct str){l->name.p + n, l->name.n - n};
}

/* The name that ends before `at`. */
static bool read_name(struct str s, size_t at, struct lead *ret)
{
    size_t end = at;
    const char *entity = entity_before(s, at);
    if (entity) {
        ret->name_quoted = true;
        end -= strlen(entity);
    } else if (at > 0 && is_quote(s.p[at - 1])) {
        ret->name_quoted = true;
        end--;
        while (end > 0 && s.p[end - 1] == '\\')
            end--;
    }
    size_t begin = end;
    while (begin > 0 && redact_is_name_byte(s.p[begin - 1]))
        begin--;
    ret->name = (struct str){s.p + begin, end - begin};
    size_t before = skip_blanks_back(s, begin);
    ret->listed = before < begin || begin == 0 || strchr("{,[(", s.p[before - 1]);
    ret->alone = begin == 0 || s.p[begin - 1] == '\t' || s.p[begin - 1] == '\n';
    ret->parameter = begin > 0 && (strchr("?&", s.p[begin - 1]) || stands_before(s, begin, "&amp;"));
    strip_escape(s, ret);
    return end > begin;
}

/* Where the sign begins that ends before `at`; `at`: there is none. A sign may be `:=`, `==` or `=>`. */
static size_t read_sign(struct str s, size_t at, struct lead *l)
{
    size_t n = encoded_sign(s, at);
    if (n > 0) {
        l->sign = '=';
        l->encoded = s.p[at - n] == '%';
        return at - n;
    }
    if (stands_before(s, at, "=>"))
        l->sign = '=';
    else if (at > 0 && is_sign(s.p[at - 1]))
        l->sign = s.p[at - 1];
    else
        return at;
    size_t begin = at - (s.p[at - 1] == '>' ? 2 : 1);
    for (n = 0; l->sign == '=' && n < 2 && begin > 0 && strchr("=:", s.p[begin - 1]); n++)
        begin--;
    return begin;
}

/* Whether a sign goes on at `at`, so that no value begins there. */
static bool sign_goes_on(struct str s, size_t at)
{
    if (at == 0 || at == s.n)
        return false;
    char before = s.p[at - 1], c = s.p[at];
    return (c == '=' && (before == '=' || before == ':')) || (c == '>' && before == '=');
}

/* Where the quote begins that stands before `at`; `at`: there is none. */
static size_t read_quote(struct str s, size_t at, struct lead *l)
{
    l->entity = entity_before(s, at);
    if (l->entity)
        return at - strlen(l->entity);
    if (at == 0 || !is_quote(s.p[at - 1]))
        return at;
    l->quote = s.p[--at];
    for (; at > 0 && s.p[at - 1] == '\\'; at--)
        l->escapes++;
    return at;
}

/* What stands in front of the value that begins at `at`; false: it is nobody's value. */
static bool read_lead(struct str s, size_t at, struct lead *ret)
{
    struct lead l = {.sign = ' '};
    size_t back = read_quote(s, at, &l);
    if (back == at && (at == s.n || is_blank(s.p[at]) || sign_goes_on(s, at)))
        return false;
    size_t end = skip_blanks_back(s, back), sign = read_sign(s, end, &l);
    l.apart = end < back;
    if (sign == end && !l.apart)
        return false;
    size_t name = skip_blanks_back(s, sign);
    if (!read_name(s, name, &l))
        return false;
    *ret = l;
    if (l.sign == ' ' && l.alone && !l.name_quoted && memchr(s.p + end, '\t', back - end))
        return true;                    /* TOKEN and a tab */
    if (l.sign == ' ' || l.sign == ',') /* --password VALUE, and "--password","VALUE" */
        return l.name.p[0] == '-' && s.p[at] != '-' && l.name_quoted == (l.sign == ',');
    return l.sign == '=' || l.name_quoted || name == sign;
}

/* How far a value reaches that is in quotes, up to `most` bytes: to the quote that ends it, or to one that
 * ends a string around it. */
static size_t quoted_reach(struct str s, size_t at, const struct lead *l, size_t most)
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

/* The same of a list or an object: to the bracket that ends it. */
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

static size_t reach_until(struct str s, size_t at, const char *stops, size_t most)
{
    size_t n = 0;
    while (at + n < s.n && n < most && (!s.p[at + n] || !strchr(stops, s.p[at + n])))
        n++;
    return n;
}

/* Up to the entity that ends a quoted value of HTML, or a tag. */
static size_t entity_reach(struct str s, size_t at, const char *entity, size_t most)
{
    size_t n = 0, length = strlen(entity);
    while (at + n < s.n && n < most && s.p[at + n] != '<' &&
           (s.p[at + n] != '&' || s.n - at - n < length || strncasecmp(s.p + at + n, entity, length) != 0))
        n++;
    return n;
}

/* Up to a percent-encoded byte that ends a value. */
static size_t encoded_reach(struct str s, size_t at, size_t most)
{
    static const char *const ends[] = {"26", "20", "22", "23", "27", "3b"};
    size_t n = 0;
    while (at + n < s.n && n < most) {
        n += reach_until(s, at + n, " \t&;,\"'%<", most - n);
        if (n >= most || at + n >= s.n || s.p[at + n] != '%')
            break;
        for (size_t i = 0; s.n - at - n > 2 && i < sizeof ends / sizeof *ends; i++)
            if (strncasecmp(s.p + at + n + 1, ends[i], 2) == 0)
                return n;
        n++;
    }
    return n;
}

static size_t reach(struct str s, size_t at, const struct lead *l, size_t most)
{
    if (l->entity)
        return entity_reach(s, at, l->entity, most);
    if (l->encoded)
        return encoded_reach(s, at, most);
    if (l->quote)
        return quoted_reach(s, at, l, most);
    if (l->sign != ':')
        return reach_until(s, at, " \t&;,\"'", most);
    if (!l->name_quoted && l->apart) /* a header's goes to the end */
        return s.n - at < most ? s.n - at : most;
    if (!l->name_quoted)
        return l->listed ? reach_until(s, at, " \t&;,\"'}])", most) : 0;
    if (s.p[at] == '{' || s.p[at] == '[')
        return bracket_reach(s, at, most);
    return reach_until(s, at, " \t&;,\"'}])\\", most);
}

/* What JSON has for "not set" tells nothing. */
static bool is_not_set(const struct lead *l, struct str v)
{
    return l->name_quoted && !l->quote && (str_is(v, "null") || str_is(v, "true") || str_is(v, "false"));
}

/* The value of `NAME=VALUE`, `NAME: VALUE`, `"NAME":"VALUE"` or `--NAME VALUE`; 0: none that goes. */
static size_t value_length(struct search *search, size_t at)
{
    struct str s = search->in;
    struct lead l;
    if (at < 2 || !read_lead(s, at, &l))
        return 0;
    enum redact_name says = redact_judge_name(l.name);
    if (says == REDACT_HARMLESS && !l.parameter)
        return 0;
    struct str first = {s.p + at, reach(s, at, &l, RANDOM_MOST)};
    bool goes = redact_goes(says, first) || (l.parameter && redact_goes_as_parameter(l.name, first));
    return goes && !is_not_set(&l, first) ? reach(s, at, &l, s.n) : 0;
}

/* ---- the whole ------------------------------------------------------------------------------------------
 */

static void put(const struct redact_into *into, const char *p, size_t n)
{
    if (into->out)
        buf_add(into->out, p, n);
}

/* What no rule took. */
static void put_plain(const struct redact_into *into, struct str text)
{
    if (into->repeats)
        redact_words_apply(into->repeats, text, into->out, &into->tally->n[REDACT_REPEAT]);
    else
        put(into, text.p, text.n);
}

/*
 * Whether find_secret may find something at `at`, by the bytes around it: at nearly all positions of a text
 * it cannot. By the byte before: `L` a quote, a blank or the end of a sign stands in front of a value; `d`
 * may end
 * `%3d` or `%3a`; `-` may end the header of a private key; `n` is in the middle of a name; behind any other
 * byte, `o`, only a token begins.
 */
static bool is_candidate(struct str s, size_t at)
{
    static const char kinds[] = "oooooooooLooooooooooooooooooooooLoLooooLooooL-nonnnnnnnnnnLLoLLo"
                                "odnndnnnnnnnnnnnnnnnnnnnnnnoooonodnndnnnnnnnnnnnnnnnnnnnnnnooooo"
                                "oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo"
                                "oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo";
    if (at == 0)
        return true;
    switch (kinds[(unsigned char)s.p[at - 1]]) {
    case 'L':
        return true;
    case 'd':
        return at > 2 && s.p[at - 2] == '3';
    case '-':
        return at > 4 && s.p[at - 2] == '-';
    case 'o':
        return begins_token(s.p[at]);
    default:
        return false;
    }
}

/* How long what goes is that begins at `at`; 0: nothing. */
static size_t find_secret(struct search *search, size_t at, enum redact_rule *ret_rule)
{
    static size_t (*const finders[])(struct search *, size_t) = {
        [REDACT_OPTION] = value_length, [REDACT_URL] = password_length, [REDACT_TOKEN] = token_length};
    struct str s = search->in;
    size_t n = key_length(s, at);
    *ret_rule = REDACT_TOKEN;
    if (n > 0)
        return n;
    if (at > 0 && redact_is_name_byte(s.p[at - 1]) && encoded_sign(s, at) == 0)
        return 0; /* nothing begins in a word */
    for (int rule = REDACT_OPTION; rule <= REDACT_TOKEN; rule++)
        if ((n = finders[rule](search, at)) > 0) {
            *ret_rule = (enum redact_rule)rule;
            return n;
        }
    return 0;
}

void redact_text(struct str s, const struct redact_into *into)
{
    struct search state = {.in = s};
    size_t plain = 0; /* from there to `at` nothing goes */
    for (size_t at = 0; at < s.n;) {
        enum redact_rule rule;
        if (s.p[at] == '[' && stands_redacted(s, at)) {
            at += strlen(REDACTED);
            continue;
        }
        size_t n = is_candidate(s, at) ? find_secret(&state, at, &rule) : 0;
        if (n > 0) {
            into->tally->n[rule]++;
            put_plain(into, (struct str){s.p + plain, at - plain});
            put(into, REDACTED, strlen(REDACTED));
            if (into->taken)
                into->taken(into->ctx, (struct str){s.p + at, n});
            plain = at + n;
        }
        at += n ? n : 1;
    }
    put_plain(into, (struct str){s.p + plain, s.n - plain});
}

/* Whether a private key begins in that line and does not end there. */
static bool opens_key(struct str line)
{
    static const char begins[] = "-----BEGIN ";
    const char *at = line.p, *last = NULL;
    while ((at = memmem(at, (size_t)(line.p + line.n - at), begins, strlen(begins))))
        last = at++;
    if (!last)
        return false;
    struct str rest = {last, (size_t)(line.p + line.n - last)};
    return memmem(rest.p, rest.n, "PRIVATE KEY", 11) && !memmem(rest.p, rest.n, KEY_END, strlen(KEY_END));
}

/* A line of a text: in the body of a private key all of it goes. */
static void redact_line(struct redact_lines *l, struct str line, const struct redact_into *into)
{
    bool ends = l->key_lines == 0 || memmem(line.p, line.n, KEY_END, strlen(KEY_END));
    l->key_lines = ends ? 0 : l->key_lines - 1;
    if (ends || line.n == 0 || stands_redacted(line, 0)) {
        redact_text(line, into);
    } else {
        put(into, REDACTED, strlen(REDACTED));
        into->tally->n[REDACT_TOKEN]++;
    }
    if (ends && opens_key(line))
        l->key_lines = MOST_KEY_LINES;
}

/* How much of a line that is longer than REDACT_LINE_MAX is looked at by itself: up to its last blank. */
static size_t piece_of(struct str line)
{
    size_t n = line.n;
    while (n > line.n / 2 && !is_blank(line.p[n - 1]) && line.p[n - 1] != ',')
        n--;
    return n > line.n / 2 ? n : line.n;
}

static void flush_line(struct redact_lines *l, size_t n, const struct redact_into *into)
{
    redact_line(l, (struct str){buf_str(&l->line), n}, into);
    buf_consume(&l->line, n);
}

void redact_lines_add(struct redact_lines *l, struct str text, const struct redact_into *into)
{
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n, room = REDACT_LINE_MAX - l->line.len,
               taken = n < room ? n : room;
        bool ends = end && taken == n;
        if (ends && l->line.len == 0) { /* all of it is here */
            redact_line(l, (struct str){text.p, n}, into);
        } else {
            buf_add(&l->line, text.p, taken);
            if (ends)
                flush_line(l, l->line.len, into);
            else if (l->line.len == REDACT_LINE_MAX)
                flush_line(l, piece_of((struct str){buf_str(&l->line), l->line.len}), into);
        }
        if (ends)
            buf_addc(into->out, '\n');
        taken += ends;
        text = (struct str){text.p + taken, text.n - taken};
    }
}

void redact_lines_end(struct redact_lines *l, const struct redact_into *into)
{
    flush_line(l, l->line.len, into);
}

int bundle_redact_line(const char *line, char **ret, struct err *err)
{
    enum { GROWTH = 12 };
    struct redact_tally tally = {{0}};
    struct buf out = BUF_INIT(strlen(line) * GROWTH + 1);
    const struct redact_into into = {.out = &out, .tally = &tally};
    redact_text(str_of(line), &into);
    buf_addc(&out, '\0');
    int rc = buf_check(&out, "the line", err);
    if (rc == 0)
        *ret = buf_take(&out);
    buf_release(&out);
    return rc;
}
