/* The receive window: its growth with the throughput, and the kernel's round-trip time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "gateway/ssh/window.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* Returns the initial size of a window. */
static uint32_t initial_window(int64_t rtt_ms)
{
    struct window w;
    window_init(&w, rtt_ms, 0);
    return w.size;
}

static void a_window_begins_large_enough_for_a_fast_line(void **state)
{
    (void)state;
    assert_int_equal(initial_window(-1), WINDOW_MIN);
    assert_int_equal(initial_window(0), WINDOW_MIN);
    assert_int_equal(initial_window(20), WINDOW_MIN);
    assert_int_equal(initial_window(30), 30 * (WINDOW_FAST_RATE / 1000));
    assert_int_equal(initial_window(50), WINDOW_START_MAX);
    assert_int_equal(initial_window(INT64_MAX), WINDOW_START_MAX);
}

/* Returns the size of the window after `ms` milliseconds, if the reader reads pieces of 64 kB. */
static uint32_t window_after(int64_t rtt_ms, size_t bytes_per_ms, int64_t ms)
{
    struct window w;
    int64_t now = 1000;
    window_init(&w, rtt_ms, now);
    uint32_t last_size = w.size;
    for (size_t unread = 0; ms > 0; ms--, now++)
        for (unread += bytes_per_ms; unread >= 65536; unread -= 65536) {
            window_record_read(&w, 65536, now);
            assert_in_range(w.size, last_size, WINDOW_MAX);
            last_size = w.size;
        }
    return w.size;
}

static void a_window_grows_with_the_throughput(void **state)
{
    (void)state;
    /* A window does not grow on a line with a short or unknown round-trip time, nor on a slow line. */
    assert_int_equal(window_after(0, 500000, 1000), WINDOW_MIN);
    assert_int_equal(window_after(-1, 500000, 1000), WINDOW_MIN);
    assert_int_equal(window_after(1, 500000, 1000), WINDOW_MIN);
    assert_int_equal(window_after(50, 10000, 1000), initial_window(50));
    /* It grows to twice the bytes of a round trip, at most to the limit. */
    assert_in_range(window_after(50, 100000, 1000), 9000000, 11000000);
    assert_int_equal(window_after(100, 500000, 1000), WINDOW_MAX);
    /* It does not grow before the end of the first round trip. */
    assert_int_equal(window_after(100, 100000, 90), WINDOW_START_MAX);
}

static void idle_time_does_not_count(void **state)
{
    (void)state;
    struct window w;
    window_init(&w, 50, 0);
    window_record_read(&w, 4 << 20, 1000000);
    assert_int_equal(w.size, initial_window(50));
    /* The sum of the bytes does not wrap. */
    window_record_read(&w, SIZE_MAX / 4096, 1000050);
    assert_int_equal(w.size, WINDOW_MAX);
}

static void a_window_is_adjusted_after_a_quarter(void **state)
{
    (void)state;
    struct window w;
    window_init(&w, 0, 0);
    assert_int_equal(window_enlargement(&w, WINDOW_MIN), 0);
    assert_int_equal(window_enlargement(&w, WINDOW_MIN / 4 * 3), 0);
    assert_int_equal(window_enlargement(&w, WINDOW_MIN / 4 * 3 - 1), WINDOW_MIN / 4 + 1);
    assert_int_equal(window_enlargement(&w, 0), WINDOW_MIN);
    /* The other end may still send more bytes than the window has. */
    assert_int_equal(window_enlargement(&w, UINT64_MAX), 0);
}

static void the_kernels_round_trip_time_is_used(void **state)
{
    (void)state;
    int pair[2];
    struct err err = ERR_INIT;
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_int_equal(window_tcp_rtt(pair[0]), -1);
    fd_close(&pair[0]);
    fd_close(&pair[1]);
    assert_int_equal(window_tcp_rtt(-1), -1);
#ifdef __linux__
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = fd_socket(AF_INET, &err), client = fd_socket(AF_INET, &err);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&at, size), 0);
    assert_in_range(window_tcp_rtt(client), 0, 5000);
    fd_close(&client);
    fd_close(&listener);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_begins_large_enough_for_a_fast_line),
        cmocka_unit_test(a_window_grows_with_the_throughput),
        cmocka_unit_test(idle_time_does_not_count),
        cmocka_unit_test(a_window_is_adjusted_after_a_quarter),
        cmocka_unit_test(the_kernels_round_trip_time_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
