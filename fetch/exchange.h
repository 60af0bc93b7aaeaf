/*
 * One HTTP request and its answer over a transfer's connection: callbacks, deadlines, what libcurl's ends
 * mean. Known to transfer.c alone.
 */
#ifndef FETCH_EXCHANGE_H
#define FETCH_EXCHANGE_H

#include <curl/curl.h>

#include "fetch/transfer.h"

struct transfer {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    struct gateway_listener *listener;
    const struct service *service;
    struct transfer_options options;
    char curl_words[CURL_ERROR_SIZE];
    bool connected;        /* a connection was opened before */
    bool broken_off;       /* the last one was closed by us */
    int64_t round_trip_ms; /* the least time any answer took to begin; -1: none has */
};

/* Sets the callbacks. CURLE_OK, or the first failure. */
int exchange_set_callbacks(struct transfer *t);

/* One request and its answer, whatever it is; -1 if there was none that is whole. */
int exchange_run(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err);

#endif
