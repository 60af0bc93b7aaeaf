#define PCRE2_CODE_UNIT_WIDTH 8
#include "pprof/regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_TRANSLATED ((size_t)1 << 20) /* bytes of a translated expression */
/* Backtracking steps from one position of a text. Usually the budget ends a match much earlier. */
#define MAX_BACKTRACKS 10000000
#define MAX_HEAP (64u << 10) /* the memory of a match, in KiB */

/* The budgets in steps, for a profile's own expressions and for the user's, and the steps that each string
 * adds. An alternation of twenty names takes about 60 steps for each string. */
#define STEPS_FOR_PROFILE 10000000
#define STEPS_FOR_USER 300000000
#define STEPS_PER_STRING 200
/* A step on a text of n bytes costs 1 + n / BYTES_PER_STEP steps of the budget. */
#define BYTES_PER_STEP 32
/* The charge for an expression whose steps are not counted: UNCOUNTED_AT_LEAST + e * n / UNCOUNTED_DIVISOR
 * for a translated expression of e bytes on a text of n bytes. PCRE2 skips most positions at once, hence the
 * division. */
#define UNCOUNTED_AT_LEAST 100
#define UNCOUNTED_DIVISOR 16

enum cached { UNKNOWN, NO, YES };

struct regex_budget {
    uint64_t left;
};

struct regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    struct regex_budget *budget;
    uint64_t step; /* the cost of a step on the current text */
    size_t
        uncounted_bytes; /* the bytes of the translated expression if it is too large to count steps, or 0 */
    unsigned char *cached; /* an enum cached for each string of the profile */
    size_t n_cached;
    int first_error; /* PCRE2's first error on a text, or 0 */
};

void regex_free(struct regex *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    pcre2_match_data_free(r->match);
    pcre2_match_context_free(r->limits);
    free(r->cached);
    free(r);
}

static int set_refusal(struct str pattern, int code, struct err *err)
{
    unsigned char words[200];
    int n = pattern.n > 200 ? 200 : (int)pattern.n;
    if (pcre2_get_error_message(code, words, sizeof words) < 0)
        words[0] = '\0';
    /* PCRE2 detects unknown names of Unicode scripts, because this program has no list of them. */
    if (code == PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY || code == PCRE2_ERROR_MALFORMED_UNICODE_PROPERTY)
        return err_set(err, ERR_USAGE, "error parsing regexp: invalid character class range: `%.*s`", n,
                       pattern.p);
    if (code == PCRE2_ERROR_PATTERN_TOO_LARGE || code == PCRE2_ERROR_PATTERN_TOO_COMPLICATED)
        return err_set(err, ERR_USAGE, "error parsing regexp: expression too large: `%.*s`", n, pattern.p);
    return err_set(err, ERR_USAGE, "error parsing regexp: `%.*s`: %s", n, pattern.p, (char *)words);
}

/* Compiles with a callout before each item, to count steps. Callouts make an expression four times as large.
 * If PCRE2 then refuses it, compiles without callouts. */
static int compile_translated(struct regex *r, const struct buf *text, pcre2_compile_context *context)
{
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
                             PCRE2_ALT_CIRCUMFLEX | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C;
    int code = 0;
    PCRE2_SIZE at = 0;
    r->code = pcre2_compile((PCRE2_SPTR)buf_str(text), text->len, options | PCRE2_AUTO_CALLOUT, &code, &at,
                            context);
    if (r->code || code != PCRE2_ERROR_PATTERN_TOO_LARGE)
        return code;
    r->uncounted_bytes = text->len;
    r->code = pcre2_compile((PCRE2_SPTR)buf_str(text), text->len, options, &code, &at, context);
    return code;
}

static int compile_pattern(struct regex *r, struct str pattern, struct err *err)
{
    struct buf text = BUF_INIT(MAX_TRANSLATED);
    int rc = regex_translate(pattern, &text, err);
    pcre2_compile_context *context = rc == 0 ? pcre2_compile_context_create(NULL) : NULL;
    if (rc == 0 && !context)
        rc = err_nomem(err);
    if (rc == 0) {
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        pcre2_set_parens_nest_limit(context, 2100);
        int code = compile_translated(r, &text, context);
        if (!r->code)
            rc = set_refusal(pattern, code, err);
    }
    pcre2_compile_context_free(context);
    buf_release(&text);
    return rc;
}

struct regex_budget *regex_budget_new(uint64_t steps)
{
    struct regex_budget *b = malloc(sizeof *b);
    if (b)
        b->left = steps;
    return b;
}

struct regex_budget *regex_budget_for_profile(const struct profile *p)
{
    return regex_budget_new(STEPS_FOR_PROFILE + STEPS_PER_STRING * (uint64_t)profile_n_strings(p));
}

struct regex_budget *regex_budget_for_user(const struct profile *p)
{
    return regex_budget_new(STEPS_FOR_USER +
                            STEPS_PER_STRING * ((uint64_t)profile_n_strings(p) + p->n_labels));
}

uint64_t regex_budget_left(const struct regex_budget *b)
{
    return b->left;
}

void regex_budget_free(struct regex_budget *b)
{
    free(b);
}

/* PCRE2 calls this before it tries an item of the pattern. */
static int count_step(pcre2_callout_block *at, void *regex)
{
    struct regex *r = regex;
    (void)at;
    if (r->budget->left < r->step)
        return PCRE2_ERROR_CALLOUT;
    r->budget->left -= r->step;
    return 0;
}

int regex_new(struct str pattern, struct regex_budget *budget, struct regex **ret, struct err *err)
{
    struct regex *r = budget ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return err_nomem(err);
    r->budget = budget;
    if (compile_pattern(r, pattern, err) < 0) {
        regex_free(r);
        return -1;
    }
    r->match = pcre2_match_data_create(1, NULL);
    r->limits = pcre2_match_context_create(NULL);
    if (!r->match || !r->limits) {
        regex_free(r);
        return err_nomem(err);
    }
    pcre2_set_callout(r->limits, count_step, r);
    pcre2_set_match_limit(r->limits, MAX_BACKTRACKS);
    pcre2_set_depth_limit(r->limits, MAX_BACKTRACKS);
    pcre2_set_heap_limit(r->limits, MAX_HEAP);
    *ret = r;
    return 0;
}

/* Charges the budget for a text whose steps are not counted, and limits PCRE2 to that charge. */
static bool charge_uncounted(struct regex *r, struct str text)
{
    uint64_t charge = UNCOUNTED_AT_LEAST + r->uncounted_bytes / UNCOUNTED_DIVISOR * text.n;
    if (charge > r->budget->left) {
        r->first_error = PCRE2_ERROR_CALLOUT;
        return false;
    }
    r->budget->left -= charge;
    pcre2_set_match_limit(r->limits, charge < MAX_BACKTRACKS ? (uint32_t)charge : MAX_BACKTRACKS);
    return true;
}

bool regex_matches(struct regex *r, struct str text)
{
    if (r->first_error || (r->uncounted_bytes && !charge_uncounted(r, text)))
        return false;
    r->step = 1 + text.n / BYTES_PER_STEP;
    int rc = pcre2_match(r->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, 0, 0, r->match, r->limits);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        r->first_error = rc;
    return rc >= 0;
}

/* A profile may get more strings during the matches. */
static bool reserve_strings(struct regex *r, size_t n)
{
    if (n <= r->n_cached)
        return true;
    unsigned char *cached = realloc(r->cached, n + n / 4);
    if (!cached)
        return false;
    memset(cached + r->n_cached, UNKNOWN, n + n / 4 - r->n_cached);
    r->cached = cached;
    r->n_cached = n + n / 4;
    return true;
}

bool regex_matches_string(struct regex *r, const struct profile *p, uint32_t index)
{
    if (!reserve_strings(r, profile_n_strings(p))) {
        r->first_error = PCRE2_ERROR_NOMEMORY;
        return false;
    }
    if (r->cached[index] == UNKNOWN)
        r->cached[index] = regex_matches(r, profile_str(p, index)) ? YES : NO;
    return r->cached[index] == YES;
}

int regex_check(const struct regex *r, struct err *err)
{
    if (!r || !r->first_error)
        return 0;
    if (r->first_error == PCRE2_ERROR_NOMEMORY)
        return err_nomem(err);
    err_set(err, ERR_FAILED, "a regular expression takes too long on the names in this profile");
    return err_hint(err, "nested repeats such as (a*)* take long: write the expression without them");
}
