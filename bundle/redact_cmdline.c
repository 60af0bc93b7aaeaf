/*
 * An argument is looked at as a whole first: is it NAME=VALUE, or the value of the option before it? What is
 * left is searched for passwords in URLs and for tokens, wherever they stand in it.
 */
#include <ctype.h>
#include <string.h>

#include "bundle/redact.h"
#include "base/banned.h"

/* What is long and random shows it in its first bytes. */
enum { NAME_MAX_LENGTH = 100, RANDOM_LEAST = 16, RANDOM_MOST = 256 };

struct piece {
    const char *p;
    size_t n;
};

/* ---- names ----------------------------------------------------------------------------------------------
 */

/* How sure a name is. */
enum name { HARMLESS, MAYBE, SECRET };

/* A name's words, or a word's end: "dbpassword". */
static const struct {
    const char *word;
    enum name says;
} words[] = {
    {"password", SECRET},   {"passwords", SECRET},   {"passwd", SECRET},
    {"passphrase", SECRET}, {"pwd", SECRET},         {"pass", SECRET},
    {"secret", SECRET},     {"secrets", SECRET},     {"token", SECRET},
    {"apikey", SECRET},     {"accesskey", SECRET},   {"privatekey", SECRET},
    {"secretkey", SECRET},  {"signingkey", SECRET},  {"encryptionkey", SECRET},
    {"credential", SECRET}, {"credentials", SECRET}, {"authorization", SECRET},
    {"cookie", SECRET},     {"bearer", SECRET},      {"key", MAYBE},
    {"auth", MAYBE},        {"session", MAYBE},      {"salt", MAYBE},
    {"signature", MAYBE},   {"license", MAYBE},      {"pw", MAYBE},
    {"dsn", MAYBE},
};

/* A last word of these names where the secret is. */
static const char *const places[] = {"file", "path", "dir", "directory"};

static bool ends_in(struct piece s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Short words are too often the end of another one: "bypass". */
static bool has_word(struct piece name, const char *word)
{
    enum { LONG = 6 };
    if (!ends_in(name, word))
        return false;
    size_t before = name.n - strlen(word);
    return before == 0 || name.p[before - 1] == '-' || strlen(word) >= LONG;
}

/* `userPassword`, `user_password`, `USER.PASSWORD`: each as `user-password`. Of a long name the end, which
 * says what it is. */
static size_t normalize(struct piece name, char dst[NAME_MAX_LENGTH * 2])
{
    size_t n = 0;
    for (size_t i = name.n > NAME_MAX_LENGTH ? name.n - NAME_MAX_LENGTH : 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool hump = i > 0 && isupper(c) && islower((unsigned char)name.p[i - 1]);
        if (hump)
            dst[n++] = '-';
        dst[n++] = isalnum(c) ? (char)tolower(c) : '-';
    }
    return n;
}

/* Joins the last two words: "api-key" is "apikey". */
static size_t join_last(const char *name, size_t n, char dst[NAME_MAX_LENGTH * 2])
{
    size_t dash = n;
    while (dash > 0 && name[dash - 1] != '-')
        dash--;
    if (dash == 0)
        return 0;
    memcpy(dst, name, dash - 1);
    memcpy(dst + dash - 1, name + dash, n - dash);
    return n - 1;
}

static enum name judge_words(struct piece name)
{
    enum name says = HARMLESS;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(name, words[i].word) && words[i].says > says)
            says = words[i].says;
    return says;
}

static enum name judge_name(struct piece name)
{
    char normal[NAME_MAX_LENGTH * 2], joined[NAME_MAX_LENGTH * 2];
    while (name.n > 0 && name.p[0] == '-') {
        name.p++;
        name.n--;
    }
    size_t n = normalize(name, normal), n_joined = join_last(normal, n, joined);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (has_word((struct piece){normal, n}, places[i]))
            return HARMLESS;
    enum name says = judge_words((struct piece){normal, n}),
              more = judge_words((struct piece){joined, n_joined});
    return more > says ? more : says;
}

/* ---- values ---------------------------------------------------------------------------------------------
 */

/* Long, without a blank, of letters and digits mixed as no person would. */
static bool is_random(struct piece v)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.p[i];
        if (!isalnum(c) && !strchr("+/=_-", c))
            return false;
        digits += isdigit(c) != 0;
        letters += isalpha(c) != 0;
    }
    return v.n >= RANDOM_LEAST && digits * 8 >= v.n && letters > 0;
}

static bool is_port(struct piece v)
{
    size_t digits = 0;
    while (digits < v.n && isdigit((unsigned char)v.p[digits]))
        digits++;
    return digits == v.n && v.n > 0 && v.n <= 5;
}

static bool is_redacted(struct piece v)
{
    return v.n == strlen(REDACTED) && memcmp(v.p, REDACTED, v.n) == 0;
}

/* Whether a value under that name goes. */
static bool goes(enum name says, struct piece value)
{
    return value.n > 0 && !is_redacted(value) && (says == SECRET || (says == MAYBE && is_random(value)));
}

/* ---- inside an argument -----------------------------------------------------------------------------------
 */

static const char *const tokens[] = {
    "ghp_",  "gho_",  "ghu_",  "ghs_",    "github_pat_", "glpat-",   "gldt-",
    "glrt-", "xoxb-", "xoxp-", "xoxa-",   "sk_live_",    "rk_live_", "AKIA",
    "ASIA",  "AIza",  "hvs.",  "dop_v1_", "npm_",        "eyJ",      "AGE-SECRET-KEY-1"};

/* An argument that is searched from its beginning to its end, each byte looked at a few times whatever stands
 * there. */
struct search {
    struct piece in;
    size_t password_end; /* what was found of the one that was looked at last, or of the one after it */
};

static bool is_token_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* How long the token is that begins here; 0: there is none. */
static size_t token_length(struct search *search, size_t at)
{
    enum { LEAST = 16 };
    struct piece s = search->in;
    if (at > 0 && is_token_byte(s.p[at - 1]))
        return 0;
    size_t n = 0;
    while (at + n < s.n && is_token_byte(s.p[at + n]))
        n++;
    for (size_t i = 0; n >= LEAST && i < sizeof tokens / sizeof *tokens; i++)
        if (strncmp(s.p + at, tokens[i], strlen(tokens[i])) == 0)
            return n;
    return 0;
}

/* The password of `NAME:PASSWORD@` that begins here, right behind the colon; 0: none. A slash ends it, as in
 * `https://host:8080/@x`. */
static size_t password_length(struct search *s, size_t at)
{
    const char *p = s->in.p;
    if (at < 2 || p[at - 1] != ':' || !is_token_byte(p[at - 2]))
        return 0;
    if (s->password_end < at)
        s->password_end = at;
    while (s->password_end < s->in.n && !isspace((unsigned char)p[s->password_end]) &&
           !strchr("/@\"'", p[s->password_end]))
        s->password_end++;
    return s->password_end < s->in.n && p[s->password_end] == '@' ? s->password_end - at : 0;
}

/* How far the value reaches that begins here, in the first `most` bytes. A header's goes to the end. */
static size_t reach(struct piece s, size_t at, bool header, size_t most)
{
    size_t n = 0;
    while (at + n < s.n && n < most && (header || !strchr(" \t&;,\"'", s.p[at + n])))
        n++;
    return n;
}

/* The value of `NAME=VALUE` or `NAME: VALUE` inside, right behind its sign; 0: none that goes. */
static size_t value_length(struct search *search, size_t at)
{
    struct piece s = search->in;
    if (at < 2 || (s.p[at - 1] != '=' && !(at > 2 && s.p[at - 1] == ' ' && s.p[at - 2] == ':')))
        return 0;
    bool header = s.p[at - 1] == ' ';
    size_t end = header ? at - 2 : at - 1, begin = end;
    while (begin > 0 && is_token_byte(s.p[begin - 1]))
        begin--;
    if (begin == end)
        return 0;
    enum name says = judge_name((struct piece){s.p + begin, end - begin});
    if (!goes(says, (struct piece){s.p + at, reach(s, at, header, RANDOM_MOST)}))
        return 0;
    return reach(s, at, header, s.n);
}

static void search(struct piece s, struct buf *ret, struct redact_tally *tally)
{
    static size_t (*const finders[])(struct search *, size_t) = {
        [REDACT_OPTION] = value_length, [REDACT_URL] = password_length, [REDACT_TOKEN] = token_length};
    struct search state = {.in = s};
    for (size_t at = 0; at < s.n;) {
        size_t n = 0;
        for (int rule = REDACT_OPTION; n == 0 && rule <= REDACT_TOKEN; rule++)
            if ((n = finders[rule](&state, at)) > 0)
                tally->n[rule]++;
        if (n > 0)
            buf_adds(ret, REDACTED);
        else
            buf_addc(ret, s.p[at]);
        at += n ? n : 1;
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------
 */

/* Whether the argument is an option without its value, and what its name says of the next one. */
static enum name says_of_next(struct piece a)
{
    if (a.n < 2 || a.p[0] != '-' || memchr(a.p, '=', a.n))
        return HARMLESS;
    return judge_name(a);
}

static void redact_argument(struct piece a, struct piece before, struct buf *ret, struct redact_tally *tally)
{
    enum name says = says_of_next(before);
    bool short_p = before.n == 2 && memcmp(before.p, "-p", 2) == 0;
    struct piece name = {a.p, 0};
    while (name.n < a.n && is_token_byte(name.p[name.n]))
        name.n++;
    if (a.n > 0 && a.p[0] != '-' && (goes(says, a) || (short_p && !is_port(a)))) {
        buf_adds(ret, REDACTED);
        tally->n[REDACT_OPTION]++;
    } else if (name.n < a.n && a.p[name.n] == '=' &&
               goes(judge_name(name), (struct piece){a.p + name.n + 1, a.n - name.n - 1})) {
        /* All of it: a blank or an ampersand may belong to a password. */
        buf_add(ret, a.p, name.n + 1);
        buf_adds(ret, REDACTED);
        tally->n[REDACT_OPTION]++;
    } else {
        search(a, ret, tally);
    }
}

void redact_cmdline(const void *p, size_t n, struct buf *ret, struct redact_tally *tally)
{
    struct piece rest = {p, n}, before = {"", 0};
    while (rest.n > 0) {
        const char *nul = memchr(rest.p, '\0', rest.n);
        struct piece a = {rest.p, nul ? (size_t)(nul - rest.p) : rest.n};
        redact_argument(a, before, ret, tally);
        if (nul)
            buf_addc(ret, '\0');
        before = a;
        size_t used = a.n + (nul != NULL);
        rest = (struct piece){rest.p + used, rest.n - used};
    }
}
