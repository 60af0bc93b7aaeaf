/*
 * How profgrab addresses a service: its URL, the Host header, TLS, and credentials.
 *
 * TLS sends and verifies the name in the URL; the Host header may differ from it. libcurl always connects to
 * the gateway's listener, whatever the URL contains.
 */
#ifndef FETCH_ENDPOINT_H
#define FETCH_ENDPOINT_H

#include "base/base.h"
#include "http/http.h"
#include "inventory/inventory.h"

struct endpoint {
    const struct service *service;
    const struct secret *secret; /* NULL: the request sends none */
};

/* Returns the credentials of the requests. */
struct http_auth endpoint_auth(const struct endpoint *e);

/* Writes the URL of a request to the service. `request_target` is a path and its query. */
int endpoint_url(const struct service *service, const char *request_target, char *dst, size_t cap,
                 struct err *err);

/* Writes the Host header's value and returns dst. ENDPOINT_HOST_MAX bytes suffice. */
#define ENDPOINT_HOST_MAX 320
char *endpoint_host(const struct service *service, char *dst, size_t cap);

/* Resolves a redirect's URL. Returns 0 and the new request target if the URL leads to the same service, else
 * -1. The error on another service names the destination and masks the secret. */
int endpoint_redirect(const struct endpoint *e, const char *url, char *dst, size_t cap, struct err *err);

/* Sets err and returns true if TLS failed. `text`: libcurl's description of the failure. */
bool endpoint_set_tls_error(const struct service *service, enum http_failure failure, const char *text,
                            struct err *err);

#endif
