/* The buffers between libssh2 and a descriptor: order, congestion, the end, and a lost connection. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/ssh/buffered_socket.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* The two ends of a socket pair: a wire, and the descriptor of its peer. */
struct ends {
    struct buffered_socket w;
    int far;
};

static struct ends connect_ends(void)
{
    int pair[2];
    struct ends e;
    struct err err = ERR_INIT;
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_ok(buffered_socket_init(&e.w, pair[0], &err), &err);
    assert_true(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    e.far = pair[1];
    return e;
}

static void ends_release(struct ends *e)
{
    buffered_socket_release(&e->w);
    fd_close(&e->far);
    assert_int_equal(e->w.fd, -1);
}

static void bytes_go_both_ways(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char got[32] = "";
    assert_int_equal(buffered_socket_recv(&e.w, got, sizeof got), -EAGAIN);
    assert_int_equal(buffered_socket_send(&e.w, "hello", 5), 5);
    assert_int_equal(read(e.far, got, sizeof got), 5);
    assert_memory_equal(got, "hello", 5);
    assert_int_equal(write(e.far, "answer", 6), 6);
    assert_int_equal(buffered_socket_recv(&e.w, got, 3), 3);
    assert_int_equal(buffered_socket_recv(&e.w, got + 3, 10), 3);
    assert_memory_equal(got, "answer", 6);
    assert_int_equal(buffered_socket_events(&e.w), POLLIN);
    ends_release(&e);
}

static void bytes_read_ahead_come_first(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char got[32] = "";
    assert_int_equal(write(e.far, "SSH-2.0-x", 9), 9);
    buffered_socket_read_ahead(&e.w);
    assert_int_equal(e.w.in.len, 9);
    assert_int_equal(write(e.far, "more", 4), 4);
    fd_close(&e.far);
    buffered_socket_read_ahead(&e.w);
    assert_true(e.w.eof);
    assert_int_equal(buffered_socket_recv(&e.w, got, 4), 4);
    assert_int_equal(buffered_socket_recv(&e.w, got + 4, 20), 9);
    assert_string_equal(got, "SSH-2.0-xmore");
    assert_int_equal(buffered_socket_recv(&e.w, got, 20), 0);
    assert_int_equal(buffered_socket_recv(&e.w, got, 20), 0);
    assert_int_equal(buffered_socket_events(&e.w), 0);
    assert_int_equal(e.w.preauth.len, 13);
    assert_string_equal(e.w.preauth.data, "SSH-2.0-xmore");
    ends_release(&e);
}

static void bytes_beyond_the_read_limit_are_not_read(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char got[16] = "";
    assert_int_equal(write(e.far, "abcdefghij", 10), 10);
    buffered_socket_limit_read(&e.w, 5);
    assert_int_equal(buffered_socket_recv(&e.w, got, 3), 3);
    assert_int_equal(buffered_socket_recv(&e.w, got + 3, 4), 4);
    assert_int_equal(buffered_socket_recv(&e.w, got + 7, 4), -EAGAIN);
    assert_int_equal(e.w.n_returned, 7);
    /* Bytes that were read ahead are still returned, because they have left the descriptor. */
    buffered_socket_read_ahead(&e.w);
    assert_int_equal(buffered_socket_recv(&e.w, got + 7, 4), 3);
    assert_string_equal(got, "abcdefghij");
    assert_int_equal(write(e.far, "k", 1), 1);
    assert_int_equal(buffered_socket_recv(&e.w, got, 4), -EAGAIN);
    buffered_socket_limit_read(&e.w, SIZE_MAX);
    assert_int_equal(buffered_socket_recv(&e.w, got, 4), 1);
    ends_release(&e);
}

static void reading_ahead_has_a_limit(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char chunk[4096];
    memset(chunk, 'x', sizeof chunk);
    assert_ok(fd_set_nonblocking(e.far, true, NULL), NULL);
    size_t sent = 0;
    for (int i = 0; i < 1000; i++) {
        ssize_t n = write(e.far, chunk, sizeof chunk);
        sent += n > 0 ? (size_t)n : 0;
        buffered_socket_read_ahead(&e.w);
    }
    assert_true(e.w.in.len <= 65536 && e.w.in.len > 60000);
    assert_true(sent > e.w.in.len);
    assert_int_equal(buffered_socket_events(&e.w), 0);
    assert_int_equal(e.w.preauth.len, e.w.preauth.max);
    buffered_socket_forget_preauth(&e.w);
    /* Nothing is lost. */
    size_t got = 0;
    for (ssize_t n; (n = buffered_socket_recv(&e.w, chunk, 1000)) > 0;)
        got += (size_t)n;
    assert_int_equal(got, sent);
    assert_int_equal(e.w.preauth.len, 0);
    assert_int_equal(buffered_socket_events(&e.w), POLLIN);
    ends_release(&e);
}

static void sending_stops_during_congestion_and_resumes(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    static unsigned char chunk[32768], received[65536];
    size_t sent = 0, got = 0;
    bool congested = false;
    ssize_t n;
    while ((n = buffered_socket_send(&e.w, chunk, sizeof chunk)) > 0) {
        /* buffered_socket_send accepts all bytes or none. */
        assert_int_equal(n, sizeof chunk);
        for (size_t i = 0; i < sizeof chunk; i++)
            chunk[i] = (unsigned char)((sent + sizeof chunk + i) % 253);
        sent += sizeof chunk;
        assert_false(congested && !buffered_socket_is_congested(&e.w));
        congested = buffered_socket_is_congested(&e.w);
    }
    assert_int_equal(n, -EAGAIN);
    assert_true(congested);
    assert_in_range(e.w.out.len, 4000000, 4u << 20);
    assert_int_equal(e.w.error, 0);
    assert_int_equal(buffered_socket_events(&e.w), POLLIN | POLLOUT);
    assert_ok(fd_set_nonblocking(e.far, true, NULL), NULL);
    while (got < sent) {
        n = read(e.far, received, sizeof received);
        assert_true(n > 0 || errno == EAGAIN);
        for (ssize_t i = 0; i < n; i++, got++)
            assert_int_equal(received[i], got < sizeof chunk ? 0 : got % 253);
        buffered_socket_flush(&e.w);
    }
    assert_int_equal(e.w.out.len, 0);
    assert_false(buffered_socket_is_congested(&e.w));
    assert_int_equal(buffered_socket_events(&e.w), POLLIN);
    ends_release(&e);
}

static void sending_to_a_closed_peer_fails(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char got[8];
    fd_close(&e.far);
    /* SIGPIPE would end the test. A failed write is reported by the next call. */
    assert_int_equal(buffered_socket_send(&e.w, "x", 1), 1);
    assert_int_equal(e.w.error, EPIPE);
    assert_int_equal(buffered_socket_send(&e.w, "x", 1), -EPIPE);
    assert_int_equal(buffered_socket_recv(&e.w, got, 8), -EPIPE);
    assert_int_equal(buffered_socket_events(&e.w), 0);
    ends_release(&e);
}

static void the_time_of_the_last_byte_is_recorded(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char got[8];
    e.w.last_received = 5;
    assert_int_equal(buffered_socket_recv(&e.w, got, 8), -EAGAIN);
    assert_int_equal(buffered_socket_send(&e.w, "x", 1), 1);
    assert_int_equal(e.w.last_received, 5);
    assert_int_equal(write(e.far, "y", 1), 1);
    assert_int_equal(buffered_socket_recv(&e.w, got, 8), 1);
    assert_true(e.w.last_received > 5 && e.w.last_received <= clock_now());
    ends_release(&e);
}

static void a_dead_connection_sends_and_receives_nothing(void **state)
{
    (void)state;
    struct ends e = connect_ends();
    char got[8];
    assert_int_equal(write(e.far, "there", 5), 5);
    buffered_socket_read_ahead(&e.w);
    buffered_socket_abort(&e.w);
    assert_int_equal(buffered_socket_recv(&e.w, got, 8), -ECONNRESET);
    assert_int_equal(buffered_socket_send(&e.w, "x", 1), -ECONNRESET);
    buffered_socket_read_ahead(&e.w);
    buffered_socket_flush(&e.w);
    assert_int_equal(e.w.in.len, 0);
    assert_int_equal(buffered_socket_events(&e.w), 0);
    ends_release(&e);
}

static void a_buffered_socket_without_a_descriptor_is_an_error(void **state)
{
    (void)state;
    struct buffered_socket w;
    struct err err = ERR_INIT;
    assert_int_equal(buffered_socket_init(&w, -1, &err), -1);
    assert_int_equal(err.kind, ERR_LOCAL_IO);
    buffered_socket_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(bytes_read_ahead_come_first),
        cmocka_unit_test(bytes_beyond_the_read_limit_are_not_read),
        cmocka_unit_test(reading_ahead_has_a_limit),
        cmocka_unit_test(sending_stops_during_congestion_and_resumes),
        cmocka_unit_test(sending_to_a_closed_peer_fails),
        cmocka_unit_test(the_time_of_the_last_byte_is_recorded),
        cmocka_unit_test(a_dead_connection_sends_and_receives_nothing),
        cmocka_unit_test(a_buffered_socket_without_a_descriptor_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
