/* A server in a thread of its own, with handlers for the tests, and clients with blocking sockets. Include
 * <cmocka.h> before this file. */
#ifndef TESTS_UNIT_HTTPD_SERVER_FIXTURE_H
#define TESTS_UNIT_HTTPD_SERVER_FIXTURE_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "httpd/httpd.h"
#include "tests/unit/unit.h"

#define BODY_MAX 1000
/* A client waits at most this long for bytes. */
#define CLIENT_S 20

/* The state of the handlers. */
struct site {
    int file; /* served by /file and /text */
    uint64_t file_size;
    int slow[2];       /* /slow answers when a byte arrives */
    atomic_int n_gone; /* calls of httpd_wait.gone */
    atomic_int n_slow; /* requests that wait */
    int64_t slow_ms;   /* httpd_wait.timeout_ms */
};

struct test_server {
    struct site site;
    struct httpd *httpd;
    int stop[2];
    pthread_t thread;
    bool stopped;
};

static inline void answer_small(struct httpd_request *r, void *ctx)
{
    (void)ctx;
    httpd_answer_text(r, 200, "small");
}

/* Answers with everything that a handler can read. */
static inline void answer_echo(struct httpd_request *r, void *ctx)
{
    (void)ctx;
    size_t n;
    const struct httpd_parameter *p = httpd_parameters(r, &n);
    struct str body = httpd_body(r);
    struct buf b = BUF_INIT(1 << 20);
    buf_addf(&b, "%s|", httpd_path(r));
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "%s=%s;", p[i].name, p[i].value);
    buf_addf(&b, "|%.*s|%s", (int)body.n, body.p, httpd_header(r, "X-Test") ? httpd_header(r, "X-Test") : "");
    httpd_answer_bytes(r, &(struct httpd_answer){.status = 200, .type = "text/plain"}, buf_str(&b), b.len);
    buf_release(&b);
}

static inline void answer_with_file(struct httpd_request *r, struct site *site, bool compress)
{
    const struct httpd_answer a = {.status = 200, .type = "text/plain", .etag = "v1", .compress = compress};
    httpd_answer_file(r, &a, fcntl(site->file, F_DUPFD_CLOEXEC, 3), site->file_size);
}

static inline void answer_file(struct httpd_request *r, void *ctx)
{
    answer_with_file(r, ctx, false);
}

static inline void answer_text_file(struct httpd_request *r, void *ctx)
{
    answer_with_file(r, ctx, true);
}

static inline void on_slow_ready(struct httpd_request *r, void *ctx)
{
    struct site *site = ctx;
    char byte;
    if (read(site->slow[0], &byte, 1) == 1) {
        atomic_fetch_sub(&site->n_slow, 1);
        httpd_answer_text(r, 200, "slow");
    }
}

/* Reads a byte, and goes on waiting without an answer. */
static inline void on_endless_ready(struct httpd_request *r, void *ctx)
{
    struct site *site = ctx;
    char byte;
    (void)r;
    assert_int_equal(read(site->slow[0], &byte, 1), 1);
}

static inline void on_slow_gone(void *ctx)
{
    struct site *site = ctx;
    atomic_fetch_sub(&site->n_slow, 1);
    atomic_fetch_add(&site->n_gone, 1);
}

static inline void answer_slow(struct httpd_request *r, void *ctx)
{
    struct site *site = ctx;
    atomic_fetch_add(&site->n_slow, 1);
    httpd_wait(r, &(struct httpd_wait){.ready = on_slow_ready,
                                       .gone = on_slow_gone,
                                       .ctx = site,
                                       .fd = site->slow[0],
                                       .timeout_ms = site->slow_ms});
}

static inline void answer_never(struct httpd_request *r, void *ctx)
{
    struct site *site = ctx;
    atomic_fetch_add(&site->n_slow, 1);
    httpd_wait(r, &(struct httpd_wait){.ready = on_endless_ready,
                                       .gone = on_slow_gone,
                                       .ctx = site,
                                       .fd = site->slow[0],
                                       .timeout_ms = site->slow_ms});
}

static const struct httpd_route routes[] = {
    {"/", HTTPD_GET, answer_small, 0},
    {"/echo", HTTPD_GET | HTTPD_POST, answer_echo, BODY_MAX},
    {"/below/", HTTPD_GET, answer_echo, 0},
    {"/delete", HTTPD_DELETE, answer_small, 0},
    {"/file", HTTPD_GET, answer_file, 0},
    {"/text", HTTPD_GET, answer_text_file, 0},
    {"/slow", HTTPD_GET, answer_slow, 0},
    {"/never", HTTPD_GET, answer_never, 0},
    {NULL, 0, NULL, 0},
};

#define OPTIONS                                                                                              \
    {                                                                                                        \
        .routes = routes, .limits = HTTPD_LIMITS, .title = "<Test> & title"                                  \
    }

static inline void *run_server(void *ctx)
{
    struct test_server *run = ctx;
    struct err err = ERR_INIT;
    return httpd_run(run->httpd, run->stop[0], &err) == 0 ? NULL : run;
}

static inline void begin(struct test_server *run, const struct httpd_options *options)
{
    struct err err = ERR_INIT;
    struct httpd_options o = *options;
    *run = (struct test_server){.site = {.file = -1, .slow_ms = 60000}};
    assert_ok(fd_pipe(run->stop, &err), &err);
    assert_ok(fd_pipe_nonblocking(run->site.slow, &err), &err);
    o.ctx = &run->site;
    assert_ok(httpd_new(&o, &run->httpd, &err), &err);
    assert_ok(httpd_listen(run->httpd, "127.0.0.1", 0, &err), &err);
    assert_int_equal(pthread_create(&run->thread, NULL, run_server, run), 0);
}

/* Stops the server, and waits for its end. */
static inline void stop(struct test_server *run)
{
    void *failed = NULL;
    assert_int_equal(write(run->stop[1], "x", 1), 1);
    assert_int_equal(pthread_join(run->thread, &failed), 0);
    assert_null(failed);
    run->stopped = true;
}

static inline void end(struct test_server *run)
{
    if (!run->stopped)
        stop(run);
    httpd_free(run->httpd);
    int *const fds[] = {&run->stop[0], &run->stop[1], &run->site.slow[0], &run->site.slow[1],
                        &run->site.file};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        fd_close(fds[i]);
}

/* ---- clients ------------------------------------------------------------------------------------------- */

static inline int client_connect(const struct test_server *run)
{
    int fd = fd_socket(AF_INET, NULL);
    const struct timeval patience = {.tv_sec = CLIENT_S};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(httpd_port(run->httpd))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void client_send(int fd, const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* Reads until the server closes the connection. */
static inline struct buf client_read_all(int fd)
{
    struct buf b = BUF_INIT(64 << 20);
    char chunk[65536];
    ssize_t n;
    while ((n = recv(fd, chunk, sizeof chunk, 0)) > 0)
        buf_add(&b, chunk, (size_t)n);
    if (n < 0 && errno == EAGAIN)
        fail_msg("the server neither answers nor closes the connection");
    return b;
}

/* Sends a request, and returns everything until the end of the connection. */
static inline struct buf exchange(const struct test_server *run, const char *request)
{
    int fd = client_connect(run);
    client_send(fd, request);
    struct buf b = client_read_all(fd);
    close(fd);
    return b;
}

/* Requests a path with GET, with more header lines, each with its CRLF. */
static inline struct buf get(const struct test_server *run, const char *path, const char *headers)
{
    char *request =
        format_text("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", path, headers);
    struct buf b = exchange(run, request);
    free(request);
    return b;
}

static inline int status_of(const struct buf *answer)
{
    return answer->len > 12 && memcmp(answer->data, "HTTP/1.", 7) == 0 ? atoi(answer->data + 9) : 0;
}

static inline struct str body_of(const struct buf *answer)
{
    const char *at = strstr(buf_str(answer), "\r\n\r\n");
    return at ? (struct str){at + 4, answer->len - (size_t)(at + 4 - answer->data)} : STR("");
}

static inline void assert_status(struct buf answer, int status)
{
    if (status_of(&answer) != status)
        fail_msg("status %d instead of %d: %.300s", status_of(&answer), status, buf_str(&answer));
    buf_release(&answer);
}

static inline void assert_body(struct buf answer, const char *body)
{
    assert_string_equal(body_of(&answer).p, body);
    buf_release(&answer);
}

/* Waits until a condition holds, for at most CLIENT_S. */
#define WAIT_FOR(condition)                                                                                  \
    do {                                                                                                     \
        int64_t until_ = clock_now() + CLIENT_S * 1000;                                                      \
        while (!(condition) && clock_now() < until_)                                                         \
            usleep(5000);                                                                                    \
        assert_true(condition);                                                                              \
    } while (0)

#endif
