/*
 * Exposure: a service that is meant for clients on its own host may listen on all addresses. Then everybody
 * who can reach one of these addresses gets profiles without SSH. We know only the address of our SSH
 * connection. The host itself sends the request to that address, so a firewall in front of the host has no
 * effect on the result.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "fetch/service_run.h"
#include "base/banned.h"

/* Requests pprof's index at that address, without our secret. Returns 0 if the address serves it, else -1
 * with err. *ret_status is the status of the answer, 0 without one. */
static int request_index(struct service_run *run, const char *address, int *ret_status, struct err *err)
{
    struct service service = *run->target->service;
    struct destination to = {.host = address, .port = service.port};
    struct transfer_options options = {.cancel_fd = run->context->grab->access.cancel_fd,
                                       .timeout_ms = run->context->grab->access.timeout_ms};
    struct gateway_listener *listener = NULL;
    struct transfer *t = NULL;
    struct http_response response = {0};
    struct index_page index = {0};
    /* We only check for an answer and send no secret, so the certificate does not matter. */
    service.tls.insecure = true;
    service.tls.cert = NULL;
    bool found = gateway_listen(run->context->gw, &to, &listener, err) == 0 &&
                 transfer_new(listener, &service, &options, &t, err) == 0 &&
                 service_run_index(run, t, &index, &response, err) == 0;
    *ret_status = response.status;
    transfer_free(t);
    index_release(&index);
    return found ? 0 : -1;
}

static void check_address(struct service_run *run, const char *address)
{
    struct fetch_step step = {.kind = FETCH_STEP_EXPOSURE};
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    unsigned port = run->target->service->port;
    int status = 0;
    step.warning = request_index(run, address, &status, &why) == 0;
    step.duration_ms = clock_now() - began;
    if (why.kind == ERR_CANCELLED)
        return;
    if (step.warning)
        snprintf(step.detail, sizeof step.detail,
                 "it answers on %.200s port %u too: any client that reaches that address gets profiles "
                 "without SSH",
                 address, port);
    else if (status)
        snprintf(step.detail, sizeof step.detail, "no profiles on %.100s port %u: %.300s", address, port,
                 status == 200 ? "another page is there" : why.msg);
    else
        snprintf(step.detail, sizeof step.detail, "no answer on %.100s port %u: %.300s", address, port,
                 why.msg);
    observe_step(run->context->observe, run->target->host, run->target->service, &step);
}

/* Returns whether the text is an IP address. A name cannot be checked, because on the host itself a name
 * often resolves to loopback. */
static bool is_address(const char *text)
{
    unsigned char parsed[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, parsed) == 1 || inet_pton(AF_INET6, text, parsed) == 1;
}

void service_run_check_exposure(struct service_run *run)
{
    const struct gateway_hop *hop = NULL;
    for (size_t i = 0; gateway_hop(run->context->gw, i); i++)
        hop = gateway_hop(run->context->gw, i);
    if (!hop || run->target->service->unix_path || !address_is_loopback(run->target->service->host))
        return;
    const char *address = hop->server_ip[0] ? hop->server_ip : hop->address;
    if (is_address(address) && !address_is_loopback(address))
        check_address(run, address);
}
