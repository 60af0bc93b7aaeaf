/*
 * How profgrab addresses a service: its URL, the Host header, TLS, and credentials.
 *
 * TLS asks for the name in the URL and checks it; the Host header is separate. libcurl always connects to the
 * gateway's listener, whatever the URL contains.
 */
#ifndef FETCH_ENDPOINT_H
#define FETCH_ENDPOINT_H

#include <curl/curl.h>

#include "base/base.h"
#include "inventory/inventory.h"

/* Sets everything but the path. The caller frees the list after the handle; `secret` is NULL if none is to be
 * sent. */
int endpoint_apply(CURL *easy, const struct service *service, const struct secret *secret,
                   struct curl_slist **ret_headers, struct err *err);

/* Writes the service's URL followed by `target`, a path with its query. */
int endpoint_url(const struct service *service, const char *target, char *dst, size_t cap, struct err *err);

/* Resolves a redirect's URL: 0 and the new target if it leads to the same service, else -1 with an error that
 * names the destination, with the secret (may be NULL) masked. */
int endpoint_redirect(const struct service *service, const struct secret *secret, const char *url, char *dst,
                      size_t cap, struct err *err);

/* If libcurl's failure is one of TLS, sets err and returns true. */
bool endpoint_tls_error(const struct service *service, CURLcode code, const char *words, struct err *err);

/* Whether the file at fd, from its beginning, contains the secret, plain or as encoded in a header. -1: read
 * error. */
int endpoint_reflected(int fd, const struct service *service, const struct secret *secret,
                       bool *ret_reflected);

/* Masks the secret, plain and as encoded in a header, in text that a service sent. */
void endpoint_redact(char *text, const struct service *service, const struct secret *secret);

#endif
