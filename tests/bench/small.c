/*
 * Small answers over HTTP, for run-http:
 *
 *   small bare|ours          a server on a free loopback port, which it prints; it answers every request with
 * twelve bytes, until its standard input ends. bare: evhttp alone; ours: httpd/, with all its checks small
 * load PORT SECONDS  32 connections to that server, each with one request at a time; prints the answers per
 * second
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/base.h"
#include "httpd/httpd.h"
#include "base/banned.h"

enum { CONNECTIONS = 32 };
static const char answer[] = "hello world\n";
static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

static int fail(const char *what)
{
    perror(what);
    return 1;
}

/* ---- servers ------------------------------------------------------------------------------------------- */

static void answer_bare(struct evhttp_request *r, void *ctx)
{
    (void)ctx;
    evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", "text/plain");
    evbuffer_add(evhttp_request_get_output_buffer(r), answer, sizeof answer - 1);
    evhttp_send_reply(r, 200, "OK", NULL);
}

static void stop(evutil_socket_t fd, short what, void *base)
{
    (void)fd;
    (void)what;
    event_base_loopbreak(base);
}

static int serve_bare(void)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = base ? evhttp_new(base) : NULL;
    struct evhttp_bound_socket *bound = http ? evhttp_bind_socket_with_handle(http, "127.0.0.1", 0) : NULL;
    struct event *end = base ? event_new(base, STDIN_FILENO, EV_READ, stop, base) : NULL;
    struct sockaddr_in at = {0};
    socklen_t n = sizeof at;
    if (!bound || !end || event_add(end, NULL) < 0 ||
        getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &n) < 0)
        return fail("bare");
    evhttp_set_gencb(http, answer_bare, NULL);
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    event_base_dispatch(base);
    event_free(end);
    evhttp_free(http);
    event_base_free(base);
    return 0;
}

static void answer_ours(struct httpd_request *r, void *ctx)
{
    const struct httpd_answer a = {.status = 200, .type = "text/plain"};
    (void)ctx;
    httpd_answer_bytes(r, &a, answer, sizeof answer - 1);
}

static int serve_ours(void)
{
    static const struct httpd_route routes[] = {{"/", HTTPD_GET, answer_ours, 0}, {NULL, 0, NULL, 0}};
    const struct httpd_options options = {.routes = routes, .limits = HTTPD_LIMITS, .title = "bench"};
    struct httpd *server = NULL;
    struct err err = ERR_INIT;
    if (httpd_new(&options, &server, &err) < 0 || httpd_listen(server, "127.0.0.1", 0, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    printf("%u\n", httpd_port(server));
    fflush(stdout);
    int rc = httpd_run(server, STDIN_FILENO, &err);
    httpd_free(server);
    return rc < 0;
}

/* ---- load ---------------------------------------------------------------------------------------------- */

struct client {
    int fd;
    size_t received; /* of the present answer */
};

/* Sends a request. The first answer's length is the length of all. */
static int ask(struct client *c)
{
    c->received = 0;
    return write(c->fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1 ? 0 : -1;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

/* Returns the length of an answer, from the first one; 0 on failure. */
static size_t measure_answer(struct client *c)
{
    char text[4096] = "";
    size_t n = 0;
    if (ask(c) < 0)
        return 0;
    while (n < sizeof text - 1 && !strstr(text, answer)) {
        ssize_t got = read(c->fd, text + n, sizeof text - 1 - n);
        if (got <= 0)
            return 0;
        n += (size_t)got;
    }
    return n;
}

static int load(uint16_t port, int64_t seconds)
{
    struct client clients[CONNECTIONS];
    struct epoll_event events[CONNECTIONS];
    uint64_t answers = 0;
    size_t length = 0;
    int poller = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        clients[i] = (struct client){.fd = connect_to(port)};
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        if (clients[i].fd < 0 || (i == 0 && (length = measure_answer(&clients[0])) == 0) ||
            epoll_ctl(poller, EPOLL_CTL_ADD, clients[i].fd, &event) < 0 || ask(&clients[i]) < 0)
            return fail("connect");
    }
    int64_t began = clock_now(), until = began + seconds * 1000;
    while (clock_now() < until) {
        int n = epoll_wait(poller, events, CONNECTIONS, 1000);
        for (int i = 0; i < n; i++) {
            char text[4096];
            struct client *c = events[i].data.ptr;
            ssize_t got = read(c->fd, text, sizeof text);
            if (got <= 0)
                return fail("read");
            c->received += (size_t)got;
            if (c->received < length)
                continue;
            answers++;
            if (ask(c) < 0)
                return fail("write");
        }
    }
    printf("%.0f\n", (double)answers * 1000 / (double)(clock_now() - began));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "bare") == 0)
        return serve_bare();
    if (argc == 2 && strcmp(argv[1], "ours") == 0)
        return serve_ours();
    if (argc == 4 && strcmp(argv[1], "load") == 0)
        return load((uint16_t)strtoul(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
    fprintf(stderr, "usage: small bare | ours | load PORT SECONDS\n");
    return 2;
}
