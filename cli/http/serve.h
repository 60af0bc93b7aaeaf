/*
 * Pages of a command over HTTP, until a signal ends them. The option --http of commands
 * uses this folder.
 *
 * Only a visitor with the token gets a page. The address with the token is printed, and given to the browser
 * in a file that only the user can read, because other users can read the command line of a browser.
 */
#ifndef CLI_HTTP_SERVE_H
#define CLI_HTTP_SERVE_H

#include "base/base.h"
#include "httpd/httpd.h"

struct serve_options {
    const char *address; /* HOST:PORT; without HOST localhost, without PORT a free port; "" means both */
    const char *title;   /* of the page that asks for the token */
    const char *path;    /* the first page, with a slash at its start */
    const struct httpd_route *routes;
    void *ctx; /* for the routes */
    /* Opens a file in a browser, and returns without waiting for the browser's end. NULL: no browser. */
    int (*open_browser)(const char *file, struct err *err);
};

/*
 * Listens, prints the address, opens the browser, and serves until a signal. The caller has installed the
 * signals' handlers (signals.h). A browser that cannot be opened is a message, not an error. Returns -1 with
 * ERR_CANCELLED after a signal; prints a warning before it listens on an address that other machines can
 * reach.
 */
int serve_pages(const struct serve_options *options, struct err *err);

#endif
