/* Descriptors: waiting with a deadline and a cancel descriptor, complete writes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void make_pair(int fds[2])
{
    struct err err = ERR_INIT;
    assert_ok(fd_socketpair(fds, &err), &err);
}

static void make_pipe(int fds[2])
{
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(fds, &err), &err);
}

static void close_both(int fds[2])
{
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

static void every_descriptor_closes_on_exec(void **state)
{
    (void)state;
    int pair[2], ends[2], one = fd_socket(AF_UNIX, NULL);
    make_pair(pair);
    make_pipe(ends);
    int all[] = {pair[0], pair[1], ends[0], ends[1], one};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(fcntl(all[i], F_GETFD) & FD_CLOEXEC);
    close_both(pair);
    close_both(ends);
    fd_close(&one);
    assert_int_equal(one, -1);
    errno = EXDEV;
    fd_close(&one);
    assert_int_equal(errno, EXDEV);
}

static void a_descriptor_passes_through_a_socket(void **state)
{
    int pair[2], ends[2];
    char text[8] = "";
    (void)state;
    make_pair(pair);
    make_pipe(ends);
    assert_int_equal(fd_send(pair[0], ends[0]), 0);
    fd_close(&ends[0]);
    int received = fd_receive(pair[1]);
    assert_true(received >= 0 && fcntl(received, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    assert_int_equal(read(received, text, sizeof text), 5);
    assert_string_equal(text, "hello");
    fd_close(&received);
    /* A byte without a descriptor, then the end. */
    assert_int_equal(write(pair[0], "x", 1), 1);
    fd_close(&pair[0]);
    assert_int_equal(fd_receive(pair[1]), -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(fd_receive(pair[1]), -1);
    assert_int_equal(errno, 0);
    /* The receiving end is closed. */
    make_pair(ends);
    fd_close(&ends[1]);
    assert_int_equal(fd_send(ends[0], pair[1]), -1);
    close_both(ends);
    close_both(pair);
}

static void waiting_ends_when_the_descriptor_is_ready(void **state)
{
    (void)state;
    int pair[2];
    struct err err = ERR_INIT;
    make_pair(pair);
    assert_ok(fd_wait(pair[0], POLLOUT, clock_deadline(5000), -1, &err), &err);
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_ok(fd_wait(pair[0], POLLIN, CLOCK_NEVER, -1, &err), &err);
    fd_close(&pair[1]);
    char c;
    assert_int_equal(read(pair[0], &c, 1), 1);
    assert_ok(fd_wait(pair[0], POLLIN, clock_deadline(5000), -1, &err), &err);
    fd_close(&pair[0]);
}

static void waiting_ends_at_the_deadline(void **state)
{
    (void)state;
    int pair[2];
    struct err err = ERR_INIT;
    make_pair(pair);
    int64_t start = clock_now();
    assert_refused(fd_wait(pair[0], POLLIN, clock_deadline(60), -1, &err), &err, ERR_TIMEOUT, "timed out");
    assert_in_range(clock_now() - start, 60, 5000);
    assert_refused(fd_wait(pair[0], POLLIN, start - 1000, -1, &err), &err, ERR_TIMEOUT, "timed out");
    assert_refused(fd_wait(-1, 0, clock_deadline(1), -1, &err), &err, ERR_TIMEOUT, "timed out");
    close_both(pair);
}

static void waiting_can_be_cancelled(void **state)
{
    (void)state;
    int pair[2], cancel[2];
    struct err err = ERR_INIT;
    make_pair(pair);
    make_pipe(cancel);
    assert_false(fd_cancelled(-1));
    assert_false(fd_cancelled(cancel[0]));
    assert_int_equal(write(cancel[1], "", 1), 1);
    assert_true(fd_cancelled(cancel[0]));
    assert_refused(fd_wait(pair[0], POLLIN, CLOCK_NEVER, cancel[0], &err), &err, ERR_CANCELLED,
                   "interrupted");
    /* Cancellation takes precedence over a ready descriptor. The cancel descriptor stays readable. */
    assert_refused(fd_wait(pair[0], POLLOUT, CLOCK_NEVER, cancel[0], &err), &err, ERR_CANCELLED,
                   "interrupted");
    assert_refused(fd_wait(-1, 0, CLOCK_NEVER, cancel[0], &err), &err, ERR_CANCELLED, "interrupted");
    close_both(pair);
    close_both(cancel);
}

static void on_alarm(int number)
{
    (void)number;
}

static void signals_do_not_end_a_wait(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sigaction act = {.sa_handler = on_alarm}, before;
    assert_int_equal(sigaction(SIGALRM, &act, &before), 0);
    timer_t timer;
    struct itimerspec every = {.it_value = {.tv_nsec = 5000000}, .it_interval = {.tv_nsec = 5000000}};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
    int64_t start = clock_now();
    int rc = fd_wait(-1, 0, clock_deadline(100), -1, &err);
    int64_t took = clock_now() - start;
    timer_delete(timer);
    sigaction(SIGALRM, &before, NULL);
    assert_refused(rc, &err, ERR_TIMEOUT, "timed out");
    assert_in_range(took, 100, 5000);
}

struct slow_reader {
    int fd;
    size_t got;  /* bytes */
    bool intact; /* each byte has the expected value: its position modulo 251 */
};

static void *read_slowly(void *ctx)
{
    struct slow_reader *r = ctx;
    unsigned char chunk[5000];
    r->intact = true;
    for (ssize_t n; (n = read(r->fd, chunk, sizeof chunk)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            r->intact = r->intact && chunk[i] == (unsigned char)(r->got++ % 251);
    return NULL;
}

static void fd_write_all_writes_everything_to_a_slow_reader(void **state)
{
    (void)state;
    enum { MUCH = 3000000 };
    int pair[2];
    struct err err = ERR_INIT;
    pthread_t thread;
    unsigned char *much = malloc(MUCH);
    assert_non_null(much);
    for (size_t i = 0; i < MUCH; i++)
        much[i] = (unsigned char)(i % 251);
    make_pair(pair);
    assert_ok(fd_set_nonblocking(pair[1], true, &err), &err);
    assert_true(fcntl(pair[1], F_GETFL) & O_NONBLOCK);
    struct slow_reader r = {.fd = pair[0]};
    assert_ok(thread_start(&thread, read_slowly, &r, &err), &err);
    assert_ok(fd_write_all(pair[1], much, MUCH, &err), &err);
    fd_close(&pair[1]);
    pthread_join(thread, NULL);
    assert_int_equal(r.got, MUCH);
    assert_true(r.intact);
    fd_close(&pair[0]);
    free(much);
}

/* Nothing reads the pipe. The writes to the pipe and to a file succeed before the cancellation, and fail
 * after it. */
static void a_write_can_be_cancelled(void **state)
{
    enum { MUCH = 1 << 20 };
    int ends[2], cancel[2];
    struct err err = ERR_INIT;
    char *much = calloc(1, MUCH);
    FILE *f = tmpfile();
    (void)state;
    assert_true(much && f);
    make_pipe(ends);
    make_pipe(cancel);
    assert_ok(fd_write_or_cancel(ends[1], much, 10000, cancel[0], &err), &err);
    assert_ok(fd_write_or_cancel(fileno(f), much, MUCH, cancel[0], &err), &err);
    assert_int_equal(lseek(fileno(f), 0, SEEK_CUR), MUCH);
    assert_ok(fd_write_all(cancel[1], "x", 1, &err), &err);
    assert_int_equal(fd_write_or_cancel(ends[1], much, MUCH, cancel[0], &err), -1);
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_int_equal(fd_write_or_cancel(fileno(f), much, MUCH, cancel[0], NULL), -1);
    fclose(f);
    for (int i = 0; i < 2; i++) {
        fd_close(&ends[i]);
        fd_close(&cancel[i]);
    }
    free(much);
}

/* Reads a file of `size` bytes into a buffer of `max`. The buffer must contain the whole file if and only if
 * `fits`. */
static void read_back(size_t size, size_t max, bool fits)
{
    struct buf all = BUF_INIT(max);
    FILE *f = tmpfile();
    assert_non_null(f);
    for (size_t i = 0; i < size; i++)
        putc((int)('a' + i % 23), f);
    rewind(f);
    assert_int_equal(fd_read_all(fileno(f), &all), 0);
    assert_true(all.failed != fits);
    assert_true(!fits || all.len == size);
    for (size_t i = 0; i < all.len; i++)
        assert_int_equal(all.data[i], 'a' + i % 23);
    assert_int_equal(strlen(buf_str(&all)), all.len);
    fclose(f);
    buf_release(&all);
}

static void fd_read_all_reads_up_to_the_capacity(void **state)
{
    struct buf none = BUF_INIT(10);
    (void)state;
    read_back(0, 0, true);
    read_back(0, 100, true);
    read_back(1, 0, false);
    read_back(100, 100, true);
    read_back(101, 100, false);
    read_back(65535, 1 << 20, true);
    read_back(65536, 65536, true);
    read_back(65537, 65536, false);
    read_back(700001, 1 << 20, true);
    assert_int_equal(fd_read_all(-1, &none), -1);
    assert_int_equal(errno, EBADF);
    buf_release(&none);
}

static void nonblocking_mode_is_set_and_reset(void **state)
{
    (void)state;
    int ends[2];
    struct err err = ERR_INIT;
    make_pipe(ends);
    assert_ok(fd_set_nonblocking(ends[0], true, &err), &err);
    assert_ok(fd_set_nonblocking(ends[0], false, &err), &err);
    assert_false(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    close_both(ends);
    assert_refused(fd_set_nonblocking(-1, true, &err), &err, ERR_LOCAL_IO,
                   "cannot set the mode of a descriptor: Bad file descriptor");
    assert_refused(fd_write_all(-1, "x", 1, &err), &err, ERR_LOCAL_IO, "cannot write: Bad file descriptor");
    assert_ok(fd_write_all(-1, NULL, 0, &err), &err);
}

static bool is_readable(int fd)
{
    return fd_wait(fd, POLLIN, clock_deadline(0), -1, NULL) == 0;
}

/* More wake-ups are written than the pipe can contain. */
static void a_wake_up_pipe_is_readable_until_it_is_drained(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int fds[2];
    assert_ok(fd_pipe_nonblocking(fds, &err), &err);
    fd_pipe_drain(fds[0]);
    assert_false(is_readable(fds[0]));
    for (int i = 0; i < 70000; i++)
        fd_pipe_wake(fds[1]);
    assert_true(is_readable(fds[0]));
    fd_pipe_drain(fds[0]);
    assert_false(is_readable(fds[0]));
    close_both(fds);
}

/* Tests a path that fits exactly with its NUL, and a path with one more byte. */
static void a_socket_path_beyond_the_maximum_length_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sockaddr_un address, before;
    char path[sizeof address.sun_path + 1];
    memset(path, 'p', sizeof path);
    path[sizeof address.sun_path - 1] = '\0';
    assert_ok(fd_unix_address(path, &address, &err), &err);
    assert_int_equal(address.sun_family, AF_UNIX);
    assert_string_equal(address.sun_path, path);
    path[sizeof address.sun_path - 1] = 'p';
    path[sizeof address.sun_path] = '\0';
    before = address;
    assert_int_equal(fd_unix_address(path, &address, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_non_null(strstr(err.msg, "ppp: the path of a Unix socket may have at most "));
    assert_memory_equal(&address, &before, sizeof address);
    assert_ok(fd_unix_address("/a", &address, &err), &err);
    for (size_t i = 2; i < sizeof address.sun_path; i++)
        assert_int_equal(address.sun_path[i], 0);
}

static void *store_mask(void *ctx)
{
    pthread_sigmask(SIG_SETMASK, NULL, ctx);
    return NULL;
}

static void threads_start_with_signals_blocked(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    sigset_t inside, before, after;
    pthread_t thread;
    sigemptyset(&inside);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_ok(thread_start(&thread, store_mask, &inside, &err), &err);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM, SIGCHLD, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_true(sigismember(&inside, numbers[i]));
        assert_int_equal(sigismember(&before, numbers[i]), sigismember(&after, numbers[i]));
    }
}

static void holes_are_not_bytes_on_disk(void **state)
{
    char *path = scratch_file(*state, "f", "0123456789", 10);
    char byte;
    int fd = file_open(path, NULL);
    assert_int_equal(fd_bytes_on_disk(fd), 10);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(truncate(path, 1 << 30), 0);
    assert_in_range(fd_bytes_on_disk(fd), 1, 1 << 20);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 1);
    assert_in_range(file_bytes_on_disk(path), 1, 1 << 20);
    fd_close(&fd);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(file_bytes_on_disk(path), 0);
    assert_int_equal(truncate(path, 1 << 30), 0); /* nothing but a hole */
    assert_int_equal(file_bytes_on_disk(path), 1);
    assert_int_equal(file_bytes_on_disk(*state), 0);
    assert_int_equal(file_bytes_on_disk("/dev/null"), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_descriptor_closes_on_exec),
        cmocka_unit_test(a_descriptor_passes_through_a_socket),
        cmocka_unit_test(waiting_ends_when_the_descriptor_is_ready),
        cmocka_unit_test(waiting_ends_at_the_deadline),
        cmocka_unit_test(waiting_can_be_cancelled),
        cmocka_unit_test(signals_do_not_end_a_wait),
        cmocka_unit_test(fd_write_all_writes_everything_to_a_slow_reader),
        cmocka_unit_test(a_write_can_be_cancelled),
        cmocka_unit_test(fd_read_all_reads_up_to_the_capacity),
        cmocka_unit_test(nonblocking_mode_is_set_and_reset),
        cmocka_unit_test(a_wake_up_pipe_is_readable_until_it_is_drained),
        cmocka_unit_test(a_socket_path_beyond_the_maximum_length_is_refused),
        cmocka_unit_test(threads_start_with_signals_blocked),
        SCRATCH(holes_are_not_bytes_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
