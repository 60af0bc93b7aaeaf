/*
 * Secrets inside one string, or in a part of a long line. At each position the search checks whether a secret
 * begins there. It looks at the text before the position: a name with its sign (`=` or `:`), `user:` in a
 * URL, a tag, or the beginning of a word, which may be a token.
 *
 * The time is linear. A step backwards has a limit, or stops at the sign before. A step forwards remembers
 * its result, or the search goes on behind the bytes that were read.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_lines.h"
#include "bundle/redact/redact_words.h"
#include "base/banned.h"

/* Prefixes of well-known tokens. */
static const char *const token_prefixes[] = {
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

/* Returns whether a token may begin with that byte. */
static bool begins_token(char c)
{
    return c != '\0' && strchr("gxsrAhdneywGSplftNPC", c);
}

/* Prefixes that other names have too: a token must have a digit after them. */
static const char *const ambiguous_prefixes[] = {"hf_",  "r8_",     "npm_",  "gsk_", "xai-", "pul-",
                                                 "sgp_", "secret_", "pypi-", "ntn_", "SG.",  "glc_"};

/* Returns whether [redacted] is at `at`, and not the beginning of a longer text. */
static bool is_redacted_at(struct str s, size_t at)
{
    size_t n = strlen(REDACTED);
    return s.n - at >= n && memcmp(s.p + at, REDACTED, n) == 0 &&
           (s.n - at == n || !isalnum((unsigned char)s.p[at + n]));
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

/* Returns the length of the value of `Bearer VALUE` or `Basic VALUE`; 0: none, or a word of a sentence. */
static size_t credentials_length(struct redact_search *search, size_t at)
{
    static const char others[] = "+/~=";
    enum { MIN_LENGTH = 8, LONG = 20 };
    static const char *const schemes[] = {"bearer ", "basic ", "bearer%20",   "basic%20",
                                          "bearer+", "basic+", "bearer%2520", "basic%2520"};
    struct str s = search->in;
    bool may_end = at > 0 && s.p[at - 1] && strchr(" 0+", s.p[at - 1]);
    const char *scheme =
        may_end ? redact_find_before(s, at, schemes, sizeof schemes / sizeof *schemes) : NULL;
    size_t n = 0, begin = scheme ? at - strlen(scheme) : 0;
    size_t sign = redact_prefix_skip_blanks(s, begin);
    bool digit = false, encoded = redact_prefix_encoded_sign(s, sign) > 0;
    if (!scheme || (sign == begin && begin > 0 && redact_is_name_byte(s.p[begin - 1]) && !encoded))
        return 0;
    bool is_value = encoded || redact_is_before(s, sign, "="); /* auth=Basic x */
    for (; at + n < s.n && (redact_is_name_byte(s.p[at + n]) || strchr(others, s.p[at + n])); n++)
        digit = digit || isdigit((unsigned char)s.p[at + n]);
    if (n < LONG && (n < MIN_LENGTH || !digit) && !is_value)
        return 0;
    return redact_rest_divide(search, at, n, (struct redact_rest){.kind = REDACT_REST_TOKEN, .end = others});
}

/* Returns whether `-----BEGIN ... PRIVATE KEY-----` ends right before `at`. */
static bool is_private_key_header(struct str s, size_t at)
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

/* Returns the next REDACT_KEY_END from `at` on, or the end of the string. Call it with rising `at`, so that
 * it searches each byte once. */
static size_t find_key_end(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    if (search->key_end < at || !search->key_end_known) {
        const char *end = memmem(s.p + at, s.n - at, REDACT_KEY_END, strlen(REDACT_KEY_END));
        search->key_end = end ? (size_t)(end - s.p) : s.n;
        search->key_end_known = true;
    }
    return search->key_end;
}

/* Returns the length of a private key's body that begins here, up to its last line; 0: none. */
static size_t private_key_length(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    size_t body = at;
    if (!is_private_key_header(s, at))
        return 0;
    while (body < s.n && isspace((unsigned char)s.p[body]))
        body++;
    if (body == s.n || is_redacted_at(s, body))
        return 0;
    size_t end = find_key_end(search, at);
    return body >= end
               ? 0
               : redact_rest_divide(search, at, end - at,
                                    (struct redact_rest){.kind = REDACT_REST_TEXT, .end = REDACT_KEY_END});
}

static bool has_digit(struct str s)
{
    for (size_t i = 0; i < s.n && i < REDACT_RANDOM_MAX; i++)
        if (isdigit((unsigned char)s.p[i]))
            return true;
    return false;
}

/* Returns whether the name has the prefix of a well-known token. */
static bool is_token(struct str name)
{
    const char *prefix = NULL;
    for (size_t i = 0; !prefix && i < sizeof token_prefixes / sizeof *token_prefixes; i++)
        if (name.p[0] == token_prefixes[i][0] &&
            strncmp(name.p, token_prefixes[i], strlen(token_prefixes[i])) == 0)
            prefix = token_prefixes[i];
    for (size_t i = 0; prefix && i < sizeof ambiguous_prefixes / sizeof *ambiguous_prefixes; i++)
        if (strcmp(prefix, ambiguous_prefixes[i]) == 0)
            return has_digit((struct str){name.p + strlen(prefix), name.n - strlen(prefix)});
    return prefix;
}

/* Returns the length of the token that begins here; 0: none. */
static size_t token_length(struct redact_search *search, size_t at)
{
    enum { MIN_LENGTH = 16 };
    struct str s = search->in;
    size_t n = credentials_length(search, at);
    if (n > 0)
        return n;
    if (at == s.n || !begins_token(s.p[at]))
        return 0;
    while (at + n < s.n && redact_is_name_byte(s.p[at + n]))
        n++;
    if (n < MIN_LENGTH || !is_token((struct str){s.p + at, n}))
        return 0;
    return redact_rest_divide(search, at, n, (struct redact_rest){.kind = REDACT_REST_TOKEN, .end = ""});
}

/* ---- the search ---------------------------------------------------------------------------------------- */

static void write_bytes(const struct redact_output *into, const char *p, size_t n)
{
    if (into->out)
        buf_add(into->out, p, n);
}

/* Writes text that no rule matched. */
static void write_plain(const struct redact_output *into, struct str text)
{
    if (into->learned && !into->learned->literals_only)
        redact_words_apply_words(into->learned, text, into->out, &into->tally->n[REDACT_REPEAT]);
    else
        write_bytes(into, text.p, text.n);
}

/*
 * Returns whether find_secret may find a secret at `at`. Excludes most positions by the kind of the byte
 * before:
 *
 *   L   a value may begin after it: a quote, a blank, a slash, the end of a sign or of a tag
 *   u   it may end a typographic quote
 *   d   it may end %3d or %3a
 *   2   it may end %22 or %27
 *   0   it may end %20
 *   9   it may end %09
 *   -   it may end the header of a private key
 *   n   it is inside a name
 *   o   any other byte: only a token may begin after it
 */
static bool is_candidate(struct str s, size_t at)
{
    static const char kinds[] = "oooooooooLooooooooooooooooooooooLoLooooLoooLL-nL0n2nnnn2n9LLoLLo"
                                "odnndnnnnnnnnnnnnnnnnnnnnnnoooonLdnndnnnnnnnnnnnnnnnnnnnnnnooooo"
                                "oooooooooooooooooooooooouuoouuuooooooooooooooooooooooooooooooooo"
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
    case '0':
        return at > 2 && s.p[at - 2] == '2';
    case '9':
        return at > 2 && s.p[at - 2] == '0';
    case 'u':
        return at > 2 && s.p[at - 2] == '\x80' && s.p[at - 3] == '\xe2';
    case '-':
        return at > 4 && s.p[at - 2] == '-';
    case 'o':
        return begins_token(s.p[at]);
    default:
        return false;
    }
}

/* Returns whether a parameter without a name may begin at `at`, in a request. */
static bool begins_parameter(const struct redact_search *search, size_t at)
{
    return search->request && at > 0 && (search->in.p[at - 1] == '?' || search->in.p[at - 1] == '&');
}

/* Returns whether `at` is inside a word, where no secret begins. */
static bool is_inside_word(struct str s, size_t at)
{
    return at > 0 && redact_is_name_byte(s.p[at - 1]) && redact_prefix_encoded_sign(s, at) == 0 &&
           redact_prefix_encoded_blank(s, at) == 0 && !redact_prefix_long_quote(s, at);
}

/* Returns the length of the secret found ahead, if it begins at `at`; else 0. */
static size_t ahead_length(const struct redact_search *search, size_t at)
{
    return search->ahead.begin == at && search->ahead.end > at ? search->ahead.end - at : 0;
}

/* Returns the length of the secret that begins at `at`; 0: none. */
static size_t find_secret(struct redact_search *search, size_t at, enum redact_rule *ret_rule)
{
    struct str s = search->in;
    size_t n = private_key_length(search, at);
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
    if ((n = redact_url_password(search, at)) > 0 || (n = redact_url_path(search, at)) > 0 ||
        (n = redact_url_part(search, at)) > 0)
        return n;
    *ret_rule = REDACT_TOKEN;
    return token_length(search, at);
}

/* The next place where a value is repeated that was learned as a whole. */
struct repeats_ahead {
    struct redact_literal_search search;
    size_t begin, end; /* begin == end: none is left */
};

static void begin_repeats(struct repeats_ahead *ahead, const struct redact_output *into, struct str s)
{
    ahead->begin = ahead->end = 0;
    if (!into->learned)
        return;
    redact_words_search(into->learned, s, &ahead->search);
    if (!redact_literals_next(&ahead->search, &ahead->begin, &ahead->end))
        ahead->begin = ahead->end = 0;
}

/* Returns the end of the match around `at`; `at`: there is none. Call it with rising `at`. */
static size_t find_repeat_end(struct repeats_ahead *ahead, size_t at)
{
    while (ahead->end > ahead->begin && ahead->end <= at)
        if (!redact_literals_next(&ahead->search, &ahead->begin, &ahead->end))
            ahead->begin = ahead->end = 0;
    return ahead->begin <= at && at < ahead->end ? ahead->end : at;
}

/* The output of one part. */
struct part_writer {
    const struct redact_output *into;
    struct str s;
    size_t n_written; /* the bytes of `s` before this offset are written */
};

/* Redacts the bytes from `at` to `end` that are not redacted yet. `new`: a new secret begins at `at`. */
static void write_redacted(struct part_writer *w, size_t at, size_t end, bool new)
{
    if (end == at || end <= w->n_written)
        return;
    if (at > w->n_written || (at == w->n_written && new)) {
        write_plain(w->into, (struct str){w->s.p + w->n_written, at - w->n_written});
        write_bytes(w->into, REDACTED, strlen(REDACTED));
    }
    w->n_written = end;
}

void redact_write_secret(const struct redact_output *into, enum redact_rule rule)
{
    write_bytes(into, REDACTED, strlen(REDACTED));
    into->tally->n[rule]++;
}

/* Returns whether a secret was found ahead that begins behind `at`. */
static bool has_ahead(const struct redact_search *search, size_t at)
{
    return search->ahead.begin > at && search->ahead.end > search->ahead.begin;
}

/* Redacts a secret that begins at `at`, and returns the next position to search. That is `at` if a rule has
 * to read on behind a part of a line, and `at` is not before search->wait_from. */
static size_t redact_position(struct redact_search *search, struct repeats_ahead *repeats, size_t at,
                              struct part_writer *w)
{
    enum redact_rule rule = REDACT_TOKEN;
    struct str s = search->in;
    if (s.p[at] == '[' && is_redacted_at(s, at)) {
        bool behind_tag = redact_is_before(s, at, ">") || redact_is_before(s, at, "&gt;");
        if (behind_tag) { /* [redacted] was the value of the cell before */
            search->context.next_cell = REDACT_HARMLESS;
            search->context.nested = false;
        }
        return at + strlen(REDACTED);
    }
    if (s.p[at] == ':' || s.p[at] == '%')
        redact_url_read(search, at);
    bool candidate = is_candidate(s, at) || begins_parameter(search, at) || search->ahead.begin == at;
    size_t n = candidate ? find_secret(search, at, &rule) : 0;
    if (search->may_wait && search->undecided)
        return at;
    size_t repeat_end = find_repeat_end(repeats, at);
    bool begins = repeat_end > at && repeats->begin == at;
    if (n > 0) {
        w->into->tally->n[rule]++;
        if (w->into->on_match)
            w->into->on_match(w->into->ctx, (struct str){s.p + at, n});
    } else if (begins) {
        w->into->tally->n[REDACT_REPEAT]++;
    }
    write_redacted(w, at, at + n > repeat_end ? at + n : repeat_end, n > 0 || begins);
    return at + (n > 0 ? n : 1);
}

void redact_part(struct redact_part *p, struct redact_rest *rest, struct redact_context *context,
                 const struct redact_output *into)
{
    struct redact_search state = {.in = p->s,
                                  .request = into->request,
                                  .more = p->more,
                                  .wait_from = p->more ? p->from + (p->to - p->from) / 2 : SIZE_MAX,
                                  .rest = rest,
                                  .context = *context,
                                  .pair_at = p->from};
    struct part_writer w = {.into = into, .s = p->s, .n_written = p->written};
    struct repeats_ahead repeats;
    struct redact_context before = *context;
    size_t at = p->from, pair_before = at;
    if (p->more)
        state.division = redact_rest_division(p->s);
    begin_repeats(&repeats, into, p->s);
    if (rest && rest->kind != REDACT_REST_NONE) {
        at += redact_rest_length(&state, at);
        write_redacted(&w, p->from, at, false);
    }
    bool divided = rest && rest->kind != REDACT_REST_NONE;
    while (at < p->to || (has_ahead(&state, at - 1) && at < state.division)) {
        if (at >= state.wait_from) {
            before = state.context;
            pair_before = state.pair_at;
            state.undecided = false;
            state.may_wait = !has_ahead(&state, at);
        }
        size_t next = redact_position(&state, &repeats, at, &w);
        if (next == at) { /* the next part begins with this position, and with the context before it */
            state.context = before;
            state.pair_at = pair_before;
            break;
        }
        divided = p->more && next == state.division;
        at = next;
    }
    if (at > w.n_written)
        write_plain(into, (struct str){p->s.p + w.n_written, at - w.n_written});
    redact_end_object(&state, at);
    p->from = at;
    p->written = at > w.n_written ? at : w.n_written;
    *context = state.context;
    if (rest && !divided)
        rest->kind = REDACT_REST_NONE;
}

void redact_text(struct str s, const struct redact_output *into)
{
    struct redact_context context = {0};
    struct redact_part whole = {.s = s, .to = s.n};
    redact_part(&whole, NULL, &context, into);
}
