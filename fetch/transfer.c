#include "fetch/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/answer.h"
#include "fetch/endpoint.h"
#include "fetch/exchange.h"
#include "fetch/fetch.h"
#include "base/banned.h"

#define MAX_REDIRECTS 3

int fetch_global_init(struct err *err)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
               ? 0
               : err_set(err, ERR_FAILED, "libcurl cannot be initialised");
}

void fetch_global_cleanup(void)
{
    curl_global_cleanup();
}

/* Combines the results of all options, because a libcurl that rejects one is unusable. */
static CURLcode set_options(struct transfer *t)
{
    CURL *e = t->easy;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, gateway_listener_path(t->listener));
    failed |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    failed |= curl_easy_setopt(e, CURLOPT_PROXY, "");
    failed |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= curl_easy_setopt(e, CURLOPT_USERAGENT, "profgrab/" PROFGRAB_VERSION);
    failed |= curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 128L * 1024);
    failed |= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_words);
    failed |= exchange_set_callbacks(t);
    /* Sends a raw path as the user wrote it. */
    failed |= curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    return failed ? CURLE_FAILED_INIT : CURLE_OK;
}

int transfer_new(struct gateway_listener *listener, const struct service *service,
                 const struct transfer_options *options, struct transfer **ret, struct err *err)
{
    struct transfer *t = calloc(1, sizeof *t);
    if (!t)
        return err_nomem(err);
    t->listener = listener;
    t->service = service;
    t->options = *options;
    t->round_trip_ms = -1;
    t->easy = curl_easy_init();
    t->multi = curl_multi_init();
    int rc = t->easy && t->multi && set_options(t) == CURLE_OK
                 ? endpoint_apply(t->easy, service, options->secret, &t->headers, err)
                 : err_set(err, ERR_FAILED, "libcurl cannot be set up");
    if (rc < 0) {
        transfer_free(t);
        return -1;
    }
    *ret = t;
    return 0;
}

void transfer_free(struct transfer *t)
{
    if (!t)
        return;
    curl_easy_cleanup(t->easy);
    curl_multi_cleanup(t->multi);
    curl_slist_free_all(t->headers);
    free(t);
}

/* Resolves a redirect: 1 with the new target, 0 without a redirect, -1 if it leads to another service. */
static int follow_redirect(struct transfer *t, const struct transfer_response *r, char *dst, size_t cap,
                           struct err *err)
{
    char *url = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &url);
    if (r->status < 300 || r->status > 399 || !url)
        return 0;
    if (endpoint_redirect(t->service, t->options.secret, url, dst, cap, err) < 0)
        return err_wrap(err, "HTTP %d", r->status);
    return 1;
}

static int get_once(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                    struct err *err)
{
    char target[1024];
    struct transfer_request at = *request;
    for (unsigned i = 0; i <= MAX_REDIRECTS; i++) {
        if (exchange_run(t, &at, ret, err) < 0)
            return -1;
        if (ret->status == 200)
            return 0;
        int rc = follow_redirect(t, ret, target, sizeof target, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return answer_error(&(struct answer){ret->status, ret->words, t->options.secret != NULL},
                                t->service, err);
        at.target = target;
    }
    return err_set(err, ERR_FAILED, "HTTP %d: it redirects in circles", ret->status);
}

int transfer_get(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err)
{
    struct err why = ERR_INIT;
    int rc = get_once(t, request, ret, &why);
    transfer_redact(t, why.msg);
    if (t->options.answered)
        t->options.answered(t->options.answered_ctx, request, ret, rc < 0 ? &why : NULL);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int64_t transfer_round_trip(const struct transfer *t)
{
    return t->round_trip_ms;
}

void transfer_expect_new_connection(struct transfer *t)
{
    t->connected = false;
}

void transfer_redact(const struct transfer *t, char *text)
{
    endpoint_redact(text, t->service, t->options.secret);
}

int transfer_reflected(const struct transfer *t, int fd, bool *ret_reflected)
{
    return endpoint_reflected(fd, t->service, t->options.secret, ret_reflected);
}
