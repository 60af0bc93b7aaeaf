/* Limits and deadlines of the server, clients that misbehave, and the end of the server. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/proc_bounds.h"
#include "tests/unit/httpd/server_fixture.h"
#include "base/banned.h"

/* ---- connections --------------------------------------------------------------------------------------- */

static struct httpd_options with_limits(struct httpd_limits limits)
{
    struct httpd_options o = OPTIONS;
    o.limits = limits;
    return o;
}

/* Returns whether the server has closed the connection. Waits `ms` for that. */
static bool is_closed_within(int fd, int64_t ms)
{
    struct err err = ERR_INIT;
    char byte;
    return fd_wait(fd, POLLIN, clock_deadline(ms), -1, &err) == 0 && recv(fd, &byte, 1, MSG_PEEK) <= 0;
}

/* Reads one answer of a connection that stays open. */
static void read_small_answer(int fd)
{
    struct buf b = BUF_INIT(65536);
    char chunk[2000];
    while (!strstr(buf_str(&b), "small")) {
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        assert_true(n > 0);
        buf_add(&b, chunk, (size_t)n);
    }
    buf_release(&b);
}

/* Sends a request to /slow on a new connection, and waits until its handler waits. */
static int begin_slow(struct test_server *run, int n_slow)
{
    int fd = client_connect(run);
    client_send(fd, "GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    WAIT_FOR(atomic_load(&run->site.n_slow) == n_slow);
    return fd;
}

static void a_connection_beyond_the_limit_of_its_client_is_closed(void **state)
{
    (void)state;
    struct test_server run;
    struct httpd_limits limits = HTTPD_LIMITS;
    int fds[2];
    limits.per_client = 2;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    for (int i = 0; i < 2; i++)
        fds[i] = begin_slow(&run, i + 1);
    int refused = client_connect(&run);
    assert_true(is_closed_within(refused, CLIENT_S * 1000));
    close(refused);
    /* The others still get their answers. */
    assert_int_equal(write(run.site.slow[1], "xx", 2), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_body(client_read_all(fds[i]), "slow");
        close(fds[i]);
    }
    WAIT_FOR(httpd_connections(run.httpd) == 0);
    end(&run);
}

/* Opens n connections without the token, as another user of the machine can, and keeps them. Every second one
 * sends a request. */
static void hold_connections_without_token(const struct test_server *run, int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fds[i] = client_connect(run);
        if (i % 2)
            client_send(fds[i], "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
}

static void connections_without_the_token_do_not_block_a_visitor_from_the_same_address(void **state)
{
    (void)state;
    struct test_server run;
    struct httpd_limits limits = HTTPD_LIMITS;
    int fds[20];
    limits.per_client = 4;
    struct httpd_options o = with_limits(limits);
    o.token = "secret";
    begin(&run, &o);
    int visitor = client_connect(&run);
    client_send(visitor, "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n");
    read_small_answer(visitor);
    hold_connections_without_token(&run, fds, 20);
    assert_status(get(&run, "/", "Authorization: Bearer secret\r\n"), 200);
    client_send(visitor, "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n");
    read_small_answer(visitor);
    WAIT_FOR(httpd_connections(run.httpd) <= 4);
    for (size_t i = 0; i < 20; i++)
        close(fds[i]);
    close(visitor);
    end(&run);
}

static void at_the_limit_of_all_connections_the_longest_idle_one_is_closed(void **state)
{
    (void)state;
    struct test_server run;
    struct httpd_limits limits = HTTPD_LIMITS;
    limits.connections = 2;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    int idle = client_connect(&run), busy = client_connect(&run);
    client_send(idle, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    read_small_answer(idle);
    client_send(busy, "GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    WAIT_FOR(atomic_load(&run.site.n_slow) == 1);
    assert_status(get(&run, "/", ""), 200);
    assert_true(is_closed_within(idle, CLIENT_S * 1000));
    /* Without an idle connection the new one is refused. */
    int second = begin_slow(&run, 2);
    int third = client_connect(&run);
    assert_true(is_closed_within(third, CLIENT_S * 1000));
    assert_int_equal(write(run.site.slow[1], "xx", 2), 2);
    assert_body(client_read_all(busy), "slow");
    assert_body(client_read_all(second), "slow");
    int *const fds[] = {&idle, &busy, &second, &third};
    for (size_t i = 0; i < 4; i++)
        fd_close(fds[i]);
    end(&run);
}

/* Sets the limit of descriptors so that no new one can be opened. Returns the old limit. */
static struct rlimit forbid_descriptors(void)
{
    struct rlimit before, now;
    int next = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    return before;
}

static int64_t process_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void without_descriptors_the_server_waits_and_goes_on_later(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(httpd_port(run.httpd))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = fd_socket(AF_INET, NULL);
    struct rlimit before = forbid_descriptors();
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    client_send(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    int64_t cpu = process_cpu_ms();
    assert_false(is_closed_within(fd, 1000));
    assert_true(process_cpu_ms() - cpu < 500);
    assert_int_equal(httpd_connections(run.httpd), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_body(client_read_all(fd), "small");
    close(fd);
    end(&run);
}

/* ---- deadlines ----------------------------------------------------------------------------------------- */

/* Sends a byte each 50 ms until the server closes the connection. Returns the milliseconds until then. */
static int64_t trickle(int fd, const char *text)
{
    int64_t start = clock_now();
    for (size_t i = 0; clock_now() - start < CLIENT_S * 1000; i++) {
        if (send(fd, text + i % strlen(text), 1, MSG_NOSIGNAL) < 0 || is_closed_within(fd, 50))
            return clock_now() - start;
    }
    fail_msg("the server accepts bytes for ever");
    return 0;
}

static void slow_headers_and_bodies_end_at_their_deadlines(void **state)
{
    (void)state;
    struct httpd_limits limits = HTTPD_LIMITS;
    struct test_server run;
    limits.header_ms = 600;
    limits.request_ms = 1500;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    int silent = client_connect(&run), headers = client_connect(&run), body = client_connect(&run);
    client_send(headers, "GET / HTTP/1.1\r\nHost: localhost\r\n");
    client_send(body, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n");
    int64_t start = clock_now();
    assert_true(trickle(headers, "X: y\r\n") >= 600);
    assert_true(is_closed_within(silent, CLIENT_S * 1000));
    assert_false(is_closed_within(body, 0) && clock_now() - start < 1500);
    trickle(body, "b");
    assert_true(clock_now() - start >= 1500);
    assert_status(get(&run, "/", ""), 200);
    close(silent);
    close(headers);
    close(body);
    end(&run);
}

static void an_idle_connection_is_closed_and_the_next_request_has_a_new_deadline(void **state)
{
    (void)state;
    struct httpd_limits limits = HTTPD_LIMITS;
    struct test_server run;
    limits.idle_ms = 700;
    limits.header_ms = 60000;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    int idle = client_connect(&run), used = client_connect(&run);
    client_send(idle, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client_send(used, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    read_small_answer(idle);
    read_small_answer(used);
    client_send(used, "GET / HTTP/1.1\r\n");
    assert_true(is_closed_within(idle, CLIENT_S * 1000));
    assert_false(is_closed_within(used, 1000));
    client_send(used, "Host: localhost\r\n\r\n");
    read_small_answer(used);
    close(idle);
    close(used);
    end(&run);
}

static void the_deadline_of_headers_does_not_end_the_body_of_a_pipelined_request(void **state)
{
    (void)state;
    struct httpd_limits limits = HTTPD_LIMITS;
    struct test_server run;
    limits.header_ms = 500;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    int fd = client_connect(&run);
    client_send(fd,
                "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhe");
    assert_false(is_closed_within(fd, 0));
    usleep(1200 * 1000);
    client_send(fd, "llo");
    struct buf answers = client_read_all(fd);
    assert_contains(buf_str(&answers), "/echo||hello|");
    buf_release(&answers);
    close(fd);
    end(&run);
}

/* ---- large requests ------------------------------------------------------------------------------------ */

static void headers_and_bodies_have_a_maximum_size(void **state)
{
    (void)state;
    struct test_server run;
    struct buf b = BUF_INIT(1 << 20);
    begin(&run, &(struct httpd_options)OPTIONS);
    for (int large = 0; large < 2; large++) {
        buf_clear(&b);
        buf_adds(&b, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: ");
        for (int i = 0; i < (large ? 270000 : 250000); i++)
            buf_addc(&b, 'x');
        buf_adds(&b, "\r\n\r\n");
        struct buf answer = exchange(&run, buf_str(&b));
        assert_int_equal(status_of(&answer), large ? 431 : 200);
        if (large)
            assert_contains(buf_str(&answer), "the headers of the request have more than 262144 bytes");
        buf_release(&answer);
    }
    assert_status(exchange(&run, "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                 "Content-Length: 1000000000\r\n\r\n"),
                  413);
    buf_clear(&b);
    buf_adds(&b,
             "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n");
    for (int i = 0; i < 1001; i++)
        buf_addc(&b, 'x');
    assert_status(exchange(&run, buf_str(&b)), 413);
    buf_release(&b);
    end(&run);
}

static int make_sparse_file(off_t size)
{
    char name[] = "/tmp/test-httpd-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    unlink(name);
    assert_int_equal(ftruncate(fd, size), 0);
    return fd;
}

/* Sends bytes until the server closes the connection or reads no more. Returns their number. */
static uint64_t flood(int fd, const char *text)
{
    static char chunk[65536];
    uint64_t n = 0;
    const struct timeval patience = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (size_t i = 0; i < sizeof chunk; i++)
        chunk[i] = text[i % strlen(text)];
    for (ssize_t sent; (sent = send(fd, chunk, sizeof chunk, MSG_NOSIGNAL)) > 0 && n < (256u << 20);)
        n += (uint64_t)sent;
    assert_true(errno == ECONNRESET || errno == EPIPE || errno == EAGAIN);
    return n;
}

static void a_client_cannot_fill_the_memory(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        /* more requests while an answer waits, or while the client does not read it */
        {"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        {"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
        /* an endless size of a chunk, and an endless header */
        {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "1"},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", "x"},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file_size = UINT64_C(1) << 30;
    run.site.file = make_sparse_file((off_t)run.site.file_size);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fd = client_connect(&run);
        client_send(fd, rows[i][0]);
        assert_true(flood(fd, rows[i][1]) < (64u << 20));
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        close(fd);
        WAIT_FOR(httpd_connections(run.httpd) == 0);
    }
    assert_status(get(&run, "/", ""), 200);
    end(&run);
}

static void many_clients_cannot_fill_the_memory_together(void **state)
{
    (void)state;
    enum { CLIENTS = 20 };
    int fds[CLIENTS], open = 0;
    char body[4000];
    struct httpd_options o = OPTIONS;
    struct test_server run;
    o.limits.arriving_bytes = 8 * sizeof body;
    begin(&run, &o);
    memset(body, 'x', sizeof body);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = client_connect(&run);
        client_send(fds[i], "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4001\r\n\r\n");
        assert_true(send(fds[i], body, sizeof body, MSG_NOSIGNAL) >= -1);
    }
    /* At most eight bodies wait for their last byte; the connections of the others are closed. */
    WAIT_FOR(httpd_connections(run.httpd) < 9);
    /* They do not block other requests: the server closes the connection with the largest incomplete request.
     */
    for (int i = 0; i < CLIENTS; i++)
        assert_status(get(&run, "/", ""), 200);
    for (int i = 0; i < CLIENTS; i++) {
        open += send(fds[i], "x", 1, MSG_NOSIGNAL) == 1;
        close(fds[i]);
    }
    assert_true(open >= 1);
    WAIT_FOR(httpd_connections(run.httpd) == 0);
    /* The bytes of closed connections no longer count. */
    for (int i = 0; i < CLIENTS; i++)
        assert_status(get(&run, "/", ""), 200);
    end(&run);
}

/* Returns the peak of this process's resident memory in bytes. */
static size_t peak_memory(void)
{
    struct buf status = BUF_INIT(65536);
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fd_read_all(fd, &status), 0);
    close(fd);
    const char *at = strstr(buf_str(&status), "VmHWM:");
    size_t kb = at ? strtoul(at + 6, NULL, 10) : 0;
    buf_release(&status);
    return kb * 1024;
}

static void *drop_answers(void *fd)
{
    char chunk[4096];
    while (recv(*(int *)fd, chunk, sizeof chunk, 0) > 0)
        continue;
    return NULL;
}

/* Requests without end, which arrive faster than they are answered. */
static void a_client_that_reads_its_answers_cannot_fill_the_memory_either(void **state)
{
    (void)state;
    struct test_server run;
    pthread_t reader;
    begin(&run, &(struct httpd_options)OPTIONS);
    int fd = client_connect(&run);
    assert_int_equal(pthread_create(&reader, NULL, drop_answers, &fd), 0);
    size_t before = peak_memory();
    flood(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (!UNDER_SANITIZER)
        assert_true(peak_memory() - before < (8u << 20));
    shutdown(fd, SHUT_RDWR);
    pthread_join(reader, NULL);
    close(fd);
    assert_status(get(&run, "/", ""), 200);
    end(&run);
}

static void pipelined_requests_are_answered_in_their_order(void **state)
{
    (void)state;
    struct test_server run;
    struct buf b = BUF_INIT(1 << 20);
    begin(&run, &(struct httpd_options)OPTIONS);
    for (int i = 0; i < 50; i++)
        buf_addf(&b, "GET /echo?n=%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n", i,
                 i == 49 ? "Connection: close\r\n" : "");
    struct buf answers = exchange(&run, buf_str(&b));
    const char *at = buf_str(&answers);
    for (int i = 0; i < 50; i++) {
        char *expected = format_text("/echo|n=%d;||", i);
        at = strstr(at, expected);
        if (!at)
            fail_msg("the answer %d is missing or too early", i);
        free(expected);
    }
    buf_release(&answers);
    buf_release(&b);
    end(&run);
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

static void a_handler_waits_and_other_clients_do_not(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    int slow = client_connect(&run);
    client_send(slow, "GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    WAIT_FOR(atomic_load(&run.site.n_slow) == 1);
    for (int i = 0; i < 20; i++)
        assert_status(get(&run, "/", ""), 200);
    assert_int_equal(write(run.site.slow[1], "x", 1), 1);
    assert_body(client_read_all(slow), "slow");
    assert_int_equal(atomic_load(&run.site.n_gone), 0);
    close(slow);
    end(&run);
}

static void a_client_that_leaves_ends_the_wait_of_its_handler(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    for (int reset = 0; reset < 2; reset++) {
        int slow = client_connect(&run);
        client_send(slow, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
        WAIT_FOR(atomic_load(&run.site.n_slow) == 1);
        if (reset)
            setsockopt(slow, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        close(slow);
        WAIT_FOR(atomic_load(&run.site.n_gone) == reset + 1 && httpd_connections(run.httpd) == 0);
    }
    end(&run);
}

static void a_handler_that_takes_too_long_gets_504(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.slow_ms = 300;
    assert_status(get(&run, "/slow", ""), 504);
    assert_int_equal(atomic_load(&run.site.n_gone), 1);
    end(&run);
}

static void a_handler_gets_504_also_if_its_descriptor_is_readable_again_and_again(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.slow_ms = 800;
    int fd = client_connect(&run);
    client_send(fd, "GET /never HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    for (int64_t start = clock_now(); !is_closed_within(fd, 100) && clock_now() - start < CLIENT_S * 1000;) {
        if (recv(fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
            break;
        assert_int_equal(write(run.site.slow[1], "x", 1), 1);
    }
    assert_status(client_read_all(fd), 504);
    close(fd);
    end(&run);
}

/* ---- slow readers -------------------------------------------------------------------------------------- */

/* Reads n bytes and drops them. */
static void read_bytes(int fd, uint64_t n)
{
    static char chunk[1 << 20];
    while (n > 0) {
        ssize_t got = recv(fd, chunk, n < sizeof chunk ? (size_t)n : sizeof chunk, 0);
        assert_true(got > 0);
        n -= (uint64_t)got;
    }
}

static void a_body_of_1_gb_needs_no_memory_and_stops_nobody(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /text HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file_size = UINT64_C(1) << 30;
    run.site.file = make_sparse_file((off_t)run.site.file_size);
    size_t before = peak_memory();
    for (size_t i = 0; i < 2; i++) {
        int fd = client_connect(&run), unread = client_connect(&run);
        client_send(fd, requests[i]);
        client_send(unread, requests[i]);
        read_bytes(fd, 1000);
        assert_status(get(&run, "/", ""), 200);
        read_bytes(fd, i == 0 ? run.site.file_size - 1000 : 100000);
        assert_status(get(&run, "/", ""), 200);
        close(fd);
        close(unread); /* its answer is not complete */
    }
    WAIT_FOR(httpd_connections(run.httpd) == 0);
    if (!UNDER_SANITIZER)
        assert_true(peak_memory() - before < (8u << 20));
    end(&run);
}

static void a_reader_with_progress_gets_the_whole_body(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n",
    };
    struct httpd_limits limits = HTTPD_LIMITS;
    struct test_server run;
    limits.stall_ms = 600;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    run.site.file_size = UINT64_C(1) << 26;
    run.site.file = make_sparse_file((off_t)run.site.file_size);
    for (size_t i = 0; i < 2; i++) {
        int fd = client_connect(&run);
        client_send(fd, requests[i]);
        for (int k = 0; k < 10; k++) {
            read_bytes(fd, i == 0 ? 1 << 20 : 2000);
            usleep(200 * 1000);
        }
        struct buf rest = client_read_all(fd);
        assert_true(i == 0 ? rest.len > run.site.file_size - (11u << 20)
                           : rest.len > 7 && memcmp(rest.data + rest.len - 7, "\r\n0\r\n\r\n", 7) == 0);
        buf_release(&rest);
        close(fd);
    }
    end(&run);
}

static void a_reader_without_progress_is_closed(void **state)
{
    (void)state;
    struct httpd_limits limits = HTTPD_LIMITS;
    struct test_server run;
    limits.stall_ms = 500;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    run.site.file_size = UINT64_C(1) << 28;
    run.site.file = make_sparse_file((off_t)run.site.file_size);
    int fd = client_connect(&run);
    client_send(fd, "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
    WAIT_FOR(httpd_connections(run.httpd) == 1);
    WAIT_FOR(httpd_connections(run.httpd) == 0);
    close(fd);
    end(&run);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void a_stopped_server_finishes_its_requests(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    int slow = client_connect(&run), idle = client_connect(&run), silent = client_connect(&run);
    client_send(idle, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    read_small_answer(idle);
    WAIT_FOR(httpd_connections(run.httpd) == 3);
    client_send(slow, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    WAIT_FOR(atomic_load(&run.site.n_slow) == 1);
    assert_int_equal(write(run.stop[1], "x", 1), 1);
    assert_true(is_closed_within(idle, CLIENT_S * 1000) && is_closed_within(silent, CLIENT_S * 1000));
    /* The server refuses new connections. */
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(httpd_port(run.httpd))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int late = fd_socket(AF_INET, NULL);
    assert_int_equal(connect(late, (struct sockaddr *)&to, sizeof to), -1);
    close(late);
    assert_int_equal(write(run.site.slow[1], "x", 1), 1);
    struct buf answer = client_read_all(slow);
    assert_contains(buf_str(&answer), "Connection: close\r\n");
    assert_body(answer, "slow");
    void *failed = NULL;
    assert_int_equal(pthread_join(run.thread, &failed), 0);
    assert_null(failed);
    run.stopped = true;
    close(slow);
    close(idle);
    close(silent);
    end(&run);
}

static void a_stopped_server_gives_up_a_request_after_drain_ms(void **state)
{
    (void)state;
    struct httpd_limits limits = HTTPD_LIMITS;
    struct test_server run;
    limits.drain_ms = 300;
    struct httpd_options o = with_limits(limits);
    begin(&run, &o);
    int slow = client_connect(&run);
    client_send(slow, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    WAIT_FOR(atomic_load(&run.site.n_slow) == 1);
    stop(&run);
    assert_int_equal(atomic_load(&run.site.n_gone), 1);
    assert_int_equal(client_read_all(slow).len, 0);
    close(slow);
    end(&run);
}

/* ---- TLS ----------------------------------------------------------------------------------------------- */

/* Makes a certificate for localhost that signs itself, with an encrypted key if there is a passphrase. */
static void make_certificate(struct buf *ret_chain, struct buf *ret_key, const char *passphrase)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    struct buf *const outputs[] = {ret_chain, ret_key};
    for (size_t i = 0; i < 2; i++) {
        BIO *bio = BIO_new(BIO_s_mem());
        char *p;
        assert_int_equal(i == 0 ? PEM_write_bio_X509(bio, x)
                                : PEM_write_bio_PrivateKey(bio, key, passphrase ? EVP_aes_256_cbc() : NULL,
                                                           NULL, 0, NULL, (void *)(uintptr_t)passphrase),
                         1);
        long n = BIO_get_mem_data(bio, &p);
        buf_add(outputs[i], p, (size_t)n);
        BIO_free(bio);
    }
    X509_free(x);
    EVP_PKEY_free(key);
}

/* Sends a request over TLS, and reads to the end of the connection. */
static struct buf exchange_tls(const struct test_server *run, const char *request)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = SSL_new(context);
    struct buf b = BUF_INIT(64 << 20);
    char chunk[65536];
    int fd = client_connect(run), n;
    SSL_set_fd(tls, fd);
    assert_int_equal(SSL_connect(tls), 1);
    assert_int_equal(SSL_write(tls, request, (int)strlen(request)), strlen(request));
    while ((n = SSL_read(tls, chunk, sizeof chunk)) > 0)
        buf_add(&b, chunk, (size_t)n);
    SSL_free(tls);
    SSL_CTX_free(context);
    close(fd);
    return b;
}

static void the_same_answers_are_sent_over_tls(void **state)
{
    (void)state;
    enum { SIZE = 3000000 };
    struct test_server run;
    struct buf chain = BUF_INIT(65536), key = BUF_INIT(65536);
    struct httpd_options o = OPTIONS;
    make_certificate(&chain, &key, NULL);
    const struct httpd_tls tls = {{chain.data, chain.len}, {key.data, key.len}};
    o.tls = &tls;
    o.limits.header_ms = 1000;
    o.token = "secret";
    begin(&run, &o);
    run.site.file = make_sparse_file(SIZE);
    run.site.file_size = SIZE;
    int silent = client_connect(&run); /* never begins the handshake */
    struct buf moved =
        exchange_tls(&run, "GET /?token=secret HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_int_equal(status_of(&moved), 200);
    assert_contains(buf_str(&moved), "SameSite=Strict; Secure\r\n");
    buf_release(&moved);
    struct buf file = exchange_tls(&run, "GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                         "Authorization: Bearer secret\r\n\r\n");
    assert_int_equal(status_of(&file), 200);
    assert_int_equal(body_of(&file).n, SIZE);
    buf_release(&file);
    assert_int_equal(status_of(&(struct buf){0}), 0);
    assert_true(is_closed_within(silent, CLIENT_S * 1000));
    close(silent);
    buf_release(&chain);
    buf_release(&key);
    end(&run);
}

static void a_bad_certificate_or_key_is_reported(void **state)
{
    (void)state;
    struct buf chain = BUF_INIT(65536), key = BUF_INIT(65536), other_chain = BUF_INIT(65536),
               other_key = BUF_INIT(65536);
    struct buf locked_chain = BUF_INIT(65536), locked_key = BUF_INIT(65536);
    make_certificate(&chain, &key, NULL);
    make_certificate(&other_chain, &other_key, NULL);
    make_certificate(&locked_chain, &locked_key, "secret");
    const struct {
        struct httpd_tls tls;
        const char *message;
    } rows[] = {
        {{STR("none"), {key.data, key.len}}, "the certificate is not PEM, or is not usable"},
        {{{chain.data, chain.len}, STR("none")},
         "the private key is not PEM, is encrypted, or is not that of the certificate"},
        {{{locked_chain.data, locked_chain.len}, {locked_key.data, locked_key.len}},
         "the private key is not PEM, is encrypted, or is not that of the certificate"},
        {{{chain.data, chain.len}, {other_key.data, other_key.len}},
         "the private key is not PEM, is encrypted, or is not that of the certificate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct httpd *h = NULL;
        struct err err = ERR_INIT;
        struct httpd_options o = OPTIONS;
        o.tls = &rows[i].tls;
        assert_refused(httpd_new(&o, &h, &err), &err, ERR_FAILED, rows[i].message);
    }
    struct buf *const all[] = {&chain, &key, &other_chain, &other_key, &locked_chain, &locked_key};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_release(all[i]);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_beyond_the_limit_of_its_client_is_closed),
        cmocka_unit_test(connections_without_the_token_do_not_block_a_visitor_from_the_same_address),
        cmocka_unit_test(at_the_limit_of_all_connections_the_longest_idle_one_is_closed),
        cmocka_unit_test(without_descriptors_the_server_waits_and_goes_on_later),
        cmocka_unit_test(slow_headers_and_bodies_end_at_their_deadlines),
        cmocka_unit_test(the_deadline_of_headers_does_not_end_the_body_of_a_pipelined_request),
        cmocka_unit_test(an_idle_connection_is_closed_and_the_next_request_has_a_new_deadline),
        cmocka_unit_test(headers_and_bodies_have_a_maximum_size),
        cmocka_unit_test(a_client_cannot_fill_the_memory),
        cmocka_unit_test(many_clients_cannot_fill_the_memory_together),
        cmocka_unit_test(a_client_that_reads_its_answers_cannot_fill_the_memory_either),
        cmocka_unit_test(pipelined_requests_are_answered_in_their_order),
        cmocka_unit_test(a_handler_waits_and_other_clients_do_not),
        cmocka_unit_test(a_client_that_leaves_ends_the_wait_of_its_handler),
        cmocka_unit_test(a_handler_that_takes_too_long_gets_504),
        cmocka_unit_test(a_handler_gets_504_also_if_its_descriptor_is_readable_again_and_again),
        cmocka_unit_test(a_reader_with_progress_gets_the_whole_body),
        cmocka_unit_test(a_body_of_1_gb_needs_no_memory_and_stops_nobody),
        cmocka_unit_test(a_reader_without_progress_is_closed),
        cmocka_unit_test(a_stopped_server_finishes_its_requests),
        cmocka_unit_test(a_stopped_server_gives_up_a_request_after_drain_ms),
        cmocka_unit_test(the_same_answers_are_sent_over_tls),
        cmocka_unit_test(a_bad_certificate_or_key_is_reported),
    };
    return cmocka_run_group_tests_name("httpd_limits", tests, NULL, NULL);
}
