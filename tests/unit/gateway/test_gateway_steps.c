/* The steps of opening a route, without an SSH server: the reported steps, their order, and the error of the
 * last step. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/ssh/connect.h"
#include "gateway/gateway.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define LONG_MS 30000

/* ---- observer ---------------------------------------------------------------------------------------- */

struct observed_steps {
    struct gateway_step steps[8];
    struct err failures[8];
    size_t n;
    pthread_t thread;
};

static void on_step(void *ctx, const struct gateway_step *step)
{
    struct observed_steps *observed = ctx;
    assert_in_range(observed->n, 0, 7);
    assert_true(pthread_equal(pthread_self(), observed->thread));
    assert_in_range(step->duration_ms, 0, LONG_MS);
    observed->steps[observed->n] = *step;
    if (step->failure)
        observed->failures[observed->n] = *step->failure;
    observed->n++;
}

static void assert_step(const struct observed_steps *observed, size_t i, enum gateway_step_kind kind,
                        const char *detail)
{
    assert_in_range(i, 0, observed->n - 1);
    assert_int_equal(observed->steps[i].kind, kind);
    assert_int_equal(observed->steps[i].hop, 0);
    assert_string_equal(observed->steps[i].detail, detail);
    assert_int_equal(observed->steps[i].failure != NULL, i + 1 == observed->n);
}

/* ---- destinations ------------------------------------------------------------------------------------ */

/* A socket on 127.0.0.1 that listens, or is only bound to its port. */
static int bind_port(bool listens, unsigned *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = fd_socket(AF_INET, NULL);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    if (listens)
        assert_int_equal(listen(fd, 8), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* Sends bytes that are not SSH to the first connection, and closes it. */
static void *send_greeting(void *ctx)
{
    int fd = fd_accept(*(int *)ctx);
    if (fd >= 0)
        fd_write_all(fd, "220 mail\x1b[31m\r\n", 15, NULL);
    fd_close(&fd);
    return NULL;
}

/* Opens a route of one hop, which must fail. known_hosts may be NULL. */
static void assert_open_fails(const char *host, unsigned port, char *known_hosts, int cancel_fd,
                              struct observed_steps *observed, struct err *err)
{
    struct route route = {.hops = calloc(1, sizeof *route.hops), .n_hops = 1};
    route.hops[0] = (struct ssh_config){.hostname = strdup(host), .user = strdup("nobody"), .port = port};
    struct gateway_options options = {.cancel_fd = cancel_fd,
                                      .step_timeout_ms = LONG_MS,
                                      .keepalive_ms = 10000,
                                      .step = on_step,
                                      .step_ctx = observed};
    struct gateway *gw = NULL;
    if (known_hosts)
        assert_ok(strlist_add(&route.hops[0].host_key.files, known_hosts, NULL), NULL);
    *observed = (struct observed_steps){.thread = pthread_self()};
    assert_int_equal(gateway_open(&route, &options, &gw, err), -1);
    assert_null(gw);
    assert_null(route.hops);
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static void a_direct_route_has_no_steps(void **state)
{
    (void)state;
    struct observed_steps observed = {.thread = pthread_self()};
    struct gateway_options options = {.cancel_fd = -1,
                                      .step_timeout_ms = LONG_MS,
                                      .keepalive_ms = 10000,
                                      .step = on_step,
                                      .step_ctx = &observed};
    struct gateway *gw = NULL;
    struct err err = ERR_INIT;
    assert_ok(
        gateway_open(&(struct route){.direct = true, .address = strdup("127.0.0.1")}, &options, &gw, &err),
        &err);
    assert_int_equal(observed.n, 0);
    gateway_close(gw);
}

static void a_failed_connection_is_a_step(void **state)
{
    (void)state;
    unsigned port = 0;
    int fd = bind_port(false, &port);
    struct observed_steps observed;
    struct err err = ERR_INIT;
    char *where = format_text("127.0.0.1 port %u", port);
    char *msg = format_text("%s: cannot connect: Connection refused", where);
    assert_open_fails("127.0.0.1", port, NULL, -1, &observed, &err);
    assert_int_equal(observed.n, 1);
    assert_step(&observed, 0, GATEWAY_CONNECT, where);
    assert_refused(-1, &observed.failures[0], ERR_FAILED, msg);
    assert_refused(-1, &err, ERR_FAILED, msg);
    fd_close(&fd);
    free(where);
    free(msg);
}

static void a_port_without_ssh_is_a_step(void **state)
{
    (void)state;
    unsigned port = 0;
    int fd = bind_port(true, &port);
    pthread_t thread;
    struct observed_steps observed;
    struct err err = ERR_INIT;
    assert_ok(thread_start(&thread, send_greeting, &fd, &err), &err);
    assert_open_fails("localhost", port, NULL, -1, &observed, &err);
    pthread_join(thread, NULL);
    assert_int_equal(observed.n, 2);
    char *detail = format_text("localhost port %u (127.0.0.1)", port);
    assert_step(&observed, 0, GATEWAY_CONNECT, detail);
    assert_step(&observed, 1, GATEWAY_HANDSHAKE, "");
    assert_refused(-1, &observed.failures[1], ERR_FAILED,
                   "the server is not an SSH server: it says \"220 mail?[31m\"");
    assert_contains(observed.failures[1].hint, "is the port right?");
    char *msg = format_text("localhost port %u: %s", port, observed.failures[1].msg);
    assert_refused(-1, &err, ERR_FAILED, msg);
    assert_string_equal(err.hint, observed.failures[1].hint);
    fd_close(&fd);
    free(detail);
    free(msg);
}

/* profgrab searches the known hosts before the handshake, but reports this as a part of the step of the host
 * key. */
static void unreadable_known_hosts_are_a_failed_step(void **state)
{
    unsigned port = 0;
    int fd = bind_port(true, &port);
    struct observed_steps observed;
    struct err err = ERR_INIT;
    /* The PATH has no program of OpenSSH. */
    char *path = scratch_file(*state, "known_hosts", "x", 1), *old_path = strdup(getenv("PATH"));
    setenv("PATH", *state, 1);
    assert_open_fails("127.0.0.1", port, path, -1, &observed, &err);
    setenv("PATH", old_path, 1);
    assert_int_equal(observed.n, 2);
    char *where = format_text("127.0.0.1 port %u", port);
    assert_step(&observed, 0, GATEWAY_CONNECT, where);
    assert_step(&observed, 1, GATEWAY_HOST_KEY, "");
    assert_refused(-1, &observed.failures[1], ERR_NOT_FOUND,
                   "cannot start ssh-keygen: No such file or directory");
    char *msg = format_text("%s: %s", where, observed.failures[1].msg);
    assert_refused(-1, &err, ERR_NOT_FOUND, msg);
    fd_close(&fd);
    free(path);
    free(old_path);
    free(where);
    free(msg);
}

static void an_interruption_is_reported_as_a_cancellation(void **state)
{
    (void)state;
    unsigned port = 0;
    int fd = bind_port(true, &port), cancel[2];
    struct observed_steps observed;
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_ok(fd_write_all(cancel[1], "", 1, &err), &err);
    assert_open_fails("127.0.0.1", port, NULL, cancel[0], &observed, &err);
    assert_int_equal(observed.n, 1);
    assert_int_equal(observed.steps[0].kind, GATEWAY_CONNECT);
    assert_int_equal(observed.failures[0].kind, ERR_CANCELLED);
    assert_int_equal(err.kind, ERR_CANCELLED);
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    fd_close(&fd);
}

static void the_peers_address_is_printed(void **state)
{
    (void)state;
    unsigned port = 0;
    char peer[CONNECT_PEER_IP];
    int listener = bind_port(true, &port), pair[2];
    struct err err = ERR_INIT;
    int fd = connect_tcp(
        "localhost", port,
        &(struct connect_options){.family = AF_UNSPEC, .deadline = clock_deadline(LONG_MS), .cancel_fd = -1},
        &err);
    assert_ok(fd, &err);
    assert_string_equal(connect_peer_ip(fd, peer), "127.0.0.1");
    /* The connection to a hop behind another hop is a socket pair, which has no IP address. */
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_string_equal(connect_peer_ip(pair[0], peer), "");
    assert_string_equal(connect_peer_ip(listener, peer), "");
    fd_close(&fd);
    fd_close(&pair[0]);
    fd_close(&pair[1]);
    fd_close(&listener);
}

static int global_setup(void **state)
{
    (void)state;
    return gateway_global_init(NULL);
}

static int global_teardown(void **state)
{
    (void)state;
    gateway_global_cleanup();
    return 0;
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_direct_route_has_no_steps),
        cmocka_unit_test(a_failed_connection_is_a_step),
        cmocka_unit_test(a_port_without_ssh_is_a_step),
        SCRATCH(unreadable_known_hosts_are_a_failed_step),
        cmocka_unit_test(an_interruption_is_reported_as_a_cancellation),
        cmocka_unit_test(the_peers_address_is_printed),
    };
    return cmocka_run_group_tests(tests, global_setup, global_teardown);
}
