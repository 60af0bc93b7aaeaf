/* A view of the page of -http, which is made in a child of the delegate. Private to web_answer.c and
 * web_views.c. */
#ifndef CLI_PPROF_WEB_VIEW_H
#define CLI_PPROF_WEB_VIEW_H

#include "cli/pprof/shell.h"
#include "cli/pprof/web.h"

#define WEB_VIEW_BYTES ((size_t)64 << 20)

/* A view that is being made. */
struct view {
    const struct delegate_request *request;
    const struct pprof_options *defaults; /* of the command line */
    struct pprof_options options;         /* with the request's parameters */
    struct profile *profile;
    const struct pprof_kept *kept;
    bool is_frozen;              /* the answer is a file that needs no server */
    bool is_compared, is_change; /* the view has one of the sources, or the change between two */
    struct buf heading;          /* lines about the profile */
    struct buf messages;         /* lines of the report for the user */
    struct buf totals;           /* of each sample type, a JSON array; empty: none */
};

/* A view, by the last component of its path. */
struct view_type {
    const char *name;
    /* Adds the view's data as JSON. The caller checks the buffer for a failure. */
    int (*make)(struct view *v, struct buf *ret, struct err *err);
};

/* web_views.c. Returns NULL for an unknown name. */
const struct view_type *web_find_view(const char *name);

#endif
