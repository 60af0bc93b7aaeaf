/*
 * Fetches profiles and symbols by URL, as Go's pprof does: for URLs outside of any inventory. The caller
 * interprets the answer.
 *
 * Source: cmd/pprof of Go; google/pprof internal/driver/fetch.go and internal/symbolz.
 */
#ifndef FETCH_URL_H
#define FETCH_URL_H

#include "base/base.h"

/* The URL without its password, for output: a new string, or NULL. */
char *url_shown(const char *url);

/* The URL for a profile's request: with `?seconds=` if *seconds is positive, and with Go's handler for CPU
 * profiles if the URL has no path. If *seconds is not positive, it becomes the value in the URL. *ret: a new
 * string; untouched if the text is not a URL. */
int url_of_profile(const char *text, long *seconds, char **ret, struct err *err);

/* The URL of the symbols on the server of this profile: a new string, or NULL. */
char *url_of_symbols(const char *profile);

struct url_request {
    const char *url; /* http, https, or https+insecure: without checking the certificate */
    long timeout_s;  /* the requested length of the profile; the server gets a little more */
    const char *tls_ca, *tls_cert, *tls_key; /* files; NULL or empty: none */
    const struct str *body;                  /* the body of a POST; NULL: a GET */
};

struct url_answer {
    struct buf body; /* the caller initialises it: its maximum limits the answer */
    long status;
    char line[100]; /* "404 Not Found", printable */
    bool of_pprof;  /* Go's handler sent the error, with the reason */
    bool is_text;   /* in a text body */
};

/* Sends the request, and follows up to ten redirects to http and https. -1 if there was no complete answer:
 * ERR_TIMEOUT if it took too long. May be called from any thread after fetch_global_init. The caller releases
 * the body. */
int url_ask(const struct url_request *request, struct url_answer *ret, struct err *err);

#endif
