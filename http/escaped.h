/* Finds a secret that a server repeats with escapes, as in the URL of a redirect, an HTML page or JSON. */
#ifndef HTTP_ESCAPED_H
#define HTTP_ESCAPED_H

#include "base/base.h"

/* The most bytes of one escaped byte: &#x00026; */
#define ESCAPED_BYTE_MAX 9

/* Returns whether an encoder of URLs, HTML or JSON may change the secret. */
bool escaped_may_differ(const char *secret);

/* Finds the first copy of the secret in n bytes. Each of its bytes may be itself, or escaped once: %26, +,
 * &amp; or another entity, \u0026, \x26 or \". Sets *ret_at to the copy's place and returns its length; 0:
 * there is none. A copy that the end of the text or `...` cuts after four bytes or more counts if `with_cut`.
 */
size_t escaped_find(const char *text, size_t n, const char *secret, bool with_cut, size_t *ret_at);

#endif
