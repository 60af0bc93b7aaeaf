/* The barrier: all participants begin at one instant. None waits for a participant that left, or longer than
 * the deadline. */
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

struct arrival {
    struct barrier_participant participant;
    pthread_t thread;
    int64_t after_ms; /* from the thread's start until the participant arrives */
    unsigned rounds;  /* then the participant leaves */
    int64_t at[3];    /* the instant of each round */
    bool late[3];     /* in each round */
    int rc;           /* of the last barrier_arrive */
    enum err_kind kind;
};

static struct barrier *make_barrier(size_t participants, int64_t timeout_ms, int cancel_fd)
{
    struct barrier *b = NULL;
    struct err err = ERR_INIT;
    assert_ok(barrier_new(participants, timeout_ms, cancel_fd, &b, &err), &err);
    return b;
}

static void *wait_rounds(void *ctx)
{
    struct arrival *a = ctx;
    struct err err = ERR_INIT;
    fd_wait(-1, 0, clock_deadline(a->after_ms), -1, NULL);
    for (unsigned i = 0; a->rc == 0 && i < a->rounds; i++)
        a->rc = barrier_arrive(&a->participant, 0, &a->at[i], &a->late[i], &err);
    a->kind = err.kind;
    barrier_leave(&a->participant);
    return NULL;
}

static void start_arrival(struct arrival *a, struct barrier *b, unsigned rounds, int64_t after_ms)
{
    struct err err = ERR_INIT;
    *a = (struct arrival){.participant.barrier = b, .rounds = rounds, .after_ms = after_ms};
    assert_ok(thread_start(&a->thread, wait_rounds, a, &err), &err);
}

static void join_all(struct arrival *arrivals, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pthread_join(arrivals[i].thread, NULL);
}

static void all_participants_begin_at_one_instant(void **state)
{
    (void)state;
    struct arrival arrivals[MANY];
    struct barrier *b = make_barrier(MANY, LONG_MS, -1);
    int64_t began = clock_now();
    for (size_t i = 0; i < MANY; i++)
        start_arrival(&arrivals[i], b, 3, (int64_t)i);
    join_all(arrivals, MANY);
    assert_true(clock_now() - began < LONG_MS);
    for (unsigned round = 0; round < 3; round++) {
        struct barrier_round r = barrier_round(b, round);
        assert_int_equal(r.arrived, MANY);
        assert_int_equal(r.late, 0);
        assert_true(r.at >= began);
        for (size_t i = 0; i < MANY; i++) {
            assert_int_equal(arrivals[i].rc, 0);
            assert_false(arrivals[i].late[round]);
            assert_int_equal(arrivals[i].at[round], r.at);
        }
    }
    assert_true(arrivals[0].at[0] <= arrivals[0].at[1] && arrivals[0].at[1] <= arrivals[0].at[2]);
    assert_int_equal(barrier_round(b, 3).arrived, 0);
    barrier_free(b);
}

static void the_start_is_delayed_by_the_longest_route(void **state)
{
    (void)state;
    struct barrier *b = make_barrier(1, LONG_MS, -1);
    struct barrier_participant participant = {.barrier = b};
    struct err err = ERR_INIT;
    int64_t at = 0, now = clock_now();
    bool late = true;
    assert_ok(barrier_arrive(&participant, 5000, &at, &late, &err), &err);
    assert_false(late);
    assert_in_range(at - now, 5000, 15000);
    barrier_free(b);
}

static void a_participant_that_left_is_not_waited_for(void **state)
{
    (void)state;
    struct arrival arrivals[3];
    struct barrier *b = make_barrier(3, LONG_MS, -1);
    int64_t began = clock_now();
    start_arrival(&arrivals[0], b, 2, 0);
    start_arrival(&arrivals[1], b, 1, 0);
    start_arrival(&arrivals[2], b, 0, 50);
    join_all(arrivals, 3);
    assert_true(clock_now() - began < LONG_MS);
    assert_int_equal(barrier_round(b, 0).arrived, 2);
    assert_int_equal(barrier_round(b, 1).arrived, 1);
    assert_false(arrivals[0].late[0] || arrivals[0].late[1]);
    barrier_leave(&arrivals[0].participant);
    barrier_free(b);
}

static void a_participant_after_the_deadline_is_late(void **state)
{
    (void)state;
    struct arrival arrivals[2];
    struct barrier *b = make_barrier(2, 100, -1);
    start_arrival(&arrivals[0], b, 1, 0);
    pthread_join(arrivals[0].thread, NULL);
    assert_false(arrivals[0].late[0]);
    start_arrival(&arrivals[1], b, 2, 0);
    pthread_join(arrivals[1].thread, NULL);
    assert_int_equal(arrivals[1].rc, 0);
    assert_true(arrivals[1].late[0]);
    assert_int_equal(arrivals[1].at[0], arrivals[0].at[0]);
    /* In the next round the participant is on time. */
    assert_false(arrivals[1].late[1]);
    struct barrier_round r = barrier_round(b, 0);
    assert_int_equal(r.arrived, 2);
    assert_int_equal(r.late, 1);
    barrier_free(b);
}

static void the_deadline_begins_with_the_first_participant(void **state)
{
    (void)state;
    struct arrival arrival;
    struct barrier *b = make_barrier(2, 300, -1);
    fd_wait(-1, 0, clock_deadline(400), -1, NULL);
    int64_t began = clock_now();
    start_arrival(&arrival, b, 1, 0);
    pthread_join(arrival.thread, NULL);
    assert_true(arrival.at[0] - began >= 300);
    barrier_free(b);
}

static void cancelling_ends_the_wait(void **state)
{
    (void)state;
    int fds[2];
    struct arrival arrivals[2];
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(fds, &err), &err);
    struct barrier *b = make_barrier(3, LONG_MS, fds[0]);
    int64_t began = clock_now();
    start_arrival(&arrivals[0], b, 1, 0);
    start_arrival(&arrivals[1], b, 1, 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    join_all(arrivals, 2);
    assert_true(clock_now() - began < LONG_MS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(arrivals[i].rc, -1);
        assert_int_equal(arrivals[i].kind, ERR_CANCELLED);
    }
    barrier_free(b);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

/* A single participant begins at the instant; many are spread over the window. */
static void participants_have_offsets_within_the_window(void **state)
{
    struct arrival arrivals[MANY];
    (void)state;
    for (size_t n = 1; n <= MANY; n += MANY - 1) {
        int64_t first = 0, last = 0;
        struct barrier *b = make_barrier(n, LONG_MS, -1);
        for (size_t i = 0; i < n; i++)
            start_arrival(&arrivals[i], b, 1, 0);
        join_all(arrivals, n);
        for (size_t i = 0; i < n; i++) {
            int64_t offset = barrier_offset_ms(&arrivals[i].participant);
            first = offset < first ? offset : first;
            last = offset > last ? offset : last;
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
    struct barrier *b = make_barrier(0, LONG_MS, -1);
    assert_int_equal(barrier_round(b, 0).at, 0);
    barrier_free(b);
    barrier_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_participants_begin_at_one_instant),
        cmocka_unit_test(the_start_is_delayed_by_the_longest_route),
        cmocka_unit_test(a_participant_that_left_is_not_waited_for),
        cmocka_unit_test(a_participant_after_the_deadline_is_late),
        cmocka_unit_test(the_deadline_begins_with_the_first_participant),
        cmocka_unit_test(cancelling_ends_the_wait),
        cmocka_unit_test(participants_have_offsets_within_the_window),
        cmocka_unit_test(an_empty_barrier_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
