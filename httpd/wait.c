/* A request that waits for a descriptor, such as the pipe of a child process, before its answer. */
#include "httpd/request.h"
#include "base/banned.h"

static void on_ready(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd_request *r = ctx;
    (void)fd;
    (void)what;
    r->wait.ready(r, r->wait.ctx);
}

/* Ends the wait without a call of `ready`. */
static void give_up(struct httpd_request *r, int status, const char *why)
{
    struct httpd_wait wait = r->wait;
    request_stop_waiting(r);
    wait.gone(wait.ctx);
    httpd_answer_text(r, status, "%s\n", why);
}

static void on_late(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    give_up(ctx, 504, "the answer took too long");
}

void httpd_wait(struct httpd_request *request, const struct httpd_wait *wait)
{
    const struct timeval limit = {.tv_sec = wait->timeout_ms / 1000,
                                  .tv_usec = wait->timeout_ms % 1000 * 1000};
    struct event_base *base = request->server->base;
    request_stop_waiting(request);
    request->wait = *wait;
    request->connection->ends_with_client = true;
    request->ready = event_new(base, wait->fd, EV_READ | EV_PERSIST, on_ready, request);
    request->late = event_new(base, -1, 0, on_late, request);
    if (!request->ready || !request->late || event_add(request->ready, NULL) < 0 ||
        event_add(request->late, &limit) < 0)
        give_up(request, 500, "the server cannot wait for the answer");
}
