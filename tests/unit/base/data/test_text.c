/* Text and times: hostile text, names, numbers, durations, nearest names, UTC. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/unit/unit.h"
#include "base/banned.h"

static void valid_utf8_is_decoded_and_invalid_utf8_refused(void **state)
{
    static const struct {
        const char *text;
        size_t length;       /* of the first character; 0: invalid */
        uint32_t code_point; /* 0: invalid */
    } cases[] = {
        {"a", 1, 'a'},
        {"\xc3\xa9", 2, 0xe9},
        {"\xe2\x82\xac", 3, 0x20ac},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
        {"\xf4\x90\x80\x80", 0, 0}, /* above U+10FFFF */
        {"\xed\xa0\x80", 0, 0},     /* a surrogate */
        {"\xc0\x80", 0, 0},         /* overlong */
        {"\xe0\x80\x80", 0, 0},
        {"\xe2\x82", 0, 0}, /* cut */
        {"\x80", 0, 0},
        {"\xff", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t code_point = 0;
        assert_int_equal(text_decode(cases[i].text, strlen(cases[i].text), &code_point), cases[i].length);
        assert_int_equal(code_point, cases[i].code_point);
    }
}

static void assert_shown_as(const char *src, size_t n, const char *expected)
{
    char dst[256];
    /* Exactly n bytes, so that a sanitizer reports reading beyond them. */
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, src, n);
    assert_ptr_equal(text_printable(dst, sizeof dst, copy, n), dst);
    assert_string_equal(dst, expected);
    free(copy);
}
#define ASSERT_SHOWN(src, expected) assert_shown_as(src, sizeof(src) - 1, expected)

static void printable_text_is_unchanged(void **state)
{
    (void)state;
    ASSERT_SHOWN("", "");
    ASSERT_SHOWN("plain ~!", "plain ~!");
    ASSERT_SHOWN("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
    ASSERT_SHOWN("\xee\x80\x80\xf4\x8f\xbf\xbd", "\xee\x80\x80\xf4\x8f\xbf\xbd");
}

static void white_space_becomes_one_blank(void **state)
{
    (void)state;
    ASSERT_SHOWN("  two\t\t words\r\n", "two words");
    ASSERT_SHOWN("\n\n", "");
    ASSERT_SHOWN("a\n\v\f b", "a b");
}

static void control_characters_become_question_marks(void **state)
{
    (void)state;
    ASSERT_SHOWN("\x1b[31mred\x07", "?[31mred?");
    ASSERT_SHOWN("a\0b\x7f", "a?b?");
    ASSERT_SHOWN("\xc2\x9b"
                 "31m",
                 "?31m");
    ASSERT_SHOWN("\xc2\x85", "?");
}

static void hidden_characters_become_question_marks(void **state)
{
    (void)state;
    ASSERT_SHOWN("\xe2\x80\xae"
                 "cod.exe",
                 "?cod.exe");
    ASSERT_SHOWN("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8b\xe2\x80\x8f", "????");
    ASSERT_SHOWN("\xe2\x81\xa6\xe2\x81\xa9\xef\xbb\xbf\xc2\xad\xd8\x9c", "?????");
    ASSERT_SHOWN("\xf3\xa0\x80\x81\xef\xb8\x8f", "??");
}

/* Writes the character in UTF-8, and returns its length. */
static size_t encode(uint32_t c, char dst[static 5])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        dst[i] = (char)(0x80 | (c & 0x3f));
    dst[0] = (char)(n == 1 ? c : (0xf00 >> n & 0xff) | c);
    dst[n] = '\0';
    return n;
}

/* The ranges are those of the property in Unicode 14. */
static void default_ignorable_characters_become_question_marks(void **state)
{
    static const uint32_t ranges[][2] = {
        {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
        {0x180b, 0x180f},   {0x200b, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    char name[16], shown[16];
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (uint32_t c = ranges[i][0]; c <= ranges[i][1]; c++) {
            size_t n = encode(c, name);
            assert_string_equal(text_printable(shown, sizeof shown, name, n), "?");
        }
    static const uint32_t visible[] = {0x41, 0xe9, 0x300, 0x600, 0x4e00, 0xac00, 0x2801, 0x1f525};
    for (size_t i = 0; i < sizeof visible / sizeof *visible; i++) {
        size_t n = encode(visible[i], name);
        assert_string_equal(text_printable(shown, sizeof shown, name, n), name);
    }
}

static void invalid_utf8_becomes_question_marks(void **state)
{
    (void)state;
    ASSERT_SHOWN("\xff\xfe", "??");
    ASSERT_SHOWN("\x80"
                 "a",
                 "?a");
    ASSERT_SHOWN("\xc0\xaf", "??");
    ASSERT_SHOWN("\xe0\x80\xaf", "???");
    ASSERT_SHOWN("\xed\xa0\x80", "???");
    ASSERT_SHOWN("\xf4\x90\x80\x80", "????");
    ASSERT_SHOWN("\xf0\x9f\x98", "???");
    ASSERT_SHOWN("a\xe2\x82", "a??");
    ASSERT_SHOWN("\xe2\x82z", "??z");
    ASSERT_SHOWN("\xf8\x88\x80\x80\x80", "?????");
}

static void only_one_thing_has_no_plural(void **state)
{
    (void)state;
    assert_string_equal(text_plural_s(0), "s");
    assert_string_equal(text_plural_s(1), "");
    assert_string_equal(text_plural_s(2), "s");
    assert_string_equal(text_plural_s(UINT64_MAX), "s");
}

static void first_clauses_and_suffixes_are_found(void **state)
{
    (void)state;
    assert_int_equal(text_first_clause_length("heap: memory in use is that; more"), 27);
    assert_int_equal(text_first_clause_length("sixteen bytes ok: more"), 16);
    assert_int_equal(text_first_clause_length("none here:so; it is"), 12 + 7);
    assert_int_equal(text_first_clause_length("a; b"), 4);
    assert_int_equal(text_first_clause_length(""), 0);
    assert_true(text_ends_in("a.tar.gz", ".tar.gz"));
    assert_true(text_ends_in(".tar.gz", ".tar.gz"));
    assert_true(text_ends_in("a", ""));
    assert_false(text_ends_in("tar.gz", ".tar.gz"));
    assert_false(text_ends_in("a.tar.gz.age", ".tar.gz"));
    assert_false(text_ends_in("", "a"));
}

/* For each capacity the result fits, ends with NUL, and contains only whole characters. */
static void text_longer_than_the_buffer_ends_in_dots(void **state)
{
    (void)state;
    const char *src = "caf\xc3\xa9 \xf0\x9f\x98\x80 and much more text";
    char dst[64], again[64];
    text_printable(dst, 12, "0123456789abcdef", 16);
    assert_string_equal(dst, "01234567...");
    text_printable(dst, 12, "0123456789a", 11);
    assert_string_equal(dst, "0123456789a");
    for (size_t cap = 0; cap < sizeof dst; cap++) {
        memset(dst, 'X', sizeof dst);
        text_printable(dst, cap, src, strlen(src));
        if (cap == 0) {
            assert_int_equal(dst[0], 'X');
            continue;
        }
        assert_true(strlen(dst) < cap);
        assert_int_equal(dst[cap], 'X');
        text_printable(again, sizeof again, dst, strlen(dst));
        assert_null(strchr(again, '?'));
        text_printable(again, cap, dst, strlen(dst));
        assert_string_equal(again, dst);
    }
}

static void any_byte_in_a_text_is_made_printable(void **state)
{
    (void)state;
    static const char good[] = "a \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80.";
    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char src[sizeof good], dst[64], again[64];
            memcpy(src, good, sizeof good);
            src[at] = (char)byte;
            text_printable(dst, sizeof dst, src, sizeof good - 1);
            text_printable(again, sizeof again, dst, strlen(dst));
            assert_string_equal(again, dst);
        }
    }
}

static void names_have_letters_digits_and_three_signs(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "9", "file-03", "A.b_c-d", "a..b", "a."};
    static const char *const bad[] = {"",    ".",   "..",  "-a",  "_a",      ".a",
                                      "a b", "a/b", "a\n", "a@b", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_name(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_name(bad[i]));
    char name[256];
    memset(name, 'n', sizeof name);
    name[253] = '\0';
    assert_true(text_is_name(name));
    name[253] = 'n';
    name[254] = '\0';
    assert_false(text_is_name(name));
}

static void decimal_numbers_up_to_a_maximum_are_parsed(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "a", "65536"};
    uint64_t v = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(text_to_uint(bad[i], 65535, &v), -1);
    assert_int_equal(v, 7);
    assert_int_equal(text_to_uint("0065535", 65535, &v), 0);
    assert_int_equal(v, 65535);
    assert_int_equal(text_to_uint("0", 0, &v), 0);
    assert_int_equal(v, 0);
    assert_int_equal(text_to_uint("1", 0, &v), -1);
    assert_int_equal(text_to_uint("9", 5, &v), -1);
    assert_int_equal(text_to_uint("18446744073709551615", UINT64_MAX, &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(text_to_uint("18446744073709551616", UINT64_MAX, &v), -1);
    assert_int_equal(text_to_uint("99999999999999999999999", UINT64_MAX, &v), -1);
}

static void valid_durations_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"30", 30000},    {"30s", 30000},    {"0", 0},           {"2m", 120000},
                {"1m30s", 90000}, {"1.5h", 5400000}, {"250ms", 250},     {"1.5", 1500},
                {".5s", 500},     {"1.s", 1000},     {"24h", 86400000},  {"1.25m", 75000},
                {"0.001", 1},     {"0.0001h", 360},  {"1.2345m", 74070}, {"1.5000000s", 1500}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ms = -1;
        struct err err = ERR_INIT;
        assert_ok(text_to_duration(good[i].text, &ms, &err), &err);
        assert_int_equal(ms, good[i].ms);
    }
}

static void invalid_durations_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         " ",
                                      "s",        ".",
                                      ".s",       "-1s",
                                      "+1s",      "1 s",
                                      "1s ",      "1us",
                                      "1ns",      "1d",
                                      "1S",       "1m30",
                                      "1e3s",     "30.5.5s",
                                      "1,5s",     "s30",
                                      "1h1x",     "0.0001",
                                      "30.0001s", "99999999999999999999s"};
    struct err err = ERR_INIT;
    int64_t ms = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *msg =
            format_text("\"%s\" is not a duration: write 30s, 2m, 1m30s or a number of seconds", bad[i]);
        assert_refused(text_to_duration(bad[i], &ms, &err), &err, ERR_USAGE, msg);
        free(msg);
    }
    assert_refused(text_to_duration("24h1ms", &ms, &err), &err, ERR_USAGE,
                   "duration \"24h1ms\" is longer than 24 hours");
    assert_refused(text_to_duration("86401", &ms, &err), &err, ERR_USAGE,
                   "duration \"86401\" is longer than 24 hours");
    assert_refused(text_to_duration("86400000h", &ms, &err), &err, ERR_USAGE,
                   "duration \"86400000h\" is longer than 24 hours");
    assert_int_equal(ms, 7);
}

static void durations_are_formatted(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{250, "250ms"}, {999, "999ms"},  {1000, "1s"},        {1500, "1.5s"},    {90000, "1m30s"},
                 {60000, "1m"},  {3600000, "1h"}, {3661000, "1h1m1s"}, {61500, "1m1.5s"}, {1990, "2s"},
                 {1030, "1s"},   {59960, "1m"},   {0, "0s"},           {86400000, "24h"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dst[32];
        assert_string_equal(text_duration(dst, sizeof dst, cases[i].ms), cases[i].text);
    }
    for (size_t cap = 1; cap < 10; cap++) {
        char dst[16];
        memset(dst, 'X', sizeof dst);
        text_duration(dst, cap, 3661500);
        assert_true(strlen(dst) < cap);
    }
}

static void byte_counts_are_formatted(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},         {512, "512 B"},        {999, "999 B"},
                 {1000, "1.0 kB"},   {1400, "1.4 kB"},      {999949, "999.9 kB"},
                 {999950, "1.0 MB"}, {33000000, "33.0 MB"}, {UINT64_MAX, "18.4 EB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dst[32];
        assert_string_equal(text_bytes(dst, sizeof dst, cases[i].bytes), cases[i].text);
    }
}

static void assert_suggestion(const char *typed, const char *expected)
{
    static const char *const known[] = {"cpu",           "heap",  "allocs", "goroutines",
                                        "goroutineleak", "mutex", "block"};
    char dst[200];
    struct nearest near = NEAREST_INIT(typed);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        nearest_add(&near, known[i]);
    assert_string_equal(nearest_text(&near, dst, sizeof dst), expected);
}

static void misspelled_names_get_suggestions(void **state)
{
    (void)state;
    assert_suggestion("heep", "\"heap\"");
    assert_suggestion("haep", "\"heap\"");
    assert_suggestion("HEAP", "\"heap\"");
    assert_suggestion("cp", "\"cpu\"");
    assert_suggestion("goroutine", "\"goroutines\" or \"goroutineleak\"");
    assert_suggestion("gorutines", "\"goroutines\"");
    assert_suggestion("xyzzy", "");
    assert_suggestion("", "");
    assert_suggestion("q", "");
}

static void at_most_three_names_are_suggested(void **state)
{
    (void)state;
    char dst[200], small[8];
    struct nearest near = NEAREST_INIT("file-01");
    nearest_add(&near, "file-99");
    nearest_add(&near, "file-02");
    nearest_add(&near, "file-03");
    nearest_add(&near, "file-01");
    nearest_add(&near, "file-04");
    assert_string_equal(nearest_text(&near, dst, sizeof dst), "\"file-01\", \"file-02\" or \"file-03\"");
    nearest_text(&near, small, sizeof small);
    assert_true(strlen(small) < sizeof small);
    char word[200];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    struct nearest too_long = NEAREST_INIT(word);
    nearest_add(&too_long, "w");
    nearest_add(&near, word);
    assert_int_equal(too_long.n, 0);
}

static void times_are_formatted(void **state)
{
    (void)state;
    char dst[32];
    int64_t when = INT64_C(1795247280005);
    assert_string_equal(clock_format(dst, sizeof dst, when), "2026-11-21T07:48:00Z");
    assert_string_equal(clock_format_millis(dst, sizeof dst, when), "2026-11-21T07:48:00.005Z");
    assert_string_equal(clock_format_for_file_name(dst, sizeof dst, when), "2026-11-21T07-48-00Z");
    assert_string_equal(clock_format(dst, sizeof dst, 0), "1970-01-01T00:00:00Z");
    assert_string_equal(clock_format(dst, sizeof dst, INT64_C(951782400000)), "2000-02-29T00:00:00Z");
    clock_format_millis(dst, sizeof dst, INT64_MAX);
    assert_true(strlen(dst) < sizeof dst);
}

static void times_in_utc_are_parsed_and_others_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "2026-11-21",
        "2026-11-21T07:48:00",
        "2026-11-21T07:48:00.5Z",
        "2026-11-21T07:48:00.-05Z",
        "2026-11-21T07:48:00.0050Z",
        "2026-11-21T07:48:00Zx",
        "2026-13-21T07:48:00Z",
    };
    int64_t when = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(clock_parse(bad[i], &when), -1);
    assert_int_equal(when, 7);
    assert_int_equal(clock_parse("2026-11-21T07:48:00Z", &when), 0);
    assert_true(when == INT64_C(1795247280000));
    assert_int_equal(clock_parse("2026-11-21T07:48:00.005Z", &when), 0);
    assert_true(when == INT64_C(1795247280005));
}

static void clock_jitter_varies_a_pause_by_half(void **state)
{
    (void)state;
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 2000; i++) {
        int64_t pause = clock_jitter(100);
        least = pause < least ? pause : least;
        most = pause > most ? pause : most;
    }
    assert_true(least >= 50 && most < 150 && most > least);
    assert_int_equal(clock_jitter(0), 0);
}

static void deadlines_are_converted_to_poll_timeouts(void **state)
{
    (void)state;
    int64_t before = clock_now();
    assert_true(clock_deadline(-1) == CLOCK_NEVER);
    assert_int_equal(clock_poll_timeout(CLOCK_NEVER), -1);
    assert_int_equal(clock_poll_timeout(before - 1), 0);
    int64_t deadline = clock_deadline(5000);
    assert_in_range(deadline, before + 5000, before + 6000);
    assert_in_range(clock_poll_timeout(deadline), 3000, 5000);
    assert_int_equal(clock_poll_timeout(CLOCK_NEVER - 1), INT32_MAX);
    assert_true(clock_now() >= before);
    assert_true(clock_utc() > INT64_C(1700000000000));
}

static void text_with_control_or_hidden_characters_is_not_visible(void **state)
{
    (void)state;
    static const char *const good[] = {"", "two  blanks", "J\xc3\xbcrgen", "\xe6\x97\xa5\xe6\x9c\xac",
                                       "\xf0\x9f\x98\x80"};
    static const char *const bad[] = {"a\nb",
                                      "\x1b[31m",
                                      "\x7f",
                                      "a\tb",
                                      "\xc2\x85",
                                      "\xff",
                                      "cut\xe2\x80",
                                      "\xe2\x80\xae"
                                      "abc",
                                      "a\xe2\x80\x8b"
                                      "b",
                                      "\xef\xbb\xbf"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_visible(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_visible(bad[i]));
}

static void sizes_with_units_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {{"1", 1},
                {"500MB", 500000000},
                {"2gb", 2000000000},
                {"3kB", 3000},
                {"1KiB", 1024},
                {"64MiB", UINT64_C(64) << 20},
                {"4GiB", UINT64_C(4) << 30},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "MB",
                                      "-1",
                                      "1.5GB",
                                      "1 MB",
                                      "1XB",
                                      "1MBs",
                                      "18446744073709551616",
                                      "18446744073709551615kB",
                                      "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 0;
        assert_int_equal(text_to_bytes(rows[i].text, &bytes), 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes = 0;
        assert_int_equal(text_to_bytes(bad[i], &bytes), -1);
    }
}

static void text_next_entry_skips_comments_and_empty_lines(void **state)
{
    (void)state;
    char text[] = "\n# nothing\r\n  one \r\n\t# nothing either\ntwo\n\nthree";
    char *rest = text;
    size_t number = 0;
    assert_string_equal(text_next_entry(&rest, &number), "one ");
    assert_int_equal(number, 3);
    assert_string_equal(text_next_entry(&rest, &number), "two");
    assert_int_equal(number, 5);
    assert_string_equal(text_next_entry(&rest, &number), "three");
    assert_int_equal(number, 7);
    assert_null(text_next_entry(&rest, &number));
    assert_null(text_next_entry(&rest, &number));
    char none[] = "";
    rest = none;
    assert_null(text_next_entry(&rest, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_utf8_is_decoded_and_invalid_utf8_refused),
        cmocka_unit_test(printable_text_is_unchanged),
        cmocka_unit_test(white_space_becomes_one_blank),
        cmocka_unit_test(control_characters_become_question_marks),
        cmocka_unit_test(hidden_characters_become_question_marks),
        cmocka_unit_test(default_ignorable_characters_become_question_marks),
        cmocka_unit_test(invalid_utf8_becomes_question_marks),
        cmocka_unit_test(only_one_thing_has_no_plural),
        cmocka_unit_test(first_clauses_and_suffixes_are_found),
        cmocka_unit_test(text_longer_than_the_buffer_ends_in_dots),
        cmocka_unit_test(any_byte_in_a_text_is_made_printable),
        cmocka_unit_test(names_have_letters_digits_and_three_signs),
        cmocka_unit_test(decimal_numbers_up_to_a_maximum_are_parsed),
        cmocka_unit_test(text_next_entry_skips_comments_and_empty_lines),
        cmocka_unit_test(valid_durations_are_parsed),
        cmocka_unit_test(invalid_durations_are_refused),
        cmocka_unit_test(durations_are_formatted),
        cmocka_unit_test(text_with_control_or_hidden_characters_is_not_visible),
        cmocka_unit_test(sizes_with_units_are_parsed),
        cmocka_unit_test(byte_counts_are_formatted),
        cmocka_unit_test(misspelled_names_get_suggestions),
        cmocka_unit_test(at_most_three_names_are_suggested),
        cmocka_unit_test(times_are_formatted),
        cmocka_unit_test(times_in_utc_are_parsed_and_others_refused),
        cmocka_unit_test(clock_jitter_varies_a_pause_by_half),
        cmocka_unit_test(deadlines_are_converted_to_poll_timeouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
