/* The first signal makes the cancel descriptor readable. The second prints the text of signals_set_exit_text
 * and ends the process. Each case runs in a child process, because signal handlers are global. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/term/signals.h"

/* Runs `child` with its stderr in a pipe; returns its wait status and its output. */
static int run_in_child(void (*child)(void), char *output, size_t cap)
{
    int fds[2];
    assert_int_equal(fd_pipe(fds, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        /* A shell may have started the tests with these signals ignored. */
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        child();
        _exit(99);
    }
    close(fds[1]);
    ssize_t n = read(fds[0], output, cap - 1);
    output[n > 0 ? n : 0] = '\0';
    close(fds[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void send_one_signal(void)
{
    struct err err = ERR_INIT;
    if (signals_install(&err) < 0 || fd_cancelled(signals_cancel_fd()))
        _exit(1);
    raise(SIGTERM);
    _exit(fd_cancelled(signals_cancel_fd()) && signals_received() == SIGTERM ? 0 : 2);
}

static void send_two_signals(void)
{
    struct err err = ERR_INIT;
    if (signals_install(&err) < 0)
        _exit(1);
    signals_set_exit_text("an older line\n");
    signals_set_exit_text("it is in /tmp/x.partial\n");
    raise(SIGINT);
    raise(SIGTERM);
}

static void raise_sigpipe(void)
{
    struct err err = ERR_INIT;
    if (signals_install(&err) < 0)
        _exit(1);
    raise(SIGPIPE);
    _exit(signals_received() == 0 ? 0 : 2);
}

static void raise_ignored_signal(void)
{
    struct err err = ERR_INIT;
    signal(SIGHUP, SIG_IGN);
    if (signals_install(&err) < 0)
        _exit(1);
    raise(SIGHUP);
    _exit(signals_received() == 0 ? 0 : 2);
}

/* nohup and shell scripts start background jobs with ignored signals. */
static void an_ignored_signal_stays_ignored(void **state)
{
    (void)state;
    char output[200];
    assert_int_equal(run_in_child(raise_ignored_signal, output, sizeof output), 0);
}

static void the_first_signal_makes_the_cancel_descriptor_readable(void **state)
{
    (void)state;
    char output[200];
    assert_int_equal(run_in_child(send_one_signal, output, sizeof output), 0);
    assert_string_equal(output, "");
}

static void the_second_signal_ends_the_process(void **state)
{
    (void)state;
    char output[200];
    int status = run_in_child(send_two_signals, output, sizeof output);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    assert_string_equal(output, "it is in /tmp/x.partial\n");
}

static void a_broken_pipe_signal_does_not_end_the_process(void **state)
{
    (void)state;
    char output[200];
    assert_int_equal(run_in_child(raise_sigpipe, output, sizeof output), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_signal_makes_the_cancel_descriptor_readable),
        cmocka_unit_test(the_second_signal_ends_the_process),
        cmocka_unit_test(an_ignored_signal_stays_ignored),
        cmocka_unit_test(a_broken_pipe_signal_does_not_end_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
