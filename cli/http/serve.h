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

struct serve;

/* Listens at the address, before the caller makes the pages. Prints a warning if other machines can connect.
 * `ctx` and `routes` must outlive *ret. */
int serve_open(const struct serve_options *options, struct serve **ret, struct err *err);
void serve_close(struct serve *serve);

/* Prints the address with the token, opens the browser, and serves until a signal: ERR_CANCELLED. The caller
 * has installed the signals' handlers (signals.h). A browser that cannot be opened is a message, not an
 * error.
 */
int serve_run(struct serve *serve, struct err *err);

#endif
