/*
 * Secrets inside one string. Each position is asked whether a value that must go begins there; what stands in
 * front of it decides: a name and a sign, a colon behind a user's name, a tag, a boundary in front of a
 * token. Backward steps are bounded or stop at the sign before, and forward steps are remembered or skip what
 * they have passed, so that the time grows with the bytes.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/bundle.h"
#include "bundle/redact_search.h"
#include "bundle/redact_words.h"
#include "base/banned.h"

/* The last line of a private key begins so. MOST_KEY_LINES: more than any key has. */
#define KEY_END "-----END"
enum { MOST_KEY_LINES = 500, MOST_CONTEXT_LINES = 8 };

/* What well-known tokens begin with. */
static const char *const tokens[] = {
    "ghp_",        "gho_",     "ghu_",        "ghs_",      "ghr_",
    "github_pat_", "glpat-",   "gldt-",       "glrt-",     "glcbt-",
    "glptt-",      "glft-",    "glsoat-",     "glimt-",    "glagent-",
    "gloas-",      "glffct-",  "xoxb-",       "xoxp-",     "xoxa-",
    "xoxr-",       "xoxs-",    "xoxe-",       "xoxe.",     "xapp-",
    "xwfp-",       "sk_live_", "rk_live_",    "sk_test_",  "rk_test_",
    "whsec_",      "AKIA",     "ASIA",        "AIza",      "ya29.",
    "GOCSPX-",     "hvs.",     "hvb.",        "hvr.",      "dop_v1_",
    "doo_v1_",     "dor_v1_",  "npm_",        "eyJ",       "AGE-SECRET-KEY-1",
    "sk-proj-",    "sk-ant-",  "sk-svcacct-", "sk-admin-", "sk-or-v1-",
    "SG.",         "hf_",      "gsk_",        "xai-",      "nvapi-",
    "r8_",         "pypi-",    "rubygems_",   "dckr_pat_", "dckr_oat_",
    "shpat_",      "shpss_",   "shpca_",      "shppa_",    "lin_api_",
    "figd_",       "ntn_",     "tskey-",      "ATATT3",    "ATCTT3",
    "sq0atp-",     "sq0csp-",  "NRAK-",       "glc_",      "glsa_",
    "sbp_",        "sntrys_",  "sntryu_",     "PMAK-",     "CFPAT-",
    "pul-",        "sgp_",     "secret_"};

/* Whether a token may begin with that byte. */
static bool begins_token(char c)
{
    return c != '\0' && strchr("gxsrAhdneywGSplftNPC", c);
}

/* Those of them that other names begin with too: the rest has a digit. */
static const char *const common[] = {"hf_",  "r8_",     "npm_",  "gsk_", "xai-", "pul-",
                                     "sgp_", "secret_", "pypi-", "ntn_", "SG.",  "glc_"};

/* Whether [redacted] stands there, and is not the beginning of something else. */
static bool stands_redacted(struct str s, size_t at)
{
    size_t n = strlen(REDACTED);
    return s.n - at >= n && memcmp(s.p + at, REDACTED, n) == 0 &&
           (s.n - at == n || !isalnum((unsigned char)s.p[at + n]));
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

/* How long the value is of `Bearer VALUE` or `Basic VALUE`; 0: it is none, but a word of a sentence. */
static size_t credentials_length(struct str s, size_t at)
{
    enum { LEAST = 8, LONG = 20 };
    static const char *const schemes[] = {"bearer ", "basic "};
    const char *scheme = at > 0 && s.p[at - 1] == ' ' ? redact_find_before(s, at, schemes, 2) : NULL;
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
    if (at == 0 || s.p[at - 1] != '-' || !redact_find_before(s, at, ends, 2))
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

static bool has_digit(struct str s)
{
    for (size_t i = 0; i < s.n && i < REDACT_RANDOM_MOST; i++)
        if (isdigit((unsigned char)s.p[i]))
            return true;
    return false;
}

/* Whether a name of that length begins as a well-known token does. */
static bool is_token(struct str name)
{
    const char *begin = NULL;
    for (size_t i = 0; !begin && i < sizeof tokens / sizeof *tokens; i++)
        if (name.p[0] == tokens[i][0] && strncmp(name.p, tokens[i], strlen(tokens[i])) == 0)
            begin = tokens[i];
    for (size_t i = 0; begin && i < sizeof common / sizeof *common; i++)
        if (strcmp(begin, common[i]) == 0)
            return has_digit((struct str){name.p + strlen(begin), name.n - strlen(begin)});
    return begin;
}

/* How long the token is that begins here; 0: there is none. */
static size_t token_length(struct redact_search *search, size_t at)
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
    return n >= LEAST && is_token((struct str){s.p + at, n}) ? n : 0;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

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
 * it cannot. By the byte before: `L` a quote, a blank, a slash or the end of a sign or a tag stands in front
 * of a value; `d` may end `%3d` or `%3a`; `2` may end `%22` or `%27`; `-` may end the header of a private
 * key; `n` is in the middle of a name; behind any other byte, `o`, only a token begins.
 */
static bool is_candidate(struct str s, size_t at)
{
    static const char kinds[] = "oooooooooLooooooooooooooooooooooLoLooooLooooL-nLnn2nnnn2nnLLoLLo"
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
    case '2':
        return at > 2 && s.p[at - 2] == '2';
    case '-':
        return at > 4 && s.p[at - 2] == '-';
    case 'o':
        return begins_token(s.p[at]);
    default:
        return false;
    }
}

/* Whether `at` is inside of a word, where nothing begins. */
static bool is_inside_word(struct str s, size_t at)
{
    return at > 0 && redact_is_name_byte(s.p[at - 1]) && redact_lead_encoded_sign(s, at) == 0 &&
           !redact_lead_entity(s, at);
}

/* What was found ahead and begins at `at`. */
static size_t ahead_length(const struct redact_search *search, size_t at)
{
    return search->ahead.begin == at && search->ahead.end > at ? search->ahead.end - at : 0;
}

/* How long what goes is that begins at `at`; 0: nothing. */
static size_t find_secret(struct redact_search *search, size_t at, enum redact_rule *ret_rule)
{
    struct str s = search->in;
    size_t n = key_length(s, at);
    *ret_rule = REDACT_TOKEN;
    if (n > 0)
        return n;
    if ((n = ahead_length(search, at)) > 0) {
        *ret_rule = search->ahead.rule;
        return n;
    }
    if (is_inside_word(s, at))
        return 0;
    *ret_rule = REDACT_OPTION;
    if ((n = redact_value_length(search, at)) > 0 || (n = redact_markup_length(search, at)) > 0)
        return n;
    *ret_rule = REDACT_URL;
    if ((n = redact_url_password(search, at)) > 0 || (n = redact_url_path(search, at)) > 0)
        return n;
    *ret_rule = REDACT_TOKEN;
    return token_length(search, at);
}

/* Redacts one string; *said: what stands before it, and then what stands in it too. */
static void redact_string(struct str s, struct redact_context *said, const struct redact_into *into)
{
    struct redact_search state = {.in = s, .request = into->request, .said = *said};
    size_t plain = 0; /* from there to `at` nothing goes */
    for (size_t at = 0; at < s.n;) {
        enum redact_rule rule;
        if (s.p[at] == '[' && stands_redacted(s, at)) {
            at += strlen(REDACTED);
            continue;
        }
        if (s.p[at] == ':' || s.p[at] == '%')
            redact_url_read(&state, at);
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
    *said = state.said;
    /* An object or a tag that ends here has said all. */
    for (size_t i = state.pair_at; said->pair != REDACT_HARMLESS && i < s.n; i++)
        if (s.p[i] != '\0' && strchr("{}<>", s.p[i]))
            said->pair = REDACT_HARMLESS;
}

void redact_text(struct str s, const struct redact_into *into)
{
    struct redact_context said = {0};
    redact_string(s, &said, into);
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
    if (++l->said.lines > MOST_CONTEXT_LINES)
        l->said = (struct redact_context){0};
    bool ends = l->key_lines == 0 || memmem(line.p, line.n, KEY_END, strlen(KEY_END));
    l->key_lines = ends ? 0 : l->key_lines - 1;
    if (ends || line.n == 0 || stands_redacted(line, 0)) {
        redact_string(line, &l->said, into);
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
    while (n > line.n / 2 && !redact_is_blank(line.p[n - 1]) && line.p[n - 1] != ',')
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
