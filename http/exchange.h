/* One request and its answer over libcurl, or described in a dry run (dry_run.c). For this folder only. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <curl/curl.h>

#include "http/http.h"

struct http {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *auth; /* the header with the token; it owns a copy */
    char *base;
    const char *ca;
    const struct secret *token;
    struct http_options options;
    int64_t silence_ms, patience_ms;
    char curl_words[CURL_ERROR_SIZE];
};

/* The destination of one attempt. */
struct http_target {
    char *url;
    bool bare; /* a redirect has left the client's origin: send no token */
};

/* Sets the callbacks. CURLE_OK, or the first failure. */
int http_exchange_set(struct http *h);

/* One attempt. ret->body is initialised; this sets the other members. */
int http_exchange(struct http *h, const struct http_request *request, const struct http_target *target,
                  struct http_answer *ret, struct err *err);

/* Replaces http_exchange in a dry run: reports the request, and returns its `dry` answer. */
int http_pretend(const struct http *h, const struct http_request *request, struct http_answer *ret,
                 struct err *err);

/* Sets the error for a failure of libcurl; always -1. */
int http_failed(const struct http *h, CURLcode code, struct err *err);

/* Frees headers, one of which has the token, and wipes it. */
void http_headers_free(struct curl_slist *headers);

#endif
