/* Redaction of lines that are longer than a part. The tests take small parts, because they then need little
 * time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bundle/redact/redact_lines.h"
#include "bundle/redact/redact_words.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* WHOLE: a part that is larger than each text. OVERLAP: what the search reads behind a part of PART bytes. */
enum { PART = 16 << 10, OVERLAP = PART / 16, WHOLE = 4 << 20, TEXT_MAX = 4 << 20 };

/* Redacts a text in parts of `size` bytes. */
static void redact_parts(const struct buf *text, size_t size, const struct redact_learned *learned,
                         struct buf *ret)
{
    enum { PIECE = 7001 };
    struct redact_tally tally = {0};
    const struct redact_output into = {.out = ret, .tally = &tally, .learned = learned};
    struct redact_lines l = {.line = BUF_INIT(size)};
    for (size_t at = 0; at < text->len; at += PIECE)
        redact_lines_add(&l, (struct str){text->data + at, text->len - at < PIECE ? text->len - at : PIECE},
                         &into);
    redact_lines_end(&l, &into);
    assert_false(ret->failed || l.line.failed);
    buf_release(&l.line);
}

static void assert_same(const struct buf *a, const struct buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

/* ---- random texts -------------------------------------------------------------------------------------- */

/* A text before a secret, one after it, and texts that may stand in the secret. `one_part`: the rule needs
 * the end of the secret to see that it is one. */
struct form {
    const char *before, *after, *inside[5];
    bool one_part;
};

static const struct form forms[] = {
    {"password=", " ", {"-", "/", "(", "]", ":"}, false},
    {"--token ", " ", {"-", "/", "$", "=", "+"}, false},
    {"{\"token\": \"", "\"}", {" ", ", ", "\\\"", "\\\\", "}"}, false},
    {"{\\\"token\\\":\\\"", "\\\"}", {" ", ", ", "\\\\\\\"", "'", "{"}, false},
    {"'password': '", "', ", {" ", ",", "\\'", "\"", "''"}, false},
    {"password = \"\"\"", "\"\"\" ", {" ", ",", "\"", "'", "{"}, false},
    {"\"tokens\": [\"", "\"], ", {"\", \"", " ", "]", "[", "\\\""}, false},
    {"secrets=[", "]] ", {" ", ", ", "[a]", ", 'b]', ", "{}"}, false},
    {"password=", " ", {"'a b'", "/", "\"c, d\"", "-", "."}, false},
    {"API_KEYS=", " ", {",", "-", "/", ",", "."}, false},
    {"<password>", "</password>", {" ", ",", "\"", "&amp;", "'"}, false},
    {"<password><![CDATA[", "]]></password>", {" ", "<b>", "]]", ",", "'"}, false},
    {"&quot;token&quot;:&quot;", "&quot; ", {" ", ",", "\"", "&amp;", "'"}, false},
    {"\\u0022token\\u0022:\\u0022", "\\u0022 ", {" ", ",", "'", "{", "\\n"}, false},
    {"http://h/x?token=", "&a=b ", {",", ";", "%22", "'x", "("}, false},
    {"token%3D", "%26 ", {"-", ".", "%2F", "!", "$"}, false},
    {"Bearer ", "1 ", {"-", ".", "+", "/", "_"}, false},
    {"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY----- ", {"\\n", "+", "/", " ", "="}, false},
    {"{\"name\":\"DB_PASSWORD\",\"value\":\"", "\"} ", {" ", ",", "\\\"", "{", "'"}, false},
    {"<td>password</td><td>", "</td></tr>", {" ", ",", "\"", "{", "'"}, false},
    {"curl -u joe:", " ", {"-", ".", "/", "$", "!"}, false},
    {"https://hooks.slack.com/services/", " ", {"/", "-", ".", "/", "-"}, false},
    {"http://joe:", "@h/x ", {"-", ".", "!", "$", "@"}, true},
    {"joe:", "@tcp(h:1)/x ", {"-", ".", "!", ",", "$"}, true},
    {"&lt;password&gt;", "&lt;/password&gt; ", {" ", ",", "'", "{", "-"}, true},
};

/* Values on the line after the end of a line. */
static const struct form next_lines[] = {
    {" --password \\\n  ", " \\\n", {"-", "/", "$", "+", "."}, false},
    {" password = '''\n", "''' filler\n", {" ", ",", "\"", "''", "\n"}, false},
    {" <password>\n", "</password> filler\n", {" ", ",", "\"", "\n", "'"}, false},
    {" <password><![CDATA[\n", "]]></password> filler\n", {" ", ",", "<b>", "\n", "]]"}, false},
    {" {\"tokens\": [\n\"", "\"\n], filler\n", {" ", "\",\n\"", "]", "'", "["}, false},
    {" credentials = {\n", "\n}\nfiller\n", {" ", ",", "\n", "'", "-"}, false},
    {" -----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n", {"+", "/", "\n", "=", "."}, false},
    {" {\"name\": \"DB_PASSWORD\",\n\"value\": \"", "\"}\n", {" ", ",", "\\\"", "'", "["}, false},
    {" <td>password</td>\n<td>", "</td>\n", {" ", ",", "\"", "'", "-"}, false},
    {" filler", "\n", {NULL}, false},
};

static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Adds a secret in that form, of 6 bytes to almost three parts. */
static void add_secret(struct buf *text, const struct form *form, uint64_t *state)
{
    static const uint32_t sizes[] = {8, 300, OVERLAP, 4 * OVERLAP, 3 * PART};
    enum { N = sizeof forms[0].inside / sizeof *forms[0].inside };
    size_t n = random_below(state, sizes[random_below(state, form->one_part ? 4 : 5)]);
    bool plain = random_below(state, 3) == 0;
    buf_adds(text, form->before);
    for (size_t begin = text->len; form->inside[0] && text->len - begin <= n;) {
        buf_adds(text, "sesame");
        if (!plain && random_below(state, 3) == 0 && text->len - begin <= n)
            buf_adds(text, form->inside[random_below(state, N)]);
        buf_adds(text, "7");
    }
    buf_adds(text, form->after);
}

/* Adds words up to about n bytes of the text. */
static void add_words(struct buf *text, size_t n, uint64_t *state)
{
    static const char *const words[] = {"filler ", "filler, ", "filler,", "filler/"};
    const char *word = words[random_below(state, sizeof words / sizeof *words)];
    while (text->len + strlen(word) < n)
        buf_adds(text, word);
    buf_addc(text, ' ');
}

/* Makes a line with secrets of the forms, each near the end of a part, and a value on the next line. */
static void make_text(struct buf *text, size_t number, uint64_t *state)
{
    enum { FORMS = sizeof forms / sizeof *forms, NEXT_LINES = sizeof next_lines / sizeof *next_lines };
    buf_adds(text, "{\"a\": ");
    add_words(text, PART - random_below(state, 4 * OVERLAP), state);
    add_secret(text, &forms[number % FORMS], state);
    add_words(text, text->len + PART - random_below(state, 4 * OVERLAP), state);
    add_secret(text, &forms[random_below(state, FORMS)], state);
    add_secret(text, &next_lines[number % NEXT_LINES], state);
    add_words(text, text->len + PART, state);
}

/* The search in parts finds what the search of whole lines finds, wherever the parts end. */
static void parts_are_redacted_like_whole_lines(void **state)
{
    enum { TEXTS = 60 };
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        struct buf text = BUF_INIT(TEXT_MAX), parts = BUF_INIT(TEXT_MAX), whole = BUF_INIT(TEXT_MAX);
        make_text(&text, i, &random);
        redact_parts(&text, PART, NULL, &parts);
        redact_parts(&text, WHOLE, NULL, &whole);
        assert_null(memmem(parts.data, parts.len, "sesame", 6));
        assert_same(&parts, &whole);
        buf_release(&text);
        buf_release(&parts);
        buf_release(&whole);
    }
}

/* ---- single cases -------------------------------------------------------------------------------------- */

/* The secret is longer than a part of the usual size, and its quote ends it. */
static void secrets_longer_than_a_part_are_redacted(void **state)
{
    struct buf text = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
    (void)state;
    buf_adds(&text, "{\"user\": \"filler\", \"password\": \"");
    while (text.len < 2 * REDACT_LINE_MAX)
        buf_adds(&text, "sesame, 'ses\\\"ame' ");
    buf_adds(&text, "\", \"a\": \"filler\"}\n");
    redact_parts(&text, REDACT_LINE_MAX, NULL, &out);
    assert_string_equal(buf_str(&out),
                        "{\"user\": \"filler\", \"password\": \"" REDACTED "\", \"a\": \"filler\"}\n");
    buf_release(&text);
    buf_release(&out);
}

/* The search of a part ends before a secret if a rule has to see its end, and an address found before is
 * kept. */
static void secrets_are_redacted_whose_end_is_in_the_next_part(void **state)
{
    static const struct {
        const char *before, *after;
    } cases[] = {{"http://joe:", "@h/x "},
                 {"x@tcp(h) joe:", "@tcp(h:1)/x "},
                 {"&lt;password&gt;", "&lt;/password&gt; "},
                 {"-u joe:", " joe:x "}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct buf text = BUF_INIT(TEXT_MAX), parts = BUF_INIT(TEXT_MAX), whole = BUF_INIT(TEXT_MAX);
        while (text.len < PART - (i % 2 ? 2 * OVERLAP : OVERLAP + 8))
            buf_adds(&text, "filler,");
        buf_addc(&text, ' ');
        buf_adds(&text, cases[i / 2].before);
        for (size_t begin = text.len; text.len - begin < 3 * OVERLAP;)
            buf_adds(&text, "sesame7!");
        buf_adds(&text, cases[i / 2].after);
        add_words(&text, text.len + PART, &(uint64_t){1});
        redact_parts(&text, PART, NULL, &parts);
        redact_parts(&text, WHOLE, NULL, &whole);
        assert_null(memmem(parts.data, parts.len, "sesame", 6));
        assert_same(&parts, &whole);
        buf_release(&text);
        buf_release(&parts);
        buf_release(&whole);
    }
}

/* A value that begins on a line before may end in any part of a long line. */
static void values_of_a_line_before_end_in_any_part(void **state)
{
    static const struct {
        const char *before, *inside, *end, *after;
    } cases[] = {
        {"\"tokens\": [\n", "17, ", "], ", " <password>\nsesame</password>\n"},
        {"-----BEGIN PRIVATE KEY----- <password><![CDATA[\nab\n", "abcd",
         "-----END PRIVATE KEY----- sesame]]> ", "\n"},
        {"-----BEGIN PRIVATE KEY-----\n", "abcd", "-----END PRIVATE KEY----- ",
         " <password>\nsesame</password>\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = BUF_INIT(TEXT_MAX), parts = BUF_INIT(TEXT_MAX);
        buf_adds(&text, cases[i].before);
        while (text.len < 3 * PART / 2)
            buf_adds(&text, cases[i].inside);
        buf_adds(&text, cases[i].end);
        add_words(&text, text.len + PART, &(uint64_t){1});
        buf_adds(&text, cases[i].after);
        redact_parts(&text, PART, NULL, &parts);
        assert_null(memmem(parts.data, parts.len, "sesame", 6));
        assert_non_null(memmem(parts.data, parts.len, "filler", 6));
        buf_release(&text);
        buf_release(&parts);
    }
}

/* A value that was learned is found where parts meet, also if it is longer than what parts usually share, and
 * if the name of another secret is in it. */
static void repeated_values_are_redacted_where_parts_meet(void **state)
{
    enum { N = 20 };
    struct buf value = BUF_INIT(TEXT_MAX);
    struct redact_words words;
    struct err err = ERR_INIT;
    const struct redact_learned learned = {.words = &words, .weak = true};
    (void)state;
    while (value.len < 2 * OVERLAP)
        buf_addf(&value, "sesame%zu!", value.len);
    buf_adds(&value, " password=ses");
    assert_int_equal(redact_words_init(&words, &err), 0);
    assert_int_equal(redact_words_learn(&words, (struct str){value.data, value.len}, true, &err), 0);
    assert_int_equal(redact_words_prepare(&words, &err), 0);
    for (size_t i = 0; i < N; i++) {
        struct buf text = BUF_INIT(TEXT_MAX), parts = BUF_INIT(TEXT_MAX), whole = BUF_INIT(TEXT_MAX);
        while (text.len < PART - 4 * OVERLAP + i * 4 * OVERLAP / N)
            buf_addc(&text, text.len % 8 == 0 ? ' ' : 'f');
        buf_add(&text, value.data, value.len);
        buf_adds(&text, "ame ");
        add_words(&text, 2 * PART, &(uint64_t){1});
        redact_parts(&text, PART, &learned, &parts);
        redact_parts(&text, WHOLE, &learned, &whole);
        assert_null(memmem(parts.data, parts.len, "sesame", 6));
        assert_same(&parts, &whole);
        buf_release(&text);
        buf_release(&parts);
        buf_release(&whole);
    }
    redact_words_release(&words);
    buf_release(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_redacted_like_whole_lines),
        cmocka_unit_test(secrets_longer_than_a_part_are_redacted),
        cmocka_unit_test(secrets_are_redacted_whose_end_is_in_the_next_part),
        cmocka_unit_test(values_of_a_line_before_end_in_any_part),
        cmocka_unit_test(repeated_values_are_redacted_where_parts_meet),
    };
    return cmocka_run_group_tests_name("redact_lines", tests, NULL, NULL);
}
