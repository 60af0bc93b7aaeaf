/* Starts another program within limits. posix_spawn cannot set limits, so this forks. Between fork and exec
 * only async-signal-safe calls are allowed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"
#include "base/proc_inside.h"
#include "base/banned.h"

extern char **environ;

/* Makes fds[i] the descriptor i. First duplicates them above 2, so that none overwrites another. */
static int install_descriptors(const int fds[3])
{
    int moved[3];
    for (int i = 0; i < 3; i++) {
        moved[i] = fds[i] >= 0 ? fcntl(fds[i], F_DUPFD_CLOEXEC, 3)
                               : open("/dev/null", (i ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        if (moved[i] < 0)
            return -1;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(moved[i], i) < 0)
            return -1;
    return 0;
}

static void reset_signals(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Execs the program. Returns only on failure, with errno. */
static void exec_program(const char *const argv[], const struct proc_bounds *bounds, const int fds[3],
                         int failure, pid_t parent)
{
    setpgid(0, 0);
    if (install_descriptors(fds) < 0 || proc_bound_self(bounds, parent) < 0)
        return;
    proc_close_all_but(&failure, 1);
    reset_signals();
    execve(argv[0], (char *const *)(uintptr_t)argv, environ);
}

int proc_start_bounded(const char *const argv[], const struct proc_bounds *bounds, const int fds[3],
                       pid_t *ret, struct err *err)
{
    int failure[2], why = 0;
    pid_t parent = getpid();
    if (fd_pipe(failure, err) < 0)
        return -1;
    fd_spawn_lock();
    pid_t pid = fork();
    if (pid == 0) {
        exec_program(argv, bounds, fds, failure[1], parent);
        why = errno;
        (void)!write(failure[1], &why, sizeof why);
        _exit(127);
    }
    fd_spawn_unlock();
    why = pid < 0 ? errno : 0;
    fd_close(&failure[1]);
    /* exec closes the pipe, so end-of-file means success. */
    while (pid > 0 && read(failure[0], &why, sizeof why) < 0 && errno == EINTR)
        continue;
    fd_close(&failure[0]);
    if (why != 0) {
        if (pid > 0)
            proc_wait(pid);
        errno = why;
        err_sys(err, "cannot start %s", argv[0]);
        if (err && why == ENOENT)
            err->kind = ERR_NOT_FOUND;
        return -1;
    }
    fd_give_back_room(pid);
    *ret = pid;
    return 0;
}
