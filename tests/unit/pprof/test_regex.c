/* Regular expressions: patterns, matches and errors as in Go 1.26's package regexp; the budget of steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pprof/regex.h"
#include "tests/unit/damage.h"
#include "base/banned.h"

/* A row below has 1 for each of these texts that its pattern matches, and 0 for each other text. The row of
 * an invalid pattern has `!` and the error instead. */
static const char *const texts[] = {
    "",         "a",        "A",    "b",        "aa",       "ab",
    "aaa",      "a\n",      "a\nb", "\n",       "main.foo", "runtime.mallocgc",
    "\303\251", "\303\211", "K",    "\305\277", "\316\261", "5",
    "_",        " \v",      "\v",   "\t",       "C",        "a.b",
    "a(b)",     "]",        "-",    "abc",      "\\",       "xx",
    "a b",      "a#b",      "{2}",  "a{,2}"};
#define N_TEXTS (sizeof texts / sizeof *texts)

static const struct row {
    const char *pattern, *expected;
} rows[] = {
    {"a", "0100111110110000000000011001001101"},
    {"a|b", "0101111110110000000000011001001101"},
    {"a(", "!missing closing ): `a(`"},
    {"a)", "!unexpected ): `a)`"},
    {")", "!unexpected ): `)`"},
    {"(a", "!missing closing ): `(a`"},
    {"(a|b)c", "0000000000000000000000000001000000"},
    {"a*", "1111111111111111111111111111111111"},
    {"a**", "!invalid nested repetition operator: `**`"},
    {"a*+", "!invalid nested repetition operator: `*+`"},
    {"a*?", "1111111111111111111111111111111111"},
    {"a*?\?", "!invalid nested repetition operator: `*?\?`"},
    {"a++", "!invalid nested repetition operator: `++`"},
    {"a?+", "!invalid nested repetition operator: `?+`"},
    {"*", "!missing argument to repetition operator: `*`"},
    {"+a", "!missing argument to repetition operator: `+`"},
    {"a|*", "!missing argument to repetition operator: `*`"},
    {"(*", "!missing argument to repetition operator: `*`"},
    {"(|a)*", "1111111111111111111111111111111111"},
    {"^*", "1111111111111111111111111111111111"},
    {"$?", "1111111111111111111111111111111111"},
    {"\\b+", "0111111110110010011000111001011111"},
    {"a{2}", "0000101000000000000000000000000000"},
    {"a{2,}", "0000101000000000000000000000000000"},
    {"a{2,1}", "!invalid repeat count: `{2,1}`"},
    {"a{1001}", "!invalid repeat count: `{1001}`"},
    {"a{1000}", "0000000000000000000000000000000000"},
    {"a{2}{3}", "!invalid nested repetition operator: `{2}{3}`"},
    {"a{,2}", "0000000000000000000000000000000001"},
    {"a{", "0000000000000000000000000000000001"},
    {"a{a}", "0000000000000000000000000000000000"},
    {"{2}", "!missing argument to repetition operator: `{2}`"},
    {"x{01}", "0000000000000000000000000000000000"},
    {"(?i)A", "0110111110110000000000011001001101"},
    {"(?i:A)b", "0000010000000000000000000001000000"},
    {"(?-i)a", "0100111110110000000000011001001101"},
    {"(?i-s)a", "0110111110110000000000011001001101"},
    {"(?i-)a", "!invalid or unsupported Perl syntax: `(?i-)`"},
    {"(?-)a", "!invalid or unsupported Perl syntax: `(?-)`"},
    {"(?)a", "0100111110110000000000011001001101"},
    {"(?:a)", "0100111110110000000000011001001101"},
    {"(?", "!invalid or unsupported Perl syntax: `(?`"},
    {"(?i", "!invalid or unsupported Perl syntax: `(?i`"},
    {"(?=a)", "!invalid or unsupported Perl syntax: `(?=`"},
    {"(?!a)", "!invalid or unsupported Perl syntax: `(?!`"},
    {"(?<=a)", "!invalid named capture: `(?<=a)`"},
    {"(?<!a)", "!invalid named capture: `(?<!a)`"},
    {"(?>a)", "!invalid or unsupported Perl syntax: `(?>`"},
    {"(?|a)", "!invalid or unsupported Perl syntax: `(?|`"},
    {"(?#a)", "!invalid or unsupported Perl syntax: `(?#`"},
    {"(?P<n>a)", "0100111110110000000000011001001101"},
    {"(?P<n>a)(?P<m>b)", "0000010000000000000000000001000000"},
    {"(?<n>a)", "0100111110110000000000011001001101"},
    {"(?P<n a)", "!invalid named capture: `(?P<n a)`"},
    {"(?P<>a)", "!invalid named capture: `(?P<>`"},
    {"(?P=n)", "!invalid or unsupported Perl syntax: `(?P`"},
    {"(?P>n)", "!invalid or unsupported Perl syntax: `(?P`"},
    {"(?R)", "!invalid or unsupported Perl syntax: `(?R`"},
    {"(?1)", "!invalid or unsupported Perl syntax: `(?1`"},
    {"(?&n)", "!invalid or unsupported Perl syntax: `(?&`"},
    {"(?'n'a)", "!invalid or unsupported Perl syntax: `(?'`"},
    {"(?x)a b", "!invalid or unsupported Perl syntax: `(?x`"},
    {"(?J)a", "!invalid or unsupported Perl syntax: `(?J`"},
    {"(?U)a+", "0100111110110000000000011001001101"},
    {"(?s).", "0111111111111111111111111111111111"},
    {"(?m)^b$", "0001000010000000000000000000000000"},
    {"(?m)a$", "0100101110000000000000000000000000"},
    {".", "0111111110111111111111111111111111"},
    {"\\C", "!invalid escape sequence: `\\C`"},
    {"\\R", "!invalid escape sequence: `\\R`"},
    {"\\X", "!invalid escape sequence: `\\X`"},
    {"\\K", "!invalid escape sequence: `\\K`"},
    {"\\G", "!invalid escape sequence: `\\G`"},
    {"\\h", "!invalid escape sequence: `\\h`"},
    {"\\H", "!invalid escape sequence: `\\H`"},
    {"\\N", "!invalid escape sequence: `\\N`"},
    {"\\Z", "!invalid escape sequence: `\\Z`"},
    {"\\z", "1111111111111111111111111111111111"},
    {"\\A", "1111111111111111111111111111111111"},
    {"\\Aa", "0100111110000000000000011001001101"},
    {"\\d", "0000000000000000010000000000000011"},
    {"\\D+", "0111111111111111101111111111111111"},
    {"\\w", "0111111110110010011000111001011111"},
    {"\\W", "0000000111111101100111011110101111"},
    {"\\s", "0000000111000000000101000000001000"},
    {"\\S", "0111111110111111111110111111111111"},
    {"[\\s]", "0000000111000000000101000000001000"},
    {"[\\S]", "0111111110111111111110111111111111"},
    {"[^\\s]", "0111111110111111111110111111111111"},
    {"[\\d\\w]", "0111111110110010011000111001011111"},
    {"\\1", "!invalid escape sequence: `\\1`"},
    {"\\01", "0000000000000000000000000000000000"},
    {"\\101", "0010000000000000000000000000000000"},
    {"\\8", "!invalid escape sequence: `\\8`"},
    {"(a)\\1", "!invalid escape sequence: `\\1`"},
    {"\\k<n>", "!invalid escape sequence: `\\k`"},
    {"\\g1", "!invalid escape sequence: `\\g`"},
    {"\\x41", "0010000000000000000000000000000000"},
    {"\\x{41}", "0010000000000000000000000000000000"},
    {"\\x{110000}", "!invalid escape sequence: `\\x{110000`"},
    {"\\x{}", "!invalid escape sequence: `\\x{}`"},
    {"\\x4", "!invalid escape sequence: `\\x4`"},
    {"\\x", "!invalid escape sequence: `\\x`"},
    {"\\xzz", "!invalid escape sequence: `\\xzz`"},
    {"\\a", "0000000000000000000000000000000000"},
    {"\\v", "0000000000000000000110000000000000"},
    {"\\e", "!invalid escape sequence: `\\e`"},
    {"\\cA", "!invalid escape sequence: `\\c`"},
    {"\\_", "0000000000000000001000000000000000"},
    {"\\-", "0000000000000000000000000010000000"},
    {"\\/", "0000000000000000000000000000000000"},
    {"\\.", "0000000000110000000000010000000000"},
    {"\\\\", "0000000000000000000000000000100000"},
    {"\\", "!trailing backslash at end of expression: ``"},
    {"a\\", "!trailing backslash at end of expression: ``"},
    {"\\Qa.b\\E", "0000000000000000000000010000000000"},
    {"\\Qa.b", "0000000000000000000000010000000000"},
    {"\\Q\\E*", "!missing argument to repetition operator: `*`"},
    {"\\Qab\\E*", "0100111110110000000000011001001101"},
    {"\\pN", "0000000000000000010000000000000011"},
    {"\\p{L}", "0111111110111111100000111001011101"},
    {"\\p{Lu}", "0010000000000110000000100000000000"},
    {"\\PL", "0000000111110000011111011110101111"},
    {"\\p{Greek}", "0000000000000000100000000000000000"},
    {"\\p{^Greek}", "0111111111111111011111111111111111"},
    {"\\P{^L}", "0111111110111111100000111001011101"},
    {"\\p{greek}", "0000000000000000100000000000000000"},
    {"\\p{Foo}", "!invalid character class range: `\\p{Foo}`"},
    {"\\p{", "!invalid character class range: `\\p{`"},
    {"\\p", "!invalid character class range: `\\p`"},
    {"[\\pL]", "0111111110111111100000111001011101"},
    {"[a-z]", "0101111110110000000000011001011101"},
    {"[z-a]", "!invalid character class range: `z-a`"},
    {"[^a]", "0011010111111111111111111111111111"},
    {"[]a]", "0100111110110000000000011101001101"},
    {"[^]a]", "0011010111111111111111111011111111"},
    {"[", "!missing closing ]: `[`"},
    {"[a", "!missing closing ]: `[a`"},
    {"[]", "!missing closing ]: `[]`"},
    {"[^]", "!missing closing ]: `[^]`"},
    {"[a-]", "0100111110110000000000011011001101"},
    {"[-a]", "0100111110110000000000011011001101"},
    {"[--a]", "0110111110110010011000111111101111"},
    {"[a-\\d]", "!invalid escape sequence: `\\d`"},
    {"[\\d-z]", "0000000000000000010000000010000011"},
    {"[[:alpha:]]", "0111111110110010000000111001011101"},
    {"[[:^alpha:]]", "0000000111111101111111011110101111"},
    {"[[:word:]]", "0111111110110010011000111001011111"},
    {"[[:foo:]]", "!invalid character class range: `[:foo:]`"},
    {"[[:alpha:]", "!missing closing ]: `[[:alpha:]`"},
    {"[[:alpha]", "0100111110110000000000011001001101"},
    {"[[.a.]]", "0000000000000000000000000000000000"},
    {"[[=a=]]", "0000000000000000000000000000000000"},
    {"[\\Q]\\E]", "!invalid escape sequence: `\\Q`"},
    {"[a&&b]", "0101111110110000000000011001001101"},
    {"[a\\]b]", "0101111110110000000000011101001101"},
    {"[\\b]", "!invalid escape sequence: `\\b`"},
    {"[\\x{41}-\\x{43}]", "0010000000000000000000100000000000"},
    {"\303\251", "0000000000001000000000000000000000"},
    {"[\303\251]", "0000000000001000000000000000000000"},
    {"(?i)\303\211", "0000000000001100000000000000000000"},
    {"(?i)\305\277", "0000000000000001000000000000000000"},
    {"(?i)k", "0000000000000010000000000000000000"},
    {"main\\.foo", "0000000000100000000000000000000000"},
    {"^main\\.", "0000000000100000000000000000000000"},
    {"^(a|b)$", "0101000000000000000000000000000000"},
    {"runtime\\..*", "0000000000010000000000000000000000"},
    {"(((((a)))))", "0100111110110000000000011001001101"},
    {"a.b", "0000000000000000000000011000001100"},
    {"a\\nb", "0000000010000000000000000000000000"},
    {"(?P<n>a)|(?P<n>b)", "0101111110110000000000011001001101"},
    {"(?i)[a-c]", "0111111110110000000000111001001101"},
    {"[^\\n]", "0111111110111111111111111111111111"},
    {"\\B", "1000111101111101100111001111110011"},
    {".*", "1111111111111111111111111111111111"},
    {"(?i)(?-i)A", "0010000000000000000000000000000000"},
    {"((?i)A)A", "0000000000000000000000000000000000"},
    {"a|(?i)b|C", "0101111110110000000000111001001101"},
    {"(*ACCEPT)", "!missing argument to repetition operator: `*`"},
    {"(*UTF8)a", "!missing argument to repetition operator: `*`"},
    {"a#b", "0000000000000000000000000000000100"},
    {"a b", "0000000000000000000000000000001000"},
    {"[ab]{2,3}?c", "0000000000000000000000000001000000"},
    {"^^$", "1000000000000000000000000000000000"},
    {"x{2,5}", "0000000000000000000000000000010000"},
    {"a{0}", "1111111111111111111111111111111111"},
    {"a{0,0}", "1111111111111111111111111111111111"},
    {"(?:)", "1111111111111111111111111111111111"},
    {"()", "1111111111111111111111111111111111"},
    {"()*", "1111111111111111111111111111111111"},
    {"(?:|)", "1111111111111111111111111111111111"},
    {"|", "1111111111111111111111111111111111"},
    {"||a", "1111111111111111111111111111111111"},
    /* Empty groups may be between an operand and its repeat, and between two repeats. */
    {"^a(?i)*$", "1100101000000000000000000000000000"},
    {"a(?i)+B", "0000010000000000000000000001000000"},
    {"^a(?i){2}$", "0000100000000000000000000000000000"},
    {"^a*(?i)*$", "1100101000000000000000000000000000"},
    {"^a*(?i)+A?$", "1110101000000000000000000000000000"},
    {"x{2}(?i){3}", "0000000000000000000000000000000000"},
    {"a(?i)(?s)+.b", "0000000010000000000000011000001100"},
    {"a(?i)*?", "1111111111111111111111111111111111"},
    {"a(?i)**", "!invalid nested repetition operator: `**`"},
    {"(?i)*", "!missing argument to repetition operator: `*`"},
    {"(a|(?i)*)", "!missing argument to repetition operator: `*`"},
    {"a|(?i)+", "!missing argument to repetition operator: `+`"},
    {"^(?i)*", "1111111111111111111111111111111111"},
    {"(?i)a(?-i)+b", "0000010000000000000000000001000000"},
    {"^(ab)(?i)?C$", "0000000000000000000000100001000000"},
    {"a(?i)\\Q\\E+B", "0000010000000000000000000001000000"},
    {"a+\\Q\\E+", "0100111110110000000000011001001101"},
    {"^a?\\Q\\E+$", "1100101000000000000000000000000000"},
    {"\\Q\\E*", "!missing argument to repetition operator: `*`"},
    {"\\Qa\\E\\Qb\\E+$", "0000010000000000000000000000000000"},
    {"(a{600}){2}", "!invalid repeat count: `{2}`"},
    {"((a{10}){10}){11}", "!invalid repeat count: `{11}`"},
    {"((a{10}){10}){10}", "0000000000000000000000000000000000"},
    {"(a{600}b|c{2}){2,3}?", "!invalid repeat count: `{2,3}?`"},
    {"(a{600}){0}", "1111111111111111111111111111111111"},
    {"(a{600}){1}", "0000000000000000000000000000000000"},
    {"(a{600}){0,}", "1111111111111111111111111111111111"},
    {"(a{0}){600}", "1111111111111111111111111111111111"},
    {"((a{600}){0}){1000}", "1111111111111111111111111111111111"},
    {"a{30}(?i){40}", "!invalid repeat count: `{40}`"},
    {"a{30}(?i)*(?i){40}", "!invalid repeat count: `{40}`"},
    {"(a{30})*{2}", "!invalid nested repetition operator: `*{2}`"},
    {"(?:a{2,})(?i){501}", "!invalid repeat count: `{501}`"},
    {"a(?i){1001}", "!invalid repeat count: `{1001}`"},
    {"a{2}(?i)", "0000101000000000000000000000000000"},
    {"(?i)A(?-i)", "0110111110110000000000011001001101"},
    {"(a(?i)*)+B", "0000000000000000000000000000000000"},
};

enum { RESULT_SIZE = 1100 };

/* Compiles the pattern and matches all texts. Writes the result, in the form of the rows, to dst. */
static const char *match_all_texts(struct str pattern, char dst[RESULT_SIZE])
{
    static const char prefix[] = "error parsing regexp: ";
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(100000000);
    struct regex *r = NULL;
    if (regex_new(pattern, budget, &r, &err) < 0) {
        assert_null(r);
        assert_true(strncmp(err.msg, prefix, sizeof prefix - 1) == 0);
        snprintf(dst, RESULT_SIZE, "!%s", err.msg + sizeof prefix - 1);
        regex_budget_free(budget);
        return dst;
    }
    for (size_t i = 0; i < N_TEXTS; i++)
        dst[i] = regex_matches(r, str_of(texts[i])) ? '1' : '0';
    dst[N_TEXTS] = '\0';
    assert_int_equal(regex_check(r, &err), 0);
    regex_free(r);
    regex_budget_free(budget);
    return dst;
}

static void patterns_match_like_gos_regexp(void **state)
{
    (void)state;
    char got[RESULT_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(match_all_texts(str_of(rows[i].pattern), got), rows[i].expected) != 0)
            fail_msg("`%s`: %s, not %s", rows[i].pattern, got, rows[i].expected);
}

static void match_with_damaged_pattern(void *ctx, const struct damaged *s)
{
    (void)ctx;
    char got[RESULT_SIZE];
    match_all_texts((struct str){s->p, s->n}, got);
}

/* Each damaged pattern compiles or gives an error, without a read outside its bytes. */
static void damaged_patterns_are_safe(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        damage_everywhere(rows[i].pattern, strlen(rows[i].pattern), match_with_damaged_pattern, NULL);
}

static void invalid_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff", "a\xc3", "[\xe2\x82]", "\xed\xa0\x80", "\\Q\xff\\E", "(?\xff)"};
    char got[RESULT_SIZE];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(strncmp(match_all_texts(str_of(bad[i]), got), "!invalid UTF-8", 14) == 0);
    /* A NUL is a character like others. */
    assert_string_equal(match_all_texts(STR("a\0b|^$"), got), "1000000000000000000000000000000000");
}

static void any_text_can_be_searched(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(100000000);
    struct regex *r = NULL;
    assert_int_equal(regex_new(STR("main"), budget, &r, &err), 0);
    assert_true(regex_matches(r, STR("\xff\xfe main \xff")));
    assert_true(regex_matches(r, STR("\0main")));
    assert_false(regex_matches(r, (struct str){NULL, 0}));
    assert_int_equal(regex_check(r, &err), 0);
    regex_free(r);
    regex_budget_free(budget);
}

static void exceeding_the_budget_is_an_error(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(100000000);
    struct regex *r = NULL;
    char text[60];
    memset(text, 'a', sizeof text);
    assert_int_equal(regex_new(STR("^(a*)*(a*)*(a|a)*[bc]$"), budget, &r, &err), 0);
    assert_false(regex_matches(r, (struct str){text, sizeof text}));
    assert_int_equal(regex_check(r, &err), -1);
    assert_non_null(strstr(err.msg, "takes too long"));
    assert_non_null(strstr(err.hint, "nested repeats"));
    /* Afterwards nothing matches. */
    assert_false(regex_matches(r, STR("b")));
    regex_free(r);
    regex_budget_free(budget);
}

static void without_a_budget_nothing_is_compiled(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex *r = NULL;
    assert_int_equal(regex_new(STR("main"), NULL, &r, &err), -1);
    assert_true(err.out_of_memory);
    assert_null(r);
}

/* PCRE2 refuses this large pattern with callouts, so it is compiled without them. Each search then takes its
 * share of the budget before it starts. */
static void large_expressions_have_the_budget_too(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(100000000);
    struct regex *r = NULL;
    char text[60];
    struct buf pattern = BUF_INIT(100000), name = BUF_INIT(100000);
    memset(text, 'a', sizeof text);
    for (int i = 0; i < 20000; i++)
        buf_addc(&name, 'x');
    buf_addf(&pattern, "^(a*)*(a*)*(a|a)*[bc]$|%s", buf_str(&name));
    assert_int_equal(regex_new((struct str){buf_str(&pattern), pattern.len}, budget, &r, &err), 0);
    assert_true(regex_matches(r, STR("ab")));
    uint64_t before = regex_budget_left(budget);
    assert_true(before < 100000000);
    assert_false(regex_matches(r, (struct str){text, sizeof text}));
    assert_true(regex_budget_left(budget) < before);
    assert_int_equal(regex_check(r, &err), -1);
    regex_free(r);
    assert_int_equal(regex_new((struct str){buf_str(&name), name.len}, budget, &r, &err), 0);
    assert_true(regex_matches(r, (struct str){buf_str(&name), name.len}));
    assert_false(regex_matches(r, (struct str){text, sizeof text}));
    assert_int_equal(regex_check(r, &err), 0);
    regex_free(r);
    regex_budget_free(budget);
    buf_release(&pattern);
    buf_release(&name);
}

static void expressions_share_a_budget(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(1000);
    struct regex *one = NULL, *other = NULL;
    char text[64];
    size_t left = 0;
    uint64_t before;
    assert_int_equal(regex_new(STR("main[.]f"), budget, &one, &err), 0);
    assert_int_equal(regex_new(STR("main[.]g"), budget, &other, &err), 0);
    assert_true(regex_matches(one, STR("main.f")));
    before = regex_budget_left(budget);
    assert_true(before < 1000);
    assert_true(regex_matches(one, STR("main.f")));
    assert_int_equal(1000 - before, before - regex_budget_left(budget));
    /* In a long text each step costs more. */
    memset(text, 'm', sizeof text);
    memcpy(text, "main.f", 6);
    uint64_t cost = before - regex_budget_left(budget);
    left = regex_budget_left(budget);
    assert_true(regex_matches(one, (struct str){text, sizeof text}));
    assert_true(left - regex_budget_left(budget) > 2 * cost);
    while (left-- > 0 && regex_check(one, &err) == 0)
        regex_matches(one, STR("main.f"));
    assert_int_equal(regex_check(one, &err), -1);
    assert_non_null(strstr(err.msg, "takes too long"));
    assert_int_equal(regex_check(other, &err), 0);
    assert_false(regex_matches(other, STR("main.g")));
    assert_int_equal(regex_check(other, &err), -1);
    regex_free(one);
    regex_free(other);
    regex_budget_free(budget);
}

static void too_deeply_nested_patterns_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(100000000);
    struct regex *r = NULL;
    char text[2003];
    memset(text, '(', 1001);
    memset(text + 1001, ')', 1001);
    assert_int_equal(regex_new((struct str){text, 2002}, budget, &r, &err), -1);
    assert_non_null(strstr(err.msg, "nests too deeply"));
    assert_int_equal(regex_new((struct str){text + 501, 1000}, budget, &r, &err), 0);
    regex_free(r);
    regex_budget_free(budget);
}

static void each_string_of_a_profile_is_matched_once(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct regex_budget *budget = regex_budget_new(100000000);
    struct regex *r = NULL;
    struct profile *p = profile_new(&err);
    uint32_t matching, other, later;
    assert_non_null(p);
    assert_int_equal(profile_intern(p, "runtime.main", 12, &matching, &err), 0);
    assert_int_equal(profile_intern(p, "other", 5, &other, &err), 0);
    assert_int_equal(regex_new(STR("^runtime"), budget, &r, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(regex_matches_string(r, p, matching));
        assert_false(regex_matches_string(r, p, other));
        assert_false(regex_matches_string(r, p, 0));
    }
    for (int i = 0; i < 100; i++) {
        char name[20];
        snprintf(name, sizeof name, "runtime%d", i);
        assert_int_equal(profile_intern(p, name, strlen(name), &later, &err), 0);
        assert_true(regex_matches_string(r, p, later));
    }
    regex_free(r);
    regex_budget_free(budget);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_like_gos_regexp),
        cmocka_unit_test(damaged_patterns_are_safe),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(any_text_can_be_searched),
        cmocka_unit_test(exceeding_the_budget_is_an_error),
        cmocka_unit_test(without_a_budget_nothing_is_compiled),
        cmocka_unit_test(large_expressions_have_the_budget_too),
        cmocka_unit_test(expressions_share_a_budget),
        cmocka_unit_test(too_deeply_nested_patterns_are_refused),
        cmocka_unit_test(each_string_of_a_profile_is_matched_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
