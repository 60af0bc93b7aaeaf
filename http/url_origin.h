/* Addresses: which go where a secret may go, and how they are shown. */
#ifndef HTTP_URL_ORIGIN_H
#define HTTP_URL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* What an address says of how it is reached. */
struct url_origin {
    bool known; /* http or https, with a host; if not, the rest says nothing */
    bool https;
    bool loopback;    /* this workstation, by name or number */
    bool credentials; /* it holds a name or a password */
};

/* Nothing but want of memory is an error. */
int url_origin_parse(const char *url, struct url_origin *ret, struct err *err);

/* Scheme, host and port are the same (RFC 6454); a default port may stand there or not. */
bool url_origin_same(const char *a, const char *b);

/* Whether a file that was asked for at `from` may be fetched from `to`, which is somebody else's: what comes
 * must be as safe on its way, so over TLS, or within this workstation where `from` is there too; and an
 * address with a name or a password in it would have us send those. */
bool url_origin_may_redirect(const char *from, const char *to);

/* Printable, into dst, which is returned: scheme, host and port alone; and an address without what may open
 * what lies there (query, fragment, name, password). "" for what is no address. */
char *url_origin_text(const char *url, char *dst, size_t cap);
char *url_origin_strip(const char *url, char *dst, size_t cap);

#endif
