/* Runs a function in a fork of this process, without exec. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/proc_inside.h"
#include "base/banned.h"

/* The child handles the terminal's signals; the parent ignores them. */
struct terminal_signals {
    struct sigaction interrupt, quit;
};

static void ignore_signals(struct terminal_signals *before)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, &before->interrupt);
    sigaction(SIGQUIT, &ignore, &before->quit);
}

static void restore_signals(const struct terminal_signals *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGQUIT, &before->quit, NULL);
}

int proc_run_copy(proc_body_fn *body, void *ctx, int cancel_fd, int *ret_exit_code, struct err *err)
{
    struct terminal_signals before;
    struct err why = ERR_INIT;
    int alive[2];
    if (fd_pipe(alive, err) < 0)
        return -1;
    ignore_signals(&before);
    pid_t pid = fork();
    if (pid == 0) {
        restore_signals(&before);
        proc_drop_handlers();
        _exit(body(ctx));
    }
    int rc = pid < 0 ? err_sys(err, "cannot start another process") : 0;
    fd_close(&alive[1]);
    if (rc == 0 && fd_wait(alive[0], POLLIN, CLOCK_NEVER, cancel_fd, &why) < 0) {
        proc_end(pid);
        *err = why;
        rc = -1;
    } else if (rc == 0) {
        *ret_exit_code = proc_wait(pid);
    }
    restore_signals(&before);
    fd_close(&alive[0]);
    return rc;
}
