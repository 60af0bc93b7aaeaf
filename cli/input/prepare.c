#include "cli/input/prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

int input_unlock_all(const struct strlist *words, struct input_keys *keys, struct confined_budget *ret,
                     struct err *err)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < words->n; i++) {
        if (input_unlock(words->items[i], keys, err) < 0)
            return -1;
        bytes += input_size(words->items[i]);
    }
    confined_budget_init(bytes, ret);
    return 0;
}

void input_keep_descriptors(const struct strlist *words, struct proc_fork_limits *limits)
{
    static const char directory[] = "/dev/fd/";
    size_t n_kept = 0;
    while (n_kept < PROC_KEPT_MAX && limits->kept[n_kept] > 0)
        n_kept++;
    for (size_t i = 0; i < words->n && n_kept < PROC_KEPT_MAX; i++) {
        const char *word = words->items[i];
        uint64_t fd = 0;
        if (strncmp(word, directory, sizeof directory - 1) == 0 &&
            text_to_uint(word + sizeof directory - 1, INT_MAX, &fd) == 0 && fd > STDERR_FILENO)
            limits->kept[n_kept++] = (int)fd;
    }
}

/* ---- standard input ------------------------------------------------------------------------------------ */

static int copy_stdin_to(int to, uint64_t max_bytes, int cancel_fd, struct err *err)
{
    char block[65536];
    for (uint64_t total = 0;;) {
        if (fd_wait(STDIN_FILENO, POLLIN, CLOCK_NEVER, cancel_fd, err) < 0)
            return -1;
        ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n == 0)
            return lseek(to, 0, SEEK_SET) == 0
                       ? 0
                       : err_sys(err, "cannot reopen the temporary copy of standard input");
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(err, "cannot read standard input");
        total += n > 0 ? (uint64_t)n : 0;
        if (total > max_bytes)
            return err_set(err, ERR_FAILED, "standard input is larger than %" PRIu64 " bytes", max_bytes);
        if (n > 0 && fd_write_all(to, block, (size_t)n, err) < 0)
            return -1;
    }
}

/* Does nothing if standard input is a regular file, which needs no buffer. */
static int buffer_stdin(int cancel_fd, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    uint64_t max_bytes = 0;
    struct stat st;
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    char *path = file_join(dir && *dir ? dir : "/tmp", "profgrab.input");
    int fd = path ? file_create_nameless(path, err) : err_nomem(err);
    int rc = fd < 0 ? -1 : input_max_bytes(&max_bytes, err);
    if (rc == 0)
        rc = copy_stdin_to(fd, max_bytes, cancel_fd, err);
    if (rc == 0 && dup2(fd, STDIN_FILENO) < 0)
        rc = err_sys(err, "cannot reopen the temporary copy of standard input");
    fd_close(&fd);
    free(path);
    return rc;
}

int input_buffer_stdin(char *const *names, size_t n, int cancel_fd, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (input_is_stdin(names[i]))
            return buffer_stdin(cancel_fd, err);
    return 0;
}
