/* OpenSSH's multiplexing protocol: messages, and connections to good and bad masters. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/openssh/mux.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define BYTES(s) (s), sizeof(s) - 1

static void assert_bytes(struct buf *b, const char *p, size_t n)
{
    assert_false(b->failed);
    assert_int_equal(b->len, n);
    assert_memory_equal(b->data, p, n);
    buf_clear(b);
}

static void requests_are_encoded(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(1000);
    mux_add_hello(&b);
    assert_bytes(&b, BYTES("\0\0\0\x08\0\0\0\1\0\0\0\4"));
    mux_add_request(&b, MUX_ALIVE_CHECK, 7);
    assert_bytes(&b, BYTES("\0\0\0\x08\x10\0\0\4\0\0\0\7"));
    mux_add_stdio_forward(&b, 1, "a.b", 6060);
    assert_bytes(&b, BYTES("\0\0\0\x17\x10\0\0\x08\0\0\0\1\0\0\0\0\0\0\0\3"
                           "a.b\0\0\x17\xac"));
    mux_add_unix_forward(&b, MUX_CLOSE_FORWARD, 2, "/h", "/there");
    assert_bytes(&b, BYTES("\0\0\0\x24\x10\0\0\7\0\0\0\2\0\0\0\1\0\0\0\2/h\xff\xff\xff\xfe\0\0\0\6/there"
                           "\xff\xff\xff\xfe"));
    buf_release(&b);
}

static void a_request_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(20);
    struct err err = ERR_INIT;
    mux_add_stdio_forward(&b, 1, "a-host-whose-name-has-no-end", 1);
    assert_int_equal(buf_check(&b, "it", &err), -1);
    buf_release(&b);
}

static struct mux_message parse_message(const char *p, size_t n)
{
    struct mux_message m;
    struct err err = ERR_INIT;
    size_t used = 0;
    assert_ok(mux_parse(p, n, &m, &used, &err), &err);
    assert_int_equal(used, n);
    return m;
}

static const char failure[] = "\0\0\0\x11\x80\0\0\3\0\0\0\5\0\0\0\5no\x1b[m";

static void answers_are_decoded(void **state)
{
    (void)state;
    struct mux_message m = parse_message(BYTES("\0\0\0\x08\0\0\0\1\0\0\0\4"));
    assert_true(m.type == MUX_HELLO && m.number == 4 && m.id == 0);
    /* With an extension, although none is defined yet. */
    m = parse_message(BYTES("\0\0\0\x12\0\0\0\1\0\0\0\4\0\0\0\1x\0\0\0\1y"));
    assert_true(m.type == MUX_HELLO && m.number == 4);
    m = parse_message(BYTES("\0\0\0\x0c\x80\0\0\5\0\0\0\1\0\0\4\xd2"));
    assert_true(m.type == MUX_ALIVE && m.id == 1 && m.number == 1234);
    m = parse_message(BYTES("\0\0\0\x0c\x80\0\0\6\0\0\0\2\0\0\0\3"));
    assert_true(m.type == MUX_SESSION_OPENED && m.id == 2);
    m = parse_message(BYTES("\0\0\0\x08\x80\0\0\1\0\0\0\3"));
    assert_true(m.type == MUX_OK && m.id == 3);
    m = parse_message(BYTES(failure));
    assert_true(m.type == MUX_FAILURE && m.id == 5);
    assert_string_equal(m.reason, "no?[m");
}

static void invalid_answers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *msg;
    } cases[] = {
        {BYTES("\0\0\0\0"), "the master connection sent a message of 0 bytes"},
        {BYTES("\0\0\0\3\0\0\0"), "the master connection sent a message of 3 bytes"},
        {BYTES("\0\0\x10\1"), "the master connection sent a message of 4097 bytes"},
        {BYTES("\xff\xff\xff\xff"), "the master connection sent a message of 4294967295 bytes"},
        {BYTES("\0\0\0\4\x80\0\0\1"), "the master connection sent an invalid message (0x80000001)"},
        {BYTES("\0\0\0\x08\x80\0\0\4\0\0\0\1"), "the master connection sent an invalid message (0x80000004)"},
        {BYTES("\0\0\0\x0c\x80\0\0\3\0\0\0\1\0\0\0\1"),
         "the master connection sent an invalid message (0x80000003)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mux_message m;
        struct err err = ERR_INIT;
        size_t used = 99;
        assert_refused(mux_parse(cases[i].bytes, cases[i].n, &m, &used, &err), &err, ERR_FAILED,
                       cases[i].msg);
    }
}

static void parse_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct mux_message m = {.type = 77};
    struct err err = ERR_INIT;
    size_t used = 99;
    int rc = mux_parse(s->p, s->n, &m, &used, &err);
    if (s->cut) {
        /* The rest has not arrived yet. */
        assert_true(rc == 0 && used == 0 && m.type == 77);
    } else if (rc == 0) {
        assert_true(used <= s->n);
    } else {
        assert_true(m.type == 77);
    }
}

static void cut_and_refused_answers_leave_the_output_unchanged(void **state)
{
    (void)state;
    damage_everywhere(failure, sizeof failure - 1, parse_damaged, NULL);
}

/* ---- connections ------------------------------------------------------------------------------------- */

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = fd_socket(AF_UNIX, NULL);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void a_missing_master_is_an_error(void **state)
{
    struct mux m;
    struct err err = ERR_INIT;
    char *none = format_text("%s/none", (char *)*state), *dead = format_text("%s/dead", (char *)*state);
    char *file = scratch_file(*state, "file", "x", 1), *link = format_text("%s/link", (char *)*state);
    int listener = listen_at(dead);
    assert_int_equal(symlink(dead, link), 0);
    const char *const paths[] = {none, file, link};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mux_connect(&m, paths[i], &err), -1);
        assert_int_equal(err.kind, ERR_NOT_FOUND);
        assert_contains(err.msg, "is not a socket that you own");
        mux_close(&m);
    }
    fd_close(&listener);
    assert_int_equal(mux_connect(&m, dead, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_contains(err.msg, "Connection refused");
    mux_close(&m);
    free(none);
    free(dead);
    free(file);
    free(link);
}

/* The path is ours, and the listener belongs to another user. Only root can change the user for a moment. */
static void a_master_of_another_user_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    struct mux m;
    struct err err = ERR_INIT;
    char *path = format_text("%s/handed-over", (char *)*state),
         *expected = format_text("another user's process listens at %s", path);
    int listener = listen_at(path);
    assert_int_equal(seteuid(65534), 0);
    int rc = listen(listener, 4);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, 0);
    assert_refused(mux_connect(&m, path, &err), &err, ERR_NOT_FOUND, expected);
    mux_close(&m);
    fd_close(&listener);
    free(expected);
    free(path);
}

/* Connects to a master that sends these bytes. */
static struct mux connect_to_bytes(const char *dir, const char *name, const char *p, size_t n,
                                   int *ret_master)
{
    struct mux m;
    struct err err = ERR_INIT;
    char *path = format_text("%s/%s", dir, name);
    int listener = listen_at(path);
    assert_ok(mux_connect(&m, path, &err), &err);
    *ret_master = fd_accept(listener);
    assert_ok(fd_write_all(*ret_master, p, n, &err), &err);
    fd_close(&listener);
    free(path);
    return m;
}

static void messages_may_arrive_in_pieces(void **state)
{
    static const char hello_and_alive[] = "\0\0\0\x08\0\0\0\1\0\0\0\4\0\0\0\x0c\x80\0\0\5\0\0\0\1\0\0\0\x09";
    struct mux_message got;
    struct err err = ERR_INIT;
    int master;
    struct mux m = connect_to_bytes(*state, "m", hello_and_alive, 5, &master);
    assert_int_equal(mux_read(&m, &got, &err), 0);
    assert_ok(fd_write_all(master, hello_and_alive + 5, 10, &err), &err);
    assert_int_equal(mux_read(&m, &got, &err), 1);
    assert_int_equal(got.type, MUX_HELLO);
    assert_int_equal(mux_read(&m, &got, &err), 0);
    assert_ok(fd_write_all(master, hello_and_alive + 15, sizeof hello_and_alive - 16, &err), &err);
    assert_ok(mux_wait(&m, clock_deadline(10000), -1, &got, &err), &err);
    assert_true(got.type == MUX_ALIVE && got.number == 9);
    fd_close(&master);
    assert_refused(mux_read(&m, &got, &err), &err, ERR_LOST, "the master connection has ended");
    mux_close(&m);
}

static void another_protocol_version_is_refused(void **state)
{
    struct mux_message got;
    struct err err = ERR_INIT;
    int master;
    struct mux m = connect_to_bytes(*state, "m", BYTES("\0\0\0\x08\0\0\0\1\0\0\0\5"), &master);
    assert_refused(mux_wait(&m, clock_deadline(10000), -1, &got, &err), &err, ERR_FAILED,
                   "the master connection speaks version 5 of its protocol, not 4");
    mux_close(&m);
    fd_close(&master);
}

static void a_silent_master_times_out(void **state)
{
    struct mux_message got;
    struct err err = ERR_INIT;
    int master, cancel[2];
    struct mux m = connect_to_bytes(*state, "m", "", 0, &master);
    assert_refused(mux_wait(&m, clock_deadline(50), -1, &got, &err), &err, ERR_TIMEOUT, "timed out");
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_ok(fd_write_all(cancel[1], "", 1, &err), &err);
    assert_refused(mux_wait(&m, CLOCK_NEVER, cancel[0], &got, &err), &err, ERR_CANCELLED, "interrupted");
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    mux_close(&m);
    fd_close(&master);
}

static void descriptors_are_passed(void **state)
{
    struct err err = ERR_INIT;
    int master, pipe[2];
    struct mux m = connect_to_bytes(*state, "m", "", 0, &master);
    assert_ok(fd_pipe(pipe, &err), &err);
    mux_add_hello(&m.out);
    assert_ok(mux_send(&m, &err), &err);
    assert_ok(mux_send_fd(&m, pipe[1], &err), &err);
    char request[12], byte = 'x', space[CMSG_SPACE(sizeof(int))];
    assert_int_equal(recv(master, request, sizeof request, MSG_WAITALL), 12);
    struct iovec one = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    assert_int_equal(recvmsg(master, &message, MSG_CMSG_CLOEXEC), 1);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    assert_non_null(c);
    assert_int_equal(c->cmsg_type, SCM_RIGHTS);
    int received = -1;
    memcpy(&received, CMSG_DATA(c), sizeof received);
    assert_int_equal(write(received, "!", 1), 1);
    assert_int_equal(read(pipe[0], &byte, 1), 1);
    assert_int_equal(byte, '!');
    fd_close(&received);
    fd_close(&pipe[0]);
    fd_close(&pipe[1]);
    /* The master has closed the connection. */
    fd_close(&master);
    mux_add_hello(&m.out);
    assert_refused(mux_send(&m, &err), &err, ERR_FAILED, "the master connection does not accept requests");
    mux_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_encoded),
        cmocka_unit_test(a_request_that_is_too_long_is_refused),
        cmocka_unit_test(answers_are_decoded),
        cmocka_unit_test(invalid_answers_are_refused),
        cmocka_unit_test(cut_and_refused_answers_leave_the_output_unchanged),
        SCRATCH(a_missing_master_is_an_error),
        SCRATCH(a_master_of_another_user_is_refused),
        SCRATCH(messages_may_arrive_in_pieces),
        SCRATCH(another_protocol_version_is_refused),
        SCRATCH(a_silent_master_times_out),
        SCRATCH(descriptors_are_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
