/* Whole captures in one process, in parallel, each with its own observer. A server in this process acts as
 * the services; routes are direct, so no ssh is needed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "capture/capture.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* The limit of each wait, in milliseconds. */
#define LONG_MS 20000

/* ---- the services ------------------------------------------------------------------------------------ */

/* A server that answers one request for each connection: `/late` once the test releases it, `/never` never,
 * any other path at once. */
struct server {
    int fd;
    unsigned port;
    int released[2]; /* a pipe; readable: the server answers /late */
    int stopped[2];  /* a pipe; readable: the server ends */
    pthread_t thread;
};

static const char index_page[] = "<html><head><title>/debug/pprof/</title></head><body><table>"
                                 "<tr><td>1</td><td><a href='heap?debug=1'>heap</a></td></tr>"
                                 "</table></body></html>";

static void send_page(int fd, const char *type, const char *body)
{
    char head[200];
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", type,
             strlen(body));
    if (fd_write_all(fd, head, strlen(head), NULL) == 0)
        fd_write_all(fd, body, strlen(body), NULL);
}

struct connection {
    const struct server *server;
    int fd;
};

static void *serve_connection(void *ctx)
{
    struct connection *c = ctx;
    char request[4096] = "";
    size_t n = 0;
    while (n + 1 < sizeof request && !strstr(request, "\r\n\r\n")) {
        ssize_t got = read(c->fd, request + n, sizeof request - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        request[n] = '\0';
    }
    if (strncmp(request, "GET /never", 10) == 0)
        fd_wait(c->fd, POLLIN, clock_deadline(LONG_MS), c->server->stopped[0],
                NULL); /* until the client closes */
    else if (strncmp(request, "GET /late", 9) == 0 &&
             fd_wait(c->server->released[0], POLLIN, clock_deadline(LONG_MS), -1, NULL) == 0)
        send_page(c->fd, "text/plain", "late");
    else if (strncmp(request, "GET /debug/pprof/ ", 18) == 0)
        send_page(c->fd, "text/html", index_page);
    else if (n > 0)
        send_page(c->fd, "text/plain", "early");
    close(c->fd);
    free(c);
    return NULL;
}

static void *accept_connections(void *ctx)
{
    struct server *s = ctx;
    pthread_t threads[64];
    size_t n = 0;
    while (n < sizeof threads / sizeof *threads &&
           fd_wait(s->fd, POLLIN, clock_deadline(6 * LONG_MS), s->stopped[0], NULL) == 0) {
        struct connection *c = calloc(1, sizeof *c);
        if (!c)
            break;
        *c = (struct connection){s, accept(s->fd, NULL, NULL)};
        if (c->fd >= 0 && pthread_create(&threads[n], NULL, serve_connection, c) == 0)
            n++;
        else
            free(c);
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return NULL;
}

static void server_start(struct server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(s->fd, 64), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&address, &size), 0);
    s->port = ntohs(address.sin_port);
    assert_int_equal(fd_pipe(s->released, NULL) | fd_pipe(s->stopped, NULL), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, accept_connections, s), 0);
}

static void server_stop(struct server *s)
{
    fd_pipe_wake(s->released[1]);
    fd_pipe_wake(s->stopped[1]);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < 2; i++) {
        fd_close(&s->released[i]);
        fd_close(&s->stopped[i]);
    }
    fd_close(&s->fd);
}

/* ---- captures ---------------------------------------------------------------------------------------- */

/* One capture with its own inventory, observer and cancel pipe. */
struct capture_case {
    struct inventory *inventory;
    struct targets targets;
    struct strlist kinds;
    struct selection selection;
    char *output;
    int cancel[2];
    const char *cancel_at; /* the kind of the item during which the capture is cancelled; NULL: none */
    atomic_uint events;    /* the number of events */
    atomic_uint begun, items, bundled; /* the numbers of events of three kinds */
    struct capture_outcome outcome;
    struct err err;
    pthread_t thread;
};

static void on_event(void *ctx, const struct capture_event *e)
{
    struct capture_case *s = ctx;
    s->events++;
    s->begun += e->kind == CAPTURE_BEGUN;
    s->items += e->kind == CAPTURE_ITEM;
    s->bundled += e->kind == CAPTURE_BUNDLED;
    if (e->kind == CAPTURE_PROGRESS && s->cancel_at && strcmp(e->progress->kind, s->cancel_at) == 0)
        fd_pipe_wake(s->cancel[1]);
}

/* `services` are lines of YAML. */
static void case_begin(struct capture_case *s, const char *dir, const char *name, const char *host,
                       const char *services, const char *kinds)
{
    struct err err = ERR_INIT;
    char *text =
        format_text("version: 1\nservices:\n%shosts:\n  %s:\n    address: 127.0.0.1\n    connect: direct\n"
                    "    services: [%s]\n",
                    services, host, strstr(services, "second") ? "first, second" : "first");
    *s = (struct capture_case){0};
    assert_ok(inventory_parse("test.yaml", str_of(text), NULL, &s->inventory, &err), &err);
    free(text);
    assert_ok(strlist_add(&s->selection.hosts, host, &err), &err);
    assert_ok(inventory_select(s->inventory, &s->selection, &s->targets, &err), &err);
    if (*kinds)
        assert_ok(strlist_split(&s->kinds, kinds, &err), &err);
    assert_ok(fd_pipe(s->cancel, &err), &err);
    s->output = format_text("%s/%s.tar.gz", dir, name);
}

static void *case_run(void *ctx)
{
    struct capture_case *s = ctx;
    const struct capture_observer observer = {.ctx = s, .event = on_event};
    const struct capture_request request = {.targets = &s->targets,
                                            .kinds = &s->kinds,
                                            .selection = &s->selection,
                                            .access = {.timeout_ms = LONG_MS},
                                            .options = {.parallel = FETCH_PARALLEL},
                                            .subject = "test",
                                            .output = s->output};
    capture_run(&request, &observer, s->cancel[0], &s->outcome, &s->err);
    return NULL;
}

static void case_end(struct capture_case *s)
{
    capture_outcome_release(&s->outcome);
    targets_release(&s->targets);
    inventory_free(s->inventory);
    selection_release(&s->selection);
    strlist_release(&s->kinds);
    fd_close(&s->cancel[0]);
    fd_close(&s->cancel[1]);
    free(s->output);
}

/* Returns the manifest of a bundle, a new string. */
static char *read_manifest(const char *bundle)
{
    struct err err = ERR_INIT;
    char *text = NULL;
    assert_non_null(bundle);
    assert_ok(bundle_read_manifest(bundle, NULL, &text, &err), &err);
    return text;
}

/* ---- output ------------------------------------------------------------------------------------------ */

/* Standard output and stderr, redirected to a file. */
struct redirection {
    int saved[2]; /* duplicates of the original descriptors */
    char *path;   /* of the file */
};

static void redirection_begin(struct redirection *s, const char *dir)
{
    s->path = file_join(dir, "output");
    int fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        s->saved[i] = dup(i + 1);
        assert_true(s->saved[i] >= 0 && dup2(fd, i + 1) >= 0);
    }
    close(fd);
}

/* Ends the redirection. Returns the number of bytes that were written. */
static long redirection_end(struct redirection *s)
{
    struct stat st;
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        dup2(s->saved[i], i + 1);
        close(s->saved[i]);
    }
    assert_int_equal(stat(s->path, &st), 0);
    free(s->path);
    return (long)st.st_size;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static char *format_service(const struct server *s)
{
    return format_text("  first:\n    port: %u\n    kinds: [heap]\n", s->port);
}

static void cancelling_one_of_two_captures_does_not_end_the_other(void **state)
{
    struct server server;
    struct capture_case stopped, complete;
    struct redirection output;
    server_start(&server);
    char *services = format_service(&server);
    case_begin(&stopped, *state, "stopped", "host-a", services, "/first,/never,/second");
    case_begin(&complete, *state, "complete", "host-b", services, "/first,/late");
    stopped.cancel_at = "/never";
    redirection_begin(&output, *state);
    pthread_create(&stopped.thread, NULL, case_run, &stopped);
    pthread_create(&complete.thread, NULL, case_run, &complete);
    pthread_join(stopped.thread, NULL);
    /* The other capture is still waiting for its last item. */
    unsigned bundled = complete.bundled;
    fd_pipe_wake(server.released[1]);
    pthread_join(complete.thread, NULL);
    long printed = redirection_end(&output);
    server_stop(&server);

    assert_int_equal(printed, 0);
    assert_int_equal(bundled, 0);
    assert_int_equal(stopped.outcome.end, CAPTURE_PACKED);
    assert_true(stopped.outcome.cancelled);
    assert_false(capture_is_complete(&stopped.outcome));
    assert_int_equal(stopped.outcome.counts.complete, 1);
    assert_int_equal(stopped.outcome.counts.missing, 2);
    assert_int_equal(stopped.begun, 1);
    assert_int_equal(stopped.items, 3);
    char *manifest = read_manifest(stopped.outcome.bundle);
    assert_contains(manifest, "\"interrupted\": true");
    assert_contains(manifest, "host-a/first/");
    free(manifest);

    assert_int_equal(complete.outcome.end, CAPTURE_PACKED);
    assert_false(complete.outcome.cancelled);
    assert_true(capture_is_complete(&complete.outcome));
    assert_int_equal(complete.outcome.counts.complete, 2);
    assert_int_equal(complete.bundled, 1);
    assert_string_equal(complete.outcome.bundle, complete.output);
    assert_null(complete.outcome.directory);
    manifest = read_manifest(complete.outcome.bundle);
    assert_contains(manifest, "host-b/first/");
    assert_null(strstr(manifest, "host-a"));
    free(manifest);
    case_end(&stopped);
    case_end(&complete);
    free(services);
}

static void a_capture_without_items_leaves_no_file(void **state)
{
    struct server server;
    struct capture_case s;
    struct stat st;
    server_start(&server);
    char *services = format_service(&server);
    case_begin(&s, *state, "none", "host-a", services, "/never");
    s.cancel_at = "/never";
    case_run(&s);
    server_stop(&server);
    assert_int_equal(s.outcome.end, CAPTURE_NOTHING);
    assert_true(s.outcome.cancelled);
    assert_null(s.outcome.bundle);
    assert_null(s.outcome.directory);
    assert_int_equal(stat(s.output, &st), -1);
    case_end(&s);
    free(services);
}

/* An observer is optional. */
static void a_capture_runs_without_an_observer(void **state)
{
    struct server server;
    struct capture_case s;
    server_start(&server);
    char *services = format_service(&server);
    case_begin(&s, *state, "alone", "host-a", services, "/first");
    const struct capture_request request = {.targets = &s.targets,
                                            .kinds = &s.kinds,
                                            .selection = &s.selection,
                                            .access = {.timeout_ms = LONG_MS},
                                            .options = {.parallel = 1},
                                            .subject = "test",
                                            .output = s.output};
    assert_int_equal(capture_run(&request, NULL, -1, &s.outcome, &s.err), CAPTURE_PACKED);
    assert_true(capture_is_complete(&s.outcome));
    server_stop(&server);
    case_end(&s);
    free(services);
}

static void a_capture_that_cannot_begin_has_an_error(void **state)
{
    struct server server;
    struct capture_case s;
    server_start(&server);
    char *services = format_service(&server);
    case_begin(&s, *state, "no/such", "host-a", services, "/first");
    case_run(&s);
    server_stop(&server);
    assert_int_equal(s.outcome.end, CAPTURE_NOT_STARTED);
    assert_int_not_equal(s.err.kind, ERR_NONE);
    assert_int_equal(s.events, 0);
    case_end(&s);
    free(services);
}

/* ---- saving ------------------------------------------------------------------------------------------ */

/* A slow disk: the save of a thread waits until the item of the other service has arrived. */
static struct {
    atomic_bool armed; /* the next save of `thread` waits */
    pthread_t thread;
    atomic_uint waits;   /* the number of saves that waited */
    int arrived[2];      /* a pipe; readable: the other item has arrived */
    atomic_bool in_time; /* the other item arrived while the save waited */
    struct server *late; /* answers /late once the save waits */
} disk;

int __real_manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err);
int __wrap_manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err);
int __wrap_manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err)
{
    if (disk.armed && pthread_equal(disk.thread, pthread_self())) {
        disk.armed = false;
        disk.waits++;
        fd_pipe_wake(disk.late->released[1]);
        if (fd_wait(disk.arrived[0], POLLIN, clock_deadline(LONG_MS), -1, NULL) == 0)
            disk.in_time = true;
    }
    return __real_manifest_save_text(text, w, err);
}

static void on_saving_event(void *ctx, const struct capture_event *e)
{
    on_event(ctx, e);
    if (e->kind != CAPTURE_ITEM)
        return;
    if (strcmp(e->target->service->name, "first") != 0) {
        fd_pipe_wake(disk.arrived[1]);
    } else if (strcmp(e->item->kind, "/early") == 0) {
        disk.thread = pthread_self();
        disk.armed = true;
    }
}

/* The capture saves the manifest before it requests the timed profile: this save is slow. */
static void a_slow_disk_delays_no_other_item(void **state)
{
    struct server early, late;
    struct capture_case s;
    struct err err = ERR_INIT;
    server_start(&early);
    server_start(&late);
    assert_ok(fd_pipe(disk.arrived, &err), &err);
    disk.late = &late;
    char *services = format_text("  first:\n    port: %u\n    kinds: [/early, /timed?seconds=1]\n"
                                 "  second:\n    port: %u\n    kinds: [/late]\n",
                                 early.port, late.port);
    case_begin(&s, *state, "slow", "host-a", services, "");
    const struct capture_observer observer = {.ctx = &s, .event = on_saving_event};
    const struct capture_request request = {.targets = &s.targets,
                                            .kinds = &s.kinds,
                                            .selection = &s.selection,
                                            .access = {.timeout_ms = LONG_MS},
                                            .options = {.parallel = 1},
                                            .subject = "test",
                                            .output = s.output};
    capture_run(&request, &observer, s.cancel[0], &s.outcome, &s.err);
    server_stop(&early);
    server_stop(&late);
    assert_int_equal(disk.waits, 1);
    assert_true(disk.in_time);
    assert_true(capture_is_complete(&s.outcome));
    case_end(&s);
    fd_close(&disk.arrived[0]);
    fd_close(&disk.arrived[1]);
    free(services);
}

static int init_libraries(void **state)
{
    (void)state;
    return capture_global_init(NULL);
}

static int release_libraries(void **state)
{
    (void)state;
    capture_global_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(cancelling_one_of_two_captures_does_not_end_the_other),
        SCRATCH(a_capture_without_items_leaves_no_file), SCRATCH(a_capture_runs_without_an_observer),
        SCRATCH(a_capture_that_cannot_begin_has_an_error), SCRATCH(a_slow_disk_delays_no_other_item)};
    return cmocka_run_group_tests(tests, init_libraries, release_libraries);
}
