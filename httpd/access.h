/* The checks of a request's sender: Host and Origin, against DNS rebinding and forged requests of other
 * sites, and the visitor's token. */
#ifndef HTTPD_ACCESS_H
#define HTTPD_ACCESS_H

#include "httpd/request.h"

/* Creates the cookie's name and value. */
int access_begin(struct httpd *server, struct err *err);

/* Returns whether the server has the host name of a request. */
bool access_host_is_ours(const struct httpd *server, const char *host);

/* Returns whether the page that sent the request, if a page did, is this server's. */
bool access_origin_is_ours(const struct httpd *server, const char *origin, const char *host);

/* Returns true if the visitor has the token or its cookie. Otherwise answers the request: with a page that
 * sets the cookie if the request has the token, else with a page that asks for the token. */
bool access_is_visitor(struct httpd_request *r);

#endif
