/* The parts of a hand-off without requests: decisions on plain text, escaping, paths. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>
#include <stdlib.h>

#include "handoff/attachment.h"
#include "handoff/rt_attachment.h"
#include "handoff/decide.h"
#include "handoff/handoff.h"
#include "handoff/escape.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- decisions on plain text ------------------------------------------------------------------------- */

#define NEW_ISSUE .existing = false
#define EXISTING_ISSUE .existing = true

static void the_readers_decide_whether_a_plain_bundle_is_attached(void **state)
{
    (void)state;
    static const struct {
        struct facts facts;
        bool allowed, needs_note;
    } rows[] = {
        /* An encrypted bundle may go anywhere. */
        {{READERS_ANYONE, NEW_ISSUE, .encrypted = true}, true, true},
        {{READERS_UNKNOWN, EXISTING_ISSUE, .encrypted = true}, true, true},
        {{READERS_ANYONE, EXISTING_ISSUE, .confidential = true, .encrypted = true}, true, false},
        /* Plain text may only go to members, and on an existing issue only if the issue is confidential. */
        {{READERS_TEAM, NEW_ISSUE}, true, true},
        {{READERS_TEAM, EXISTING_ISSUE}, false, true},
        {{READERS_TEAM, EXISTING_ISSUE, .confidential = true}, true, false},
        {{READERS_SIGNED_IN, NEW_ISSUE}, false, true},
        {{READERS_SIGNED_IN, EXISTING_ISSUE, .confidential = true}, false, false},
        {{READERS_ANYONE, NEW_ISSUE}, false, true},
        {{READERS_ANYONE, EXISTING_ISSUE, .confidential = true}, false, false},
        {{READERS_UNKNOWN, NEW_ISSUE}, false, true},
        {{READERS_UNKNOWN, EXISTING_ISSUE, .confidential = true}, false, false},
        /* The user may allow plain text everywhere. */
        {{READERS_ANYONE, NEW_ISSUE, .plaintext_i_know = true}, true, true},
        {{READERS_UNKNOWN, EXISTING_ISSUE, .plaintext_i_know = true}, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = ERR_INIT;
        int rc = decide_bundle(&rows[i].facts, "project ops", &err);
        if ((rc == 0) != rows[i].allowed || decide_needs_note(&rows[i].facts) != rows[i].needs_note)
            fail_msg("row %zu: %d %s", i, rc, err.msg);
        if (rc < 0)
            assert_int_equal(err.kind, ERR_DENIED);
    }
}

static void the_readers_decide_whether_the_summary_is_posted(void **state)
{
    (void)state;
    assert_false(decide_summary(&(struct facts){READERS_TEAM, EXISTING_ISSUE}, false));
    assert_true(decide_summary(&(struct facts){READERS_TEAM, EXISTING_ISSUE}, true));
    assert_true(decide_summary(&(struct facts){READERS_ANYONE, EXISTING_ISSUE, .confidential = true}, false));
}

static void refusals_have_reasons(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_refused(
        decide_bundle(&(struct facts){READERS_UNKNOWN, NEW_ISSUE}, "queue Incidents", &err), &err, ERR_DENIED,
        "the bundle is not encrypted, and the attachments in queue Incidents are readable by users that "
        "the tracker does not report");
    assert_contains(err.hint, "--plaintext-i-know");
}

/* ---- escaping ---------------------------------------------------------------------------------------- */

typedef void escape_fn(struct buf *out, const char *text);

static void assert_escaped_to(escape_fn *escape, const char *text, const char *expected)
{
    struct buf out = BUF_INIT(1u << 20);
    escape(&out, text);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
}

static void markdown_is_escaped(void **state)
{
    (void)state;
    assert_escaped_to(escape_markdown, "", "\n```text\n```\n");
    assert_escaped_to(escape_markdown, "/close\n@all #1 !2 ~bug\n<img src=x>",
                      "\n```text\n  /close\n  @all #1 !2 ~bug\n  <img src=x>\n```\n");
    assert_escaped_to(escape_markdown, "```\n/close\n```", "\n````text\n  ```\n  /close\n  ```\n````\n");
    assert_escaped_to(escape_markdown, "a\r/close\x1b[31m\xe2\x80\xae", "\n```text\n  a /close?[31m?\n```\n");
}

static void textile_is_escaped(void **state)
{
    (void)state;
    assert_escaped_to(escape_redmine, "</pre>*b* <pre>", "\n<pre>\n  < /pre>*b* < pre>\n</pre>\n");
    assert_escaped_to(escape_redmine, "@all ops@host (@ann)",
                      "\n<pre>\n  (at)all ops@host ((at)ann)\n</pre>\n");
}

static void plain_text_is_indented(void **state)
{
    (void)state;
    assert_escaped_to(escape_plain, "a\nb\n", "\n  a\n  b\n");
}

/* Checks the first and the last line of the block, and that every line between them is indented or empty. */
static void assert_enclosed(const char *block, const char *begin, const char *end)
{
    size_t n = strlen(block), e = strlen(end);
    assert_true(n > e && strcmp(block + n - e, end) == 0);
    assert_memory_equal(block, begin, strlen(begin));
    for (const char *line = block; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (*line != '\n' && strncmp(line, "  ", 2) != 0 && line != block + 1 && line != block + n - e)
            fail_msg("this line is not indented: %s", line);
}

static void any_text_stays_inside_its_block(void **state)
{
    (void)state;
    static const char alphabet[] = "`~/@<>{}\n\r a\\pre";
    char text[200];
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        size_t n = (size_t)(round % 190);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1103515245u + 12345u;
            text[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        text[n] = '\0';
        struct buf markdown = BUF_INIT(1u << 20), textile = BUF_INIT(1u << 20);
        escape_markdown(&markdown, text);
        size_t fence = strspn(buf_str(&markdown) + 1, "`");
        char closing[256];
        memset(closing, '`', fence);
        memcpy(closing + fence, "\n", 2);
        assert_enclosed(buf_str(&markdown), "\n```", closing);
        closing[fence] = '\0';
        /* The fence occurs only at the beginning and at the end. */
        const char *second = strstr(buf_str(&markdown) + 1 + fence, closing);
        assert_ptr_equal(second, buf_str(&markdown) + markdown.len - fence - 1);
        escape_redmine(&textile, text);
        assert_enclosed(buf_str(&textile), "\n<pre>\n", "</pre>\n");
        assert_ptr_equal(strstr(buf_str(&textile), "</"), buf_str(&textile) + textile.len - 7);
        buf_release(&markdown);
        buf_release(&textile);
    }
}

static void long_text_is_cut(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(1u << 20), out = BUF_INIT(1u << 20);
    for (int i = 0; i < ESCAPE_MAX_LINES + 5; i++)
        buf_adds(&text, "x\n");
    escape_plain(&out, buf_str(&text));
    assert_contains(buf_str(&out), "  (more lines are omitted)\n");
    assert_int_equal(out.len, 1 + ESCAPE_MAX_LINES * 4 + strlen("  (more lines are omitted)\n"));
    buf_release(&text);
    buf_release(&out);
}

/* ---- the content of an attachment -------------------------------------------------------------------- */

static int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

/* Decodes the answer byte by byte, as if each byte arrived alone. */
static int decode(const char *p, size_t n, struct buf *out, struct err *err)
{
    struct rt_attachment_decoder c = {.receive = add_bytes, .ctx = out};
    for (size_t i = 0; i < n; i++)
        if (rt_attachment_add(&c, p + i, 1, err) < 0)
            return -1;
    return rt_attachment_end(&c, err);
}

static void base64_content_of_an_answer_is_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected, *message;
    } rows[] = {
        {"{\"Content\":\"aGVsbG8=\"}", "hello", NULL},
        {"{ \"Filename\" : \"Content\", \"Content\" :\n \"aGVs\\nbG8=\\n\" , \"x\":\"%\"}", "hello", NULL},
        {"{\"a\":\"\\\"Content\\\":\",\"Contents\":\"x\",\"Content\":\"Pz8\\/\"}", "???", NULL},
        {"{\"Content\":\"\"}", "", NULL},
        {"{\"Content\":\"aGVsbG8\"}", NULL, "the tracker's copy of the file is not base64"},
        {"{\"Content\":\"aGV=bG8=\"}", NULL, "the tracker's copy of the file is not base64"},
        {"{\"Content\":\"aGV\\u0073\"}", NULL, "the tracker's copy of the file is not base64"},
        {"{\"Content\":\"====\"}", NULL, "the tracker's copy of the file is not base64"},
        {"{\"Content\":\"aGVs", NULL, "the tracker does not return the file's content to its end"},
        {"{\"Content\":null}", NULL, "the tracker does not return the file's content"},
        {"<html>Content</html>", NULL, "the tracker does not return the file's content"},
        {"", NULL, "the tracker does not return the file's content"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf out = BUF_INIT(1000);
        struct err err = ERR_INIT;
        int rc = decode(rows[i].text, strlen(rows[i].text), &out, &err);
        if (rows[i].expected) {
            assert_ok(rc, &err);
            assert_string_equal(buf_str(&out), rows[i].expected);
        } else {
            assert_refused(rc, &err, ERR_FAILED, rows[i].message);
        }
        buf_release(&out);
    }
}

static void decode_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;
    if (decode(s->p, s->n, &out, &err) < 0)
        assert_true(*err.msg);
    assert_true(out.len <= s->n);
    buf_release(&out);
}

static void damaged_content_is_decoded_or_refused_with_a_message(void **state)
{
    (void)state;
    static const char good[] = "{\"id\":\"7\",\"Content\":\"aGVs\\nbG8g\\/w==\",\"x\":1}";
    damage_everywhere(good, sizeof good - 1, decode_damaged, NULL);
}

/* ---- paths ------------------------------------------------------------------------------------------- */

static void url_characters_are_escaped(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(200);
    buf_add_percent_encoded(&b, "ops/a b?c#d&e%2f../\xc3\xa9");
    assert_string_equal(buf_str(&b), "ops%2Fa%20b%3Fc%23d%26e%252f..%2F%C3%A9");
    buf_release(&b);
}

/* ---- data that left ---------------------------------------------------------------------------------- */

static void the_data_that_left_is_reported(void **state)
{
    (void)state;
    static const struct {
        struct handoff_result result;
        const char *text;
    } rows[] = {
        {{.sent = HANDOFF_SENT_NOTHING, .titled = true}, "nothing has left this workstation"},
        {{.sent = HANDOFF_SENT_ISSUE}, "nothing has left this workstation but a neutral issue or note"},
        {{.sent = HANDOFF_SENT_ISSUE, .titled = true},
         "nothing has left this workstation but an issue with your title"},
        {{.sent = HANDOFF_SENT_PART, .bytes = 2000, .bytes_sent = 1000},
         "at most 1.0 kB of 2.0 kB of the bundle, in plain text, left this workstation, and the tracker did "
         "not take it"},
        {{.sent = HANDOFF_SENT_PART, .bytes = 2000, .bytes_sent = 2000, .encrypted = true},
         "the encrypted bundle (2.0 kB) left this workstation, and the tracker refused it"},
        {{.sent = HANDOFF_SENT_FILE_UNKNOWN},
         "the tracker may have the bundle, in plain text, but does not have the summary"},
        {{.sent = HANDOFF_SENT_FILE, .encrypted = true},
         "the tracker has the encrypted bundle but not the summary"},
        {{.sent = HANDOFF_SENT_SUMMARY_UNKNOWN, .encrypted = true},
         "the tracker has the encrypted bundle and may have the summary"},
        {{.sent = HANDOFF_SENT_SUMMARY}, "the tracker has the bundle, in plain text, and the summary"},
    };
    char text[HANDOFF_SENT_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(handoff_sent_text(&rows[i].result, text, sizeof text), rows[i].text);
}

/* ---- the attached file ------------------------------------------------------------------------------- */

static void an_attachments_name_has_no_host(void **state)
{
    char *path = scratch_file(*state, "profgrab-file-03.tar.gz.age", "age-encryption.org/v1\nx", 23);
    struct attachment c;
    struct err err = ERR_INIT;
    assert_ok(attachment_open(path, true, -1, &c, &err), &err);
    assert_int_equal(c.size, 23);
    assert_null(strstr(c.name, "file-03"));
    assert_contains(c.name, ".tar.gz.age");
    struct downloaded_file r;
    assert_ok(downloaded_file_begin(&r, &err), &err);
    downloaded_file_add(&r, "age-encryption.org/v1\n", 22, &err);
    assert_int_equal(downloaded_file_compare(&r, &c, &err), -1);
    assert_string_equal(err.msg, "the tracker stored 22 of 23 bytes");
    downloaded_file_add(&r, "x", 1, &err);
    assert_ok(downloaded_file_compare(&r, &c, &err), &err);
    downloaded_file_release(&r);
    attachment_close(&c);
    free(path);
    path = scratch_file(*state, "empty", "", 0);
    assert_int_equal(attachment_open(path, false, -1, &c, &err), -1);
    assert_contains(err.msg, "it is empty");
    free(path);
}

static void hashing_can_be_cancelled(void **state)
{
    char *path = scratch_file(*state, "b.tar.gz", "x", 1);
    struct attachment c;
    struct err err = ERR_INIT;
    int cancel[2];
    assert_int_equal(pipe(cancel), 0);
    assert_ok(attachment_open(path, false, cancel[0], &c, &err), &err);
    attachment_close(&c);
    assert_int_equal(write(cancel[1], "", 1), 1);
    assert_int_equal(attachment_open(path, false, cancel[0], &c, &err), -1);
    assert_int_equal(err.kind, ERR_CANCELLED);
    close(cancel[0]);
    close(cancel[1]);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_readers_decide_whether_a_plain_bundle_is_attached),
        cmocka_unit_test(the_readers_decide_whether_the_summary_is_posted),
        cmocka_unit_test(refusals_have_reasons),
        cmocka_unit_test(markdown_is_escaped),
        cmocka_unit_test(textile_is_escaped),
        cmocka_unit_test(plain_text_is_indented),
        cmocka_unit_test(any_text_stays_inside_its_block),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(url_characters_are_escaped),
        cmocka_unit_test(the_data_that_left_is_reported),
        SCRATCH(hashing_can_be_cancelled),
        SCRATCH(an_attachments_name_has_no_host),
        cmocka_unit_test(base64_content_of_an_answer_is_decoded),
        cmocka_unit_test(damaged_content_is_decoded_or_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
