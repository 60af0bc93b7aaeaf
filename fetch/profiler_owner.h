/* Finds the client that uses the profiler, if it is not profgrab. */
#ifndef FETCH_PROFILER_OWNER_H
#define FETCH_PROFILER_OWNER_H

#include "fetch/transfer.h"
#include "inventory/inventory.h"

/* Searches the goroutines of the process for one that takes a trace (`for_tracer`), or else a CPU profile.
 * Returns a static description of the client, or NULL if there is none. */
const char *profiler_owner_find(struct transfer *t, const struct service *service, bool for_tracer,
                                int64_t limit_ms);

/* The state of this search, which reads the text of goroutine?debug=1 in pieces. `client` is NULL until a
 * marker matches. */
struct profiler_owner {
    bool for_tracer; /* find the user of the tracer, else of the CPU profiler */
    const char *client;
    char line[512]; /* the current line, cut to size */
    size_t n;
};
void profiler_owner_feed(struct profiler_owner *o, const char *p, size_t n);

#endif
