#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/proc_bounds.h"
#include "base/data/text.h"
#include "base/banned.h"

extern char **environ;

#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
#define SPAWN_CLOEXEC POSIX_SPAWN_CLOEXEC_DEFAULT
#else
#define SPAWN_CLOEXEC 0
#endif
#define SPAWN_FLAGS (POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP | SPAWN_CLOEXEC)

static int prepare_spawn(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr, pid_t group,
                         const int fds[3])
{
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) {
        if (fds[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(actions, fds[i], i);
        else
            rc = posix_spawn_file_actions_addopen(actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
    }
    /* All descriptors of profgrab are close-on-exec. This closes descriptors that profgrab inherited or a
     * library opened. */
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    /* The child has its own process group, so that Ctrl-C on the terminal does not signal the child. */
    if (rc == 0)
        rc = posix_spawnattr_setpgroup(attr, group);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, SPAWN_FLAGS);
    return rc;
}

/* Returns whether one of the variables replaces or removes `entry` of an environment. */
static bool is_replaced(const char *entry, const char *const variables[])
{
    for (size_t i = 0; variables[i]; i++) {
        size_t n = strcspn(variables[i], "=");
        if (strncmp(entry, variables[i], n) == 0 && entry[n] == '=')
            return true;
    }
    return false;
}

/* Returns a new array of borrowed strings: the variables, then the rest of this process's environment. */
static char **environment_with(const char *const variables[])
{
    size_t n = 0, n_environ = 0, n_variables = 0;
    while (environ[n_environ])
        n_environ++;
    while (variables[n_variables])
        n_variables++;
    char **all = calloc(n_environ + n_variables + 1, sizeof *all);
    for (size_t i = 0; all && i < n_variables; i++)
        if (strchr(variables[i], '='))
            all[n++] = (char *)(uintptr_t)variables[i];
    for (size_t i = 0; all && i < n_environ; i++)
        if (!is_replaced(environ[i], variables))
            all[n++] = environ[i];
    return all;
}

struct spawn_setting {
    char **environment;
    pid_t group; /* 0: a new group */
};

static int spawn_child(const char *const argv[], const struct spawn_setting *setting, const int fds[3],
                       pid_t *ret, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return err_nomem(err);
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return err_nomem(err);
    }
    pid_t pid = -1;
    int rc = prepare_spawn(&actions, &attr, setting->group, fds);
    if (rc == 0) {
        fd_spawn_lock();
        rc = posix_spawnp(&pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv,
                          setting->environment);
        fd_spawn_unlock();
    }
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        errno = rc;
        err_sys(err, "cannot start %s", argv[0]);
        if (err && rc == ENOENT)
            err->kind = ERR_NOT_FOUND;
        return -1;
    }
    /* posix_spawn cannot set a limit, so the child starts with this process's raised limit of descriptors
     * (fd_raise_limit). */
    fd_restore_limit(pid);
    *ret = pid;
    return 0;
}

int proc_start(const char *const argv[], const int fds[3], pid_t *ret, struct err *err)
{
    return spawn_child(argv, &(struct spawn_setting){environ, 0}, fds, ret, err);
}

int proc_start_with_setting(const char *const argv[], const struct proc_setting *setting, const int fds[3],
                            pid_t *ret, struct err *err)
{
    static const char *const none[] = {NULL};
    char **environment = environment_with(setting->variables ? setting->variables : none);
    if (!environment)
        return err_nomem(err);
    int rc = spawn_child(argv, &(struct spawn_setting){environment, setting->group}, fds, ret, err);
    free(environment);
    return rc;
}

bool proc_has_ended(pid_t pid, int *ret_exit_code)
{
    siginfo_t info = {.si_pid = 0};
    bool failed = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
    if (!failed && info.si_pid != pid)
        return false;
    if (ret_exit_code)
        *ret_exit_code = failed ? 127 : info.si_status + (info.si_code == CLD_EXITED ? 0 : 128);
    return true;
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* Waits for a child that is about to end and reaps it. Returns its exit code (127: waitpid failed), or -1 if
 * the deadline passes or cancel_fd becomes readable first. Ignores cancel_fd if the deadline is
 * CLOCK_NEVER. */
static int reap_child(pid_t pid, int64_t deadline, int cancel_fd)
{
    struct pollfd cancel = {.fd = cancel_fd, .events = POLLIN};
    for (;;) {
        int status = 0;
        pid_t done = waitpid(pid, &status, deadline == CLOCK_NEVER ? 0 : WNOHANG);
        if (done == pid)
            return exit_code(status);
        if (done < 0 && errno != EINTR)
            return 127;
        if (done == 0 && clock_now() >= deadline)
            return -1;
        if (done == 0 && poll(&cancel, 1, 2) > 0)
            return -1;
    }
}

/* Signals the child's process group, so that no grandchild outlives it. */
static void send_signal(pid_t pid, int number)
{
    if (kill(-pid, number) < 0)
        kill(pid, number);
}

int proc_wait(pid_t pid)
{
    return reap_child(pid, CLOCK_NEVER, -1);
}

int proc_end(pid_t pid)
{
    send_signal(pid, SIGTERM);
    int code = reap_child(pid, clock_deadline(500), -1);
    if (code >= 0)
        return code;
    send_signal(pid, SIGKILL);
    return reap_child(pid, CLOCK_NEVER, -1);
}

/* Reads once from a pipe. Returns 1 while the pipe is open, 0 at its end or after a read error, -1 if the
 * buffer failed. With keep_beginning, drops the bytes that exceed the maximum of the buffer. */
static int read_pipe(int fd, struct buf *into, bool keep_beginning)
{
    char chunk[4096];
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 1 : 0;
    if (n == 0)
        return 0;
    if (keep_beginning && (size_t)n > into->max - into->len)
        n = (ssize_t)(into->max - into->len);
    buf_add(into, chunk, (size_t)n);
    if (into->secret)
        explicit_bzero(chunk, sizeof chunk);
    return into->failed ? -1 : 1;
}

/* Reads both pipes to end-of-file. */
static int read_pipes(const int pipes[2], int64_t deadline, int cancel_fd, struct buf texts[2],
                      struct err *err)
{
    struct pollfd fds[3] = {{.fd = pipes[0], .events = POLLIN},
                            {.fd = pipes[1], .events = POLLIN},
                            {.fd = cancel_fd, .events = POLLIN}};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int n = poll(fds, 3, clock_poll_timeout(deadline));
        if (n < 0 && errno != EINTR)
            return err_sys(err, "cannot wait for its output");
        if (n == 0)
            return err_set(err, ERR_TIMEOUT, "it did not end in time");
        if (n < 0)
            continue;
        if (fds[2].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (fds[0].revents) {
            int rc = read_pipe(pipes[0], &texts[0], false);
            if (rc < 0)
                return buf_check(&texts[0], "its output", err);
            if (rc == 0)
                fds[0].fd = -1;
        }
        if (fds[1].revents && read_pipe(pipes[1], &texts[1], true) <= 0)
            fds[1].fd = -1;
    }
    return 0;
}

/* Returns whether Ctrl-C ended the child, which is possible until the child joins its own process group.
 * Waits a moment, because cancel_fd may become readable only after the child has ended. */
static bool ended_by_ctrl_c(int code, int cancel_fd)
{
    struct err why = ERR_INIT;
    if (code <= 128 || cancel_fd < 0)
        return false;
    fd_wait(-1, 0, clock_deadline(200), cancel_fd, &why);
    return why.kind == ERR_CANCELLED;
}

static int start_with_limits(const char *const argv[], const struct proc_limits *limits, const int fds[3],
                             pid_t *ret, struct err *err)
{
    static const char *const none[] = {NULL};
    struct proc_bounds bounds = {.memory = limits->memory, .cpu_ms = limits->cpu_ms};
    const struct proc_setting setting = {.variables = limits->variables};
    if (!bounds.memory && !bounds.cpu_ms)
        return proc_start_with_setting(argv, &setting, fds, ret, err);
    bounds.environment = environment_with(limits->variables ? limits->variables : none);
    if (!bounds.environment)
        return err_nomem(err);
    int rc = proc_start_bounded(argv, &bounds, fds, ret, err);
    free(bounds.environment);
    return rc;
}

int proc_run_with_input(const char *const argv[], int input, const struct proc_limits *limits,
                        struct proc_result *ret, struct err *err)
{
    int rc = -1, output_pipe[2] = {-1, -1}, error_pipe[2] = {-1, -1}, code = -1;
    int64_t deadline = clock_deadline(limits->timeout_ms);
    struct buf texts[2] = {{.max = limits->max_output, .secret = limits->secret_output}, BUF_INIT(2048)};
    pid_t pid = -1;
    if (fd_pipe(output_pipe, err) < 0 || fd_pipe(error_pipe, err) < 0 ||
        start_with_limits(argv, limits, (int[]){input, output_pipe[1], error_pipe[1]}, &pid, err) < 0)
        goto out;
    fd_close(&output_pipe[1]);
    fd_close(&error_pipe[1]);
    if (read_pipes((int[]){output_pipe[0], error_pipe[0]}, deadline, limits->cancel_fd, texts, err) < 0) {
        err_wrap(err, "%s", argv[0]);
        proc_end(pid);
        goto out;
    }
    code = reap_child(pid, deadline, limits->cancel_fd);
    if (code < 0) {
        bool cancelled = fd_cancelled(limits->cancel_fd);
        proc_end(pid);
        err_set(err, cancelled ? ERR_CANCELLED : ERR_TIMEOUT,
                cancelled ? "interrupted" : "it did not end in time");
        err_wrap(err, "%s", argv[0]);
        goto out;
    }
    if (ended_by_ctrl_c(code, limits->cancel_fd)) {
        err_set(err, ERR_CANCELLED, "interrupted");
        err_wrap(err, "%s", argv[0]);
        goto out;
    }
    *ret = (struct proc_result){.exit_code = code, .out = texts[0]};
    text_printable(ret->error_output, sizeof ret->error_output, buf_str(&texts[1]), texts[1].len);
    texts[0] = (struct buf){.max = 0};
    rc = 0;
out:
    for (int i = 0; i < 2; i++) {
        fd_close(&output_pipe[i]);
        fd_close(&error_pipe[i]);
        buf_release(&texts[i]);
    }
    return rc;
}

int proc_run(const char *const argv[], const struct proc_limits *limits, struct proc_result *ret,
             struct err *err)
{
    return proc_run_with_input(argv, -1, limits, ret, err);
}

void proc_result_release(struct proc_result *r)
{
    buf_release(&r->out);
}

/* The dispositions of SIGINT and SIGQUIT before this process ignored them. */
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

int proc_run_in_fork(proc_fork_fn *run, void *ctx, int cancel_fd, int *ret_exit_code, struct err *err)
{
    struct terminal_signals before;
    struct err why = ERR_INIT;
    int ended_pipe[2]; /* its end of file shows that the child has ended */
    if (fd_pipe(ended_pipe, err) < 0)
        return -1;
    ignore_signals(&before);
    pid_t pid = fork();
    if (pid == 0) {
        restore_signals(&before);
        proc_drop_handlers();
        _exit(run(ctx));
    }
    int rc = pid < 0 ? err_sys(err, "cannot start another process") : 0;
    fd_close(&ended_pipe[1]);
    if (rc == 0 && fd_wait(ended_pipe[0], POLLIN, CLOCK_NEVER, cancel_fd, &why) < 0) {
        proc_end(pid);
        *err = why;
        rc = -1;
    } else if (rc == 0) {
        *ret_exit_code = proc_wait(pid);
    }
    restore_signals(&before);
    fd_close(&ended_pipe[0]);
    return rc;
}

bool proc_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *proc_find_program(const char *name)
{
    const char *at = getenv("PATH");
    for (size_t n; at && *at; at += n + (at[n] == ':')) {
        char *path = NULL;
        n = strcspn(at, ":");
        if (*at != '/' || asprintf(&path, "%.*s/%s", (int)n, at, name) < 0)
            continue;
        if (proc_is_program(path))
            return path;
        free(path);
    }
    return NULL;
}
