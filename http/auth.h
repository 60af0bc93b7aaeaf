/* Credentials for a server, and functions that find or mask copies of them in the server's answers. */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include <stdbool.h>

#include "base/base.h"

struct http_auth {
    const char *user;            /* Basic authentication; NULL: a bearer token */
    const struct secret *secret; /* NULL: none */
};

/* Masks the secret, plain, as encoded in a header, or escaped (http/escaped.h), in text that the server sent.
 */
void http_auth_mask(const struct http_auth *auth, char *text);

/* Returns whether the text contains the secret in one of these forms. Ignores a secret of fewer than three
 * bytes.
 */
bool http_auth_find(const struct http_auth *auth, const char *text);

/* Checks whether the file contains the secret in one of these forms. Reads from the beginning of the file.
 * Returns -1 after a read error. */
int http_auth_find_in_file(const struct http_auth *auth, int fd, bool *ret_found);

#endif
