/* The request of a capture. */
#ifndef CAPTURE_REQUEST_H
#define CAPTURE_REQUEST_H

#include "bundle/bundle.h"
#include "fetch/fetch.h"
#include "inventory/inventory.h"

/* The caller owns everything in the request, which must live until the capture's outcome is released. */
struct capture_request {
    const struct targets *targets;  /* grouped by host; includes those of `baseline` */
    const struct targets *baseline; /* the targets on baseline hosts; may be NULL */
    const struct strlist *kinds; /* empty: the kinds of each service, or `default` if the service has none */
    const struct selection *selection; /* how the targets were selected, for the manifest */
    struct fetch_access access;        /* without its cancel_fd */
    struct fetch_options options;
    const char *subject; /* what was captured, for the bundle's default name (see workdir_new) */
    /* A directory for the bundle, or the path of the bundle, ending in .tar.gz; NULL: the working directory.
     */
    const char *output;
    const char *reason; /* for the manifest; may be NULL */
};

#endif
