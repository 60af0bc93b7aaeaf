/* Who is at the profiler, when it is not us. */
#ifndef FETCH_HOLDER_H
#define FETCH_HOLDER_H

#include "fetch/transfer.h"
#include "inventory/inventory.h"

/* Looks at the goroutines of the process for somebody who takes a trace, or a CPU profile, and writes who
 * that is; "" if none is found. */
char *holder_find(struct transfer *t, const struct service *service, bool trace, int64_t limit_ms, char *dst,
                  size_t cap);

/* The same over the text of goroutine?debug=1, in pieces: *ret stays NULL until somebody is found. */
struct holder {
    bool trace; /* what is held: the tracer, else the CPU profiler */
    const char *who;
    char line[512]; /* the one that is being read, as far as it fits */
    size_t n;
};
void holder_feed(struct holder *h, const char *p, size_t n);

#endif
