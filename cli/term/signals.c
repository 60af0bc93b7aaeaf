#include "cli/term/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/exit.h"
#include "base/banned.h"

/* The members that other threads read are atomic and lock-free, so that a handler may use them. */
struct signals {
    int pipe[2];
    pid_t owner;             /* the process that created the pipe; a forked child creates its own pipe */
    atomic_int first_signal; /* 0: none */
    atomic_int live_lines;
    char exit_text[2][1024]; /* the handler prints one while the other is changed */
    volatile sig_atomic_t exit_text_index;
    _Atomic(const char *) stop_message; /* the line to print after the first signal, a string literal */
    _Atomic(const struct signals_terminal *) terminal;
    atomic_int n_handlers; /* running handlers, which may use the terminal */
};

/* A mutable global, because a signal handler has no other access to state. */
static struct signals state = {.pipe = {-1, -1},
                               .stop_message = "profgrab: stopping; Ctrl-C again quits at once\n"};

/* Prints a line on stderr, or drops it if the write would block. */
static void print_line(const char *line, size_t n)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    while (poll(&p, 1, 0) > 0 && write(STDERR_FILENO, line, n) < 0 && errno == EINTR)
        ;
}

/* Wipes the live lines and the ^C that the terminal has echoed. Without live lines, starts a new line. */
static void clear_live_lines(void)
{
    static const char up[] = "\033[A", wipe[] = "\r\033[J";
    int lines = atomic_exchange(&state.live_lines, 0);
    if (lines == 0)
        print_line("\n", 1);
    for (int i = 1; i < lines; i++)
        print_line(up, sizeof up - 1);
    if (lines > 0)
        print_line(wipe, sizeof wipe - 1);
}

static void on_signal(int number)
{
    int saved = errno;
    atomic_fetch_add(&state.n_handlers, 1);
    const struct signals_terminal *t = state.terminal;
    if (state.first_signal) {
        if (t)
            tcsetattr(t->fd, TCSANOW, &t->normal);
        const char *line = state.exit_text[state.exit_text_index];
        print_line(line, strlen(line));
        _exit(EXIT_SIGNAL + number);
    }
    state.first_signal = number;
    if (isatty(STDERR_FILENO)) {
        const char *line = state.stop_message;
        clear_live_lines();
        print_line(line, strlen(line));
    }
    while (write(state.pipe[1], "", 1) < 0 && errno == EINTR)
        ;
    atomic_fetch_sub(&state.n_handlers, 1);
    errno = saved;
}

/* Stops the process with the signal's default action. */
static void stop_process(int number)
{
    struct sigaction ours, act = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigaction(number, &act, &ours);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* stops here until SIGCONT */
    pthread_sigmask(SIG_BLOCK, &only, NULL);
    sigaction(number, &ours, NULL);
}

static bool is_in_background(const struct signals_terminal *t)
{
    return t && tcgetpgrp(t->fd) != getpgrp();
}

/* Restores the terminal, stops the process, and repeats the question after SIGCONT. Stops again if the
 * process continues in the background; at most 100 times, because an orphaned process group cannot stop. */
static void on_stop(int number)
{
    int saved = errno;
    atomic_fetch_add(&state.n_handlers, 1);
    const struct signals_terminal *t = state.terminal;
    if (t)
        tcsetattr(t->fd, TCSANOW, &t->normal);
    stop_process(number);
    for (int i = 0; i < 100 && is_in_background(state.terminal); i++)
        stop_process(number);
    t = state.terminal;
    if (t && !is_in_background(t)) {
        tcsetattr(t->fd, TCSANOW, &t->asking);
        (void)!write(t->fd, t->prompt, strlen(t->prompt));
    }
    atomic_fetch_sub(&state.n_handlers, 1);
    errno = saved;
}

/* The SIGTSTP handler stays installed. Without a registered terminal it performs the default action. */
void signals_register_terminal(const struct signals_terminal *t)
{
    struct sigaction before, act = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigfillset(&act.sa_mask);
    state.terminal = t;
    /* Wait for a handler in another thread, which may still use the released terminal. */
    while (!t && atomic_load(&state.n_handlers) > 0)
        poll(NULL, 0, 1);
    if (t && sigaction(SIGTSTP, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGTSTP, &act, NULL);
}

int signals_install(struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    if (state.pipe[0] >= 0 && state.owner == getpid())
        return 0;
    if (fd_pipe(state.pipe, err) < 0)
        return -1;
    state.owner = getpid();
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigfillset(&act.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        /* Keep ignoring the signals that the parent ignores (nohup, a script's background job). */
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        if (sigaction(numbers[i], &act, NULL) < 0)
            return err_sys(err, "cannot handle signals");
    }
    act.sa_handler = SIG_IGN;
    if (sigaction(SIGPIPE, &act, NULL) < 0)
        return err_sys(err, "cannot handle signals");
    return 0;
}

int signals_cancel_fd(void)
{
    return state.pipe[0];
}

int signals_received(void)
{
    return state.first_signal;
}

void signals_set_live_lines(int n)
{
    state.live_lines = n;
}

void signals_announce_bundle(bool yes)
{
    state.stop_message =
        yes ? "profgrab: stopping and bundling the collected items; Ctrl-C again quits at once\n"
            : "profgrab: stopping; Ctrl-C again quits at once\n";
}

void signals_set_exit_text(const char *line)
{
    int other = !state.exit_text_index;
    snprintf(state.exit_text[other], sizeof state.exit_text[other], "%s", line);
    state.exit_text_index = other;
}
