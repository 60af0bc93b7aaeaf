/* One request to one service, outside a run: loads the secret, opens the host, sends a GET. It uses only the
 * access settings and the observer of `grab`. */
#include "fetch/credentials.h"
#include "fetch/endpoint.h"
#include "fetch/fetch.h"
#include "fetch/transfer.h"
#include "base/banned.h"

static void redact_secret(void *ctx, char *text)
{
    http_auth_mask(ctx, text);
}

static int send_request(struct gateway *gw, const struct fetch_get_request *r,
                        const struct transfer_options *options, int *ret_status, struct err *err)
{
    const struct service *s = r->service;
    struct destination to = {.host = s->host, .port = s->port};
    struct gateway_listener *listener = NULL;
    struct transfer *t = NULL;
    struct http_response response = {0};
    struct http_get get = {.limit_ms = r->limit_ms, .ctx = r->ctx, .body = r->body};
    struct http_auth auth = endpoint_auth(&(struct endpoint){s, options->secret});
    if (gateway_listen(gw, &to, &listener, err) < 0)
        return -1;
    if (auth.secret)
        r->on_secret(r->ctx, redact_secret, &auth);
    int rc = transfer_new(listener, s, options, &t, err);
    if (rc == 0)
        rc = transfer_get(t, s->path, &get, &response, err);
    *ret_status = response.status;
    transfer_free(t);
    return rc;
}

int fetch_get(const struct fetch_job *grab, const struct fetch_get_request *r, int *ret_status,
              struct err *err)
{
    struct proc_limits limits = {.timeout_ms = grab->access.timeout_ms, .cancel_fd = grab->access.cancel_fd};
    struct target target = {.host = r->host, .service = r->service};
    struct credentials credentials = {0};
    struct gateway_shared *shared = NULL;
    struct gateway *gw = NULL;
    *ret_status = 0;
    if (credentials_load(&(struct targets){.items = &target, .n = 1}, &limits, &credentials, err) < 0)
        return -1;
    int rc = gateway_shared_new(&shared, err);
    if (rc == 0 && (rc = fetch_open(grab, r->host, shared, &gw, err)) < 0 && !r->host->direct)
        err_wrap(err, "%s", r->host->name);
    struct transfer_options options = {.cancel_fd = grab->access.cancel_fd,
                                       .timeout_ms = grab->access.timeout_ms,
                                       .secret = credentials_find(&credentials, r->service)};
    if (rc == 0)
        rc = send_request(gw, r, &options, ret_status, err);
    gateway_close(gw);
    gateway_shared_free(shared);
    credentials_release(&credentials);
    return rc;
}
