/*
 * A copy of this process that reads a stranger's bytes within limits. It says how it ended, and what it
 * found, through a pipe; whatever else becomes of it is read from how the system ended it.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/proc_inside.h"
#include "base/banned.h"

/* The child writes this first. */
struct ending {
    int rc;
    bool starved; /* it failed for want of memory */
    struct err err;
};

static bool is_want_of_memory(const struct err *err)
{
    struct err nomem = ERR_INIT;
    err_nomem(&nomem);
    return err->kind == nomem.kind && strstr(err->msg, nomem.msg) != NULL;
}

static void be_child(proc_confined_fn *body, void *ctx, const struct proc_confines *limits, int out,
                     pid_t parent)
{
    struct ending end = {.rc = -1, .err = ERR_INIT};
    struct buf result = BUF_INIT(limits->max_result);
    int kept[PROC_KEPT_MAX + 2] = {out, limits->cancel_fd};
    bool limited = limits->memory > 0 && !UNDER_SANITIZER;
    struct proc_bounds bounds = {.memory = limited ? proc_memory_in_use() + limits->memory : 0,
                                 .cpu_ms = limits->cpu_ms};
    proc_drop_handlers();
    memcpy(kept + 2, limits->kept, sizeof limits->kept);
    proc_close_all_but(kept, sizeof kept / sizeof *kept);
    if (proc_bound_self(&bounds, parent) < 0)
        err_sys(&end.err, "cannot set limits");
    else
        end.rc = body(ctx, &result, &end.err);
    if (end.rc == 0)
        end.rc = buf_check(&result, "its result", &end.err);
    end.starved = end.rc < 0 && is_want_of_memory(&end.err);
    if (fd_write_all(out, &end, sizeof end, NULL) == 0 && end.rc == 0)
        fd_write_all(out, result.data, result.len, NULL);
    _exit(0);
}

/* Waits in slices, of which each counts for no more than its length: time in which this process was stopped
 * (Ctrl-Z) or the machine slept is not the child's. */
#define SLICE_MS 100

/* 0: there is something to read. *left_ms: of the wall time; negative: there is no limit. */
static int wait_for_child(int fd, int64_t *left_ms, int cancel_fd, struct err *err)
{
    for (;;) {
        int64_t slice = *left_ms >= 0 && *left_ms < SLICE_MS ? *left_ms : SLICE_MS, began = clock_now();
        struct err why = ERR_INIT;
        if (fd_wait(fd, POLLIN, clock_deadline(slice), cancel_fd, &why) == 0)
            return 0;
        if (why.kind == ERR_TIMEOUT && *left_ms > 0)
            *left_ms -= clock_least(clock_least(clock_now() - began, 2 * SLICE_MS), *left_ms);
        else if (why.kind != ERR_TIMEOUT || *left_ms == 0) {
            *err = why;
            return -1;
        }
    }
}

/* Reads all that the child writes. */
static int hear(int fd, int64_t left_ms, int cancel_fd, struct buf *ret, struct err *err)
{
    char chunk[65536];
    for (;;) {
        if (wait_for_child(fd, &left_ms, cancel_fd, err) < 0)
            return -1;
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return buf_check(ret, "what it found", err);
        if (n < 0 && errno != EINTR)
            return err_sys(err, "cannot read what it found");
        if (n > 0)
            buf_add(ret, chunk, (size_t)n);
    }
}

static int too_much_memory(const struct proc_confines *limits, struct err *err)
{
    char most[32];
    return err_set(err, ERR_LIMIT, "reading it takes more than %s of memory",
                   text_bytes(most, sizeof most, limits->memory));
}

static int too_long(int64_t ms, const char *of, struct err *err)
{
    return err_set(err, ERR_LIMIT, "reading it takes more than %" PRId64 " s%s", (ms + 999) / 1000, of);
}

/* The child was ended by a signal of the terminal, which reaches this process too. If nothing handles it
 * here, it ends this process as well; a handler may run only a moment later. */
static int interrupted(int number, int cancel_fd, struct err *err)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        raise(number);
    else if (cancel_fd >= 0)
        fd_wait(-1, 0, clock_deadline(200), cancel_fd, NULL);
    return err_set(err, ERR_CANCELLED, "interrupted");
}

/* The error for a child that ended without a result. */
static int explain(int code, const struct proc_confines *limits, struct err *err)
{
    switch (code - 128) {
    case SIGXCPU:
        return too_long(limits->cpu_ms, " of processor time", err);
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
    case SIGHUP:
    case SIGPIPE:
        return interrupted(code - 128, limits->cancel_fd, err);
    default:
        if (code > 128)
            return err_set(err, ERR_LIMIT, "the process that read it was ended by signal %d", code - 128);
        return err_set(err, ERR_LIMIT, "the process that read it ended with exit code %d", code);
    }
}

static void copy_printable(char *dst, size_t cap, const char *src)
{
    text_printable(dst, cap, src, strnlen(src, cap));
}

/* What the child says of its own failure: its words may be a stranger's. */
static int repeat(const struct ending *end, const struct proc_confines *limits, struct err *err)
{
    char hint[sizeof end->err.hint];
    if (end->starved && limits->memory > 0)
        return too_much_memory(limits, err);
    if (!err)
        return -1;
    bool known = end->err.kind > ERR_NONE && end->err.kind <= ERR_HOST_KEY;
    err_set(err, known ? end->err.kind : ERR_FAILED, "%s", "");
    copy_printable(err->msg, sizeof err->msg, end->err.msg);
    copy_printable(hint, sizeof hint, end->err.hint);
    return hint[0] ? err_hint(err, "%s", hint) : -1;
}

/* Tells the child's words, `heard`, from its silence. */
static int judge(struct buf *heard, int code, const struct proc_confines *limits, struct err *err)
{
    struct ending end;
    if (heard->len < sizeof end || code != 0)
        return explain(code, limits, err);
    memcpy(&end, heard->data, sizeof end);
    if (end.rc < 0)
        return repeat(&end, limits, err);
    buf_consume(heard, sizeof end);
    return 0;
}

static int follow(pid_t pid, int fd, const struct proc_confines *limits, struct buf *ret, struct err *err)
{
    struct err why = ERR_INIT;
    struct buf heard = BUF_INIT(sizeof(struct ending) + limits->max_result);
    int rc = hear(fd, limits->wall_ms > 0 ? limits->wall_ms : -1, limits->cancel_fd, &heard, &why);
    if (rc < 0)
        kill(pid, SIGKILL);
    int code = proc_wait(pid);
    if (rc < 0 && why.kind == ERR_TIMEOUT)
        too_long(limits->wall_ms, "", err);
    else if (rc < 0 && err)
        *err = why;
    else if (rc == 0)
        rc = judge(&heard, code, limits, err);
    if (rc == 0 && ret) {
        buf_release(ret);
        *ret = heard;
        ret->max = limits->max_result;
        heard = (struct buf)BUF_INIT(0);
    }
    buf_release(&heard);
    return rc;
}

int proc_run_confined(proc_confined_fn *body, void *ctx, const struct proc_confines *limits, struct buf *ret,
                      struct err *err)
{
    int answer[2];
    pid_t parent = getpid();
    if (fd_pipe(answer, err) < 0)
        return -1;
    /* The child would write it once more. */
    fflush(stdout);
    fflush(stderr);
    pid_t pid = fork();
    if (pid == 0)
        be_child(body, ctx, limits, answer[1], parent);
    fd_close(&answer[1]);
    int rc =
        pid < 0 ? err_sys(err, "cannot start another process") : follow(pid, answer[0], limits, ret, err);
    fd_close(&answer[0]);
    return rc;
}
