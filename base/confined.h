/* Reading what a stranger wrote, to show it: in a copy of this process that has limits (base/proc.h). */
#ifndef BASE_CONFINED_H
#define BASE_CONFINED_H

#include "base/proc.h"

/*
 * What a small input may cost: 256 MB of memory, and 10 s of processor time. A larger one may cost more, by
 * its size as it lies on disk, up to 8 GB and 10 minutes: real profiles of hundreds of megabytes take that.
 */
#define CONFINED_MEMORY (UINT64_C(256) << 20)
#define CONFINED_MEMORY_MAX (UINT64_C(8) << 30)
#define CONFINED_TIME_MS INT64_C(10000)
#define CONFINED_TIME_MAX_MS INT64_C(600000)

/* The limits for so many bytes of input. Time is the processor's alone: the reader of standard output may
 * be slow. No descriptor is kept, and there is no room for a result. */
struct proc_confines confined_limits(uint64_t bytes, int cancel_fd);

/*
 * What a command may spend on all of its inputs, where it reads them in this process or in one copy after the
 * other. The limits are those of confined_limits for the inputs together.
 */
struct confined_budget {
    uint64_t bytes; /* of the inputs */
    struct proc_confines limits;
    uint64_t memory_before; /* bytes of private memory before anything was read */
    int64_t cpu_before_ms;  /* proc_cpu_ms then */
};
void confined_begin(uint64_t bytes, struct confined_budget *ret);
/* Adds what so many more bytes of input may cost. */
void confined_add(struct confined_budget *b, uint64_t bytes);

/* The limits of a copy that may spend the rest, but at least 1 s and 16 MB, to say what is wrong. */
struct proc_confines confined_rest(const struct confined_budget *b, int cancel_fd);

/* ERR_LIMIT, which begins with `name`, once three quarters of the time are spent: one more input and a report
 * take the rest. NULL is a budget without end. */
int confined_check(const struct confined_budget *b, const char *name, struct err *err);

/* From _hold to _release allocations of this process beyond the budget fail. *ret_before is for _release.
 * confined_release also turns an error for want of memory into the one of confined_run. No child is started
 * in between. With NULL for a budget both do nothing. */
void confined_hold(const struct confined_budget *b, uint64_t *ret_before);
int confined_release(const struct confined_budget *b, uint64_t before, int rc, const char *name,
                     struct err *err);
/* Processor time that making the copy of a bundle of so many bytes may take: 8 s, and 1 s for each MB. 2 s of
 * the 10 are left for reading the manifest before and the copy behind it. */
int64_t confined_copy_ms(uint64_t bytes);

/* proc_run_confined. An error begins with `name`, the file that is read, and a limit that was reached has a
 * hint. */
int confined_run(const char *name, const struct proc_confines *limits, proc_confined_fn *body, void *ctx,
                 struct buf *ret, struct err *err);

/* Gives an error of a limit that was reached the name of the file in front, and the hint. Returns -1. */
int confined_name_limit(struct err *err, const char *name);

#endif
