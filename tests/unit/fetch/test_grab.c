/* fetch/grab.c over a direct connection to a service in this process: the members that a grab needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fetch/fetch.h"
#include "http/http.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- a service that has an index page ---------------------------------------------------------------- */

static struct {
    int fd;
    unsigned port;
    pthread_t thread;
} server;

static void serve_page(int fd)
{
    static const char page[] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        "<html><table><tr><td>3</td><td><a href='heap?debug=1'>heap</a></td></tr>"
        "<tr><td>4</td><td><a href='goroutine?debug=1'>goroutine</a></td></tr></table>";
    char request[4096];
    size_t n = 0;
    for (ssize_t got; (got = read(fd, request + n, sizeof request - 1 - n)) > 0;) {
        n += (size_t)got;
        request[n] = '\0';
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    if (n > 0)
        send(fd, page, sizeof page - 1, MSG_NOSIGNAL);
}

static void *serve_answers(void *ctx)
{
    (void)ctx;
    for (int fd; (fd = accept(server.fd, NULL, NULL)) >= 0;) {
        serve_page(fd);
        close(fd);
    }
    return NULL;
}

static int start_server(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server.fd, (struct sockaddr *)&at, n) < 0 || listen(server.fd, 8) < 0 ||
        getsockname(server.fd, (struct sockaddr *)&at, &n) < 0 ||
        pthread_create(&server.thread, NULL, serve_answers, NULL) != 0)
        return -1;
    server.port = ntohs(at.sin_port);
    return gateway_global_init(NULL) < 0 || http_global_init(NULL) < 0 ? -1 : 0;
}

static int stop_server(void **state)
{
    (void)state;
    shutdown(server.fd, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    http_global_cleanup();
    gateway_global_cleanup();
    return close(server.fd);
}

/* ---- the grab ---------------------------------------------------------------------------------------- */

/* Plans and probes one service, with only the members that a grab needs. */
static void run_minimal(const struct fetch_observer *observer)
{
    static char name[] = "h", address[] = "127.0.0.1", path[] = "/debug/pprof", service_name[] = "s";
    struct host host = {.name = name, .address = address, .direct = true};
    struct service service = {.name = service_name, .host = address, .port = server.port, .path = path};
    struct target items[] = {{.host = &host, .service = &service}};
    struct targets targets = {.items = items, .n = 1};
    struct fetch_job grab = {.targets = &targets,
                             .access = {.timeout_ms = FETCH_TIMEOUT_MS, .cancel_fd = -1},
                             .observer = observer};
    struct err err = ERR_INIT;
    assert_ok(fetch_plan(&grab, &err), &err);
    assert_ok(fetch_probe(&grab, &err), &err);
}

static void list_planned(void *ctx, const struct target *target, const struct fetch_service_report *s)
{
    struct strlist *planned = ctx;
    (void)target;
    if (s->failure)
        fail_msg("%s", s->failure->msg);
    assert_int_equal(s->n_offers, 2);
    for (size_t i = 0; i < s->n_items; i++)
        assert_ok(strlist_add(planned, s->planned[i].kind, NULL), &(struct err){0});
}

/* The observer gets the items of the plan. A probe has no items. */
static void without_kinds_the_default_set_is_planned(void **state)
{
    (void)state;
    struct strlist planned = {0};
    struct fetch_observer observer = {.ctx = &planned, .service = list_planned};
    run_minimal(&observer);
    assert_int_equal(planned.n, 4);
    assert_string_equal(planned.items[0], "heap");
    assert_string_equal(planned.items[1], "goroutines");
    assert_string_equal(planned.items[2], "goroutines");
    assert_string_equal(planned.items[3], "cpu");
    strlist_release(&planned);
}

static void a_grab_runs_without_an_observer(void **state)
{
    (void)state;
    run_minimal(NULL);
    run_minimal(&(struct fetch_observer){0});
}

/* ---- a service of a discovery source ----------------------------------------------------------------- */

static void store_hint(void *ctx, const struct target *target, const struct fetch_service_report *s)
{
    char *hint = ctx;
    (void)target;
    assert_non_null(s->failure);
    snprintf(hint, sizeof s->failure->hint, "%s", s->failure->hint);
}

/* Stores the hint for a service at 0.0.0.0, which reaches this machine but does not count as loopback. */
static void get_hint(unsigned port, char hint[static 512])
{
    static char name[] = "h", address[] = "127.0.0.1", path[] = "/debug/pprof", service_name[] = "s",
                any[] = "0.0.0.0", source_name[] = "prometheus";
    struct source source = {.name = source_name};
    struct source_use use = {.source = &source};
    struct host host = {.name = name, .address = address, .direct = true};
    struct service service = {.name = service_name, .host = any, .port = port, .path = path, .source = &use};
    struct target items[] = {{.host = &host, .service = &service}};
    struct targets targets = {.items = items, .n = 1};
    struct fetch_observer observer = {.ctx = hint, .service = store_hint};
    struct fetch_job grab = {
        .targets = &targets, .access = {.timeout_ms = 100, .cancel_fd = -1}, .observer = &observer};
    struct err err = ERR_INIT;
    assert_ok(fetch_plan(&grab, &err), &err);
}

/* A refused connection may mean that the service listens only on loopback. */
static void only_a_refused_connection_hints_at_loopback(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t n = sizeof at;
    char hint[512];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    get_hint(ntohs(at.sin_port), hint);
    assert_contains(hint, "prometheus gives the address 0.0.0.0; if the service listens only on loopback");
    /* The kernel accepts the connection, but no program answers. */
    assert_int_equal(listen(fd, 8), 0);
    get_hint(ntohs(at.sin_port), hint);
    assert_null(strstr(hint, "loopback"));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_kinds_the_default_set_is_planned),
        cmocka_unit_test(a_grab_runs_without_an_observer),
        cmocka_unit_test(only_a_refused_connection_hints_at_loopback),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
