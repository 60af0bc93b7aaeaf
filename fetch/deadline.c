#include "fetch/deadline.h"

#include <poll.h>

#include "base/banned.h"

static void *watch_deadline(void *ctx)
{
    struct deadline *d = ctx;
    struct err why = ERR_INIT;
    int rc = fd_wait(d->grab->access.cancel_fd, POLLIN, d->at, d->stop_pipe[0], &why);
    if (rc < 0 && why.kind == ERR_CANCELLED) /* deadline_release has closed the pipe */
        return NULL;
    atomic_store(rc < 0 && why.kind == ERR_TIMEOUT ? &d->over : &d->cancelled, true);
    fd_pipe_wake(d->wake_pipe[1]);
    return NULL;
}

/* Ends a prompt at the deadline, so that it does not outlast the run. */
static int ask_in_time(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    struct deadline *d = ctx;
    struct question within = *q;
    within.deadline = clock_min(q->deadline, d->at);
    int rc = d->grab->access.ask(d->grab->access.ask_ctx, &within, ret, err);
    if (rc < 0 && err && err->kind == ERR_TIMEOUT && clock_now() >= d->at) {
        err_set(err, ERR_CANCELLED, "interrupted");
        err_append(err, " while the user was asked");
    }
    return rc;
}

static void close_both(int fds[2])
{
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

int deadline_init(struct deadline *d, const struct fetch_job *grab, struct fetch_job *ret, struct err *err)
{
    *d = (struct deadline){.grab = grab, .at = CLOCK_NEVER, .wake_pipe = {-1, -1}, .stop_pipe = {-1, -1}};
    *ret = *grab;
    if (grab->options.deadline_ms == 0)
        return 0;
    d->at = clock_deadline(grab->options.deadline_ms);
    if (fd_pipe_nonblocking(d->wake_pipe, err) < 0 || fd_pipe(d->stop_pipe, err) < 0 ||
        thread_start(&d->thread, watch_deadline, d, err) < 0) {
        close_both(d->wake_pipe);
        close_both(d->stop_pipe);
        return -1;
    }
    ret->access.cancel_fd = d->wake_pipe[0];
    if (grab->access.ask) {
        ret->access.ask = ask_in_time;
        ret->access.ask_ctx = d;
    }
    return 0;
}

void deadline_release(struct deadline *d)
{
    if (d->at == CLOCK_NEVER)
        return;
    fd_close(&d->stop_pipe[1]);
    pthread_join(d->thread, NULL);
    close_both(d->stop_pipe);
    close_both(d->wake_pipe);
}

bool deadline_is_over(struct deadline *d)
{
    /* The deadline may pass before the watching thread wakes up. */
    return atomic_load(&d->over) || (clock_now() >= d->at && !atomic_load(&d->cancelled));
}

void deadline_explain(struct deadline *d, struct err *err)
{
    char after[32];
    if (err->kind == ERR_CANCELLED && d && deadline_is_over(d))
        err_replace_cause(err, ERR_TIMEOUT, "the run's deadline of %s was over",
                          text_duration(after, sizeof after, d->grab->options.deadline_ms));
}
