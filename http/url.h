/*
 * Sends one request to any URL that the user names, as Go's pprof does. libcurl reads the user's settings
 * from the environment, such as a proxy. The caller interprets the answer.
 *
 * Source: google/pprof internal/driver/fetch.go and internal/symbolz.
 */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include <stdbool.h>

#include "base/base.h"

/* Returns the URL for output, with xxxxx instead of its password: a new string. NULL if it is no URL, or if
 * memory runs out. */
char *url_without_password(const char *url);

struct url_request {
    const char *url; /* http, https, or https+insecure: without checking the certificate */
    long timeout_s;  /* the time limit in seconds; the request may take 5 s longer */
    const char *tls_ca, *tls_cert, *tls_key; /* files; NULL or empty: none */
    const struct str *body;                  /* the body of a POST; NULL: a GET */
};

struct url_answer {
    struct buf body; /* the caller initialises it: its maximum limits the answer */
    long status;
    char status_line[100]; /* "404 Not Found", printable */
    bool is_pprof_error;   /* Go's pprof handler sent the answer, an error with its reason */
    bool is_text;          /* the body is text */
};

/* Sends the request, and follows up to ten redirects to http and https. -1 if there was no complete answer:
 * ERR_TIMEOUT if it took too long. May be called from any thread after http_global_init. The caller releases
 * the body. */
int url_send(const struct url_request *request, struct url_answer *ret, struct err *err);

#endif
