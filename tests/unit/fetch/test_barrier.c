/* The barrier: all seats begin at one instant; none waits for a seat that left, or longer than the
 * deadline. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "fetch/barrier.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define MANY 20
/* Far longer than any test may take. */
#define LONG_MS 20000

struct guest {
    struct barrier_participant seat;
    pthread_t thread;
    int64_t after_ms; /* when it arrives */
    unsigned rounds;
    int64_t at[3];
    bool late[3];
    int rc;
    enum err_kind kind;
};

static struct barrier *barrier_of(size_t seats, int64_t patience_ms, int cancel_fd)
{
    struct barrier *b = NULL;
    struct err err = ERR_INIT;
    assert_ok(barrier_new(seats, patience_ms, cancel_fd, &b, &err), &err);
    return b;
}

static void *wait_rounds(void *ctx)
{
    struct guest *g = ctx;
    struct err err = ERR_INIT;
    fd_wait(-1, 0, clock_deadline(g->after_ms), -1, NULL);
    for (unsigned i = 0; g->rc == 0 && i < g->rounds; i++)
        g->rc = barrier_arrive(&g->seat, 0, &g->at[i], &g->late[i], &err);
    g->kind = err.kind;
    barrier_leave(&g->seat);
    return NULL;
}

static void start_guest(struct guest *g, struct barrier *b, unsigned rounds, int64_t after_ms)
{
    struct err err = ERR_INIT;
    *g = (struct guest){.seat.barrier = b, .rounds = rounds, .after_ms = after_ms};
    assert_ok(thread_start(&g->thread, wait_rounds, g, &err), &err);
}

static void join_all(struct guest *guests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pthread_join(guests[i].thread, NULL);
}

static void all_begin_at_one_instant(void **state)
{
    (void)state;
    struct guest guests[MANY];
    struct barrier *b = barrier_of(MANY, LONG_MS, -1);
    int64_t began = clock_now();
    for (size_t i = 0; i < MANY; i++)
        start_guest(&guests[i], b, 3, (int64_t)i);
    join_all(guests, MANY);
    assert_true(clock_now() - began < LONG_MS);
    for (unsigned round = 0; round < 3; round++) {
        struct barrier_round r = barrier_round(b, round);
        assert_int_equal(r.arrived, MANY);
        assert_int_equal(r.late, 0);
        assert_true(r.at >= began);
        for (size_t i = 0; i < MANY; i++) {
            assert_int_equal(guests[i].rc, 0);
            assert_false(guests[i].late[round]);
            assert_int_equal(guests[i].at[round], r.at);
        }
    }
    assert_true(guests[0].at[0] <= guests[0].at[1] && guests[0].at[1] <= guests[0].at[2]);
    assert_int_equal(barrier_round(b, 3).arrived, 0);
    barrier_free(b);
}

static void the_instant_allows_for_the_longest_route(void **state)
{
    (void)state;
    struct barrier *b = barrier_of(1, LONG_MS, -1);
    struct barrier_participant seat = {.barrier = b};
    struct err err = ERR_INIT;
    int64_t at = 0, now = clock_now();
    bool late = true;
    assert_ok(barrier_arrive(&seat, 5000, &at, &late, &err), &err);
    assert_false(late);
    assert_in_range(at - now, 5000, 15000);
    barrier_free(b);
}

static void a_seat_that_left_is_not_waited_for(void **state)
{
    (void)state;
    struct guest guests[3];
    struct barrier *b = barrier_of(3, LONG_MS, -1);
    int64_t began = clock_now();
    start_guest(&guests[0], b, 2, 0);
    start_guest(&guests[1], b, 1, 0);
    start_guest(&guests[2], b, 0, 50);
    join_all(guests, 3);
    assert_true(clock_now() - began < LONG_MS);
    assert_int_equal(barrier_round(b, 0).arrived, 2);
    assert_int_equal(barrier_round(b, 1).arrived, 1);
    assert_false(guests[0].late[0] || guests[0].late[1]);
    barrier_leave(&guests[0].seat);
    barrier_free(b);
}

static void a_seat_after_the_deadline_is_late(void **state)
{
    (void)state;
    struct guest guests[2];
    struct barrier *b = barrier_of(2, 100, -1);
    start_guest(&guests[0], b, 1, 0);
    pthread_join(guests[0].thread, NULL);
    assert_false(guests[0].late[0]);
    start_guest(&guests[1], b, 2, 0);
    pthread_join(guests[1].thread, NULL);
    assert_int_equal(guests[1].rc, 0);
    assert_true(guests[1].late[0]);
    assert_int_equal(guests[1].at[0], guests[0].at[0]);
    /* In the next round it is on time. */
    assert_false(guests[1].late[1]);
    struct barrier_round r = barrier_round(b, 0);
    assert_int_equal(r.arrived, 2);
    assert_int_equal(r.late, 1);
    barrier_free(b);
}

static void the_deadline_begins_with_the_first_seat(void **state)
{
    (void)state;
    struct guest guest;
    struct barrier *b = barrier_of(2, 300, -1);
    fd_wait(-1, 0, clock_deadline(400), -1, NULL);
    int64_t began = clock_now();
    start_guest(&guest, b, 1, 0);
    pthread_join(guest.thread, NULL);
    assert_true(guest.at[0] - began >= 300);
    barrier_free(b);
}

static void cancelling_ends_the_wait(void **state)
{
    (void)state;
    int fds[2];
    struct guest guests[2];
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(fds, &err), &err);
    struct barrier *b = barrier_of(3, LONG_MS, fds[0]);
    int64_t began = clock_now();
    start_guest(&guests[0], b, 1, 0);
    start_guest(&guests[1], b, 1, 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    join_all(guests, 2);
    assert_true(clock_now() - began < LONG_MS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(guests[i].rc, -1);
        assert_int_equal(guests[i].kind, ERR_CANCELLED);
    }
    barrier_free(b);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

/* A single seat begins at the instant; many are spread over the window. */
static void each_seat_has_a_turn_within_the_window(void **state)
{
    struct guest guests[MANY];
    (void)state;
    for (size_t n = 1; n <= MANY; n += MANY - 1) {
        int64_t first = 0, last = 0;
        struct barrier *b = barrier_of(n, LONG_MS, -1);
        for (size_t i = 0; i < n; i++)
            start_guest(&guests[i], b, 1, 0);
        join_all(guests, n);
        for (size_t i = 0; i < n; i++) {
            int64_t turn = barrier_offset_ms(&guests[i].seat);
            first = turn < first ? turn : first;
            last = turn > last ? turn : last;
        }
        assert_true(last - first < BARRIER_WINDOW_MS);
        assert_int_equal(first < 0 && last > 0, n > 1);
        barrier_free(b);
    }
}

static void an_empty_barrier_does_not_wait(void **state)
{
    (void)state;
    struct barrier_participant none = {0};
    barrier_leave(&none);
    struct barrier *b = barrier_of(0, LONG_MS, -1);
    assert_int_equal(barrier_round(b, 0).at, 0);
    barrier_free(b);
    barrier_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_begin_at_one_instant),
        cmocka_unit_test(the_instant_allows_for_the_longest_route),
        cmocka_unit_test(a_seat_that_left_is_not_waited_for),
        cmocka_unit_test(a_seat_after_the_deadline_is_late),
        cmocka_unit_test(the_deadline_begins_with_the_first_seat),
        cmocka_unit_test(cancelling_ends_the_wait),
        cmocka_unit_test(each_seat_has_a_turn_within_the_window),
        cmocka_unit_test(an_empty_barrier_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
