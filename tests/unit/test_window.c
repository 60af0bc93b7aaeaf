/* The receive window: what it is for which round-trip time, and what the kernel says of that. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "gateway/window.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void a_window_follows_the_round_trip(void **state)
{
    (void)state;
    assert_int_equal(window_choose(-1), WINDOW_LEAST);
    assert_int_equal(window_choose(0), WINDOW_LEAST);
    assert_int_equal(window_choose(2), WINDOW_LEAST);
    assert_int_equal(window_choose(100), WINDOW_MOST);
    assert_int_equal(window_choose(INT32_MAX), WINDOW_MOST);
    uint32_t before = 0;
    for (int64_t ms = 0; ms < 200; ms++) {
        uint32_t w = window_choose(ms);
        assert_in_range(w, WINDOW_LEAST, WINDOW_MOST);
        assert_true(w >= before);
        before = w;
    }
    assert_in_range(window_choose(20), WINDOW_LEAST + 1, WINDOW_MOST - 1);
}

static void the_kernel_is_asked(void **state)
{
    (void)state;
    int pair[2];
    struct err err = ERR_INIT;
    ok(fd_socketpair(pair, &err), &err);
    assert_int_equal(window_tcp_rtt(pair[0]), -1);
    fd_close(&pair[0]);
    fd_close(&pair[1]);
    assert_int_equal(window_tcp_rtt(-1), -1);
#ifdef __linux__
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = fd_socket(AF_INET, &err), near = fd_socket(AF_INET, &err);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(connect(near, (struct sockaddr *)&at, size), 0);
    assert_in_range(window_tcp_rtt(near), 0, 5000);
    fd_close(&near);
    fd_close(&listener);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_follows_the_round_trip),
        cmocka_unit_test(the_kernel_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
