/* One request and its answer over libcurl, or in words alone (http_dry.c). Known to http*.c alone. */
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

/* Whom a try asks. */
struct http_target {
    char *url;
    bool bare; /* it is, or was on the way there, another origin than the tracker's: it gets no token */
};

/* Sets the callbacks. CURLE_OK, or the first failure. */
int http_exchange_set(struct http *h);

/* One try; ret->body is initialised, the rest is filled in here. */
int http_exchange(struct http *h, const struct http_request *request, const struct http_target *target,
                  struct http_answer *ret, struct err *err);

/* In the place of one in a dry run: tells what would be sent, and answers as the request has it. */
int http_pretend(const struct http *h, const struct http_request *request, struct http_answer *ret,
                 struct err *err);

/* What a failure of libcurl means; always -1. */
int http_failed(const struct http *h, CURLcode code, struct err *err);

/* Frees headers of which one holds the token, and leaves nothing of it in memory. */
void http_headers_free(struct curl_slist *headers);

#endif
