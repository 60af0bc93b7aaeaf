#include "gateway/ssh/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* The bytes of standard error to keep: the last lines have the reason of a failure. */
#define TAIL_MAX 1024
/* The longest wait for the proxy's exit after the end of its connection. */
#define EXIT_TIMEOUT_MS 100

struct proxy {
    pid_t pid;
    int stderr_fd;       /* the read end of the process's standard error, non-blocking */
    char tail[TAIL_MAX]; /* the latest bytes of standard error */
    size_t n_tail;
};

/* Like ssh (misc.c), treats an empty $SHELL as unset. */
static const char *choose_shell(void)
{
    const char *named = getenv("SHELL");
    return named && *named ? named : "/bin/sh";
}

int proxy_start(const char *command, int *ret_fd, struct proxy **ret, struct err *err)
{
    int rc = -1, pair[2] = {-1, -1}, errors[2] = {-1, -1};
    char *line = NULL;
    struct proxy *p = calloc(1, sizeof *p);
    if (!p || asprintf(&line, "exec %s", command) < 0) {
        free(p);
        return err_nomem(err);
    }
    p->stderr_fd = -1;
    if (fd_socketpair(pair, err) < 0 || fd_pipe(errors, err) < 0 ||
        fd_set_nonblocking(errors[0], true, err) < 0 ||
        /* The proxy's end is non-blocking too: a full pipe must not block the proxy while profgrab does not
           read it. */
        fd_set_nonblocking(errors[1], true, err) < 0)
        goto out;
    rc = proc_start((const char *const[]){choose_shell(), "-c", line, NULL},
                    (int[]){pair[1], pair[1], errors[1]}, &p->pid, err);
    if (rc < 0)
        goto out;
    p->stderr_fd = errors[0];
    errors[0] = -1;
    *ret_fd = pair[0];
    pair[0] = -1;
    *ret = p;
    p = NULL;
out:
    for (int i = 0; i < 2; i++) {
        fd_close(&pair[i]);
        fd_close(&errors[i]);
    }
    free(line);
    free(p);
    return rc;
}

/* Appends text to the tail, and drops the oldest bytes if the tail is full. */
static void append_tail(struct proxy *p, const char *text, size_t n)
{
    if (n > TAIL_MAX / 2) {
        text += n - TAIL_MAX / 2;
        n = TAIL_MAX / 2;
    }
    size_t over = p->n_tail + n > TAIL_MAX ? p->n_tail + n - TAIL_MAX : 0;
    memmove(p->tail, p->tail + over, p->n_tail - over);
    memcpy(p->tail + p->n_tail - over, text, n);
    p->n_tail += n - over;
}

char *proxy_stderr_tail(struct proxy *p, char *dst, size_t cap)
{
    char chunk[512];
    ssize_t n;
    while ((n = read(p->stderr_fd, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            append_tail(p, chunk, (size_t)n);
    /* text_printable appends dots to a text that it cuts. */
    size_t room = cap > 4 ? cap - 4 : 0, skip = p->n_tail > room ? p->n_tail - room : 0;
    return text_printable(dst, cap, p->tail + skip, p->n_tail - skip);
}

bool proxy_has_ended(struct proxy *p, int *ret_exit_code)
{
    int64_t deadline = clock_deadline(EXIT_TIMEOUT_MS);
    while (!proc_has_ended(p->pid, ret_exit_code)) {
        if (clock_now() >= deadline)
            return false;
        fd_wait(-1, 0, clock_deadline(2), -1, NULL);
    }
    return true;
}

void proxy_stop(struct proxy *p)
{
    if (!p)
        return;
    proc_end(p->pid);
    fd_close(&p->stderr_fd);
    free(p);
}
