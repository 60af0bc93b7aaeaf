#include "fetch/visit.h"

#include <stdio.h>

#include "base/banned.h"

static void tell_request(void *ctx, const struct transfer_request *request,
                         const struct transfer_response *response, const struct err *failure)
{
    struct visit *v = ctx;
    struct fetch_step step = {
        .kind = FETCH_STEP_REQUEST, .duration_ms = response->duration_ms, .failure = failure};
    char size[32], first[32];
    if (response->status)
        snprintf(step.detail, sizeof step.detail, "GET %.300s: HTTP %d, %s, first byte after %s",
                 request->target, response->status, text_bytes(size, sizeof size, response->bytes),
                 text_duration(first, sizeof first, response->first_ms));
    else
        snprintf(step.detail, sizeof step.detail, "GET %.300s", request->target);
    observe_step(v->observe, v->target->host, v->target->service, &step);
}

struct destination visit_destination(const struct service *service)
{
    return (struct destination){
        .host = service->host, .port = service->port, .unix_path = service->unix_path};
}

int visit_connect(struct visit *v, struct transfer **ret, struct err *err)
{
    struct transfer_options options = {.cancel_fd = v->grab->cancel_fd,
                                       .timeout_ms = v->grab->timeout_ms,
                                       .secret = v->secret,
                                       .told = tell_request,
                                       .told_ctx = v};
    struct destination to = visit_destination(v->target->service);
    struct gateway_listener *listener = NULL; /* the gateway's */
    if (gateway_listen(v->gw, &to, &listener, err) < 0)
        return -1;
    return transfer_new(listener, v->target->service, &options, ret, err);
}
