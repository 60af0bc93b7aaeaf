/* Unix sockets as destinations of a direct route: missing ones, and paths of every length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/ssh/destination.h"
#include "gateway/gateway.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define LONG_MS 30000
/* The bytes of the longest path that a Unix socket can have. */
#define PATH_MOST (sizeof((struct sockaddr_un *)0)->sun_path - 1)

static struct gateway *open_gateway(void)
{
    struct gateway_options options = {.cancel_fd = -1, .step_timeout_ms = LONG_MS, .keepalive_ms = 10000};
    struct route route = {.direct = true, .address = strdup("127.0.0.1")};
    struct gateway *gw = NULL;
    struct err err = ERR_INIT;
    assert_ok(gateway_open(&route, &options, &gw, &err), &err);
    return gw;
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_in_range(strlen(path), 1, PATH_MOST);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = address_of(path);
    int fd = fd_socket(AF_UNIX, NULL);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static int accept_connection(int listener)
{
    struct err err = ERR_INIT;
    assert_ok(fd_wait(listener, POLLIN, clock_deadline(LONG_MS), -1, &err), &err);
    int fd = fd_accept(listener);
    assert_true(fd >= 0);
    return fd;
}

/* Sends the text, shuts the sending half of `from`, and asserts that `to` receives the text and then the end.
 */
static void assert_transfer(int from, int to, const char *text)
{
    char got[100] = "";
    struct err err = ERR_INIT;
    assert_ok(fd_write_all(from, text, strlen(text), &err), &err);
    shutdown(from, SHUT_WR);
    for (size_t n = 0;; n = strlen(got)) {
        assert_ok(fd_wait(to, POLLIN, clock_deadline(LONG_MS), -1, &err), &err);
        if (read(to, got + n, sizeof got - 1 - n) <= 0)
            break;
    }
    assert_string_equal(got, text);
}

/* Asserts that texts pass in both directions, and closes both ends. */
static void assert_conversation(int near, int far)
{
    assert_transfer(near, far, "hello");
    assert_transfer(far, near, "hello yourself");
    fd_close(&near);
    fd_close(&far);
}

static void a_socket_is_dialled(void **state)
{
    char *path = format_text("%s/app.sock", (char *)*state);
    struct destination to = {.unix_path = path};
    struct gateway *gw = open_gateway();
    struct err err = ERR_INIT;
    int listener = listen_at(path), fd = -1;
    assert_ok(gateway_dial(gw, &to, &fd, &err), &err);
    assert_conversation(fd, accept_connection(listener));
    /* With a path, host and port are ignored. */
    to = (struct destination){.host = "localhost", .port = 1, .unix_path = path};
    assert_ok(gateway_dial(gw, &to, &fd, &err), &err);
    assert_conversation(fd, accept_connection(listener));
    gateway_close(gw);
    fd_close(&listener);
    free(path);
}

/* The far end reads the end at once after the near end has closed, even if the near end sent data before. */
static void the_far_end_closes_with_the_near_end(void **state)
{
    char *path = format_text("%s/app.sock", (char *)*state), got[16];
    struct destination to = {.unix_path = path};
    struct gateway *gw = open_gateway();
    struct err err = ERR_INIT;
    int listener = listen_at(path);
    for (int i = 0; i < 20; i++) {
        int near = -1, far;
        assert_ok(gateway_dial(gw, &to, &near, &err), &err);
        far = accept_connection(listener);
        if (i % 2)
            assert_ok(fd_write_all(near, "bye", 3, &err), &err);
        fd_close(&near);
        for (ssize_t n = 1; n > 0; n = read(far, got, sizeof got))
            assert_ok(fd_wait(far, POLLIN, clock_deadline(LONG_MS), -1, &err), &err);
        fd_close(&far);
    }
    gateway_close(gw);
    fd_close(&listener);
    free(path);
}

static void a_remote_socket_can_be_listened_for(void **state)
{
    char *path = format_text("%s/app.sock", (char *)*state);
    struct gateway *gw = open_gateway();
    struct gateway_listener *l = NULL;
    struct err err = ERR_INIT;
    int listener = listen_at(path);
    assert_ok(gateway_listen(gw, &(struct destination){.unix_path = path}, &l, &err), &err);
    /* The gateway keeps its own copy of the path. */
    memset(path, 'x', strlen(path));
    free(path);
    for (int i = 0; i < 2; i++) {
        struct sockaddr_un address = address_of(gateway_listener_path(l));
        int fd = fd_socket(AF_UNIX, NULL);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        assert_conversation(fd, accept_connection(listener));
    }
    assert_int_equal(gateway_listener_failure(l, &err), 0);
    gateway_close(gw);
    fd_close(&listener);
}

static void assert_dial_refused(const char *path, const char *msg)
{
    struct destination to = {.unix_path = path};
    struct gateway *gw = open_gateway();
    struct err err = ERR_INIT;
    int fd = 77;
    assert_refused(gateway_dial(gw, &to, &fd, &err), &err, ERR_FAILED, msg);
    assert_int_equal(fd, 77);
    gateway_close(gw);
}

static void a_missing_socket_is_an_error(void **state)
{
    char *path = format_text("%s/none.sock", (char *)*state);
    char *msg = format_text("%s: cannot connect: No such file or directory", path);
    assert_dial_refused(path, msg);
    free(path);
    free(msg);
    /* A socket of a process that ended. */
    path = format_text("%s/left.sock", (char *)*state);
    msg = format_text("%s: cannot connect: Connection refused", path);
    int listener = listen_at(path);
    fd_close(&listener);
    assert_dial_refused(path, msg);
    free(path);
    free(msg);
}

static void the_longest_path_of_a_socket_is_dialled(void **state)
{
    char path[PATH_MOST + 2];
    struct gateway *gw = open_gateway();
    struct err err = ERR_INIT;
    int fd = -1, n = snprintf(path, sizeof path, "%s/", (char *)*state);
    memset(path + n, 'x', sizeof path - (size_t)n);
    path[PATH_MOST] = '\0';
    int listener = listen_at(path);
    assert_ok(gateway_dial(gw, &(struct destination){.unix_path = path}, &fd, &err), &err);
    assert_conversation(fd, accept_connection(listener));
    fd_close(&listener);
    gateway_close(gw);
    path[PATH_MOST] = 'x';
    path[PATH_MOST + 1] = '\0';
    char *msg = format_text("%s: the path of a Unix socket may have at most %zu bytes; this path has %zu",
                            path, PATH_MOST, PATH_MOST + 1);
    assert_dial_refused(path, msg);
    free(msg);
}

static void destinations_have_printable_names(void **state)
{
    (void)state;
    char name[DESTINATION_NAME], path[400] = "/";
    memset(path + 1, 'x', sizeof path - 2);
    destination_name(&(struct destination){.host = "db", .port = 6060}, name);
    assert_string_equal(name, "db port 6060");
    destination_name(&(struct destination){.unix_path = "/run/a"}, name);
    assert_string_equal(name, "/run/a");
    destination_name(&(struct destination){.host = "db", .port = 1, .unix_path = path}, name);
    assert_int_equal(strlen(name), DESTINATION_NAME - 1);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        SCRATCH(a_socket_is_dialled),
        SCRATCH(the_far_end_closes_with_the_near_end),
        SCRATCH(a_remote_socket_can_be_listened_for),
        SCRATCH(a_missing_socket_is_an_error),
        SCRATCH(the_longest_path_of_a_socket_is_dialled),
        cmocka_unit_test(destinations_have_printable_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
