/*
 * Profiles and symbols by URL, as Go's pprof gets them: for whoever names one, outside of any inventory. What
 * is said of an answer is the caller's business.
 *
 * Source: cmd/pprof of Go; google/pprof internal/driver/fetch.go and internal/symbolz.
 */
#ifndef FETCH_URL_H
#define FETCH_URL_H

#include "base/base.h"

/* The URL without its password, for people: a new string, or NULL. */
char *url_shown(const char *url);

/* The URL that is asked for a profile: with `?seconds=` if *seconds is positive, and Go's handler for CPU
 * profiles where it names none. *seconds: what it says itself, if nothing was asked for. *ret: a new string;
 * untouched if the text is no URL. */
int url_of_profile(const char *text, long *seconds, char **ret, struct err *err);

/* Where the symbols are of a server that has this profile: a new string, or NULL. */
char *url_of_symbols(const char *profile);

struct url_request {
    const char *url; /* http, https, or https+insecure: without a look at the certificate */
    long timeout_s;  /* how long the server was asked to take; it gets a little more */
    const char *tls_ca, *tls_cert, *tls_key; /* files; NULL or empty: none */
    const struct str *body;                  /* is posted; NULL: a GET */
};

struct url_answer {
    struct buf body; /* initialised by the caller: its maximum is what may come */
    long status;
    char line[100]; /* "404 Not Found", printable */
    bool of_pprof;  /* Go's handler itself says no, and why, */
    bool is_text;   /* in a body of text */
};

/* Asks, and follows up to ten redirects to http and https. -1 if there was no whole answer: ERR_TIMEOUT if it
 * took too long. From any thread, once fetch_global_init was called. The caller releases the body. */
int url_ask(const struct url_request *request, struct url_answer *ret, struct err *err);

#endif
