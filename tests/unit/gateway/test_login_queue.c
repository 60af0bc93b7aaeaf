/* The queue of logins at an address: its limit and its order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "gateway/login_queue.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* Logins at one address at a time. */
#define PLACES 8
#define N_THREADS 24

/* Threads that log in at once. */
struct crowd {
    struct login_queues *queues;
    pthread_mutex_t mutex;
    int n_inside, max_inside, n_done; /* logins in progress, the most of them at a time, finished logins */
};

static struct login_queues *queues_new(void)
{
    struct login_queues *queues = NULL;
    struct err err = ERR_INIT;
    assert_ok(login_queues_new(&queues, &err), &err);
    return queues;
}

static void *log_in(void *ctx)
{
    struct crowd *c = ctx;
    if (login_queue_enter(c->queues, "a port 22", -1, NULL) < 0)
        return NULL;
    pthread_mutex_lock(&c->mutex);
    c->n_inside++;
    c->max_inside = c->n_inside > c->max_inside ? c->n_inside : c->max_inside;
    pthread_mutex_unlock(&c->mutex);
    poll(NULL, 0, 2);
    pthread_mutex_lock(&c->mutex);
    c->n_inside--;
    c->n_done++;
    pthread_mutex_unlock(&c->mutex);
    login_queue_leave(c->queues, "a port 22", false);
    return NULL;
}

static void logins_to_one_address_are_limited(void **state)
{
    (void)state;
    struct crowd c = {.queues = queues_new(), .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_in, &c), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.n_done, N_THREADS);
    assert_in_range(c.max_inside, 1, PLACES);
    login_queues_free(c.queues);
}

static void fill_queue(struct login_queues *queues, const char *address, int n)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < n; i++)
        assert_ok(login_queue_enter(queues, address, -1, &err), &err);
}

/* Takes a place in the queue, as a login does, if one is free. Returns whether it took one. */
static bool enter_if_free(struct login_queues *queues, const char *address)
{
    int stop[2] = {-1, -1};
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(stop, &err), &err);
    fd_close(&stop[1]);
    /* Cancelled already, so a caller that would have to wait returns at once. */
    int rc = login_queue_enter(queues, address, stop[0], &err);
    if (rc < 0)
        assert_int_equal(err.kind, ERR_CANCELLED);
    fd_close(&stop[0]);
    return rc == 0;
}

static void each_address_has_its_own_queue(void **state)
{
    (void)state;
    struct login_queues *queues = queues_new();
    fill_queue(queues, "a port 22", PLACES);
    assert_false(enter_if_free(queues, "a port 22"));
    assert_true(enter_if_free(queues, "b port 22"));
    /* A caller that stopped waiting does not count as a login. */
    login_queue_leave(queues, "a port 22", false);
    assert_true(enter_if_free(queues, "a port 22"));
    assert_false(enter_if_free(queues, "a port 22"));
    login_queues_free(queues);
}

static void a_busy_server_gets_fewer_logins(void **state)
{
    (void)state;
    struct login_queues *queues = queues_new();
    fill_queue(queues, "a port 22", PLACES);
    login_queue_leave(queues, "a port 22", true);
    for (int left = PLACES - 2; left >= PLACES / 2 - 1; left--) {
        assert_false(enter_if_free(queues, "a port 22"));
        login_queue_leave(queues, "a port 22", false);
    }
    assert_true(enter_if_free(queues, "a port 22"));
    /* The limit falls to one login, never to none. */
    for (int i = 0; i < PLACES / 2; i++)
        login_queue_leave(queues, "a port 22", true);
    assert_true(enter_if_free(queues, "a port 22"));
    assert_false(enter_if_free(queues, "a port 22"));
    login_queues_free(queues);
}

static void without_queues_nothing_waits(void **state)
{
    (void)state;
    fill_queue(NULL, "a port 22", PLACES + 1);
    login_queue_leave(NULL, "a port 22", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logins_to_one_address_are_limited),
        cmocka_unit_test(each_address_has_its_own_queue),
        cmocka_unit_test(a_busy_server_gets_fewer_logins),
        cmocka_unit_test(without_queues_nothing_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
