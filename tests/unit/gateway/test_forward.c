/* Forwards on a direct route: traffic, counts, events, and every way to end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/gateway.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define LONG_MS 30000

/* A forward that runs in its own thread, to a port of this process. */
struct rig {
    struct local_listener far, near; /* the port that the forward connects to; the port that it listens on */
    struct forward_mapping mapping;
    struct gateway *gw;
    pthread_t thread;
    int stop[2], reported[2]; /* pipes: `stop` cancels the forward, `reported` has a byte for each event */
    int rc;
    struct err err;
    struct {
        enum forward_event_kind kind;
        uint64_t sent, received;
        char failure[512];
    } events[64];
    size_t n_events;
};

static void on_event(void *ctx, const struct forward_event *e)
{
    struct rig *r = ctx;
    assert_in_range(r->n_events, 0, 63);
    r->events[r->n_events].kind = e->kind;
    r->events[r->n_events].sent = e->sent;
    r->events[r->n_events].received = e->received;
    snprintf(r->events[r->n_events].failure, sizeof r->events[0].failure, "%s",
             e->failure ? e->failure->msg : "");
    r->n_events++;
    assert_int_equal(write(r->reported[1], "", 1), 1);
}

static bool never_confirm(void *ctx, const struct err *failure)
{
    (void)ctx;
    (void)failure;
    return false;
}

static void *run_forward(void *ctx)
{
    struct rig *r = ctx;
    struct forward_options options = {.cancel_fd = r->stop[0],
                                      .client_timeout_ms = FORWARD_CLIENT_TIMEOUT_MS,
                                      .report = on_event,
                                      .is_permanent = never_confirm,
                                      .ctx = r};
    r->rc = forward_run(r->gw, &r->mapping, 1, &options, &r->err);
    return NULL;
}

static struct rig *start_forward(void)
{
    struct rig *r = calloc(1, sizeof *r);
    struct err err = ERR_INIT;
    struct local_address any = {.ip = "127.0.0.1"};
    char address[] = "127.0.0.1";
    struct route route = {.direct = true, .address = strdup(address)};
    assert_non_null(r);
    assert_ok(local_listener_open(&any, &r->far, &err), &err);
    assert_ok(local_listener_open(&any, &r->near, &err), &err);
    assert_ok(fd_pipe(r->stop, &err), &err);
    assert_ok(fd_pipe(r->reported, &err), &err);
    struct gateway_options options = {
        .cancel_fd = r->stop[0], .step_timeout_ms = LONG_MS, .keepalive_ms = 10000};
    assert_ok(gateway_open(&route, &options, &r->gw, &err), &err);
    r->mapping = (struct forward_mapping){.listener = &r->near,
                                          .to = {.host = "127.0.0.1", .port = r->far.address.port}};
    assert_ok(thread_start(&r->thread, run_forward, r, &err), &err);
    return r;
}

static void stop_forward(struct rig *r)
{
    assert_int_equal(write(r->stop[1], "", 1), 1);
    pthread_join(r->thread, NULL);
    assert_int_equal(r->rc, -1);
    assert_int_equal(r->err.kind, ERR_CANCELLED);
}

static void rig_free(struct rig *r)
{
    local_listener_close(&r->far);
    local_listener_close(&r->near);
    for (int i = 0; i < 2; i++) {
        fd_close(&r->stop[i]);
        fd_close(&r->reported[i]);
    }
    free(r);
}

static void await_readable(int fd)
{
    struct err err = ERR_INIT;
    assert_ok(fd_wait(fd, POLLIN, clock_deadline(LONG_MS), -1, &err), &err);
}

/* Waits for the next event, which must be the one with index `i`. */
static void expect_event(struct rig *r, size_t i, enum forward_event_kind kind)
{
    char c;
    await_readable(r->reported[0]);
    assert_int_equal(read(r->reported[0], &c, 1), 1);
    assert_int_equal(r->events[i].kind, kind);
}

static int connect_to_forward(const struct rig *r)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)r->near.address.port)};
    int fd = fd_socket(AF_INET, NULL);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static int accept_at_far_end(const struct rig *r)
{
    char from[LOCAL_ADDRESS_NAME];
    await_readable(r->far.fd);
    int fd = local_listener_accept(&r->far, from);
    assert_true(fd >= 0);
    return fd;
}

static void assert_text_passes(int from, int to, const char *text)
{
    char got[100] = "";
    struct err err = ERR_INIT;
    assert_ok(fd_write_all(from, text, strlen(text), &err), &err);
    for (size_t n = 0; n < strlen(text);) {
        await_readable(to);
        ssize_t more = read(to, got + n, strlen(text) - n);
        assert_true(more > 0);
        n += (size_t)more;
    }
    assert_string_equal(got, text);
}

static void assert_end(int fd)
{
    char c;
    await_readable(fd);
    assert_int_equal(read(fd, &c, 1), 0);
}

static void bytes_of_a_connection_are_counted(void **state)
{
    (void)state;
    struct rig *r = start_forward();
    int near = connect_to_forward(r), far = accept_at_far_end(r);
    expect_event(r, 0, FORWARD_CONNECTED);
    assert_text_passes(near, far, "hello");
    assert_text_passes(far, near, "good morning");
    /* After one half is closed, the other half still carries bytes. */
    shutdown(near, SHUT_WR);
    assert_end(far);
    assert_text_passes(far, near, "bye");
    close(far);
    assert_end(near);
    expect_event(r, 1, FORWARD_CLOSED);
    assert_int_equal(r->events[1].sent, 5);
    assert_int_equal(r->events[1].received, 15);
    assert_string_equal(r->events[1].failure, "");
    close(near);
    stop_forward(r);
    rig_free(r);
}

static void many_connections_are_forwarded_at_once(void **state)
{
    (void)state;
    struct rig *r = start_forward();
    int near[16], far[16];
    for (size_t i = 0; i < 16; i++) {
        near[i] = connect_to_forward(r);
        far[i] = accept_at_far_end(r);
    }
    for (size_t i = 16; i-- > 0;)
        assert_text_passes(near[i], far[i], "hello");
    for (size_t i = 0; i < 16; i++) {
        close(near[i]);
        assert_end(far[i]);
        close(far[i]);
    }
    stop_forward(r);
    /* Every connection is counted, whenever it ended. */
    assert_int_equal(r->n_events, 32);
    rig_free(r);
}

static void a_refused_connection_is_reported(void **state)
{
    (void)state;
    struct rig *r = start_forward();
    local_listener_close(&r->far);
    int near = connect_to_forward(r);
    assert_end(near);
    expect_event(r, 0, FORWARD_CONNECTED);
    expect_event(r, 1, FORWARD_CLOSED);
    assert_contains(r->events[1].failure, "Connection refused");
    close(near);
    stop_forward(r);
    rig_free(r);
}

static void stopping_ends_open_connections(void **state)
{
    (void)state;
    struct rig *r = start_forward();
    int near = connect_to_forward(r), far = accept_at_far_end(r);
    assert_text_passes(near, far, "hello");
    stop_forward(r);
    assert_end(near);
    assert_end(far);
    assert_int_equal(r->n_events, 2);
    assert_int_equal(r->events[1].kind, FORWARD_CLOSED);
    assert_int_equal(r->events[1].sent, 5);
    /* The caller still owns the listener. */
    close(connect_to_forward(r));
    close(near);
    close(far);
    rig_free(r);
}

/* Waits half a second; returns the milliseconds of processor time that all threads of this process used. */
static int64_t processor_ms(void)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    fd_wait(-1, 0, clock_deadline(500), -1, NULL);
    getrusage(RUSAGE_SELF, &after);
    int64_t s =
        after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec - before.ru_stime.tv_sec;
    int64_t us =
        after.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_utime.tv_usec - before.ru_stime.tv_usec;
    return s * 1000 + us / 1000;
}

static void a_connection_waits_for_a_free_descriptor(void **state)
{
    (void)state;
    struct rig *r = start_forward();
    struct rlimit before, tight;
    int near = connect_to_forward(r), far = accept_at_far_end(r);
    assert_text_passes(near, far, "hello");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int near_2 = connect_to_forward(r);
    int far_2 = accept_at_far_end(r);
    int next = dup(near_2);
    assert_true(next >= 0);
    int near_3 = connect_to_forward(r), far_3 = accept_at_far_end(r);
    close(far_3);
    close(near_3);
    /* One descriptor is free: for the socket of this test, not for the one that the forward accepts. */
    tight = before;
    tight.rlim_cur = (rlim_t)next + 1;
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int near_4 = connect_to_forward(r);
    int64_t used = processor_ms();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_in_range(used, 0, 200);
    int far_4 = accept_at_far_end(r);
    assert_text_passes(near_4, far_4, "hello");
    int all[] = {near, far, near_2, far_2, near_4, far_4};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close(all[i]);
    stop_forward(r);
    rig_free(r);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_connection_are_counted),
        cmocka_unit_test(many_connections_are_forwarded_at_once),
        cmocka_unit_test(a_refused_connection_is_reported),
        cmocka_unit_test(stopping_ends_open_connections),
        cmocka_unit_test(a_connection_waits_for_a_free_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
