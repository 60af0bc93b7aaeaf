/*
 * Exposure: a service that is meant for the host itself may listen on all its addresses. Then whoever can
 * reach one of those gets profiles without SSH. We only know the addresses by which we came to the host, and
 * ask there through the host itself, so a firewall in front of it is not seen.
 */
#include <stdio.h>
#include <string.h>

#include "fetch/visit.h"
#include "base/banned.h"

#define PAGE_MAX (1u << 20)

static int take(void *ctx, const void *p, size_t n, struct err *err)
{
    struct buf *page = ctx;
    buf_add(page, p, n);
    return buf_check(page, "the page", err);
}

/* Whether pprof's index answers there, without any secret of ours. */
static bool answers(struct visit *v, const char *address, struct err *err)
{
    struct service service = *v->target->service;
    struct destination to = {.host = address, .port = service.port};
    struct transfer_options options = {.cancel_fd = v->grab->cancel_fd, .timeout_ms = v->grab->timeout_ms};
    struct gateway_listener *listener = NULL;
    struct transfer *t = NULL;
    struct transfer_response response;
    struct index_page index = {0};
    struct buf page = BUF_INIT(PAGE_MAX);
    char target[512];
    snprintf(target, sizeof target, "%s/", service.path);
    struct transfer_request request = {.target = target, .ctx = &page, .body = take};
    /* What is asked is whether it answers, not whether it proves who it is; nothing is told to it. */
    service.tls.insecure = true;
    service.tls.cert = NULL;
    bool found = gateway_listen(v->gw, &to, &listener, err) == 0 &&
                 transfer_new(listener, &service, &options, &t, err) == 0 &&
                 transfer_get(t, &request, &response, err) == 0 &&
                 index_parse(buf_str(&page), page.len, &index, err) == 0;
    transfer_free(t);
    index_release(&index);
    buf_release(&page);
    return found;
}

static void look_at(struct visit *v, const char *address)
{
    struct fetch_step step = {.kind = FETCH_STEP_EXPOSURE};
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    unsigned port = v->target->service->port;
    step.warning = answers(v, address, &why);
    step.duration_ms = clock_now() - began;
    if (step.warning)
        snprintf(step.detail, sizeof step.detail,
                 "it answers on %.200s port %u too: whoever reaches that address gets profiles without SSH",
                 address, port);
    else
        snprintf(step.detail, sizeof step.detail, "it does not answer on %.200s port %u", address, port);
    observe_step(v->observe, v->target->host, v->target->service, &step);
}

void visit_look_for_exposure(struct visit *v)
{
    const struct gateway_hop *hop = NULL;
    for (size_t i = 0; gateway_hop(v->gw, i); i++)
        hop = gateway_hop(v->gw, i);
    if (!hop || v->target->service->unix_path || !address_is_loopback(v->target->service->host))
        return;
    if (!address_is_loopback(hop->address))
        look_at(v, hop->address);
    if (hop->peer[0] && !address_is_loopback(hop->peer) && strcmp(hop->peer, hop->address) != 0)
        look_at(v, hop->peer);
}
