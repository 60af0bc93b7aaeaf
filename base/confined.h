/* Limits for the child processes that read untrusted input (base/proc.h). */
#ifndef BASE_CONFINED_H
#define BASE_CONFINED_H

#include <pthread.h>

#include "base/proc.h"

/*
 * The limits for a small input: 256 MB of memory and 10 s of processor time. They grow with the input's size
 * on disk, up to 8 GB and 10 minutes, because real profiles of hundreds of megabytes need that.
 */
#define CONFINED_MEMORY (UINT64_C(256) << 20)
#define CONFINED_MEMORY_MAX (UINT64_C(8) << 30)
#define CONFINED_TIME_MS INT64_C(10000)
#define CONFINED_TIME_MAX_MS INT64_C(600000)

/* Returns the limits for `bytes` bytes of input. There is no limit of wall time, because the reader of
 * standard output may be slow. The caller sets `kept` and `max_result`. */
struct proc_fork_limits confined_limits(uint64_t bytes, int cancel_fd);

/*
 * The budget of a command for all its inputs: confined_limits of their total size. The command reads the
 * inputs in this process, or in child processes one by one.
 */
struct confined_budget {
    pthread_mutex_t mutex; /* protects the three members below: a thread that fetches may raise them while
                              others check them */
    uint64_t bytes;        /* total size of the inputs */
    struct proc_fork_limits limits;
    uint64_t receiving; /* bytes of memory for the inputs that are arriving */

    uint64_t memory_before; /* bytes of private memory before the first input */
    int64_t cpu_before_ms;  /* proc_cpu_ms before the first input */
};

void confined_budget_init(uint64_t bytes, struct confined_budget *ret);

/* Raises the limits for `bytes` more bytes of input. Any thread may call it. */
void confined_budget_add(struct confined_budget *b, uint64_t bytes);

/* Returns the unused part of the budget as the limits of a child, but at least 1 s and 16 MB, so that the
 * child can report an error. */
struct proc_fork_limits confined_budget_remaining(struct confined_budget *b, int cancel_fd);

/* Returns 0, or -1 with ERR_LIMIT if five eighths of the CPU time are used: the rest is for the last input
 * and the report. The message names the input `name`. A NULL budget has no limit. */
int confined_budget_check(struct confined_budget *b, const char *name, struct err *err);

/* From confined_limit_memory to confined_restore_memory, allocations of this process beyond the budget fail,
 * and the caller must not start a child. confined_restore_memory takes the value `before` that
 * confined_limit_memory set, and the result `rc` and the error of the work. It returns rc, or -1 with
 * ERR_LIMIT if the work ran out of memory. With a NULL budget both do nothing. */
void confined_limit_memory(struct confined_budget *b, uint64_t *ret_before);
int confined_restore_memory(struct confined_budget *b, uint64_t before, int rc, const char *name,
                            struct err *err);

/* For an input whose size is unknown until it has arrived, such as the answer of a server. Call both between
 * confined_limit_memory and confined_restore_memory. confined_begin_receiving allows this process `max_bytes`
 * more bytes of memory. confined_end_receiving takes them back, and raises the budget for the `bytes` bytes
 * that have arrived. Any thread may call them. With a NULL budget both do nothing. */
void confined_begin_receiving(struct confined_budget *b, uint64_t max_bytes);
void confined_end_receiving(struct confined_budget *b, uint64_t max_bytes, uint64_t bytes);

/* Returns the limit of CPU time for copying a bundle of `bytes` bytes: 8 s plus 1 s for each MB, but no more
 * than 598 s. confined_limits allows 2 s more, for reading the manifest and the finished copy. */
int64_t confined_copy_limit_ms(uint64_t bytes);

/* The work of a child, and the name of the file that it reads. */
struct confined_work {
    const char *name;
    proc_confined_fn *run;
    void *ctx;
};

/* Calls proc_run_confined. If the child reached a limit, adds the name and a hint to the error
 * (confined_err_wrap). */
int confined_run(const struct confined_work *w, const struct proc_fork_limits *limits, struct buf *ret,
                 struct err *err);

/* Puts the file's name in front of the error of a reached limit and sets the hint. Returns -1. */
int confined_err_wrap(struct err *err, const char *name);

#endif
