/* Reading what a stranger wrote, to show it: in a copy of this process that has limits (base/proc.h). */
#ifndef CLI_CONFINED_H
#define CLI_CONFINED_H

#include "base/base.h"

/*
 * What a small input may cost: 256 MB of memory, and 10 s of processor time. A larger one may cost more, by
 * its size as it lies on disk, up to 8 GB and 10 minutes: real profiles of hundreds of megabytes take that.
 */
#define CONFINED_MEMORY (UINT64_C(256) << 20)
#define CONFINED_MEMORY_MAX (UINT64_C(8) << 30)
#define CONFINED_TIME_MS INT64_C(10000)
#define CONFINED_TIME_MAX_MS INT64_C(600000)

/* The limits for so many bytes of input. Time is the processor's alone: whoever reads standard output may be
 * slow. There is no cancel_fd, nothing is kept, and there is no room for a result. */
struct proc_confines confined_limits(uint64_t bytes);

/* proc_run_confined. An error begins with `name`, the file that is read, and a limit that was reached has a
 * hint. */
int confined_run(const char *name, const struct proc_confines *limits, proc_confined_fn *body, void *ctx,
                 struct buf *ret, struct err *err);

/*
 * If one of the sources (cli/source.h) is standard input: reads that to its end, into a file without a name
 * that becomes standard input. The copy then waits for nobody, and its limits can be chosen by the size.
 * ERR_CANCELLED when cancel_fd (or -1) becomes readable.
 */
int confined_take_input(char *const *names, size_t n, int cancel_fd, struct err *err);

#endif
