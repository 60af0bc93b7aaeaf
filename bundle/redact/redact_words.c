/*
 * A run is a sequence of ASCII letters, digits, `_`, `-` and `.` (redact_is_name_byte). Reads a text run by
 * run. The separators `.`, `-` and `_` divide a run into parts. At each part it replaces the longest learned
 * word that begins there and has up to MAX_PARTS parts. So it finds WORD in `WORD.` and in `x-WORD`. The
 * number of parts and their length are bounded, so the time is linear.
 */
#include "bundle/redact/redact_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "bundle/redact/redact_escape.h"
#include "bundle/redact/redact_names.h"
#include "proto/proto.h"
#include "base/banned.h"

/* The minimum lengths, in bytes, of words to learn. SECRET_MIN: the whole value of a request's parameter.
 * WORD_MIN: any other word. INSIDE_MIN: from this length on, the whole value is also replaced inside longer
 * words. */
enum { SECRET_MIN = 3, WORD_MIN = 4, INSIDE_MIN = 6, WORD_MAX = 512, MAX_PARTS = 8 };

/* Ordinary values of parameters, which are never learned. The names of the kinds are not learned either
 * (is_ordinary). */
static const char *const ordinary[] = {"true",     "false",  "null",   "none",   "get",   "post",
                                       "vars",     "debug",  "pprof",  "http",   "https", "token",
                                       "password", "secret", "sha256", "bearer", "basic", "redacted"};

static bool is_separator(char c)
{
    return c == '.' || c == '-' || c == '_';
}

static struct str trim_separators(struct str s)
{
    while (s.n > 0 && is_separator(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_separator(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Converts to lower case, into dst of WORD_MAX bytes. */
static struct str to_lower(struct str s, char *dst)
{
    for (size_t i = 0; i < s.n; i++)
        dst[i] = (char)tolower((unsigned char)s.p[i]);
    return (struct str){dst, s.n};
}

int redact_words_init(struct redact_words *w, struct err *err)
{
    (void)err;
    *w = (struct redact_words){.text = BUF_INIT(UINT32_MAX)};
    w->seed = hash_index_seed(&w->index);
    return 0;
}

void redact_words_release(struct redact_words *w)
{
    buf_release(&w->text);
    free(w->items);
    hash_index_release(&w->index);
    redact_literals_release(&w->literals);
    *w = (struct redact_words){0};
}

/* A word in lower case to look up. */
struct query {
    const struct redact_words *words;
    struct str word;
};

static bool item_equals(const void *ctx, uint32_t index)
{
    const struct query *query = ctx;
    const struct redact_word *item = &query->words->items[index];
    return item->n == query->word.n &&
           memcmp(query->words->text.data + item->at, query->word.p, item->n) == 0;
}

static uint64_t hash_word(const struct redact_words *w, struct str word)
{
    return hash_index_mix_str(w->seed, word);
}

/* Looks up a word in lower case; NULL if it is not known. */
static struct redact_word *find_lower(const struct redact_words *w, struct str word)
{
    const struct query query = {w, word};
    uint32_t number = hash_index_find(&w->index, hash_word(w, word), item_equals, &query);
    return number == HASH_INDEX_NONE ? NULL : &w->items[number];
}

static int add_lower(struct redact_words *w, struct str word, bool strong, struct err *err)
{
    const struct redact_word new = {(uint32_t)w->text.len, (uint32_t)word.n, strong};
    if (array_reserve((void **)&w->items, &w->cap, w->index.n + 1, sizeof *w->items, err) < 0)
        return -1;
    buf_add(&w->text, word.p, word.n);
    w->items[w->index.n] = new;
    return buf_check(&w->text, "the list of redacted words", err) < 0
               ? -1
               : hash_index_add(&w->index, hash_word(w, word), err);
}

/* ---- learning ------------------------------------------------------------------------------------------ */

/* The types of characters in a word. */
struct shape {
    bool letter, digit;
};

static struct shape get_shape(struct str word)
{
    struct shape s = {0};
    for (size_t i = 0; i < word.n; i++) {
        s.letter = s.letter || isalpha((unsigned char)word.p[i]);
        s.digit = s.digit || isdigit((unsigned char)word.p[i]);
    }
    return s;
}

static bool is_ordinary(struct str word)
{
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (str_is(word, ordinary[i]))
            return true;
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_at(i)); i++)
        if (str_is(word, kind->name) || (kind->alias && str_is(word, kind->alias)))
            return true;
    return false;
}

/* Returns whether a word can only be a secret. `whole`: the word is the whole value. */
static bool is_strong(struct str word, bool whole)
{
    enum { MIXED_MIN = 6, DIGITS_MIN = 8, LETTERS_MIN = 16 };
    struct shape s = get_shape(word);
    if (redact_looks_random(word))
        return true;
    return whole && word.n >= (s.letter && s.digit ? MIXED_MIN : s.digit ? DIGITS_MIN : LETTERS_MIN);
}

static bool is_worth_learning(struct str word, bool whole, bool of_request)
{
    enum { LONG = 6 };
    struct shape s = get_shape(word);
    if (of_request && whole && (s.letter || s.digit) && word.n >= SECRET_MIN)
        return true;
    if (word.n < WORD_MIN)
        return false;
    return of_request ? s.digit || word.n >= LONG : s.digit && s.letter;
}

/* Adds a word to the literals (redact_literals.h). A strong word, and a whole request value of INSIDE_MIN
 * bytes or more, is found anywhere; of other words only the beginning, where profgrab cut the text. A word
 * that is a substring of `[redacted]`, such as `acted`, is not searched inside words, because it would match
 * the replacement text. */
static int learn_inside(struct redact_words *w, struct str word, bool strong, bool whole_request,
                        struct err *err)
{
    enum redact_literal_kind kind = REDACT_LITERAL_AT_CUTS;
    if (!memmem(REDACTED, strlen(REDACTED), word.p, word.n))
        kind = strong                                  ? REDACT_LITERAL_STRONG
               : whole_request && word.n >= INSIDE_MIN ? REDACT_LITERAL_WEAK
                                                       : REDACT_LITERAL_AT_CUTS;
    return redact_literals_add(&w->literals, word, kind, err);
}

static int learn_word(struct redact_words *w, struct str run, bool whole, bool of_request, struct err *err)
{
    char low[WORD_MAX];
    struct str word = trim_separators(run);
    if (word.n > sizeof low || !is_worth_learning(word, whole, of_request))
        return 0;
    word = to_lower(word, low);
    if (is_ordinary(word))
        return 0;
    bool strong = is_strong(word, whole);
    struct redact_word *known = find_lower(w, word);
    if (known)
        known->strong = known->strong || strong;
    else if (add_lower(w, word, strong, err) < 0)
        return -1;
    w->first_bytes[(unsigned char)word.p[0]] = true;
    w->longest = word.n > w->longest ? word.n : w->longest;
    return learn_inside(w, word, strong, whole && of_request, err);
}

/* Returns the next run of name bytes from *at on; empty at the end. */
static struct str next_run(struct str s, size_t *at)
{
    while (*at < s.n && !redact_is_name_byte(s.p[*at]))
        ++*at;
    size_t begin = *at;
    while (*at < s.n && redact_is_name_byte(s.p[*at]))
        ++*at;
    return (struct str){s.p + begin, *at - begin};
}

static int learn_words(struct redact_words *w, struct str value, bool of_request, struct err *err)
{
    struct str run;
    for (size_t at = 0; (run = next_run(value, &at)).n > 0;)
        if (learn_word(w, run, run.n == value.n, of_request, err) < 0)
            return -1;
    return 0;
}

/* Decodes the value of a request, because a server repeats it decoded. `plus`: a plus is a blank. */
static void decode_request_value(struct str value, bool plus, struct buf *ret)
{
    for (size_t i = 0; i < value.n; i++) {
        int high = value.n - i > 2 && value.p[i] == '%' ? text_hex_digit(value.p[i + 1]) : -1;
        int low = high < 0 ? -1 : text_hex_digit(value.p[i + 2]);
        if (low < 0) {
            buf_addc(ret, (char)(plus && value.p[i] == '+' ? ' ' : value.p[i]));
        } else {
            buf_addc(ret, (char)(high * 16 + low));
            i += 2;
        }
    }
}

/* The next functions escape a byte as servers do in JSON, in a Go string, in HTML and in a URL. */
static void escape_json(char c, struct buf *ret)
{
    if (c == '"' || c == '\\')
        buf_addf(ret, "\\%c", c);
    else if (c == '<' || c == '>' || c == '&')
        buf_addf(ret, "\\u%04x", (unsigned)c);
    else
        buf_addc(ret, c);
}

static void escape_go(char c, struct buf *ret)
{
    if (c == '"' || c == '\\')
        buf_addc(ret, '\\');
    buf_addc(ret, c);
}

static void escape_html(char c, struct buf *ret)
{
    const char *entity = c == '&'    ? "&amp;"
                         : c == '<'  ? "&lt;"
                         : c == '>'  ? "&gt;"
                         : c == '"'  ? "&#34;"
                         : c == '\'' ? "&#39;"
                                     : NULL;
    if (entity)
        buf_adds(ret, entity);
    else
        buf_addc(ret, c);
}

static void escape_url(char c, struct buf *ret)
{
    if (redact_is_name_byte(c) || c == '~')
        buf_addc(ret, c);
    else if (c == ' ')
        buf_addc(ret, '+');
    else
        buf_addf(ret, "%%%02X", (unsigned)(unsigned char)c);
}

static struct str trim_space(struct str s)
{
    while (s.n > 0 && isspace((unsigned char)s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Learns the whole value as a literal, unless it has only name bytes: learn_words learns such a value. */
static int learn_literal(struct redact_words *w, struct str value, struct err *err)
{
    struct str s = trim_space(value);
    bool has_content = false;
    size_t n_name_bytes = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        has_content = has_content || isalnum(c) || c >= 0x80;
        n_name_bytes += redact_is_name_byte(s.p[i]);
    }
    if (s.n < SECRET_MIN || !has_content || (n_name_bytes == s.n && s.n <= WORD_MAX))
        return 0;
    return redact_literals_add(&w->literals, s,
                               is_strong(s, true) ? REDACT_LITERAL_STRONG : REDACT_LITERAL_WEAK, err);
}

/* Learns a decoded value, and its escaped forms. */
static int learn_forms(struct redact_words *w, struct str value, struct err *err)
{
    static void (*const escapes[])(char, struct buf *) = {escape_json, escape_go, escape_html, escape_url};
    enum { GROWTH = 6 };
    int rc = learn_literal(w, value, err);
    for (size_t i = 0; rc == 0 && i < sizeof escapes / sizeof *escapes; i++) {
        struct buf b = BUF_INIT(value.n * GROWTH + 1);
        for (size_t k = 0; k < value.n; k++)
            escapes[i](value.p[k], &b);
        rc = b.failed ? err_nomem(err) : learn_literal(w, (struct str){buf_str(&b), b.len}, err);
        buf_release(&b);
    }
    return rc;
}

static int learn_request(struct redact_words *w, struct str value, struct err *err)
{
    int rc = learn_literal(w, value, err);
    for (int plus = 0; rc == 0 && plus < 2; plus++) {
        struct buf plain = BUF_INIT(value.n + 1);
        decode_request_value(value, plus, &plain);
        struct str decoded = {buf_str(&plain), plain.len};
        rc = plain.failed ? err_nomem(err) : learn_words(w, decoded, true, err);
        if (rc == 0)
            rc = learn_forms(w, decoded, err);
        buf_release(&plain);
    }
    return rc;
}

int redact_words_learn(struct redact_words *w, struct str value, bool of_request, struct err *err)
{
    if (learn_words(w, value, of_request, err) < 0)
        return -1;
    return of_request ? learn_request(w, value, err) : 0;
}

int redact_words_prepare(struct redact_words *w, struct err *err)
{
    return redact_literals_link(&w->literals, err);
}

/* ---- looking up ---------------------------------------------------------------------------------------- */

/* Looks up a run of any case; NULL if it is no known word. */
static const struct redact_word *find_word(const struct redact_words *w, struct str run)
{
    char low[WORD_MAX];
    if (run.n == 0 || run.n > w->longest || !w->first_bytes[tolower((unsigned char)run.p[0])])
        return NULL;
    run = to_lower(run, low);
    return find_lower(w, run);
}

/* Returns the end of the part that begins at `at`. */
static size_t find_part_end(struct str run, size_t at)
{
    while (at < run.n && !is_separator(run.p[at]))
        at++;
    return at;
}

static size_t skip_separators(struct str run, size_t at)
{
    while (at < run.n && is_separator(run.p[at]))
        at++;
    return at;
}

/* Returns the length of the longest word that begins with the part at `at`; 0: none. */
static size_t word_length(const struct redact_learned *learned, struct str run, size_t at)
{
    size_t found = 0, end = at;
    if (!learned->words->first_bytes[tolower((unsigned char)run.p[at])])
        return 0;
    for (int parts = 0; parts < MAX_PARTS && end < run.n && end - at <= learned->words->longest; parts++) {
        end = find_part_end(run, parts > 0 ? skip_separators(run, end) : end);
        if (is_separator(run.p[end - 1])) /* at the end of the run */
            break;
        const struct redact_word *word = find_word(learned->words, (struct str){run.p + at, end - at});
        if (word && (learned->weak || word->strong))
            found = end - at;
    }
    return found;
}

/* Returns whether the whole run is a word to redact. A word with more than MAX_PARTS parts is found only in
 * this way. */
static bool is_word(const struct redact_learned *learned, struct str run)
{
    const struct redact_word *word = find_word(learned->words, run);
    return word && (learned->weak || word->strong);
}

/* Returns the length of the word that begins at `at`; 0: none. */
static size_t find_length(const struct redact_learned *learned, struct str run, size_t at)
{
    struct str rest = {run.p + at, run.n - at};
    return is_word(learned, rest) ? rest.n : word_length(learned, run, at);
}

/* Returns where in the run to look for the first word: at 0, or, if the run begins with the end of an escape
 * (the `n` of `\nWORD`) and no word begins at 0, after that escape. */
static size_t find_first(const struct redact_learned *learned, struct str text, struct str run)
{
    size_t rest = redact_escape_tail(text, run);
    if (rest == 0 || rest >= run.n || find_length(learned, run, 0) > 0)
        return 0;
    return skip_separators(run, rest);
}

void redact_words_apply_words(const struct redact_learned *learned, struct str text, struct buf *ret,
                              uint64_t *ret_n)
{
    struct str run;
    size_t copied_to = 0;
    for (size_t at = 0; learned->words->longest > 0 && (run = next_run(text, &at)).n > 0;) {
        run = trim_separators(run);
        size_t first = find_first(learned, text, run);
        for (size_t i = first; i < run.n;) {
            size_t n = i == first ? find_length(learned, run, i) : word_length(learned, run, i);
            size_t begin = (size_t)(run.p - text.p) + i;
            if (n > 0) {
                if (ret) {
                    buf_add(ret, text.p + copied_to, begin - copied_to);
                    buf_adds(ret, REDACTED);
                }
                copied_to = begin + n;
                ++*ret_n;
            }
            i = skip_separators(run, n > 0 ? i + n : find_part_end(run, i));
        }
    }
    if (ret)
        buf_add(ret, text.p + copied_to, text.n - copied_to);
}

void redact_words_apply(const struct redact_learned *learned, struct str text, struct buf *ret,
                        uint64_t *ret_n)
{
    struct redact_literal_search search;
    size_t copied_to = 0, begin, end;
    redact_words_search(learned, text, &search);
    redact_literals_search_cuts(&search);
    while (redact_literals_next(&search, &begin, &end)) {
        redact_words_apply_words(learned, (struct str){text.p + copied_to, begin - copied_to}, ret, ret_n);
        if (ret)
            buf_adds(ret, REDACTED);
        copied_to = end;
        ++*ret_n;
    }
    redact_words_apply_words(learned, (struct str){text.p + copied_to, text.n - copied_to}, ret, ret_n);
}
