/* One request and its answer over libcurl. Known to http.c alone. */
#ifndef HANDOFF_HTTP_EXCHANGE_H
#define HANDOFF_HTTP_EXCHANGE_H

#include <curl/curl.h>

#include "handoff/http.h"

struct http {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *auth; /* the header with the token; it owns a copy */
    char *base;
    const char *ca;
    const struct secret *token;
    const struct handoff_options *options;
    int64_t silence_ms, patience_ms;
    char curl_words[CURL_ERROR_SIZE];
};

/* Sets the callbacks. CURLE_OK, or the first failure. */
int http_exchange_set(struct http *h);

/* One try, to that URL; ret->body is initialised, the rest is filled in here. */
int http_exchange(struct http *h, const struct http_request *request, const char *url,
                  struct http_answer *ret, struct err *err);

#endif
