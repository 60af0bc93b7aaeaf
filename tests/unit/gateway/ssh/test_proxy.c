/* ProxyCommand's child: its bytes, its error output, its end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/ssh/proxy.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static struct proxy *start_proxy(const char *command, int *ret_fd)
{
    struct proxy *p = NULL;
    struct err err = ERR_INIT;
    assert_ok(proxy_start(command, ret_fd, &p, &err), &err);
    return p;
}

/* Reads until the child closes its end. */
static void read_all(int fd, char *dst, size_t cap)
{
    size_t n = 0;
    ssize_t got;
    while (n + 1 < cap && (got = recv(fd, dst + n, cap - 1 - n, 0)) > 0)
        n += (size_t)got;
    dst[n] = '\0';
}

static void bytes_go_both_ways(void **state)
{
    (void)state;
    int fd = -1;
    char text[32] = "";
    struct proxy *p = start_proxy("sed s/a/b/", &fd);
    assert_ok(fd_write_all(fd, "abc\n", 4, NULL), NULL);
    shutdown(fd, SHUT_WR);
    read_all(fd, text, sizeof text);
    assert_string_equal(text, "bbc\n");
    assert_string_equal(proxy_stderr_tail(p, text, sizeof text), "");
    proxy_stop(p);
    fd_close(&fd);
}

/* The user's shell runs the command, with `exec` before it, as with ssh. */
static void the_users_shell_runs_the_command(void **state)
{
    char *arguments = format_text("%s/arguments", (char *)*state), text[64];
    char *script = format_text("#!/bin/sh\nprintf '%%s|' \"$@\" >%s\n", arguments);
    char *shell = scratch_file(*state, "shell", script, strlen(script));
    int fd = -1;
    assert_int_equal(chmod(shell, 0700), 0);
    setenv("SHELL", shell, 1);
    struct proxy *p = start_proxy("nc a 'b c'; true", &fd);
    read_all(fd, text, sizeof text);
    unsetenv("SHELL");
    proxy_stop(p);
    fd_close(&fd);
    struct buf b = scratch_read(arguments);
    assert_string_equal(buf_str(&b), "-c|exec nc a 'b c'; true|");
    buf_release(&b);
    setenv("SHELL", "/nowhere/sh", 1);
    struct err err = ERR_INIT;
    assert_int_equal(proxy_start("true", &fd, &p, &err), -1);
    assert_contains(err.msg, "cannot start /nowhere/sh");
    unsetenv("SHELL");
    free(arguments);
    free(script);
    free(shell);
}

static void the_error_output_of_a_proxy_is_reported(void **state)
{
    (void)state;
    int fd = -1;
    char text[64], short_text[12];
    struct proxy *p = start_proxy("sh -c 'i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done >&2; "
                                  "printf \"no \\033[31mroute\\n\" >&2'",
                                  &fd);
    read_all(fd, text, sizeof text);
    proxy_stderr_tail(p, text, sizeof text);
    assert_contains(text, "line 299 no ?[31mroute");
    assert_string_equal(proxy_stderr_tail(p, short_text, sizeof short_text), "1mroute");
    proxy_stop(p);
    fd_close(&fd);
}

/* profgrab does not read the error output of a working proxy. This must not block the proxy. */
static void a_proxy_with_much_error_output_goes_on(void **state)
{
    (void)state;
    int fd = -1;
    char text[8];
    struct proxy *p = start_proxy("sh -c 'head -c 1000000 /dev/zero >&2; echo on'", &fd);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 20000), 1);
    read_all(fd, text, sizeof text);
    assert_string_equal(text, "on\n");
    proxy_stop(p);
    fd_close(&fd);
}

static void all_processes_of_a_proxy_end(void **state)
{
    char *path = format_text("%s/pid", (char *)*state),
         *command = format_text("sh -c 'sleep 60 & echo $! >%s; wait'", path);
    int fd = -1;
    struct proxy *p = start_proxy(command, &fd);
    uint64_t pid = 0;
    for (int i = 0; i < 2000 && pid == 0; i++) {
        struct buf b = BUF_INIT(64);
        if (file_read(path, &b, NULL) == 0 && b.len > 1) {
            b.data[b.len - 1] = '\0';
            text_to_uint(b.data, UINT32_MAX, &pid);
        }
        buf_release(&b);
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    }
    assert_true(pid > 0);
    proxy_stop(p);
    char text[4];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    /* The shell and its `sleep` both had the other end open. */
    assert_int_equal(poll(&ready, 1, 20000), 1);
    read_all(fd, text, sizeof text);
    assert_string_equal(text, "");
    fd_close(&fd);
    proxy_stop(NULL);
    free(command);
    free(path);
}

/* A proxy that closes its connection ends a moment later. A proxy that waits for our bytes has not ended. */
static void the_end_of_a_proxy_is_detected(void **state)
{
    (void)state;
    int fd = -1, code = -1;
    char text[4];
    struct proxy *p = start_proxy("sh -c 'exec <&- >&-; sleep 0.02; exit 7'", &fd);
    read_all(fd, text, sizeof text);
    assert_true(proxy_has_ended(p, &code));
    assert_int_equal(code, 7);
    assert_string_equal(proxy_stderr_tail(p, text, sizeof text), "");
    proxy_stop(p);
    fd_close(&fd);
    p = start_proxy("cat", &fd);
    code = -1;
    assert_false(proxy_has_ended(p, &code));
    assert_int_equal(code, -1);
    proxy_stop(p);
    fd_close(&fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        SCRATCH(the_users_shell_runs_the_command),
        cmocka_unit_test(the_error_output_of_a_proxy_is_reported),
        cmocka_unit_test(a_proxy_with_much_error_output_goes_on),
        SCRATCH(all_processes_of_a_proxy_end),
        cmocka_unit_test(the_end_of_a_proxy_is_detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
