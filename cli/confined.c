#include "cli/confined.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/source.h"
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
                                  .cancel_fd = -1};
}

int confined_run(const char *name, const struct proc_confines *limits, proc_confined_fn *body, void *ctx,
                 struct buf *ret, struct err *err)
{
    struct err why = ERR_INIT;
    if (proc_run_confined(body, ctx, limits, ret, &why) == 0)
        return 0;
    if (why.kind == ERR_LIMIT) {
        err_wrap(&why, "%s", name);
        err_hint(&why, "a real file of its size takes less: this one is damaged, or made to take long");
    }
    if (err)
        *err = why;
    return -1;
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
    int rc = fd < 0 ? -1 : source_most(&most, err);
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
        if (source_is_input(names[i]))
            return take_input(cancel_fd, err);
    return 0;
}
