/* Child processes: their output, how they end, and what they do not inherit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "tests/unit/unit.h"
#include "base/banned.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

static const struct proc_limits default_limits = {
    .timeout_ms = 60000, .cancel_fd = -1, .max_output = 1u << 20};

/* `sh -c SCRIPT`. */
static int run_shell(const char *script, const struct proc_limits *limits, struct proc_result *ret,
                     struct err *err)
{
    return proc_run((const char *const[]){"sh", "-c", script, NULL}, limits, ret, err);
}

static void assert_script(const char *script, int code, const char *out, const char *error_output)
{
    struct proc_result r;
    struct err err = ERR_INIT;
    assert_ok(run_shell(script, &default_limits, &r, &err), &err);
    assert_int_equal(r.exit_code, code);
    assert_string_equal(buf_str(&r.out), out);
    assert_string_equal(r.error_output, error_output);
    proc_result_release(&r);
}

static void output_and_exit_codes_are_returned(void **state)
{
    (void)state;
    assert_script("exit 0", 0, "", "");
    assert_script("echo out; exit 3", 3, "out\n", "");
    assert_script("printf 'a\\n\\033[31mb' >&2; echo o; exit 255", 255, "o\n", "a ?[31mb");
    assert_script("kill -TERM $$", 128 + SIGTERM, "", "");
    assert_script("kill -KILL $$", 128 + SIGKILL, "", "");
    /* Standard input is empty, not the terminal. */
    assert_script("cat; echo end", 0, "end\n", "");
    /* A child that closes its output early still has an exit code. */
    assert_script("exec >&- 2>&-; sleep 0.05; exit 7", 7, "", "");
}

static void no_shell_interprets_the_arguments(void **state)
{
    (void)state;
    struct buf out = run_program((const char *const[]){"printf", "%s|%s", "a b; $HOME `x`", "", NULL});
    assert_string_equal(buf_str(&out), "a b; $HOME `x`|");
    buf_release(&out);
}

static void a_megabyte_of_output_is_returned(void **state)
{
    (void)state;
    struct proc_result r;
    struct err err = ERR_INIT;
    assert_ok(run_shell("head -c 1000000 /dev/zero; head -c 300000 /dev/zero | tr '\\0' e >&2",
                        &default_limits, &r, &err),
              &err);
    assert_int_equal(r.exit_code, 0);
    assert_int_equal(r.out.len, 1000000);
    assert_int_equal(strlen(r.error_output), sizeof r.error_output - 1);
    assert_int_equal(strspn(r.error_output, "e"), sizeof r.error_output - 4);
    proc_result_release(&r);
}

static void too_much_output_is_refused(void **state)
{
    (void)state;
    struct proc_result r;
    struct err err = ERR_INIT;
    struct proc_limits limits = default_limits;
    static const size_t max_outputs[] = {10, 100000};
    for (size_t i = 0; i < 2; i++) {
        limits.max_output = max_outputs[i];
        char *msg = format_text("sh: its output is larger than %zu bytes", max_outputs[i]);
        int64_t start = clock_now();
        assert_refused(run_shell("exec cat /dev/zero", &limits, &r, &err), &err, ERR_FAILED, msg);
        assert_true(clock_now() - start < 20000);
        free(msg);
    }
}

static void a_program_is_ended_at_its_deadline(void **state)
{
    (void)state;
    static const char *const scripts[] = {"exec sleep 100", "sleep 100 & wait",
                                          "trap '' TERM; sleep 100; :", "exec >&- 2>&-; exec sleep 100"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct proc_result r;
        struct err err = ERR_INIT;
        struct proc_limits limits = default_limits;
        limits.timeout_ms = 150;
        int64_t start = clock_now();
        assert_refused(run_shell(scripts[i], &limits, &r, &err), &err, ERR_TIMEOUT,
                       "sh: it did not end in time");
        assert_in_range(clock_now() - start, 150, 20000);
    }
}

/* Waits until the file's text ends in a newline. Returns the text, which the caller releases. */
static struct buf wait_for_file(const char *path)
{
    for (int64_t deadline = clock_deadline(20000); clock_now() < deadline;) {
        struct buf b = BUF_INIT(1000);
        if (file_read(path, &b, NULL) == 0 && b.len > 0 && b.data[b.len - 1] == '\n')
            return b;
        buf_release(&b);
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    }
    fail_msg("nothing was written to %s", path);
    return (struct buf)BUF_INIT(0);
}

static bool is_running(pid_t pid)
{
    char path[64];
    struct buf b = BUF_INIT(4096);
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    /* A zombie has ended too. */
    bool there = file_read(path, &b, NULL) == 0 && !strstr(buf_str(&b), ") Z");
    buf_release(&b);
    return there;
}

static void grandchildren_are_killed_too(void **state)
{
    struct proc_result r;
    struct err err = ERR_INIT;
    struct proc_limits limits = default_limits;
    char *path = format_text("%s/pid", (char *)*state);
    char *script = format_text("sleep 100 & echo $! >%s; wait", path);
    limits.timeout_ms = 1000;
    assert_int_equal(run_shell(script, &limits, &r, &err), -1);
    struct buf text = wait_for_file(path);
    pid_t pid = (pid_t)strtol(buf_str(&text), NULL, 10);
    assert_true(pid > 1);
    for (int i = 0; i < 1000 && is_running(pid); i++)
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    assert_false(is_running(pid));
    buf_release(&text);
    free(script);
    free(path);
}

/* `ctx` is the write end of the cancel pipe. */
static void *cancel_soon(void *ctx)
{
    fd_wait(-1, 0, clock_deadline(100), -1, NULL);
    assert_int_equal(write(*(int *)ctx, "", 1), 1);
    return NULL;
}

static void a_program_can_be_cancelled(void **state)
{
    (void)state;
    static const char *const scripts[] = {"exec sleep 100", "exec >&- 2>&-; exec sleep 100"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        int cancel[2];
        pthread_t thread;
        struct proc_result r;
        struct err err = ERR_INIT;
        struct proc_limits limits = default_limits;
        assert_ok(fd_pipe(cancel, &err), &err);
        limits.cancel_fd = cancel[0];
        assert_ok(thread_start(&thread, cancel_soon, &cancel[1], &err), &err);
        int64_t start = clock_now();
        assert_refused(run_shell(scripts[i], &limits, &r, &err), &err, ERR_CANCELLED, "sh: interrupted");
        assert_true(clock_now() - start < 20000);
        pthread_join(thread, NULL);
        assert_refused(run_shell("exec sleep 100", &limits, &r, &err), &err, ERR_CANCELLED,
                       "sh: interrupted");
        fd_close(&cancel[0]);
        fd_close(&cancel[1]);
    }
}

static void a_missing_program_is_an_error(void **state)
{
    struct proc_result r;
    struct err err = ERR_INIT;
    /* A directory in PATH without permission would change the message. */
    setenv("PATH", "/usr/bin:/bin", 1);
    assert_refused(
        proc_run((const char *const[]){"profgrab-no-such-program", NULL}, &default_limits, &r, &err), &err,
        ERR_NOT_FOUND, "cannot start profgrab-no-such-program: No such file or directory");
    char *path = scratch_file(*state, "plain", "text", 4);
    char *msg = format_text("cannot start %s: Permission denied", path);
    assert_refused(proc_run((const char *const[]){path, NULL}, &default_limits, &r, &err), &err, ERR_LOCAL_IO,
                   msg);
    free(msg);
    free(path);
}

static void no_descriptor_is_inherited(void **state)
{
    (void)state;
    int pair[2], ends[2], without_cloexec = open("/dev/null", O_RDONLY);
    struct err err = ERR_INIT;
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_ok(fd_pipe(ends, &err), &err);
    /* ls itself opens a descriptor for the directory. */
    struct buf out = run_program((const char *const[]){"ls", "/proc/self/fd", NULL});
    assert_string_equal(buf_str(&out), "0\n1\n2\n3\n");
    buf_release(&out);
    for (int i = 0; i < 2; i++) {
        fd_close(&pair[i]);
        fd_close(&ends[i]);
    }
    fd_close(&without_cloexec);
}

/* Reads the hexadecimal mask on a line of /proc/self/status. */
static unsigned long long read_mask(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    assert_non_null(line);
    return strtoull(line + strlen(name), NULL, 16);
}

static void a_program_starts_with_default_signals(void **state)
{
    (void)state;
    sigset_t all, before;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, was[3];
    static const int numbers[] = {SIGPIPE, SIGINT, SIGUSR1};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < 3; i++)
        sigaction(numbers[i], &ignore, &was[i]);
    struct buf out = run_program((const char *const[]){"cat", "/proc/self/status", NULL});
    for (size_t i = 0; i < 3; i++)
        sigaction(numbers[i], &was[i], NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_true(read_mask(buf_str(&out), "SigBlk:\t") == 0);
    /* Signals 32 and 33 belong to glibc, whose posix_spawn leaves them ignored. */
    assert_true((read_mask(buf_str(&out), "SigIgn:\t") & ~0x180000000ull) == 0);
    assert_true(read_mask(buf_str(&out), "SigCgt:\t") == 0);
    buf_release(&out);
}

static void a_child_runs_in_parallel(void **state)
{
    (void)state;
    int pair[2];
    pid_t pid = -1;
    struct err err = ERR_INIT;
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_ok(proc_start((const char *const[]){"cat", NULL}, (int[]){pair[1], pair[1], -1}, &pid, &err),
              &err);
    fd_close(&pair[1]);
    char text[8] = "";
    assert_ok(fd_write_all(pair[0], "hello", 5, &err), &err);
    assert_int_equal(recv(pair[0], text, 5, MSG_WAITALL), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(getpgid(pid), pid);
    assert_int_equal(proc_end(pid), 128 + SIGTERM);
    assert_int_equal(recv(pair[0], text, 1, 0), 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
    fd_close(&pair[0]);
}

static void a_stubborn_child_is_killed(void **state)
{
    char *path = format_text("%s/ready", (char *)*state);
    char *script = format_text("trap '' TERM; echo x >%s; while :; do sleep 0.1; done", path);
    pid_t pid = -1;
    struct err err = ERR_INIT;
    assert_ok(proc_start((const char *const[]){"sh", "-c", script, NULL}, (int[]){-1, -1, -1}, &pid, &err),
              &err);
    struct buf text = wait_for_file(path);
    assert_int_equal(proc_end(pid), 128 + SIGKILL);
    buf_release(&text);
    free(script);
    free(path);
    assert_ok(proc_start((const char *const[]){"sh", "-c", "exit 5", NULL}, (int[]){-1, -1, -1}, &pid, &err),
              &err);
    for (int i = 0; i < 1000 && is_running(pid); i++)
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    assert_int_equal(proc_end(pid), 5);
}

static void variables_are_added_to_the_environment(void **state)
{
    char *path = format_text("%s/output", (char *)*state);
    char *script =
        format_text("printf '%%s|%%s|%%s\\n' \"$PG_NEW\" \"$PG_BOTH\" \"$PG_OLD\" >%s.new; mv %s.new %s",
                    path, path, path);
    pid_t pid = -1;
    struct err err = ERR_INIT;
    setenv("PG_OLD", "kept", 1);
    setenv("PG_BOTH", "hidden", 1);
    struct proc_setting setting = {.variables = (const char *const[]){"PG_NEW=a b", "PG_BOTH=wins", NULL}};
    assert_ok(proc_start_with_setting((const char *const[]){"sh", "-c", script, NULL}, &setting,
                                      (int[]){-1, -1, -1}, &pid, &err),
              &err);
    struct buf text = wait_for_file(path);
    assert_string_equal(buf_str(&text), "a b|wins|kept\n");
    proc_end(pid);
    assert_string_equal(getenv("PG_BOTH"), "hidden");
    assert_null(getenv("PG_NEW"));
    unsetenv("PG_OLD");
    unsetenv("PG_BOTH");
    buf_release(&text);
    free(script);
    free(path);
}

/* proc_end of the first child signals the whole group, which ends both children. */
static void a_child_can_join_the_process_group_of_another(void **state)
{
    (void)state;
    pid_t first = -1, second = -1;
    int code = 0;
    struct err err = ERR_INIT;
    const char *const argv[] = {"sleep", "60", NULL};
    assert_ok(proc_start(argv, (int[]){-1, -1, -1}, &first, &err), &err);
    struct proc_setting setting = {.group = first};
    assert_ok(proc_start_with_setting(argv, &setting, (int[]){-1, -1, -1}, &second, &err), &err);
    assert_int_equal(getpgid(second), first);
    assert_int_equal(proc_end(first), 128 + SIGTERM);
    for (int i = 0; i < 1000 && !proc_has_ended(second, &code); i++)
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    assert_int_equal(code, 128 + SIGTERM);
    assert_int_equal(proc_end(second), 128 + SIGTERM);
}

static void the_end_of_a_child_is_detected(void **state)
{
    (void)state;
    pid_t pid = -1;
    struct err err = ERR_INIT;
    assert_ok(proc_start((const char *const[]){"sleep", "60", NULL}, (int[]){-1, -1, -1}, &pid, &err), &err);
    int code = -1;
    assert_false(proc_has_ended(pid, &code));
    assert_int_equal(code, -1);
    kill(pid, SIGKILL);
    for (int i = 0; i < 1000 && !proc_has_ended(pid, NULL); i++)
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    /* proc_has_ended leaves the zombie for proc_end. */
    assert_true(proc_has_ended(pid, &code));
    assert_int_equal(code, 128 + SIGKILL);
    assert_int_equal(proc_end(pid), 128 + SIGKILL);
    assert_ok(proc_start((const char *const[]){"sh", "-c", "exit 7", NULL}, (int[]){-1, -1, -1}, &pid, &err),
              &err);
    for (int i = 0; i < 1000 && !proc_has_ended(pid, &code); i++)
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    assert_int_equal(code, 7);
    assert_int_equal(proc_end(pid), 7);
}

static int increment(void *number)
{
    int *n = number;
    return ++*n;
}

static int wait_for_a_signal(void *seconds)
{
    poll(NULL, 0, *(int *)seconds * 1000);
    return 1;
}

static int interrupt_itself(void *ctx)
{
    (void)ctx;
    raise(SIGINT);
    return 1;
}

static void ignore_signal(int number)
{
    (void)number;
}

static void a_fork_does_not_change_its_parent(void **state)
{
    (void)state;
    struct sigaction before, after, act = {.sa_handler = ignore_signal};
    struct err err = ERR_INIT;
    int number = 6, code = -1, seconds = 60, cancel[2];
    sigaction(SIGINT, &act, &before);
    assert_ok(proc_run_in_fork(increment, &number, -1, &code, &err), &err);
    assert_int_equal(code, 7);
    assert_int_equal(number, 6);
    assert_ok(proc_run_in_fork(interrupt_itself, NULL, -1, &code, &err), &err);
    assert_int_equal(code, 128 + SIGINT);
    sigaction(SIGINT, &before, &after);
    assert_true(after.sa_handler == ignore_signal);
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_int_equal(write(cancel[1], "", 1), 1);
    assert_refused(proc_run_in_fork(wait_for_a_signal, &seconds, cancel[0], &code, &err), &err, ERR_CANCELLED,
                   "interrupted");
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
}

/* Returns the soft limit of CPU time; 1 if the pipe `ctx` is closed, or another descriptor open. */
static int inspect_fork(void *ctx)
{
    const int *ends = ctx;
    struct rlimit limit;
    if (write(ends[1], "x", 1) != 1 || getrlimit(RLIMIT_CPU, &limit) < 0)
        return 1;
#ifdef __linux__
    if (fcntl(ends[0], F_GETFD) >= 0)
        return 1;
#endif
    return (int)limit.rlim_cur;
}

static void a_started_fork_has_its_limits_and_is_not_waited_for(void **state)
{
    struct err err = ERR_INIT;
    int ends[2], seconds = 60, code;
    char byte;
    pid_t pid;
    (void)state;
    assert_ok(fd_pipe(ends, &err), &err);
    const struct proc_fork_limits limits = {.cpu_ms = 7000, .cancel_fd = -1, .kept = {ends[1]}};
    assert_ok(proc_start_fork(inspect_fork, ends, &limits, &pid, &err), &err);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(proc_wait(pid), 7);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
    assert_ok(proc_start_fork(wait_for_a_signal, &seconds, &limits, &pid, &err), &err);
    assert_int_equal(kill(pid, SIGKILL), 0);
    code = proc_wait(pid);
    assert_int_equal(code, 128 + SIGKILL);
}

static int raise_limit_beyond_the_maximum(void *ctx)
{
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = 200};
    (void)ctx;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 || fd_raise_limit(300) != 200;
}

/* profgrab raises the limit for itself only: a child gets the original limit back soon after its start. */
static void the_raised_descriptor_limit_is_not_inherited(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct rlimit before, limit, now;
    int code = -1;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(fd_raise_limit(90), 90);
    assert_int_equal(fd_raise_limit(120), 120);
    assert_int_equal(fd_raise_limit(130), 130);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, 130);
    assert_script("until [ `ulimit -Sn` = 100 ]; do :; done; echo ours", 0, "ours\n", "");
    setrlimit(RLIMIT_NOFILE, &before);
    assert_ok(proc_run_in_fork(raise_limit_beyond_the_maximum, NULL, -1, &code, &err), &err);
    assert_int_equal(code, 0);
}

/* ---- confined children ------------------------------------------------------------------------------- */

static const struct proc_fork_limits confined = {
    .memory = 64u << 20, .cpu_ms = 60000, .wall_ms = 60000, .cancel_fd = -1, .max_result = 1000};

static int return_text(void *ctx, struct buf *ret, struct err *err)
{
    int *n = ctx;
    (void)err;
    buf_addf(ret, "%d", ++*n);
    return 0;
}

static int fail_with_hint(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret;
    err_set(err, ERR_NOT_FOUND, "there is no \033[31mred");
    return err_hint(err, "look elsewhere");
}

static int return_too_much(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)err;
    for (int i = 0; i < 2000; i++)
        buf_addc(ret, 'a');
    return 0;
}

static void a_confined_child_returns_its_result(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf ret = BUF_INIT(0);
    int number = 6;
    assert_ok(proc_run_confined(return_text, &number, &confined, &ret, &err), &err);
    assert_string_equal(buf_str(&ret), "7");
    assert_int_equal(number, 6);
    assert_ok(proc_run_confined(return_text, &number, &confined, NULL, &err), &err);
    assert_refused(proc_run_confined(fail_with_hint, NULL, &confined, &ret, &err), &err, ERR_NOT_FOUND,
                   "there is no ?[31mred");
    assert_string_equal(err.hint, "look elsewhere");
    assert_refused(proc_run_confined(return_too_much, NULL, &confined, &ret, &err), &err, ERR_FAILED,
                   "its result is larger than 1000 bytes");
    assert_string_equal(buf_str(&ret), "7");
    buf_release(&ret);
}

static int use_memory(void *ctx, struct buf *ret, struct err *err)
{
    struct buf all = BUF_INIT(*(size_t *)ctx);
    char chunk[4096] = "";
    (void)ret;
    while (all.len < all.max && !all.failed)
        buf_add(&all, chunk, sizeof chunk);
    int rc = buf_check(&all, "it", err);
    buf_release(&all);
    return rc;
}

static int run_out_of_memory(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret;
    err_nomem(err);
    return err_wrap(err, "it");
}

/* The message of a file with an unusual name. */
static int mention_memory(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret;
    return err_set(err, ERR_LOCAL_IO, "cannot read out of memory: it is a directory");
}

static void a_confined_child_reports_a_failed_allocation(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct proc_fork_limits unlimited = confined;
    unlimited.memory = 0;
    assert_refused(proc_run_confined(run_out_of_memory, NULL, &confined, NULL, &err), &err, ERR_LIMIT,
                   "reading it takes more than 67.1 MB of memory");
    assert_refused(proc_run_confined(run_out_of_memory, NULL, &unlimited, NULL, &err), &err, ERR_LOCAL_IO,
                   "it: out of memory");
    assert_true(err.out_of_memory);
    assert_refused(proc_run_confined(mention_memory, NULL, &confined, NULL, &err), &err, ERR_LOCAL_IO,
                   "cannot read out of memory: it is a directory");
    assert_false(err.out_of_memory);
}

static int use_time(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret, (void)err;
    for (volatile bool ever = true; ever;)
        continue;
    return 0;
}

static int wait_for_ever(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret, (void)err;
    poll(NULL, 0, -1);
    return 0;
}

/* SIGKILL cannot be handled, not even by a sanitizer. */
static int kill_itself(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret, (void)err;
    raise(SIGKILL);
    return 0;
}

static void a_confined_child_is_ended_at_its_limits(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    size_t little = 16u << 20, much = 128u << 20;
    int cancel[2];
    struct proc_fork_limits unlimited_memory = confined, little_cpu = confined, little_time = confined,
                            cancelled = confined;
    unlimited_memory.memory = 0;
    little_cpu.cpu_ms = 1;
    little_time.wall_ms = 20;
    assert_ok(proc_run_confined(use_memory, &little, &confined, NULL, &err), &err);
#ifndef UNDER_SANITIZER
    assert_refused(proc_run_confined(use_memory, &much, &confined, NULL, &err), &err, ERR_LIMIT,
                   "reading it takes more than 67.1 MB of memory");
#endif
    assert_ok(proc_run_confined(use_memory, &much, &unlimited_memory, NULL, &err), &err);
    assert_refused(proc_run_confined(use_time, NULL, &little_cpu, NULL, &err), &err, ERR_LIMIT,
                   "reading it takes more than 1 s of processor time");
    assert_refused(proc_run_confined(wait_for_ever, NULL, &little_time, NULL, &err), &err, ERR_LIMIT,
                   "reading it takes more than 1 s");
    assert_refused(proc_run_confined(kill_itself, NULL, &confined, NULL, &err), &err, ERR_LIMIT,
                   "the process that read it was ended by signal 9");
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_int_equal(write(cancel[1], "", 1), 1);
    cancelled.cancel_fd = cancel[0];
    assert_refused(proc_run_confined(wait_for_ever, NULL, &cancelled, NULL, &err), &err, ERR_CANCELLED,
                   "interrupted");
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
}

/* Adds the child's limits to `ret`: the memory beyond *in_use, in MiB rounded to a multiple of 128, and the
 * time in seconds. */
static int add_limits(void *ctx, struct buf *ret, struct err *err)
{
    const uint64_t *in_use = ctx;
    struct rlimit memory, time;
    (void)err;
#ifdef __linux__
    getrlimit(RLIMIT_DATA, &memory);
#else
    getrlimit(RLIMIT_AS, &memory);
#endif
    getrlimit(RLIMIT_CPU, &time);
    /* The child may have mapped a few more megabytes than this process. */
    uint64_t beyond = (uint64_t)memory.rlim_max - *in_use + (64u << 20);
    buf_addf(ret, "memory %llu MiB, time %llu s", (unsigned long long)(beyond >> 27 << 7),
             (unsigned long long)time.rlim_cur);
    return 0;
}

static void assert_limits(uint64_t bytes, const char *expected)
{
    struct err err = ERR_INIT;
    struct buf ret = BUF_INIT(0);
    struct proc_fork_limits limits = confined_limits(bytes, -1);
    uint64_t in_use = proc_memory_in_use();
    limits.max_result = 1000;
    assert_ok(proc_run_confined(add_limits, &in_use, &limits, &ret, &err), &err);
#ifdef UNDER_SANITIZER
    expected = strstr(expected, "time");
    assert_non_null(strstr(buf_str(&ret), expected));
#else
    assert_string_equal(buf_str(&ret), expected);
#endif
    buf_release(&ret);
}

static void limits_grow_with_the_input(void **state)
{
    (void)state;
    assert_limits(0, "memory 256 MiB, time 10 s");
    assert_limits(16u << 20, "memory 1024 MiB, time 26 s");
    assert_limits(UINT64_C(104) << 20, "memory 5248 MiB, time 119 s");
    assert_limits(UINT64_C(1) << 30, "memory 8192 MiB, time 600 s");
    assert_limits(UINT64_MAX, "memory 8192 MiB, time 600 s");
}

static int add_confinement(void *ctx, struct buf *ret, struct err *err)
{
    const int *fds = ctx;
    struct rlimit core;
    (void)err;
    getrlimit(RLIMIT_CORE, &core);
#ifdef __linux__
    buf_addf(ret, "privileges %d, ", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
#endif
    buf_addf(ret, "core %d, kept %d, other %d", (int)core.rlim_max, fcntl(fds[0], F_GETFD) >= 0,
             fcntl(fds[1], F_GETFD) >= 0);
    return 0;
}

#ifdef __linux__
static void a_confined_child_has_only_the_kept_descriptors(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf ret = BUF_INIT(0);
    int fds[2];
    struct proc_fork_limits c = confined;
    assert_ok(fd_pipe(fds, &err), &err);
    c.kept[0] = fds[0];
    assert_ok(proc_run_confined(add_confinement, fds, &c, &ret, &err), &err);
    assert_string_equal(buf_str(&ret), "privileges 1, core 0, kept 1, other 0");
    assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
    assert_true(fcntl(fds[1], F_GETFD) >= 0);
    buf_release(&ret);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}
#endif

static int interrupt_confined(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret, (void)err;
    raise(SIGINT);
    return 0;
}

static int run_interrupted_child(void *ctx)
{
    return proc_run_confined(interrupt_confined, ctx, &confined, NULL, NULL) < 0;
}

/* A signal of the terminal reaches the child and this process. Without a handler, this process ends like the
 * child. With a handler, it continues and reports an interruption. */
static void a_signal_to_the_child_interrupts_the_parent(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct sigaction before, act = {.sa_handler = ignore_signal};
    int code = -1;
    signal(SIGINT, SIG_DFL); /* a shell starts background jobs with SIGINT ignored */
    assert_ok(proc_run_in_fork(run_interrupted_child, NULL, -1, &code, &err), &err);
    assert_int_equal(code, 128 + SIGINT);
    sigaction(SIGINT, &act, &before);
    assert_refused(proc_run_confined(interrupt_confined, NULL, &confined, NULL, &err), &err, ERR_CANCELLED,
                   "interrupted");
    sigaction(SIGINT, &before, NULL);
}

/* ---- programs within limits -------------------------------------------------------------------------- */

/* Limits of memory and processor time need the program's path: PATH is not searched. */
static int run_bounded(const char *script, const struct proc_limits *limits, struct proc_result *ret,
                       struct err *err)
{
    return proc_run((const char *const[]){"/bin/sh", "-c", script, NULL}, limits, ret, err);
}

static void an_allocation_beyond_the_memory_limit_fails(void **state)
{
    (void)state;
    uint64_t before = 0, unused = 0;
    size_t large = (size_t)512 << 20;
    proc_limit_memory(proc_memory_in_use() + (64 << 20), &before);
    void *much = malloc(large);
    proc_limit_memory(before, &unused);
#ifndef UNDER_SANITIZER
    assert_null(much);
#endif
    free(much);
    much = malloc(large);
    assert_non_null(much);
    free(much);
}

static void a_program_runs_within_its_limits(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct proc_result r = {.exit_code = -1};
    struct proc_limits limits = {
        .timeout_ms = 60000, .cancel_fd = -1, .max_output = 1000, .memory = 256u << 20, .cpu_ms = 1000};
    assert_ok(run_bounded("ulimit -t; ulimit -c; echo bad >&2; exit 3", &limits, &r, &err), &err);
    assert_string_equal(buf_str(&r.out), "1\n0\n");
    assert_string_equal(r.error_output, "bad");
    assert_int_equal(r.exit_code, 3);
    proc_result_release(&r);
    assert_ok(run_bounded("while :; do :; done", &limits, &r, &err), &err);
    assert_int_equal(r.exit_code, 128 + SIGXCPU);
    proc_result_release(&r);
    setenv("PG_REMOVED", "x", 1);
    limits.variables = (const char *const[]){"PG_REMOVED", "PG_NEW=a b", NULL};
    assert_ok(run_bounded("echo ${PG_REMOVED-none} $PG_NEW; test -n \"$PATH\"", &limits, &r, &err), &err);
    assert_string_equal(buf_str(&r.out), "none a b\n");
    assert_int_equal(r.exit_code, 0);
    proc_result_release(&r);
    unsetenv("PG_REMOVED");
#ifdef __linux__
    assert_ok(run_bounded("ulimit -d; grep NoNewPrivs /proc/self/status; ls /proc/self/fd | wc -l", &limits,
                          &r, &err),
              &err);
    assert_string_equal(buf_str(&r.out), "262144\nNoNewPrivs:\t1\n4\n");
    proc_result_release(&r);
#endif
    assert_refused(proc_run((const char *const[]){"/nonexistent/nm", NULL}, &limits, &r, &err), &err,
                   ERR_NOT_FOUND, "cannot start /nonexistent/nm: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_codes_are_returned),
        cmocka_unit_test(no_shell_interprets_the_arguments),
        cmocka_unit_test(a_megabyte_of_output_is_returned),
        cmocka_unit_test(too_much_output_is_refused),
        cmocka_unit_test(a_program_is_ended_at_its_deadline),
        SCRATCH(grandchildren_are_killed_too),
        cmocka_unit_test(a_program_can_be_cancelled),
        SCRATCH(a_missing_program_is_an_error),
        cmocka_unit_test(no_descriptor_is_inherited),
        cmocka_unit_test(a_program_starts_with_default_signals),
        cmocka_unit_test(a_child_runs_in_parallel),
        SCRATCH(a_stubborn_child_is_killed),
        SCRATCH(variables_are_added_to_the_environment),
        cmocka_unit_test(the_end_of_a_child_is_detected),
        cmocka_unit_test(a_child_can_join_the_process_group_of_another),
        cmocka_unit_test(a_fork_does_not_change_its_parent),
        cmocka_unit_test(a_started_fork_has_its_limits_and_is_not_waited_for),
        cmocka_unit_test(the_raised_descriptor_limit_is_not_inherited),
        cmocka_unit_test(a_confined_child_returns_its_result),
        cmocka_unit_test(a_confined_child_is_ended_at_its_limits),
        cmocka_unit_test(a_confined_child_reports_a_failed_allocation),
        cmocka_unit_test(limits_grow_with_the_input),
#ifdef __linux__
        cmocka_unit_test(a_confined_child_has_only_the_kept_descriptors),
#endif
        cmocka_unit_test(a_signal_to_the_child_interrupts_the_parent),
        cmocka_unit_test(a_program_runs_within_its_limits),
        cmocka_unit_test(an_allocation_beyond_the_memory_limit_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
