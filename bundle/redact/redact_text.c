/*
 * Secrets inside one string. At each position the search checks whether a secret value begins there. The text
 * before the position decides: a name and a sign, a colon after a user's name, a tag, a boundary before a
 * token. Backward steps are bounded or stop at the sign before, and forward steps are remembered or skip the
 * bytes read, so the time is linear.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_search.h"
#include "bundle/redact/redact_words.h"
#include "base/banned.h"

/* The beginning of a private key's last line. No key has MAX_KEY_LINES lines. */
#define KEY_END "-----END"
enum { MAX_KEY_LINES = 500, MAX_CONTEXT_LINES = 8 };

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
static size_t credentials_length(struct str s, size_t at)
{
    enum { MIN_LENGTH = 8, LONG = 20 };
    static const char *const schemes[] = {"bearer ", "basic ", "bearer%20",   "basic%20",
                                          "bearer+", "basic+", "bearer%2520", "basic%2520"};
    bool may_end = at > 0 && s.p[at - 1] && strchr(" 0+", s.p[at - 1]);
    const char *scheme =
        may_end ? redact_find_before(s, at, schemes, sizeof schemes / sizeof *schemes) : NULL;
    size_t n = 0, begin = scheme ? at - strlen(scheme) : 0;
    size_t sign = redact_prefix_skip_blanks(s, begin);
    bool digit = false, encoded = redact_prefix_encoded_sign(s, sign) > 0;
    if (!scheme || (sign == begin && begin > 0 && redact_is_name_byte(s.p[begin - 1]) && !encoded))
        return 0;
    bool is_value = encoded || redact_is_before(s, sign, "="); /* auth=Basic x */
    for (; at + n < s.n && (redact_is_name_byte(s.p[at + n]) || strchr("+/~=", s.p[at + n])); n++)
        digit = digit || isdigit((unsigned char)s.p[at + n]);
    return n >= LONG || (n >= MIN_LENGTH && digit) || is_value ? n : 0;
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

/* Returns the next KEY_END from `at` on, or the end of the string. Call it with rising `at`, so that it
 * searches each byte once. */
static size_t find_key_end(struct redact_search *search, size_t at)
{
    struct str s = search->in;
    if (search->key_end < at || !search->key_end_known) {
        const char *end = memmem(s.p + at, s.n - at, KEY_END, strlen(KEY_END));
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
    return body < end ? end - at : 0;
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
    size_t n = credentials_length(s, at);
    if (n > 0)
        return n;
    if (at == s.n || !begins_token(s.p[at]))
        return 0;
    while (at + n < s.n && redact_is_name_byte(s.p[at + n]))
        n++;
    return n >= MIN_LENGTH && is_token((struct str){s.p + at, n}) ? n : 0;
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
 * Returns whether find_secret may find a secret at `at`: excludes most positions by the kind of the byte
 * before. Kinds: `L`: a value may begin after it (a quote, a blank, a slash, the end of a sign or a tag);
 * `u`: it may end a typographic quote; `d`: it may end `%3d` or `%3a`; `2`: it may end `%22` or `%27`; `0`:
 * it may end `%20`; `9`: it may end `%09`; `-`: it may end the header of a private key; `n`: it is inside a
 * name; `o`, any other byte: only a token may begin after it.
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

/* The next match of a value that was learned whole. */
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

/* A part of a string: the bytes from `from` to `to`. What stands before and behind it is searched with it. */
struct part {
    struct str s;
    size_t from, to;
    /* The end, and a place at least REDACT_OVERLAP bytes before it with the context there: the next part is
     * searched from that place on. */
    size_t end, resume_at;
    struct redact_context resume_context;
};

/* The output of one part. */
struct writing {
    const struct redact_output *into;
    struct str s;
    size_t from;
    size_t n_written; /* the bytes of `s` before this offset are written */
};

/* Redacts the bytes from `at` to `end` that are not redacted yet. `new`: a new secret begins at `at`. */
static void write_redacted(struct writing *w, size_t at, size_t end, bool new)
{
    if (end == at || end <= w->n_written)
        return;
    if (at > w->n_written || (at == w->n_written && new)) {
        write_plain(w->into, (struct str){w->s.p + w->n_written, at - w->n_written});
        write_bytes(w->into, REDACTED, strlen(REDACTED));
    }
    w->n_written = end;
}

/* Redacts a secret that begins at `at`, and returns the next position to search. */
static size_t redact_position(struct redact_search *search, struct repeats_ahead *repeats, size_t at,
                              struct writing *w)
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
    size_t repeat_end = find_repeat_end(repeats, at);
    bool begins = repeat_end > at && repeats->begin == at;
    bool was_counted = at < w->from && at + n <= w->from; /* in the part before */
    if (n > 0 && !was_counted) {
        w->into->tally->n[rule]++;
        if (w->into->on_match)
            w->into->on_match(w->into->ctx, (struct str){s.p + at, n});
    } else if (begins && !was_counted) {
        w->into->tally->n[REDACT_REPEAT]++;
    }
    write_redacted(w, at, at + n > repeat_end ? at + n : repeat_end, n > 0 || begins);
    return at + (n > 0 ? n : 1);
}

/* Redacts a part of a string. Updates *context, the context from the text before. The part may end behind
 * `to`, after a secret. */
static void redact_part(struct part *p, struct redact_context *context, const struct redact_output *into)
{
    struct str s = p->s;
    struct redact_search state = {.in = s, .request = into->request, .context = *context};
    struct writing w = {.into = into, .s = s, .from = p->from, .n_written = p->from};
    struct repeats_ahead repeats;
    size_t at = 0, resume_from = p->to > REDACT_OVERLAP ? p->to - REDACT_OVERLAP : 0;
    begin_repeats(&repeats, into, s);
    p->resume_at = SIZE_MAX;
    while (at < p->to) {
        if (at >= resume_from && p->resume_at == SIZE_MAX) {
            p->resume_at = at;
            p->resume_context = state.context;
        }
        at = redact_position(&state, &repeats, at, &w);
    }
    p->end = at > w.n_written ? at : w.n_written;
    if (p->resume_at == SIZE_MAX) { /* a secret extends over it */
        p->resume_at = p->end > REDACT_OVERLAP ? p->end - REDACT_OVERLAP : 0;
        p->resume_context = state.context;
    }
    write_plain(into, (struct str){s.p + w.n_written, p->end - w.n_written});
    *context = state.context;
    /* A brace, or the bracket of a tag, after the name ends the context of a pair. */
    for (size_t k = state.pair_at; context->pair != REDACT_HARMLESS && k < s.n; k++)
        if (s.p[k] != '\0' && strchr("{}<>", s.p[k]))
            context->pair = REDACT_HARMLESS;
}

/* Redacts one string. Updates *context. */
static void redact_string(struct str s, struct redact_context *context, const struct redact_output *into)
{
    struct part whole = {.s = s, .to = s.n};
    redact_part(&whole, context, into);
}

void redact_text(struct str s, const struct redact_output *into)
{
    struct redact_context context = {0};
    redact_string(s, &context, into);
}

/* Returns whether a private key begins in that line and does not end there. */
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

/* Redacts a line outside of private keys, or its first part. It may begin with the value of a name on the
 * line before. */
static void redact_plain_line(struct redact_lines *l, struct part *p, const struct redact_output *into)
{
    struct str line = p->s;
    struct str value = redact_continuation_value(&l->continuation, line);
    if (value.n > 0) {
        write_bytes(into, line.p, (size_t)(value.p - line.p));
        write_bytes(into, REDACTED, strlen(REDACTED));
        into->tally->n[REDACT_OPTION]++;
        line = (struct str){value.p + value.n, line.n - (size_t)(value.p - line.p) - value.n};
    } else if (l->continuation.kind == REDACT_CONTINUES_NONE) {
        l->continuation = redact_continuation_begin(line, l->context.pair);
    }
    size_t n_before = (size_t)(line.p - p->s.p);
    struct part rest = {.s = line, .to = p->to > n_before ? p->to - n_before : 0};
    redact_part(&rest, &l->context, into);
    p->end = rest.end + n_before;
    p->resume_at = rest.resume_at + n_before;
    p->resume_context = rest.resume_context;
}

/* Redacts a line of a private key's body, or a part of one. */
static void redact_key_line(const struct redact_lines *l, struct part *p, const struct redact_output *into)
{
    write_bytes(into, REDACTED, strlen(REDACTED));
    into->tally->n[REDACT_TOKEN]++;
    p->end = p->resume_at = p->to;
    p->resume_context = l->context;
}

/* Redacts a line of a text, or the first part of one: all of it in the body of a private key. */
static void redact_line(struct redact_lines *l, struct part *p, const struct redact_output *into)
{
    struct str line = p->s;
    size_t column = 0;
    while (column < line.n && redact_is_blank(line.p[column]))
        column++;
    /* A list's next element, or a line with less indentation, ends the object of a pair in YAML. */
    if (++l->context.lines > MAX_CONTEXT_LINES || (column < line.n && column < l->context.pair_column))
        l->context = (struct redact_context){0};
    l->context.column = redact_text_column(line);
    bool ends = l->key_lines == 0 || memmem(line.p, line.n, KEY_END, strlen(KEY_END));
    l->key_lines = ends ? 0 : l->key_lines - 1;
    if (ends || line.n == 0 || is_redacted_at(line, 0)) {
        redact_plain_line(l, p, into);
    } else {
        redact_key_line(l, p, into);
    }
    if (ends && opens_key((struct str){line.p, p->end}))
        l->key_lines = MAX_KEY_LINES;
}

/* ---- long lines ---------------------------------------------------------------------------------------- */

/* Returns the end of the part of a long line: after the last blank or comma that has REDACT_OVERLAP bytes
 * behind it, so that no word is cut. */
static size_t find_cut(struct str line, size_t from)
{
    size_t most = line.n - REDACT_OVERLAP, n = most;
    size_t least = from > most / 2 ? from : most / 2;
    while (n > least && !redact_is_blank(line.p[n - 1]) && line.p[n - 1] != ',')
        n--;
    return n > least ? n : most;
}

/* Skips what follows of a secret that the part before did not contain wholly. */
static size_t skip_secret(struct redact_lines *l, struct str s, size_t from)
{
    size_t at = from;
    while (at < s.n && s.p[at] && !strchr(" \t\"'`,;&<>()[]{}", s.p[at]))
        at++;
    l->in_secret = l->in_secret && at == s.n;
    return at;
}

/* Redacts a further part of a long line. */
static void redact_further_part(struct redact_lines *l, struct part *p, const struct redact_output *into)
{
    struct str rest = {p->s.p + p->from, p->s.n - p->from};
    bool ends = l->key_lines == 0 || memmem(rest.p, rest.n, KEY_END, strlen(KEY_END));
    l->key_lines = ends ? 0 : l->key_lines - 1;
    if (l->in_secret)
        p->from = skip_secret(l, p->s, p->from);
    if (!ends) {
        redact_key_line(l, p, into);
        return;
    }
    redact_part(p, &l->context, into);
    if (opens_key((struct str){p->s.p, p->end}))
        l->key_lines = MAX_KEY_LINES;
}

static void redact_next_part(struct redact_lines *l, struct part *p, const struct redact_output *into)
{
    if (l->is_long)
        redact_further_part(l, p, into);
    else
        redact_line(l, p, into);
}

/* Redacts a part of the line in the full buffer. Keeps the end for the next part. */
static void flush_part(struct redact_lines *l, const struct redact_output *into)
{
    struct part p = {.s = {buf_str(&l->line), l->line.len}, .from = l->n_done};
    p.to = find_cut(p.s, p.from);
    redact_next_part(l, &p, into);
    l->is_long = true;
    l->in_secret = p.end == p.s.n;
    l->n_done = p.end - p.resume_at;
    l->context = p.resume_context;
    buf_consume(&l->line, p.resume_at);
}

/* Redacts a line, or the rest of a long one. A carriage return at its end stays. */
static void redact_end(struct redact_lines *l, struct str line, const struct redact_output *into)
{
    size_t cr = line.n > l->n_done && line.p[line.n - 1] == '\r';
    struct part p = {.s = {line.p, line.n - cr}, .from = l->n_done, .to = line.n - cr};
    redact_next_part(l, &p, into);
    write_bytes(into, line.p + line.n - cr, cr);
    l->is_long = l->in_secret = false;
    l->n_done = 0;
}

static void flush_line(struct redact_lines *l, const struct redact_output *into)
{
    redact_end(l, (struct str){buf_str(&l->line), l->line.len}, into);
    buf_clear(&l->line);
}

/* Returns the length of the line, without the newline or the carriage return that ends it. */
static size_t line_length(struct str text)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != '\n' && (text.p[n] != '\r' || n + 1 == text.n || text.p[n + 1] == '\n'))
        n++;
    return n;
}

void redact_lines_add(struct redact_lines *l, struct str text, const struct redact_output *into)
{
    while (text.n > 0) {
        size_t n = line_length(text), room = REDACT_LINE_MAX - l->line.len, taken = n < room ? n : room;
        bool ends = n < text.n && taken == n;
        if (ends && l->line.len == 0) { /* the buffer is empty: search the line in place */
            redact_end(l, (struct str){text.p, n}, into);
        } else {
            buf_add(&l->line, text.p, taken);
            if (ends)
                flush_line(l, into);
            else if (l->line.len == REDACT_LINE_MAX)
                flush_part(l, into);
        }
        if (ends)
            buf_addc(into->out, text.p[n]);
        taken += ends;
        text = (struct str){text.p + taken, text.n - taken};
    }
}

void redact_lines_end(struct redact_lines *l, const struct redact_output *into)
{
    flush_line(l, into);
}
