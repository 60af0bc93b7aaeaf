/* Decides whether a secret may be sent to a URL, and formats URLs for output. */
#ifndef HTTP_URL_ORIGIN_H
#define HTTP_URL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* The parts of a URL that decide whether a secret may be sent to it. */
struct url_origin {
    bool is_http; /* http or https, with a host; otherwise the other members have no meaning */
    bool https;
    bool is_loopback;     /* the host is this workstation, as name or address */
    bool has_credentials; /* the URL contains a user name or a password */
};

/* Parses a URL. The only error is a lack of memory. */
int url_origin_parse(const char *url, struct url_origin *ret, struct err *err);

/* Returns whether scheme, host and port are the same (RFC 6454); a URL without a port has the default port.
 */
bool url_origin_is_same(const char *a, const char *b);

/* Returns whether a download of `from` may be redirected to `to`, a URL of another origin. `to` must use TLS,
 * or be on this workstation if `from` is too. `to` must not contain a user name or a password, because
 * libcurl would send them. */
bool url_origin_may_redirect(const char *from, const char *to);

/* Both functions write printable text into dst and return dst. url_origin_text writes scheme, host and port.
 * url_origin_strip_secrets writes the URL without the parts that may contain a secret (query, fragment, user
 * name, password). Both write "" if the text is not a URL. */
char *url_origin_text(const char *url, char *dst, size_t cap);
char *url_origin_strip_secrets(const char *url, char *dst, size_t cap);

#endif
