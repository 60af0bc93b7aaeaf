/* A request that waits for a descriptor, such as the pipe of a child process, before its answer. */
#include <errno.h>
#include <sys/socket.h>

#include "httpd/request.h"
#include "base/banned.h"

static void on_ready(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd_request *r = ctx;
    struct httpd_wait wait = r->wait;
    (void)fd;
    if (!(what & EV_TIMEOUT)) {
        wait.ready(r, wait.ctx);
        return;
    }
    request_stop_waiting(r);
    wait.gone(wait.ctx);
    httpd_answer_text(r, 504, "the answer took too long\n");
}

/* The client has closed its end, so nobody will read the answer; or it has sent the next request already, and
 * its end is no longer watched. */
static void on_client_input(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd_request *r = ctx;
    char byte;
    (void)what;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        evhttp_connection_free(r->connection->evcon);
    else if (n > 0)
        event_del(r->client);
}

void httpd_wait(struct httpd_request *request, const struct httpd_wait *wait)
{
    const struct timeval timeout = {.tv_sec = wait->timeout_ms / 1000,
                                    .tv_usec = wait->timeout_ms % 1000 * 1000};
    struct event_base *base = request->server->base;
    request_stop_waiting(request);
    request->wait = *wait;
    request->ready = event_new(base, wait->fd, EV_READ | EV_PERSIST, on_ready, request);
    request->client = event_new(base, bufferevent_getfd(request->connection->bev), EV_READ | EV_PERSIST,
                                on_client_input, request);
    if (request->ready && request->client && event_add(request->ready, &timeout) == 0 &&
        event_add(request->client, NULL) == 0)
        return;
    request_stop_waiting(request);
    wait->gone(wait->ctx);
    httpd_answer_text(request, 500, "out of memory\n");
}
