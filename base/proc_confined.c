/*
 * A fork of this process that reads untrusted bytes within limits. The child sends its status and result
 * through a pipe. If the child sends no status, the parent makes an error from the exit code.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/proc_bounds.h"
#include "base/banned.h"

/* The child's status, written before its result. */
struct child_status {
    int rc;
    struct err err;
};

/* Applies the limits in the child. Returns 0, or -1 with errno. */
static int confine_self(const struct proc_fork_limits *limits, int result_fd, pid_t parent)
{
    int kept[PROC_KEPT_MAX + 2] = {result_fd, limits->cancel_fd};
    bool limited = limits->memory > 0 && !UNDER_SANITIZER;
    struct proc_bounds bounds = {.memory = limited ? proc_memory_in_use() + limits->memory : 0,
                                 .cpu_ms = limits->cpu_ms,
                                 .most_memory = limits->program_memory,
                                 .most_cpu_ms = limits->program_cpu_ms};
    proc_drop_handlers();
    memcpy(kept + 2, limits->kept, sizeof limits->kept);
    proc_close_all_but(kept, sizeof kept / sizeof *kept);
    return proc_limit_self(&bounds, parent);
}

static void run_child(proc_confined_fn *run, void *ctx, const struct proc_fork_limits *limits, int result_fd,
                      pid_t parent)
{
    struct child_status status = {.rc = -1, .err = ERR_INIT};
    struct buf result = BUF_INIT(limits->max_result);
    if (confine_self(limits, result_fd, parent) < 0)
        err_sys(&status.err, "cannot set limits");
    else
        status.rc = run(ctx, &result, &status.err);
    if (status.rc == 0)
        status.rc = buf_check(&result, "its result", &status.err);
    if (fd_write_all(result_fd, &status, sizeof status, NULL) == 0 && status.rc == 0)
        fd_write_all(result_fd, result.data, result.len, NULL);
    _exit(0);
}

/* The wall time is counted in slices: each poll(2) takes at most SLICE_MS, and counts as at most twice that.
 * Therefore the time during which this process was stopped (Ctrl-Z) or the machine slept hardly counts. */
#define SLICE_MS 100

/* Returns 0 when fd is readable. Subtracts the wait from *left_ms, the remaining wall time; negative: no
 * limit. */
static int wait_for_output(int fd, int64_t *left_ms, int cancel_fd, struct err *err)
{
    for (;;) {
        int64_t slice = *left_ms >= 0 && *left_ms < SLICE_MS ? *left_ms : SLICE_MS, began = clock_now();
        struct err why = ERR_INIT;
        if (fd_wait(fd, POLLIN, clock_deadline(slice), cancel_fd, &why) == 0)
            return 0;
        if (why.kind == ERR_TIMEOUT && *left_ms > 0)
            *left_ms -= clock_min(clock_min(clock_now() - began, 2 * SLICE_MS), *left_ms);
        else if (why.kind != ERR_TIMEOUT || *left_ms == 0) {
            *err = why;
            return -1;
        }
    }
}

/* Reads the child's output to end-of-file. */
static int read_child(int fd, int64_t left_ms, int cancel_fd, struct buf *ret, struct err *err)
{
    char chunk[65536];
    for (;;) {
        if (wait_for_output(fd, &left_ms, cancel_fd, err) < 0)
            return -1;
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return buf_check(ret, "the result of the reading process", err);
        if (n < 0 && errno != EINTR)
            return err_sys(err, "cannot read the result of the reading process");
        if (n > 0)
            buf_add(ret, chunk, (size_t)n);
    }
}

static int set_memory_error(const struct proc_fork_limits *limits, struct err *err)
{
    char limit[32];
    return err_set(err, ERR_LIMIT, "reading it takes more than %s of memory",
                   text_bytes(limit, sizeof limit, limits->memory));
}

static int set_time_error(int64_t ms, const char *suffix, struct err *err)
{
    return err_set(err, ERR_LIMIT, "reading it takes more than %" PRId64 " s%s", (ms + 999) / 1000, suffix);
}

/* A signal from the terminal ended the child, and reaches this process too. If this process has no handler,
 * the signal ends it. Otherwise waits for the handler, which makes cancel_fd readable. */
static int handle_interrupt(int number, int cancel_fd, struct err *err)
{
    struct sigaction current;
    if (sigaction(number, NULL, &current) == 0 && current.sa_handler == SIG_DFL)
        raise(number);
    else if (cancel_fd >= 0)
        fd_wait(-1, 0, clock_deadline(200), cancel_fd, NULL);
    return err_set(err, ERR_CANCELLED, "interrupted");
}

/* Sets the error of a child that ended without a result. */
static int set_exit_error(int code, const struct proc_fork_limits *limits, struct err *err)
{
    switch (code - 128) {
    case SIGXCPU:
        return set_time_error(limits->cpu_ms, " of processor time", err);
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
    case SIGHUP:
    case SIGPIPE:
        return handle_interrupt(code - 128, limits->cancel_fd, err);
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

/* Copies the child's error. Its text may be untrusted, so it is made printable. */
static int copy_child_error(const struct child_status *status, const struct proc_fork_limits *limits,
                            struct err *err)
{
    char hint[sizeof status->err.hint];
    if (status->err.out_of_memory && limits->memory > 0)
        return set_memory_error(limits, err);
    if (!err)
        return -1;
    bool known = status->err.kind > ERR_NONE && status->err.kind <= ERR_HOST_KEY;
    err_set(err, known ? status->err.kind : ERR_FAILED, "%s", "");
    err->out_of_memory = status->err.out_of_memory;
    copy_printable(err->msg, sizeof err->msg, status->err.msg);
    copy_printable(hint, sizeof hint, status->err.hint);
    return hint[0] ? err_hint(err, "%s", hint) : -1;
}

/* Checks the child's exit code and status, and removes the status from its output. */
static int check_child(struct buf *output, int code, const struct proc_fork_limits *limits, struct err *err)
{
    struct child_status status;
    if (output->len < sizeof status || code != 0)
        return set_exit_error(code, limits, err);
    memcpy(&status, output->data, sizeof status);
    if (status.rc < 0)
        return copy_child_error(&status, limits, err);
    buf_consume(output, sizeof status);
    return 0;
}

static int finish_child(pid_t pid, int fd, const struct proc_fork_limits *limits, struct buf *ret,
                        struct err *err)
{
    struct err why = ERR_INIT;
    struct buf output = BUF_INIT(sizeof(struct child_status) + limits->max_result);
    int rc = read_child(fd, limits->wall_ms > 0 ? limits->wall_ms : -1, limits->cancel_fd, &output, &why);
    if (rc < 0)
        kill(pid, SIGKILL);
    int code = proc_wait(pid);
    if (rc < 0 && why.kind == ERR_TIMEOUT)
        set_time_error(limits->wall_ms, "", err);
    else if (rc < 0 && err)
        *err = why;
    else if (rc == 0)
        rc = check_child(&output, code, limits, err);
    if (rc == 0 && ret) {
        buf_release(ret);
        *ret = output;
        ret->max = limits->max_result;
        output = (struct buf)BUF_INIT(0);
    }
    buf_release(&output);
    return rc;
}

int proc_run_confined(proc_confined_fn *run, void *ctx, const struct proc_fork_limits *limits,
                      struct buf *ret, struct err *err)
{
    int result_pipe[2];
    pid_t parent = getpid();
    if (fd_pipe(result_pipe, err) < 0)
        return -1;
    /* The child has a copy of stdout's buffer, and would write buffered text a second time. */
    fflush(stdout);
    fflush(stderr);
    pid_t pid = fork();
    if (pid == 0)
        run_child(run, ctx, limits, result_pipe[1], parent);
    fd_close(&result_pipe[1]);
    int rc = pid < 0 ? err_sys(err, "cannot start another process")
                     : finish_child(pid, result_pipe[0], limits, ret, err);
    fd_close(&result_pipe[0]);
    return rc;
}

int proc_start_fork(proc_fork_fn *run, void *ctx, const struct proc_fork_limits *limits, pid_t *ret,
                    struct err *err)
{
    pid_t parent = getpid();
    /* The child has a copy of stdout's buffer, and would write buffered text a second time. */
    fflush(stdout);
    fflush(stderr);
    pid_t pid = fork();
    if (pid == 0)
        _exit(confine_self(limits, -1, parent) < 0 ? PROC_FORK_UNLIMITED : run(ctx));
    if (pid < 0)
        return err_sys(err, "cannot start another process");
    *ret = pid;
    return 0;
}
