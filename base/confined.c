#include "base/confined.h"

#include <inttypes.h>

#include "base/data/text.h"
#include "base/banned.h"

/* Bytes of memory for each byte of a file. A dump of goroutines inflates to about 50 times its size on
 * disk. A profile inflates to 10 times its size on disk, and reading it needs 30 times its size on disk. */
#define MEMORY_PER_BYTE 48
#define MS_PER_MB 1000

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct proc_fork_limits confined_limits(uint64_t bytes, int cancel_fd)
{
    uint64_t capped = min_u64(bytes, CONFINED_MEMORY_MAX);
    uint64_t ms = (uint64_t)CONFINED_TIME_MS + capped / 1000000 * MS_PER_MB;
    return (struct proc_fork_limits){
        .memory = min_u64(CONFINED_MEMORY + capped * MEMORY_PER_BYTE, CONFINED_MEMORY_MAX),
        .cpu_ms = (int64_t)min_u64(ms, (uint64_t)CONFINED_TIME_MAX_MS),
        .cancel_fd = cancel_fd};
}

int64_t confined_copy_limit_ms(uint64_t bytes)
{
    enum { RESERVED_MS = 2000 };
    return confined_limits(bytes, -1).cpu_ms - RESERVED_MS;
}

int confined_err_wrap(struct err *err, const char *name)
{
    err_wrap(err, "%s", name);
    return err_hint(err, "an ordinary file of its size needs less: this file is damaged, or was made to use "
                         "up memory or time");
}

int confined_run(const struct confined_work *w, const struct proc_fork_limits *limits, struct buf *ret,
                 struct err *err)
{
    struct err why = ERR_INIT;
    if (proc_run_confined(w->run, w->ctx, limits, ret, &why) == 0)
        return 0;
    if (why.kind == ERR_LIMIT)
        confined_err_wrap(&why, w->name);
    if (err)
        *err = why;
    return -1;
}

/* ---- a budget for several inputs ----------------------------------------------------------------------- */

#define LEAST_MEMORY (UINT64_C(16) << 20)
#define LEAST_TIME_MS INT64_C(1000)

void confined_budget_init(uint64_t bytes, struct confined_budget *ret)
{
    *ret = (struct confined_budget){.mutex = PTHREAD_MUTEX_INITIALIZER,
                                    .bytes = bytes,
                                    .limits = confined_limits(bytes, -1),
                                    .memory_before = proc_memory_in_use(),
                                    .cpu_before_ms = proc_cpu_ms()};
}

static struct proc_fork_limits copy_limits(struct confined_budget *b)
{
    pthread_mutex_lock(&b->mutex);
    struct proc_fork_limits limits = b->limits;
    pthread_mutex_unlock(&b->mutex);
    return limits;
}

/* The caller holds the mutex. */
static void add_bytes(struct confined_budget *b, uint64_t bytes)
{
    b->bytes += bytes;
    b->limits = confined_limits(b->bytes, -1);
}

void confined_budget_add(struct confined_budget *b, uint64_t bytes)
{
    pthread_mutex_lock(&b->mutex);
    add_bytes(b, bytes);
    pthread_mutex_unlock(&b->mutex);
}

struct proc_fork_limits confined_budget_remaining(struct confined_budget *b, int cancel_fd)
{
    struct proc_fork_limits rest = copy_limits(b);
    rest.cancel_fd = cancel_fd;
    uint64_t now = proc_memory_in_use(), used = now > b->memory_before ? now - b->memory_before : 0;
    int64_t used_ms = proc_cpu_ms() - b->cpu_before_ms;
    rest.memory = rest.memory > used + LEAST_MEMORY ? rest.memory - used : LEAST_MEMORY;
    rest.cpu_ms = rest.cpu_ms > used_ms + LEAST_TIME_MS ? rest.cpu_ms - used_ms : LEAST_TIME_MS;
    return rest;
}

int confined_budget_check(struct confined_budget *b, const char *name, struct err *err)
{
    /* The last input may take the other 3/8: on a busy machine a check of 128 MiB took 3.5 s of 10 s. */
    int64_t limit_ms = b ? copy_limits(b).cpu_ms / 8 * 5 : 0;
    if (!b || proc_cpu_ms() - b->cpu_before_ms <= limit_ms)
        return 0;
    err_set(err, ERR_LIMIT, "reading it takes more than %" PRId64 " s of processor time", limit_ms / 1000);
    return confined_err_wrap(err, name);
}

void confined_limit_memory(struct confined_budget *b, uint64_t *ret_before)
{
    if (b)
        proc_limit_memory(b->memory_before + copy_limits(b).memory, ret_before);
}

/* Applies a change of the budget to the memory limit of this process. The caller holds the mutex. */
static void update_memory_limit(const struct confined_budget *b)
{
    uint64_t before;
    proc_limit_memory(b->memory_before + b->limits.memory + b->receiving, &before);
}

void confined_begin_receiving(struct confined_budget *b, uint64_t max_bytes)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->mutex);
    b->receiving += max_bytes;
    update_memory_limit(b);
    pthread_mutex_unlock(&b->mutex);
}

void confined_end_receiving(struct confined_budget *b, uint64_t max_bytes, uint64_t bytes)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->mutex);
    b->receiving -= max_bytes;
    add_bytes(b, bytes);
    update_memory_limit(b);
    pthread_mutex_unlock(&b->mutex);
}

int confined_restore_memory(struct confined_budget *b, uint64_t before, int rc, const char *name,
                            struct err *err)
{
    char limit[32];
    if (!b)
        return rc;
    proc_limit_memory(before, &before);
    if (rc == 0 || !err->out_of_memory)
        return rc;
    err_set(err, ERR_LIMIT, "reading it takes more than %s of memory",
            text_bytes(limit, sizeof limit, copy_limits(b).memory));
    return confined_err_wrap(err, name);
}
