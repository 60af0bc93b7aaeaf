#include "fetch/service_run.h"

#include <stdio.h>

#include "fetch/body/format.h"
#include "base/banned.h"

static void report_request(void *ctx, const char *request_target, const struct http_response *response,
                           const struct err *failure)
{
    struct service_run *run = ctx;
    struct fetch_step step = {
        .kind = FETCH_STEP_REQUEST, .duration_ms = response->duration_ms, .failure = failure};
    char size[32], first[32];
    if (response->status)
        snprintf(step.detail, sizeof step.detail, "GET %.300s: HTTP %d, %s, first byte after %s",
                 request_target, response->status, text_bytes(size, sizeof size, response->bytes),
                 text_duration(first, sizeof first, response->first_byte_ms));
    else
        snprintf(step.detail, sizeof step.detail, "GET %.300s", request_target);
    observe_step(run->context->observe, run->target->host, run->target->service, &step);
}

struct destination service_run_destination(const struct service *service)
{
    return (struct destination){
        .host = service->host, .port = service->port, .unix_path = service->unix_path};
}

int service_run_connect(struct service_run *run, struct transfer **ret, struct err *err)
{
    struct transfer_options options = {.cancel_fd = run->context->grab->access.cancel_fd,
                                       .timeout_ms = run->context->grab->access.timeout_ms,
                                       .secret = run->secret,
                                       .on_answer = report_request,
                                       .on_answer_ctx = run};
    struct destination to = service_run_destination(run->target->service);
    struct gateway_listener *listener = NULL; /* owned by the gateway */
    if (gateway_listen(run->context->gw, &to, &listener, err) < 0)
        return -1;
    return transfer_new(listener, run->target->service, &options, ret, err);
}

static int add_page_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    struct buf *page = ctx;
    buf_add(page, p, n);
    return buf_check(page, "the index page", err);
}

/* Drops the names that contain the secret of the request: names are printed and stored. */
static int drop_secrets(const struct transfer *t, struct index_page *page, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < page->n; i++)
        if (!transfer_has_secret(t, page->items[i].name))
            page->items[n++] = page->items[i];
    page->n = n;
    return n > 0 ? 0 : err_set(err, ERR_NOT_FOUND, "the page lists no profile");
}

int service_run_index(const struct service_run *run, struct transfer *t, struct index_page *ret,
                      struct http_response *response, struct err *err)
{
    struct buf page = BUF_INIT(SERVICE_RUN_PAGE_BYTES);
    char request_target[512], title[100];
    snprintf(request_target, sizeof request_target, "%s/", run->target->service->path);
    struct http_get get = {
        .ctx = &page, .body = add_page_piece, .limit_ms = SERVICE_RUN_PAGE_MS(run->context->grab)};
    int rc = transfer_get(t, request_target, &get, response, err);
    if (rc == 0)
        rc = index_parse(buf_str(&page), page.len, ret, err);
    if (rc == 0)
        rc = drop_secrets(t, ret, err);
    /* Describes the page that the service sent instead of an index. */
    if (rc < 0 && response->status == 200 && err->kind == ERR_NOT_FOUND &&
        *format_html_title(buf_str(&page), page.len, title, sizeof title))
        err_set(err, ERR_NOT_FOUND, "a page titled \"%s\" without a list of profiles", title);
    transfer_mask(t, err->msg);
    buf_release(&page);
    return rc;
}
