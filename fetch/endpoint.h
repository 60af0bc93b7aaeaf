/*
 * How a service is spoken to: its URL, the Host header, TLS, and who asks.
 *
 * The name in the URL is the one that TLS asks for and checks; the Host header is set beside it. Where bytes
 * really go is the gateway's business: libcurl connects to its listener whatever the URL says.
 */
#ifndef FETCH_ENDPOINT_H
#define FETCH_ENDPOINT_H

#include <curl/curl.h>

#include "base/base.h"
#include "inventory/inventory.h"

/* Sets everything but the path. The list is the caller's to free, once the handle is gone; `secret` is NULL
 * where nothing is to be sent. */
int endpoint_apply(CURL *easy, const struct service *service, const struct secret *secret,
                   struct curl_slist **ret_headers, struct err *err);

/* The URL of `target`, a path with its query; behind that the service's own. */
int endpoint_url(const struct service *service, const char *target, char *dst, size_t cap, struct err *err);

/* Resolves a redirect's URL: 0 and the new target if it leads to the same service, else -1 with an error
 * that says where it wanted to lead, with the secret (may be NULL) masked. */
int endpoint_redirect(const struct service *service, const struct secret *secret, const char *url, char *dst,
                      size_t cap, struct err *err);

/* What libcurl's failure means where it is one of TLS: sets err and returns true. */
bool endpoint_tls_error(const struct service *service, CURLcode code, const char *words, struct err *err);

/* Whether the file at fd, from its beginning, holds the secret as it is or as it stands in a header. -1: it
 * cannot be read. */
int endpoint_told(int fd, const struct service *service, const struct secret *secret, bool *ret_told);

/* Masks the secret, as it is and as it stands in a header, in text that a service sent. */
void endpoint_redact(char *text, const struct service *service, const struct secret *secret);

#endif
