/* The error messages of the client of http.h. */
#include <string.h>

#include "http/client.h"
#include "base/banned.h"

/* Sets the error of TLS. Its text is the last part of OpenSSL's message, such as "wrong version number". */
static int set_tls_error(const struct http *h, enum http_failure failure, struct err *err)
{
    const char *last = h->handle.error_text;
    char shown[200];
    for (const char *p; (p = strstr(last, "::"));)
        last = p + 2;
    text_printable(shown, sizeof shown, last, strlen(last));
    if (failure == HTTP_FAILURE_AUTHORITIES)
        return err_set(err, ERR_FAILED, "the certificates of `ca:` cannot be read from %s",
                       h->ca ? h->ca : "the system's store");
    if (failure != HTTP_FAILURE_CERTIFICATE)
        return err_set(err, ERR_FAILED, "no TLS connection: %s", shown);
    err_set(err, ERR_FAILED, "its TLS certificate is not accepted: %s", shown);
    return err_hint(err,
                    "add `ca: FILE` with the trusted authorities to the tracker's entry in the inventory");
}

int http_set_error(const struct http *h, enum http_failure failure, struct err *err)
{
    char shown[300];
    const char *text = h->handle.error_text;
    switch (failure) {
    case HTTP_FAILURE_UNSENT:
        return err_set(err, ERR_FAILED, "libcurl cannot make the request");
    case HTTP_FAILURE_BROKEN:
        return err_set(err, ERR_FAILED, "libcurl failed");
    case HTTP_FAILURE_CANCELLED:
        return err_set(err, ERR_CANCELLED, "interrupted");
    case HTTP_FAILURE_LIMIT:
        return err_set(err, ERR_TIMEOUT, "the answer is too slow");
    case HTTP_FAILURE_COSTLY:
        return err_set(err, ERR_FAILED, HTTP_COSTLY_TEXT);
    case HTTP_FAILURE_HEADERS:
        return err_set(err, ERR_FAILED, "the answer's headers are larger than %u kB", HTTP_HEADERS_MAX >> 10);
    case HTTP_FAILURE_CERTIFICATE:
    case HTTP_FAILURE_AUTHORITIES:
    case HTTP_FAILURE_TLS:
        return set_tls_error(h, failure, err);
    case HTTP_FAILURE_NO_ANSWER:
        return err_set(err, ERR_FAILED, "it closed the connection without an answer");
    case HTTP_FAILURE_SEND:
        return err_set(err, ERR_FAILED, "the connection ended while the request was sent");
    case HTTP_FAILURE_PARTIAL:
    case HTTP_FAILURE_RECEIVE:
        return err_set(err, ERR_FAILED, "the connection ended before the answer was complete");
    case HTTP_FAILURE_TIMEOUT:
        return err_set(err, ERR_TIMEOUT, "no connection: %s",
                       text_printable(shown, sizeof shown, text, strlen(text)));
    case HTTP_FAILURE_NOT_HTTP:
        return err_set(err, ERR_FAILED, "the server does not use HTTP");
    default:
        return err_set(err, ERR_FAILED, "%s", text_printable(shown, sizeof shown, text, strlen(text)));
    }
}
