/* http/connection.c and exchange.c: requests over a Unix socket to a server that answers from a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/http.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- the server -------------------------------------------------------------------------------------- */

/* An answer to one request. */
struct answer {
    const char *text; /* "": no answer */
    bool closes;      /* the server closes the connection afterwards; otherwise it waits for a request */
};

static struct {
    struct sockaddr_un address;
    int fd;
    pthread_t thread;
    const struct answer *answers;
    size_t n;               /* of the answers */
    size_t next;            /* the index of the next answer; only the thread uses it while it runs */
    char requests[4][2048]; /* the request of each answer */
} server;

/* Reads a request up to the empty line. Returns false at the end of the connection. */
static bool read_request(int fd, char request[static 2048])
{
    size_t n = 0;
    *request = '\0';
    while (!strstr(request, "\r\n\r\n")) {
        ssize_t got = read(fd, request + n, 2047 - n);
        if (got <= 0)
            return false;
        n += (size_t)got;
        request[n] = '\0';
    }
    return true;
}

static void serve_connection(int fd)
{
    char rest[2048];
    while (server.next < server.n && read_request(fd, server.requests[server.next])) {
        const struct answer *a = &server.answers[server.next++];
        for (size_t sent = 0, n = strlen(a->text); sent < n;) {
            ssize_t more = send(fd, a->text + sent, n - sent, MSG_NOSIGNAL);
            if (more <= 0)
                return;
            sent += (size_t)more;
        }
        if (a->closes)
            return;
    }
    read_request(fd, rest); /* until the client closes the connection */
}

static void *serve_answers(void *ctx)
{
    (void)ctx;
    for (int fd; (fd = accept(server.fd, NULL, NULL)) >= 0;) {
        serve_connection(fd);
        close(fd);
    }
    return NULL;
}

static void start_server(void **state, const struct answer *answers, size_t n)
{
    static int number;
    server.address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(server.address.sun_path, sizeof server.address.sun_path, "%s/s%d", (const char *)*state,
             number++);
    server.answers = answers;
    server.n = n;
    server.next = 0;
    server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server.fd, (struct sockaddr *)&server.address, sizeof server.address), 0);
    assert_int_equal(listen(server.fd, 8), 0);
    assert_int_equal(pthread_create(&server.thread, NULL, serve_answers, NULL), 0);
}

/* Call this after the client has closed its connection, so that the thread can wait only in accept. */
static void stop_server(void)
{
    shutdown(server.fd, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    close(server.fd);
}

/* ---- the client -------------------------------------------------------------------------------------- */

static struct http_connection *connect_to_server(struct http_connection_options o)
{
    struct http_connection *c = NULL;
    struct err err = ERR_INIT;
    o.socket = server.address.sun_path;
    o.host = "service.example:6060";
    o.timeout_ms = o.timeout_ms ? o.timeout_ms : 60000;
    assert_ok(http_connection_new(&o, &c, &err), &err);
    return c;
}

static int store_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    struct buf *b = ctx;
    buf_add(b, p, n);
    return buf_check(b, "the body", err);
}

static const char url[] = "http://localhost:6060/x";

static int get_answer(struct http_connection *c, struct http_get request, struct http_response *ret,
                      struct err *err)
{
    struct buf body = BUF_INIT(1000);
    *err = (struct err)ERR_INIT;
    request.body = request.body ? request.body : store_bytes;
    request.ctx = request.ctx ? request.ctx : &body;
    int rc = http_connection_get(c, url, &request, ret, err);
    buf_release(&body);
    return rc;
}

/* ---- answers ----------------------------------------------------------------------------------------- */

static void answers_are_read(void **state)
{
    static const struct answer answers[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n"
         "Date: Mon, 23 Nov 2026 17:00:00 GMT\r\n\r\nhello",
         false},
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\nno Bearer hunter2 !", false},
        {"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", true},
        {"HTTP/1.1 200 OK\r\n\r\nto the end", true},
    };
    struct secret secret = {.text = "hunter2", .len = 7};
    struct buf body = BUF_INIT(1000);
    struct http_response r;
    struct err err;
    start_server(state, answers, 4);
    struct http_connection *c =
        connect_to_server((struct http_connection_options){.cancel_fd = -1, .auth = {NULL, &secret}});
    assert_int_equal(http_connection_round_trip(c), -1);
    assert_ok(get_answer(c, (struct http_get){.ctx = &body}, &r, &err), &err);
    assert_string_equal(buf_str(&body), "hello");
    assert_int_equal(r.status, 200);
    assert_int_equal(r.bytes, 5);
    assert_string_equal(r.content_type, "text/plain");
    assert_int_equal(r.date, INT64_C(1795453200000));
    assert_false(r.ends_at_close || r.reconnected);
    assert_true(r.first_byte_ms >= 0 && http_connection_round_trip(c) >= 0);
    assert_contains(server.requests[0], "GET /x HTTP/1.1\r\n");
    assert_contains(server.requests[0], "Host: service.example:6060\r\n");
    assert_contains(server.requests[0], "Authorization: Bearer hunter2\r\n");
    assert_null(http_connection_redirect(c));

    assert_ok(get_answer(c, (struct http_get){0}, &r, &err), &err);
    assert_int_equal(r.status, 404);
    assert_int_equal(r.bytes, 0);
    assert_string_equal(r.page, "no Bearer *** !");

    assert_ok(get_answer(c, (struct http_get){0}, &r, &err), &err);
    assert_int_equal(r.status, 302);
    assert_string_equal(http_connection_redirect(c), "http://localhost:6060/y");

    /* The previous answer closed the connection. */
    assert_ok(get_answer(c, (struct http_get){0}, &r, &err), &err);
    assert_true(r.ends_at_close && r.reconnected);
    assert_int_equal(r.bytes, 10);
    http_connection_free(c);
    buf_release(&body);
    stop_server();
}

/* A long error page is an answer. The client closes its connection, so the next connection does not count as
 * a reconnection. */
static void long_error_pages_are_cut(void **state)
{
    char *page = malloc(600001);
    assert_non_null(page);
    memset(page, 'x', 600000);
    page[600000] = '\0';
    char *text = NULL;
    assert_true(asprintf(&text, "HTTP/1.1 500 No\r\nContent-Length: 600000\r\n\r\n%s", page) > 0);
    const struct answer answers[] = {{text, true}, {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false}};
    struct http_response r;
    struct err err;
    start_server(state, answers, 2);
    struct http_connection *c = connect_to_server((struct http_connection_options){.cancel_fd = -1});
    assert_ok(get_answer(c, (struct http_get){0}, &r, &err), &err);
    assert_int_equal(r.status, 500);
    assert_int_equal(strlen(r.page), HTTP_PAGE_MAX);
    assert_ok(get_answer(c, (struct http_get){0}, &r, &err), &err);
    assert_int_equal(r.status, 200);
    assert_false(r.reconnected);
    http_connection_free(c);
    stop_server();
    free(text);
    free(page);
}

/* ---- failures ---------------------------------------------------------------------------------------- */

/* Checks the failure of one request, to a server with one answer. */
static void assert_failure(void **state, struct answer answer, struct http_get request,
                           enum http_failure failure, const char *msg)
{
    struct http_response r;
    struct err err;
    start_server(state, &answer, 1);
    struct http_connection *c = connect_to_server((struct http_connection_options){.cancel_fd = -1});
    assert_int_equal(get_answer(c, request, &r, &err), -1);
    assert_string_equal(err.msg, msg);
    assert_int_equal(r.failure, failure);
    http_connection_free(c);
    stop_server();
}

static int refuse_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n;
    return err_set(err, ERR_LOCAL_IO, "the disk is full");
}

static void invalid_answers_are_errors(void **state)
{
    const struct http_get plain = {0}, refusing = {.body = refuse_bytes};
    char *headers = malloc(400000);
    assert_non_null(headers);
    size_t n = (size_t)snprintf(headers, 400000, "HTTP/1.1 200 OK\r\n");
    while (n < 300000)
        n += (size_t)snprintf(headers + n, 400000 - n, "X-Filler: %01000d\r\n", 0);
    assert_failure(state, (struct answer){"", true}, plain, HTTP_FAILURE_NO_ANSWER,
                   "it closed the connection without an answer");
    assert_failure(state, (struct answer){"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", true}, plain,
                   HTTP_FAILURE_PARTIAL, "the answer was cut off after 4 bytes");
    assert_failure(state, (struct answer){"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", true}, refusing,
                   HTTP_FAILURE_CALLBACK, "the disk is full");
    assert_failure(state, (struct answer){headers, true}, plain, HTTP_FAILURE_HEADERS,
                   "its headers are larger than 256 kB");
    memset(headers + strlen("HTTP/1.1 200 OK\r\nX-Filler: "), 'x', 150000);
    assert_failure(state, (struct answer){headers, true}, plain, HTTP_FAILURE_MEMORY,
                   "one of its headers is too large, or this workstation is out of memory");
    free(headers);
}

/* ---- deadlines --------------------------------------------------------------------------------------- */

static bool is_opening(void *ctx)
{
    (void)ctx;
    return true;
}

/* Checks that a deadline or cancellation of these options ends a request. */
static void assert_ended(void **state, const char *text, struct http_connection_options options,
                         int64_t limit_ms, const char *msg)
{
    const struct answer answer = {text, false};
    struct http_response r;
    struct err err;
    start_server(state, &answer, 1);
    struct http_connection *c = connect_to_server(options);
    assert_int_equal(get_answer(c, (struct http_get){.limit_ms = limit_ms}, &r, &err), -1);
    assert_string_equal(err.msg, msg);
    http_connection_free(c);
    stop_server();
}

static void timeouts_and_cancellation_end_a_request(void **state)
{
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    int cancel[2];
    assert_ok(fd_pipe(cancel, NULL), &(struct err){0});
    close(cancel[1]);
    assert_ended(state, "", (struct http_connection_options){.cancel_fd = -1, .timeout_ms = 50}, 0,
                 "no answer: the connection was accepted, but no data arrived for 50ms");
    assert_ended(state, "", (struct http_connection_options){.cancel_fd = -1}, 50,
                 "the answer takes longer than 50ms, 0 bytes so far");
    assert_ended(state, "", (struct http_connection_options){.cancel_fd = cancel[0]}, 0, "interrupted");
    /* While the channel is being opened, no time counts as silence, but a slow answer is still an error. */
    assert_ended(
        state, half,
        (struct http_connection_options){.cancel_fd = -1, .timeout_ms = 50, .is_opening = is_opening}, 0,
        "the answer is too slow: less than 1024 bytes in 50ms, 4 bytes so far");
    close(cancel[0]);
}

/* The duration of the profile does not count as silence. */
static void the_duration_of_a_profile_is_no_timeout(void **state)
{
    const struct answer answer = {"", false};
    struct http_response r;
    struct err err;
    start_server(state, &answer, 1);
    struct http_connection *c =
        connect_to_server((struct http_connection_options){.cancel_fd = -1, .timeout_ms = 50});
    int64_t began = clock_now();
    assert_int_equal(get_answer(c, (struct http_get){.timed_ms = 300}, &r, &err), -1);
    assert_string_equal(err.msg,
                        "no answer: the connection was accepted, but no data arrived for 50ms longer than "
                        "the profile takes");
    assert_true(clock_now() - began >= 350);
    assert_true(err.unreachable);
    http_connection_free(c);
    stop_server();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(answers_are_read),
        SCRATCH(long_error_pages_are_cut),
        SCRATCH(invalid_answers_are_errors),
        SCRATCH(timeouts_and_cancellation_end_a_request),
        SCRATCH(the_duration_of_a_profile_is_no_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
