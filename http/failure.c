/* Turns a failure of libcurl into an error. */
#include <string.h>

#include "http/exchange.h"
#include "base/banned.h"

/* Reports the last part of OpenSSL's message, which names the cause: "wrong version number". */
static int set_tls_error(const struct http *h, CURLcode code, struct err *err)
{
    const char *last = h->curl_words;
    char shown[200];
    for (const char *p; (p = strstr(last, "::"));)
        last = p + 2;
    text_printable(shown, sizeof shown, last, strlen(last));
    if (code == CURLE_SSL_CACERT_BADFILE)
        return err_set(err, ERR_FAILED, "the certificates of `ca:` cannot be read from %s",
                       h->ca ? h->ca : "the system's store");
    if (code != CURLE_PEER_FAILED_VERIFICATION)
        return err_set(err, ERR_FAILED, "no TLS connection: %s", shown);
    err_set(err, ERR_FAILED, "its TLS certificate is not accepted: %s", shown);
    return err_hint(err, "in the tracker's entry of the inventory, `ca: FILE` names whom to trust");
}

int http_failed(const struct http *h, CURLcode code, struct err *err)
{
    char shown[300];
    const char *words = h->curl_words[0] ? h->curl_words : curl_easy_strerror(code);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
        return set_tls_error(h, code, err);
    case CURLE_GOT_NOTHING:
        return err_set(err, ERR_FAILED, "it closed the connection without an answer");
    case CURLE_SEND_ERROR:
        return err_set(err, ERR_FAILED, "the connection ended while the request was sent");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
        return err_set(err, ERR_FAILED, "the connection ended before the answer was whole");
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_TIMEOUT, "no connection: %s",
                       text_printable(shown, sizeof shown, words, strlen(words)));
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return err_set(err, ERR_FAILED, "what answers there does not speak HTTP");
    default:
        return err_set(err, ERR_FAILED, "%s", text_printable(shown, sizeof shown, words, strlen(words)));
    }
}
