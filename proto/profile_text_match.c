/*
 * Reads lines, patterns and numbers of the text forms.
 *
 * The patterns are google/pprof's. The time of google/pprof's regular expressions grows linearly with the
 * text. PCRE2 backtracks, so the number of its steps is limited in proportion to the text; real lines need
 * far fewer.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "proto/profile_text.h"
#include "base/banned.h"

#define MAX_LINE 65536

/* White space, as RE2's \s. */
#define SPACE "[\\t\\n\\f\\r ]"
#define NOT_SPACE "[^\\t\\n\\f\\r ]"
#define HEX "(?:0x)?([[:xdigit:]]+)"
#define HEX_RANGE SPACE "*" HEX "[\\t\\n\\f\\r -]?" SPACE "*" HEX ":?"
#define PERMISSIONS "(?:" SPACE "+([-rwxp]+))?"
#define ANY_WORD "(?:" SPACE "+(" NOT_SPACE "+))?"
#define ANY_HEX "(?:" SPACE "+([[:xdigit:]]+))?"
#define HEAP "heap profile: *([0-9]+): *([0-9]+) *\\[ *([0-9]+): *([0-9]+) *\\]"

static const char *const sources[N_PATTERNS] = {
    [PATTERN_COUNT_START] = "\\A(" NOT_SPACE "+) profile: total [0-9]+\\z",
    [PATTERN_COUNT] = "\\A([0-9]+) @((?: 0x[0-9a-f]+)+)\\z",
    [PATTERN_HEAP_HEADER] = HEAP " *@ *(heap[_a-z0-9]*)/?([0-9]*)",
    [PATTERN_GROWTH_HEADER] = HEAP " @ growthz?",
    [PATTERN_FRAGMENTATION_HEADER] = HEAP " @ fragmentationz?",
    [PATTERN_HEAP_SAMPLE] = "(-?[0-9]+): *(-?[0-9]+) *\\[ *([0-9]+): *([0-9]+) *] @([ x0-9a-f]*)",
    [PATTERN_CONTENTION_SAMPLE] = "([0-9]+) *([0-9]+) @([ x0-9a-f]*)",
    [PATTERN_HEX] = "0x[0-9a-f]+",
    [PATTERN_THREADZ_START] = "--- threadz [0-9]+ ---",
    [PATTERN_THREAD_START] = "--- Thread ([[:xdigit:]]+) \\(name: (.*)/([0-9]+)\\) stack: ---",
    [PATTERN_PROC_MAPS] =
        "\\A" HEX_RANGE PERMISSIONS ANY_HEX SPACE "+[[:xdigit:]]+:[[:xdigit:]]+" SPACE "+[0-9]+" ANY_WORD,
    [PATTERN_BRIEF_MAPS] =
        "\\A" HEX_RANGE PERMISSIONS ANY_WORD "(?:" SPACE "+\\(@([[:xdigit:]]+)\\))?" ANY_HEX,
    [PATTERN_LOG_INFO] = ("\\A[^\\[\\]]+:[0-9]+]" SPACE),
    [PATTERN_LIBRARY] = "[.]so\\z|[.]so[._][0-9]+",
};

struct text_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* ---- lines ---- */

bool lines_next(struct lines *l)
{
    size_t left = (size_t)(l->end - l->p), searched = left < MAX_LINE ? left : MAX_LINE;
    const char *newline = searched ? memchr(l->p, '\n', searched) : NULL;
    l->text = STR("");
    l->too_long = l->too_long || (!newline && searched == MAX_LINE);
    if (left == 0 || l->too_long)
        return false;
    size_t n = newline ? (size_t)(newline - l->p) : left;
    l->text = (struct str){l->p, n};
    l->p += n + (newline != NULL);
    if (n && l->text.p[n - 1] == '\r')
        l->text.n--;
    return true;
}

int lines_check(const struct lines *l, struct err *err)
{
    /* google/pprof's message for a line of 64 KiB or more. */
    return l->too_long ? err_set(err, ERR_FAILED, "bufio.Scanner: token too long") : 0;
}

bool text_contains(struct str s, const char *part)
{
    return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

bool text_has_no_data(struct str line)
{
    struct str s = str_trim(line);
    return s.n == 0 || s.p[0] == '#';
}

bool text_is_maps_heading(struct str line)
{
    return text_contains(line, "--- Memory map: ---") || text_contains(line, "MAPPED_LIBRARIES:");
}

/* ---- patterns ---- */

static void pattern_free(struct text_pattern *t)
{
    if (!t)
        return;
    pcre2_match_context_free(t->limits);
    pcre2_match_data_free(t->match);
    pcre2_code_free(t->code);
    free(t);
}

static struct text_pattern *compile_pattern(const char *source)
{
    int code = 0;
    PCRE2_SIZE at = 0;
    struct text_pattern *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->code = pcre2_compile((PCRE2_SPTR)source, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
    t->match = t->code ? pcre2_match_data_create_from_pattern(t->code, NULL) : NULL;
    t->limits = pcre2_match_context_create(NULL);
    if (t->match && t->limits)
        return t;
    pattern_free(t);
    return NULL;
}

bool text_match(struct text_reader *r, enum text_pattern_id id, struct str s)
{
    struct text_pattern *t = r->patterns[id];
    if (!t)
        t = r->patterns[id] = compile_pattern(sources[id]);
    if (!t) {
        err_nomem(r->err);
        return false;
    }
    pcre2_set_match_limit(t->limits, (uint32_t)(1000 + 64 * s.n));
    int n = pcre2_match(t->code, (PCRE2_SPTR)s.p, s.n, 0, 0, t->match, t->limits);
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(t->match);
    for (int i = 0; i < TEXT_MAX_GROUPS; i++)
        r->groups[i] = i < n && at[2 * i] != PCRE2_UNSET
                           ? (struct str){s.p + at[2 * i], at[2 * i + 1] - at[2 * i]}
                           : STR("");
    return n > 0;
}

void text_match_release(struct text_reader *r)
{
    for (size_t i = 0; i < N_PATTERNS; i++)
        pattern_free(r->patterns[i]);
}

/* ---- numbers ---- */

/* Removes the prefix of a number, and returns the base. */
static unsigned cut_base_prefix(struct str *s)
{
    static const struct {
        char letter;
        unsigned base;
    } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    if (s->n == 0 || s->p[0] != '0')
        return 10;
    for (size_t i = 0; s->n > 2 && i < sizeof prefixes / sizeof *prefixes; i++)
        if ((s->p[1] | 0x20) == prefixes[i].letter) {
            s->p += 2;
            s->n -= 2;
            return prefixes[i].base;
        }
    s->p += s->n > 1;
    s->n -= s->n > 1;
    return 8;
}

bool text_uint(struct str s, unsigned base, uint64_t *ret)
{
    uint64_t v = 0;
    if (base == 0)
        base = cut_base_prefix(&s);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = c >= '0' && c <= '9'                     ? (unsigned)(c - '0')
                         : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (unsigned)((c | 0x20) - 'a') + 10
                                                                  : 36;
        if (digit >= base || __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    if (s.n == 0)
        return false;
    *ret = v;
    return true;
}

bool text_int(struct str s, unsigned base, int64_t *ret)
{
    bool is_negative = s.n && s.p[0] == '-', has_sign = is_negative || (s.n && s.p[0] == '+');
    uint64_t v = 0;
    s.p += has_sign;
    s.n -= has_sign;
    if (!text_uint(s, base, &v) || v > (uint64_t)INT64_MAX + is_negative)
        return false;
    *ret = (int64_t)(is_negative ? -v : v);
    return true;
}
