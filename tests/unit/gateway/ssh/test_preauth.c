/* The error of a handshake that failed, which depends on the first bytes of the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/base.h"
#include "gateway/ssh/preauth.h"
#include "tests/unit/damage.h"

#define VERSION "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u5\r\n"

struct expected {
    const char *received;
    enum preauth_end end;
    enum err_kind kind;
    const char *message;
};

static const struct expected cases[] = {
    {"", PREAUTH_CLOSED, ERR_BUSY, "the server closed the connection before it sent any data"},
    {"", PREAUTH_SILENT, ERR_TIMEOUT,
     "the server accepts the connection but sends no data (waited 2s for an SSH banner)"},
    {"Exceeded MaxStartups\r\n", PREAUTH_CLOSED, ERR_BUSY,
     "the server is busy: it says \"Exceeded MaxStartups\""},
    {"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", PREAUTH_CLOSED, ERR_FAILED,
     "the server is not an SSH server: it says \"HTTP/1.1 400 Bad Request\""},
    {"220 mail\r\n", PREAUTH_SILENT, ERR_TIMEOUT, "the server is not an SSH server: it says \"220 mail\""},
    {"\x1b[31mhello", PREAUTH_FAILED, ERR_FAILED, "the server is not an SSH server: it says \"?[31mhello\""},
    {"SSH-1.5-1.2.27\n", PREAUTH_SILENT, ERR_FAILED,
     "the server speaks an old version of SSH: \"SSH-1.5-1.2.27\""},
    {"welcome\r\nSSH-1.5-x\n", PREAUTH_CLOSED, ERR_FAILED,
     "the server speaks an old version of SSH: \"SSH-1.5-x\""},
    {"SSH", PREAUTH_SILENT, ERR_TIMEOUT, "the server began the SSH handshake, but did not end it within 2s"},
    {VERSION, PREAUTH_SILENT, ERR_TIMEOUT,
     "the server began the SSH handshake, but did not end it within 2s"},
    {"welcome\n" VERSION, PREAUTH_CLOSED, ERR_FAILED,
     "the server closed the connection in the middle of the SSH handshake"},
    {"SSH-1.99-Cisco-1.25\n", PREAUTH_CLOSED, ERR_FAILED,
     "the server closed the connection in the middle of the SSH handshake"},
    {VERSION "noise", PREAUTH_FAILED, ERR_FAILED,
     "the SSH handshake failed: the server's data is invalid, or was changed on the way"},
};

static void each_end_has_its_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        assert_int_equal(
            preauth_explain(cases[i].received, strlen(cases[i].received), cases[i].end, 2000, &err), -1);
        assert_string_equal(err.msg, cases[i].message);
        assert_int_equal(err.kind, cases[i].kind);
        assert_true(err.hint[0]);
    }
}

static void a_missing_version_line_may_still_arrive(void **state)
{
    (void)state;
    static const char *const acceptable[] = {"",        "S",     "SSH-",          "SSH-1.", "welcome\r\nSS",
                                             "welcome", VERSION, "SSH-1.99-x\r\n"};
    for (size_t i = 0; i < sizeof acceptable / sizeof *acceptable; i++)
        assert_int_equal(preauth_check(acceptable[i], strlen(acceptable[i]), NULL), 0);
}

static void endless_lines_are_no_ssh_server(void **state)
{
    (void)state;
    char lines[PREAUTH_BEFORE_MAX];
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = "no banner here\r\n"[i % 16];
    assert_int_equal(preauth_check(lines, sizeof lines - 1, &err), 0);
    assert_int_equal(preauth_check(lines, sizeof lines, &err), -1);
    assert_string_equal(err.msg, "the server is not an SSH server: it says \"no banner here\"");
    memcpy(lines + 160, VERSION, strlen(VERSION));
    assert_int_equal(preauth_check(lines, sizeof lines, &err), 0);
}

static void parse_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    for (enum preauth_end end = PREAUTH_CLOSED; end <= PREAUTH_FAILED; end++) {
        struct err err = ERR_INIT;
        assert_int_equal(preauth_explain(s->p, s->n, end, 1, &err), -1);
        assert_true(err.msg[0] && err.hint[0] && err.kind != ERR_NONE);
    }
}

static void damaged_data_before_the_login_has_a_message_and_a_hint(void **state)
{
    (void)state;
    damage_everywhere("welcome\r\n" VERSION, strlen("welcome\r\n" VERSION), parse_damaged, NULL);
    damage_everywhere("SSH-1.99-x\n", strlen("SSH-1.99-x\n"), parse_damaged, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_has_its_message),
        cmocka_unit_test(a_missing_version_line_may_still_arrive),
        cmocka_unit_test(endless_lines_are_no_ssh_server),
        cmocka_unit_test(damaged_data_before_the_login_has_a_message_and_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
