/* Reads untrusted input in a fork of this process with limits (base/proc.h). */
#ifndef BASE_CONFINED_H
#define BASE_CONFINED_H

#include "base/proc.h"

/*
 * The limits for a small input: 256 MB of memory and 10 s of processor time. They grow with the input's size
 * on disk, up to 8 GB and 10 minutes, because real profiles of hundreds of megabytes need that.
 */
#define CONFINED_MEMORY (UINT64_C(256) << 20)
#define CONFINED_MEMORY_MAX (UINT64_C(8) << 30)
#define CONFINED_TIME_MS INT64_C(10000)
#define CONFINED_TIME_MAX_MS INT64_C(600000)

/* Returns the limits for so many bytes of input. There is no limit of wall time, because the reader of
 * standard output may be slow. The caller adds the kept descriptors and the room for a result. */
struct proc_confines confined_limits(uint64_t bytes, int cancel_fd);

/*
 * The budget of a command for all its inputs, which it reads in this process or in one child after the other:
 * confined_limits of their total size.
 */
struct confined_budget {
    uint64_t bytes; /* of the inputs */
    struct proc_confines limits;
    uint64_t memory_before; /* bytes of private memory before the first input */
    int64_t cpu_before_ms;  /* proc_cpu_ms then */
};
void confined_begin(uint64_t bytes, struct confined_budget *ret);
/* Raises the limits for so many more bytes of input. */
void confined_add(struct confined_budget *b, uint64_t bytes);

/* Returns the rest of the budget for a child, but at least 1 s and 16 MB, so that it can report an error. */
struct proc_confines confined_rest(const struct confined_budget *b, int cancel_fd);

/* ERR_LIMIT with `name` in front once three quarters of the time are spent: one more input and a report need
 * the rest. A NULL budget has no limit. */
int confined_check(const struct confined_budget *b, const char *name, struct err *err);

/* Between these two calls, allocations of this process beyond the budget fail; start no child meanwhile.
 * confined_hold sets *ret_before for confined_release, which also turns a lack of memory into ERR_LIMIT, as
 * confined_run does. With a NULL budget both do nothing. */
void confined_hold(const struct confined_budget *b, uint64_t *ret_before);
int confined_release(const struct confined_budget *b, uint64_t before, int rc, const char *name,
                     struct err *err);
/* Returns the limit of processor time to copy a bundle of so many bytes: 8 s, and 1 s for each MB. The other
 * 2 s of confined_limits are for reading the manifest before and the copy afterwards. */
int64_t confined_copy_ms(uint64_t bytes);

/* The work of a child, and the name of the file that it reads. */
struct confined_work {
    const char *name;
    proc_confined_fn *body;
    void *ctx;
};

/* Calls proc_run_confined. If the child reaches a limit, the error has the file's name in front, and a hint.
 */
int confined_run(const struct confined_work *w, const struct proc_confines *limits, struct buf *ret,
                 struct err *err);

/* Adds the file `name` and the hint to the error of a reached limit. Returns -1. */
int confined_name_limit(struct err *err, const char *name);

#endif
