#include "cli/input/confined.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "base/banned.h"

/* For each byte of the input: profiles inflate to ten times their size, and dumps of goroutines to fifty; a
 * profile in memory takes three times what it inflates to. */
#define MEMORY_PER_BYTE 48
#define MS_PER_MB 1000

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct proc_confines confined_limits(uint64_t bytes)
{
    uint64_t scaled = least(bytes, CONFINED_MEMORY_MAX);
    uint64_t ms = (uint64_t)CONFINED_TIME_MS + scaled / 1000000 * MS_PER_MB;
    return (struct proc_confines){.memory =
                                      least(CONFINED_MEMORY + scaled * MEMORY_PER_BYTE, CONFINED_MEMORY_MAX),
                                  .cpu_ms = (int64_t)least(ms, (uint64_t)CONFINED_TIME_MAX_MS),
                                  .cancel_fd = signals_cancel_fd()};
}

int64_t confined_copy_ms(uint64_t bytes)
{
    enum { AROUND_MS = 2000 };
    return confined_limits(bytes).cpu_ms - AROUND_MS;
}

int confined_name_limit(struct err *err, const char *name)
{
    err_wrap(err, "%s", name);
    return err_hint(err, "a real file of its size takes less: this one is damaged, or made to take long");
}

int confined_run(const char *name, const struct proc_confines *limits, proc_confined_fn *body, void *ctx,
                 struct buf *ret, struct err *err)
{
    struct err why = ERR_INIT;
    if (proc_run_confined(body, ctx, limits, ret, &why) == 0)
        return 0;
    if (why.kind == ERR_LIMIT)
        confined_name_limit(&why, name);
    if (err)
        *err = why;
    return -1;
}

/* ---- a budget for several inputs -------------------------------------------------------------------------
 */

#define LEAST_MEMORY (UINT64_C(16) << 20)
#define LEAST_TIME_MS INT64_C(1000)

void confined_begin(uint64_t bytes, struct confined_budget *ret)
{
    *ret = (struct confined_budget){.bytes = bytes,
                                    .limits = confined_limits(bytes),
                                    .memory_before = proc_memory_in_use(),
                                    .cpu_before_ms = proc_cpu_ms()};
}

void confined_add(struct confined_budget *b, uint64_t bytes)
{
    b->bytes += bytes;
    b->limits = confined_limits(b->bytes);
}

struct proc_confines confined_rest(const struct confined_budget *b)
{
    struct proc_confines rest = b->limits;
    rest.cancel_fd = signals_cancel_fd(); /* signals may be handled only since an encrypted input was met */
    uint64_t now = proc_memory_in_use(), used = now > b->memory_before ? now - b->memory_before : 0;
    int64_t took = proc_cpu_ms() - b->cpu_before_ms;
    rest.memory = rest.memory > used + LEAST_MEMORY ? rest.memory - used : LEAST_MEMORY;
    rest.cpu_ms = rest.cpu_ms > took + LEAST_TIME_MS ? rest.cpu_ms - took : LEAST_TIME_MS;
    return rest;
}

int confined_check(const struct confined_budget *b, const char *name, struct err *err)
{
    int64_t most = b ? b->limits.cpu_ms / 4 * 3 : 0;
    if (!b || proc_cpu_ms() - b->cpu_before_ms <= most)
        return 0;
    err_set(err, ERR_LIMIT, "reading it takes more than %" PRId64 " s of processor time", most / 1000);
    return confined_name_limit(err, name);
}

void confined_hold(const struct confined_budget *b, uint64_t *ret_before)
{
    if (b)
        proc_limit_memory(b->memory_before + b->limits.memory, ret_before);
}

int confined_release(const struct confined_budget *b, uint64_t before, int rc, const char *name,
                     struct err *err)
{
    char most[32];
    if (!b)
        return rc;
    proc_limit_memory(before, &before);
    if (rc == 0 || !err->starved)
        return rc;
    err_set(err, ERR_LIMIT, "reading it takes more than %s of memory",
            text_bytes(most, sizeof most, b->limits.memory));
    return confined_name_limit(err, name);
}

int confined_open(char *const *words, size_t n, struct input_keys *keys, struct confined_budget *ret,
                  bool *ret_known, struct err *err)
{
    uint64_t bytes = 0;
    bool known = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t size = input_size(words[i]);
        if (input_unlock(words[i], keys, err) < 0)
            return -1;
        known = known && size > 0;
        bytes += size;
    }
    confined_begin(bytes, ret);
    *ret_known = known;
    return 0;
}

/* ---- standard input --------------------------------------------------------------------------------------
 */

static int spool(int to, uint64_t most, int cancel_fd, struct err *err)
{
    char block[65536];
    for (uint64_t total = 0;;) {
        if (fd_wait(STDIN_FILENO, POLLIN, CLOCK_NEVER, cancel_fd, err) < 0)
            return -1;
        ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n == 0)
            return lseek(to, 0, SEEK_SET) == 0 ? 0 : err_sys(err, "cannot read standard input back");
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(err, "cannot read standard input");
        total += n > 0 ? (uint64_t)n : 0;
        if (total > most)
            return err_set(err, ERR_FAILED, "standard input is larger than %" PRIu64 " bytes", most);
        if (n > 0 && fd_write_all(to, block, (size_t)n, err) < 0)
            return -1;
    }
}

static int take_input(int cancel_fd, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    uint64_t most = 0;
    struct stat st;
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    char *beside = file_join(dir && *dir ? dir : "/tmp", "profgrab.input");
    int fd = beside ? file_create_nameless(beside, err) : err_nomem(err);
    int rc = fd < 0 ? -1 : input_most(&most, err);
    if (rc == 0)
        rc = spool(fd, most, cancel_fd, err);
    if (rc == 0 && dup2(fd, STDIN_FILENO) < 0)
        rc = err_sys(err, "cannot read standard input back");
    fd_close(&fd);
    free(beside);
    return rc;
}

int confined_take_input(char *const *names, size_t n, int cancel_fd, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (input_is_stdin(names[i]))
            return take_input(cancel_fd, err);
    return 0;
}
