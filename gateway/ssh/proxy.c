#include "gateway/ssh/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* The end of its output has the reason of a failure. */
#define KEPT 1024
/* The time from the end of its connection to the exit of the process. */
#define ENDING_MS 100

struct proxy {
    pid_t pid;
    int complaints; /* its standard error, non-blocking */
    char said[KEPT];
    size_t n;
};

/* Like ssh, takes an empty $SHELL as unset (misc.c). */
static const char *choose_shell(void)
{
    const char *named = getenv("SHELL");
    return named && *named ? named : "/bin/sh";
}

int proxy_start(const char *command, int *ret_fd, struct proxy **ret, struct err *err)
{
    int rc = -1, pair[2] = {-1, -1}, complaints[2] = {-1, -1};
    char *line = NULL;
    struct proxy *p = calloc(1, sizeof *p);
    if (!p || asprintf(&line, "exec %s", command) < 0) {
        free(p);
        return err_nomem(err);
    }
    p->complaints = -1;
    if (fd_socketpair(pair, err) < 0 || fd_pipe(complaints, err) < 0 ||
        fd_set_nonblocking(complaints[0], true, err) < 0 ||
        /* Our end and its end: a full pipe without a reader must not block the proxy. */
        fd_set_nonblocking(complaints[1], true, err) < 0)
        goto out;
    rc = proc_start((const char *const[]){choose_shell(), "-c", line, NULL},
                    (int[]){pair[1], pair[1], complaints[1]}, &p->pid, err);
    if (rc < 0)
        goto out;
    p->complaints = complaints[0];
    complaints[0] = -1;
    *ret_fd = pair[0];
    pair[0] = -1;
    *ret = p;
    p = NULL;
out:
    for (int i = 0; i < 2; i++) {
        fd_close(&pair[i]);
        fd_close(&complaints[i]);
    }
    free(line);
    free(p);
    return rc;
}

/* Appends text and drops the oldest bytes if the buffer is full. */
static void keep_tail(struct proxy *p, const char *text, size_t n)
{
    if (n > KEPT / 2) {
        text += n - KEPT / 2;
        n = KEPT / 2;
    }
    size_t over = p->n + n > KEPT ? p->n + n - KEPT : 0;
    memmove(p->said, p->said + over, p->n - over);
    memcpy(p->said + p->n - over, text, n);
    p->n += n - over;
}

char *proxy_complaint(struct proxy *p, char *dst, size_t cap)
{
    char chunk[512];
    ssize_t n;
    while ((n = read(p->complaints, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            keep_tail(p, chunk, (size_t)n);
    /* text_printable needs some room for its dots. */
    size_t room = cap > 4 ? cap - 4 : 0, skip = p->n > room ? p->n - room : 0;
    return text_printable(dst, cap, p->said + skip, p->n - skip);
}

bool proxy_ended(struct proxy *p, int *ret_exit_code)
{
    int64_t deadline = clock_deadline(ENDING_MS);
    while (!proc_ended(p->pid, ret_exit_code)) {
        if (clock_now() >= deadline)
            return false;
        fd_wait(-1, 0, clock_deadline(2), -1, NULL);
    }
    return true;
}

void proxy_end(struct proxy *p)
{
    if (!p)
        return;
    proc_end(p->pid);
    fd_close(&p->complaints);
    free(p);
}
