/*
 * One HTTP request and its answer over a transfer's connection: callbacks, deadlines, libcurl's errors. Only
 * transfer.c includes it.
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
    bool broken_off;       /* we closed the last connection */
    int64_t round_trip_ms; /* the shortest time until an answer began; -1: there was no answer yet */
};

/* Sets the callbacks. CURLE_OK, or the first failure. */
int exchange_set_callbacks(struct transfer *t);

/* Sends one request and reads its answer of any status; -1 if there was no complete answer. */
int exchange_run(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err);

#endif
