/* A gateway on a direct route, end to end inside this process: dial, attach, listen, and every way to end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gateway/gateway.h"
#include "gateway/listener.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define MUCH_BYTES (8u << 20)
#define FLOOD_SIZE (64u << 20)
#define LONG_MS 30000

/* ---- the remote end ---------------------------------------------------------------------------------- */

/* The ways in which the server treats a connection. */
enum behaviour {
    ECHO,      /* sends all received bytes back, until the end */
    GREET,     /* sends "bye", shuts its half, then counts the received bytes */
    DEAF,      /* never reads */
    TURN_AWAY, /* sends "go away" after the first bytes, and closes without reading them */
    FLOOD,     /* sends more than any buffer takes without reading, then resets the connection */
};

/* A server on 127.0.0.1 with a thread for each connection. */
struct server {
    enum behaviour behaviour;
    int fd;
    unsigned port;
    int stop[2]; /* a pipe: a byte ends the threads */
    pthread_t thread;
    struct connection {
        struct server *server;
        int fd;
        pthread_t thread;
    } connections[64];
    size_t n;
    atomic_size_t n_accepted;
    atomic_size_t n_received; /* bytes that GREET has counted */
};

static void echo_bytes(struct server *s, int fd)
{
    char chunk[8192];
    while (fd_wait(fd, POLLIN, CLOCK_NEVER, s->stop[0], NULL) == 0) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0 || fd_write_all(fd, chunk, (size_t)n, NULL) < 0)
            return;
    }
}

static void send_greeting(struct server *s, int fd)
{
    char chunk[8192];
    fd_write_all(fd, "bye", 3, NULL);
    shutdown(fd, SHUT_WR);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        atomic_fetch_add(&s->n_received, (size_t)n);
}

/* Sends as much as the other side accepts within 200 ms, then resets the connection. */
static void flood_connection(int fd)
{
    static const char chunk[8192];
    struct linger hard = {.l_onoff = 1};
    fd_set_nonblocking(fd, true, NULL);
    int64_t deadline = clock_deadline(200);
    for (size_t sent = 0; sent < FLOOD_SIZE && fd_wait(fd, POLLOUT, deadline, -1, NULL) == 0;) {
        ssize_t n = write(fd, chunk, sizeof chunk);
        sent += n > 0 ? (size_t)n : 0;
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

static void *serve_connection(void *ctx)
{
    struct connection *c = ctx;
    switch (c->server->behaviour) {
    case ECHO:
        echo_bytes(c->server, c->fd);
        break;
    case GREET:
        send_greeting(c->server, c->fd);
        break;
    case DEAF:
        fd_wait(-1, 0, CLOCK_NEVER, c->server->stop[0], NULL);
        break;
    case FLOOD:
        flood_connection(c->fd);
        break;
    case TURN_AWAY: /* closing with unread bytes is a reset */
        fd_wait(c->fd, POLLIN, clock_deadline(5000), -1, NULL);
        fd_write_all(c->fd, "go away", strlen("go away"), NULL);
        break;
    }
    fd_close(&c->fd);
    return NULL;
}

static void *accept_connections(void *ctx)
{
    struct server *s = ctx;
    while (s->n < 64 && fd_wait(s->fd, POLLIN, CLOCK_NEVER, s->stop[0], NULL) == 0) {
        struct connection *c = &s->connections[s->n];
        *c = (struct connection){.server = s, .fd = fd_accept(s->fd)};
        if (c->fd < 0)
            continue;
        atomic_fetch_add(&s->n_accepted, 1);
        if (thread_start(&c->thread, serve_connection, c, NULL) == 0)
            s->n++;
    }
    return NULL;
}

static int bind_port(unsigned *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = fd_socket(AF_INET, NULL);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static struct server *server_new(enum behaviour behaviour)
{
    struct server *s = calloc(1, sizeof *s);
    struct err err = ERR_INIT;
    assert_non_null(s);
    s->behaviour = behaviour;
    s->fd = bind_port(&s->port);
    assert_int_equal(listen(s->fd, 64), 0);
    assert_ok(fd_pipe(s->stop, &err), &err);
    assert_ok(thread_start(&s->thread, accept_connections, s, &err), &err);
    return s;
}

/* Call this after gateway_close. */
static void server_free(struct server *s)
{
    assert_int_equal(write(s->stop[1], "", 1), 1);
    pthread_join(s->thread, NULL);
    for (size_t i = 0; i < s->n; i++)
        pthread_join(s->connections[i].thread, NULL);
    fd_close(&s->fd);
    fd_close(&s->stop[0]);
    fd_close(&s->stop[1]);
    free(s);
}

/* Returns a port on which no process listens. */
static unsigned closed_port(void)
{
    unsigned port = 0;
    int fd = bind_port(&port);
    fd_close(&fd);
    return port;
}

/* ---- the local end ----------------------------------------------------------------------------------- */

static struct gateway *open_gateway_with(const struct gateway_options *options)
{
    struct gateway *gw = NULL;
    struct err err = ERR_INIT;
    struct route route = {.direct = true, .address = strdup("127.0.0.1")};
    assert_ok(gateway_open(&route, options, &gw, &err), &err);
    /* The gateway owns the address now. */
    assert_null(route.address);
    return gw;
}

static struct gateway *open_gateway(void)
{
    return open_gateway_with(
        &(struct gateway_options){.cancel_fd = -1, .step_timeout_ms = LONG_MS, .keepalive_ms = 10000});
}

static int dial_port(struct gateway *gw, unsigned port)
{
    struct destination to = {.host = "127.0.0.1", .port = port};
    struct err err = ERR_INIT;
    int fd = -1;
    assert_ok(gateway_dial(gw, &to, &fd, &err), &err);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    return fd;
}

static struct gateway_listener *listen_for_port(struct gateway *gw, unsigned port)
{
    struct destination to = {.host = "127.0.0.1", .port = port};
    struct gateway_listener *l = NULL;
    struct err err = ERR_INIT;
    assert_ok(gateway_listen(gw, &to, &l, &err), &err);
    return l;
}

static struct sockaddr_un address_of(const struct gateway_listener *l)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", gateway_listener_path(l));
    return address;
}

static int connect_to(const struct gateway_listener *l)
{
    struct sockaddr_un address = address_of(l);
    int fd = fd_socket(AF_UNIX, NULL);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void send_text(int fd, const char *text)
{
    struct err err = ERR_INIT;
    assert_ok(fd_write_all(fd, text, strlen(text), &err), &err);
}

/* Asserts that exactly this text arrives next. */
static void assert_received(int fd, const char *text)
{
    char got[100] = "";
    for (size_t n = 0; n < strlen(text);) {
        struct err err = ERR_INIT;
        assert_ok(fd_wait(fd, POLLIN, clock_deadline(LONG_MS), -1, &err), &err);
        ssize_t r = read(fd, got + n, strlen(text) - n);
        assert_true(r > 0);
        n += (size_t)r;
    }
    assert_string_equal(got, text);
}

static void assert_end(int fd)
{
    char c;
    struct err err = ERR_INIT;
    assert_ok(fd_wait(fd, POLLIN, clock_deadline(LONG_MS), -1, &err), &err);
    assert_int_equal(read(fd, &c, 1), 0);
}

/* Asserts that texts come back from an ECHO server, shuts the sending half, asserts the end, and closes fd.
 */
static void assert_conversation(int fd)
{
    send_text(fd, "hello");
    assert_received(fd, "hello");
    send_text(fd, "and again");
    shutdown(fd, SHUT_WR);
    assert_received(fd, "and again");
    assert_end(fd);
    close(fd);
}

static unsigned char pattern_at(size_t at)
{
    return (unsigned char)(at * 7 + at / 251 + at / 65521);
}

static void *send_much(void *ctx)
{
    int fd = *(int *)ctx;
    unsigned char chunk[10007];
    for (size_t at = 0; at < MUCH_BYTES;) {
        size_t n = MUCH_BYTES - at < sizeof chunk ? MUCH_BYTES - at : sizeof chunk;
        for (size_t i = 0; i < n; i++)
            chunk[i] = pattern_at(at + i);
        if (fd_write_all(fd, chunk, n, NULL) < 0)
            return NULL;
        at += n;
    }
    shutdown(fd, SHUT_WR);
    return NULL;
}

/* Asserts that 8 MB pass unchanged in both directions at once, and closes fd. */
static void assert_carries_much(int fd)
{
    pthread_t thread;
    static unsigned char chunk[30011];
    size_t at = 0, wrong = 0;
    struct err err = ERR_INIT;
    assert_ok(thread_start(&thread, send_much, &fd, &err), &err);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        for (ssize_t i = 0; i < n; i++, at++)
            wrong += chunk[i] != pattern_at(at);
    pthread_join(thread, NULL);
    assert_int_equal(at, MUCH_BYTES);
    assert_int_equal(wrong, 0);
    close(fd);
}

/* Waits `ms` milliseconds; returns the milliseconds of processor time that all threads of this process used.
 */
static int64_t processor_ms_within(int64_t ms)
{
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    fd_wait(-1, 0, clock_deadline(ms), -1, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
}

static void assert_waits_without_spinning(void)
{
    assert_in_range(processor_ms_within(500), 0, 200);
}

/* ---- traffic ----------------------------------------------------------------------------------------- */

static void a_dialled_connection_carries_bytes(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    assert_null(gateway_hop(gw, 0));
    assert_conversation(dial_port(gw, s->port));
    assert_conversation(dial_port(gw, s->port));
    gateway_close(gw);
    gateway_close(NULL);
    server_free(s);
}

static void an_attached_descriptor_carries_bytes(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct destination to = {.host = "127.0.0.1", .port = s->port};
    struct err err = ERR_INIT;
    int pair[2];
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_ok(gateway_attach(gw, pair[1], &to, NULL, &err), &err);
    assert_conversation(pair[0]);
    /* A descriptor whose destination refuses the connection is closed. */
    to.port = closed_port();
    assert_ok(fd_socketpair(pair, &err), &err);
    assert_ok(gateway_attach(gw, pair[1], &to, NULL, &err), &err);
    assert_end(pair[0]);
    fd_close(&pair[0]);
    gateway_close(gw);
    server_free(s);
}

static void a_listener_accepts_connections(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct gateway_listener *l = listen_for_port(gw, s->port);
    struct err err = {.msg = "untouched"};
    int fds[10];
    for (size_t i = 0; i < 10; i++)
        fds[i] = connect_to(l);
    for (size_t i = 0; i < 10; i++)
        assert_conversation(fds[i]);
    assert_int_equal(gateway_listener_failure(l, &err), 0);
    assert_string_equal(err.msg, "untouched");
    gateway_close(gw);
    server_free(s);
}

static void many_bytes_pass_unchanged_in_both_directions(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    assert_carries_much(dial_port(gw, s->port));
    assert_carries_much(connect_to(listen_for_port(gw, s->port)));
    gateway_close(gw);
    server_free(s);
}

static void bytes_are_still_sent_after_the_remote_end_has_closed(void **state)
{
    (void)state;
    struct server *s = server_new(GREET);
    struct gateway *gw = open_gateway();
    int fd = dial_port(gw, s->port);
    assert_received(fd, "bye");
    assert_end(fd);
    /* The remote end still reads. */
    for (int i = 0; i < 1000; i++)
        send_text(fd, "0123456789");
    close(fd);
    for (int i = 0; i < 4000 && atomic_load(&s->n_received) < 10000; i++)
        fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    assert_int_equal(atomic_load(&s->n_received), 10000);
    gateway_close(gw);
    server_free(s);
}

static void localhost_is_resolved(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct destination to = {.host = "localhost", .port = s->port};
    struct err err = ERR_INIT;
    int fd = -1;
    assert_ok(gateway_dial(gw, &to, &fd, &err), &err);
    assert_conversation(fd);
    gateway_close(gw);
    server_free(s);
}

/* ---- failures ---------------------------------------------------------------------------------------- */

static void a_refused_port_is_an_error(void **state)
{
    (void)state;
    struct gateway *gw = open_gateway();
    struct destination to = {.host = "127.0.0.1", .port = closed_port()};
    struct err err = ERR_INIT;
    int fd = 77;
    assert_refused(gateway_dial(gw, &to, &fd, &err), &err, ERR_FAILED, "cannot connect: Connection refused");
    assert_int_equal(fd, 77);
    struct gateway_listener *l = listen_for_port(gw, to.port);
    for (int i = 0; i < 2; i++) {
        fd = connect_to(l);
        assert_end(fd);
        fd_close(&fd);
        assert_refused(gateway_listener_failure(l, &err), &err, ERR_FAILED,
                       "cannot connect: Connection refused");
        assert_int_equal(gateway_listener_failure(l, &err), 0);
    }
    gateway_close(gw);
}

/* The queue of the port is full, so further connections get no answer. */
static void a_silent_port_times_out(void **state)
{
    (void)state;
    unsigned port = 0;
    int full = bind_port(&port), waiting[4];
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct destination to = {.host = "127.0.0.1", .port = port};
    struct err err = ERR_INIT;
    assert_int_equal(listen(full, 0), 0);
    for (size_t i = 0; i < 4; i++) {
        waiting[i] = fd_socket(AF_INET, NULL);
        assert_ok(fd_set_nonblocking(waiting[i], true, NULL), NULL);
        (void)!connect(waiting[i], (struct sockaddr *)&address, sizeof address);
    }
    struct gateway *gw = open_gateway_with(
        &(struct gateway_options){.cancel_fd = -1, .step_timeout_ms = 200, .keepalive_ms = 10000});
    int fd = -1;
    int64_t start = clock_now();
    char *msg = format_text("the SSH server did not connect to 127.0.0.1 port %u in time", port);
    assert_refused(gateway_dial(gw, &to, &fd, &err), &err, ERR_TIMEOUT, msg);
    assert_in_range(clock_now() - start, 200, LONG_MS);
    free(msg);
    gateway_close(gw);
    for (size_t i = 0; i < 4; i++)
        fd_close(&waiting[i]);
    fd_close(&full);
}

static void dialling_can_be_cancelled(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct destination to = {.host = "127.0.0.1", .port = s->port};
    struct err err = ERR_INIT;
    int cancel[2], fd = -1;
    assert_ok(fd_pipe(cancel, &err), &err);
    struct gateway *gw = open_gateway_with(
        &(struct gateway_options){.cancel_fd = cancel[0], .step_timeout_ms = LONG_MS, .keepalive_ms = 10000});
    assert_ok(gateway_dial(gw, &to, &fd, &err), &err);
    fd_close(&fd);
    assert_int_equal(write(cancel[1], "", 1), 1);
    assert_refused(gateway_dial(gw, &to, &fd, &err), &err, ERR_CANCELLED, "interrupted");
    gateway_close(gw);
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    server_free(s);
}

static void a_reset_reaches_the_client(void **state)
{
    (void)state;
    struct server *s = server_new(FLOOD);
    struct gateway *gw = open_gateway();
    struct gateway_listener *l = listen_for_port(gw, s->port);
    struct err err = ERR_INIT;
    static char chunk[65536];
    int fd = connect_to(l);
    /* The client reads nothing until the remote end has reset the connection, so some bytes are lost. */
    assert_waits_without_spinning();
    size_t got = 0;
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        got += (size_t)n;
    fd_close(&fd);
    assert_true(got < FLOOD_SIZE);
    assert_refused(gateway_listener_failure(l, &err), &err, ERR_FAILED,
                   "the connection was closed before the end of the data");
    gateway_close(gw);
    server_free(s);
}

/* A service may send a reason and then close the connection. The gateway reads this text even after a reset.
 */
static void bytes_before_the_close_are_read(void **state)
{
    (void)state;
    struct server *s = server_new(TURN_AWAY);
    struct gateway *gw = open_gateway();
    struct destination to = {.host = "localhost", .port = s->port};
    static const char much[1 << 16];
    struct err err = ERR_INIT;
    for (int i = 0; i < 20; i++) {
        int fd = -1;
        assert_ok(gateway_dial(gw, &to, &fd, &err), &err);
        for (int k = 0; k < 8; k++)
            if (send(fd, much, sizeof much, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                break;
        assert_received(fd, "go away");
        fd_close(&fd);
    }
    gateway_close(gw);
    server_free(s);
}

/* ---- access to listeners ----------------------------------------------------------------------------- */

static void another_process_is_refused(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct gateway_listener *l = listen_for_port(gw, s->port);
    struct sockaddr_un address = address_of(l);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char c;
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
            _exit(2);
        (void)!send(fd, "x", 1, MSG_NOSIGNAL);
        /* A reset if the byte arrived first, or just the end. */
        _exit(read(fd, &c, 1) <= 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(atomic_load(&s->n_accepted), 0);
    assert_conversation(connect_to(l));
    assert_int_equal(atomic_load(&s->n_accepted), 1);
    gateway_close(gw);
    server_free(s);
}

static void sockets_are_private_and_removed(void **state)
{
    static const mode_t masks[] = {0, 0777};
    setenv("XDG_RUNTIME_DIR", *state, 1);
    for (size_t i = 0; i < 2; i++) {
        struct gateway *gw = open_gateway();
        mode_t before = umask(masks[i]);
        struct gateway_listener *first = listen_for_port(gw, 1), *second = listen_for_port(gw, 2);
        umask(before);
        char *dir = file_dir(gateway_listener_path(first));
        assert_int_equal(scratch_mode(dir), 0700);
        assert_int_equal(scratch_mode(gateway_listener_path(first)), 0600);
        assert_int_equal(scratch_mode(gateway_listener_path(second)), 0600);
        assert_string_not_equal(gateway_listener_path(first), gateway_listener_path(second));
        assert_int_equal(scratch_count(*state), 1);
        assert_int_equal(strncmp(dir, *state, strlen(*state)), 0);
        gateway_close(gw);
        assert_false(file_exists(dir));
        assert_int_equal(scratch_count(*state), 0);
        free(dir);
    }
    unsetenv("XDG_RUNTIME_DIR");
}

/* profgrab chooses the first directory that exists, has space for a socket's path, and contains no special
 * character of a shell. */
static void a_directory_for_sockets_is_chosen(void **state)
{
    struct err err = ERR_INIT;
    const char *set = getenv("TMPDIR");
    char *before = set ? strdup(set) : NULL, *dir = NULL;
    char *deep = format_text("%s/%099d", (char *)*state, 0);
    assert_ok(file_mkdir(deep, &err), &err);
    setenv("XDG_RUNTIME_DIR", deep, 1);
    setenv("TMPDIR", *state, 1);
    assert_ok(unix_socket_make_directory(LISTENER_ROOM, &dir, &err), &err);
    assert_int_equal(strncmp(dir, *state, strlen(*state)), 0);
    assert_null(strstr(dir, "0000"));
    free(dir);
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_ok(unix_socket_make_directory(LISTENER_ROOM, &dir, &err), &err);
    assert_int_equal(strncmp(dir, "/tmp/profgrab-", 14), 0);
    assert_int_equal(rmdir(dir), 0);
    free(dir);
    char *odd = format_text("%s/%%h of mine", (char *)*state);
    assert_ok(file_mkdir(odd, &err), &err);
    setenv("XDG_RUNTIME_DIR", odd, 1);
    setenv("TMPDIR", *state, 1);
    assert_ok(unix_socket_make_directory(LISTENER_ROOM, &dir, &err), &err);
    assert_null(strchr(dir, '%'));
    free(odd);
    /* A path of the maximum length fits, a path with one more byte does not. */
    setenv("XDG_RUNTIME_DIR", *state, 1);
    unsetenv("TMPDIR");
    size_t room = sizeof((struct sockaddr_un *)0)->sun_path - strlen(dir);
    free(dir);
    assert_ok(unix_socket_make_directory(room, &dir, &err), &err);
    assert_int_equal(strncmp(dir, *state, strlen(*state)), 0);
    free(dir);
    assert_ok(unix_socket_make_directory(room + 1, &dir, &err), &err);
    assert_int_equal(strncmp(dir, "/tmp/profgrab-", 14), 0);
    assert_int_equal(rmdir(dir), 0);
    free(dir);
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("TMPDIR");
    if (before)
        setenv("TMPDIR", before, 1);
    free(before);
    free(deep);
}

static void an_existing_path_is_not_replaced(void **state)
{
    struct gateway_listener *l = NULL;
    struct destination to = {.host = "x", .port = 1};
    struct err err = ERR_INIT;
    char *path = scratch_file(*state, "taken", "x", 1), *msg;
    msg = format_text("cannot listen on %s: Address already in use", path);
    assert_refused(listener_new(path, &to, &l, &err), &err, ERR_LOCAL_IO, msg);
    assert_true(file_exists(path));
    free(msg);
    free(path);
}

struct listen_job {
    struct gateway *gw;
    unsigned port;
    struct gateway_listener *listener;
};

static void *listen_in_thread(void *ctx)
{
    struct listen_job *job = ctx;
    struct destination to = {.host = "127.0.0.1", .port = job->port};
    gateway_listen(job->gw, &to, &job->listener, NULL);
    return NULL;
}

/* Each service of a host opens its listener from its own thread. */
static void listeners_are_opened_from_many_threads(void **state)
{
    (void)state;
    enum { MANY = 12 };
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct listen_job jobs[MANY];
    pthread_t threads[MANY];
    struct err err = ERR_INIT;
    for (size_t i = 0; i < MANY; i++) {
        jobs[i] = (struct listen_job){.gw = gw, .port = s->port};
        assert_ok(thread_start(&threads[i], listen_in_thread, &jobs[i], &err), &err);
    }
    for (size_t i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < MANY; i++) {
        assert_non_null(jobs[i].listener);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(gateway_listener_path(jobs[i].listener),
                                    gateway_listener_path(jobs[k].listener));
        assert_conversation(connect_to(jobs[i].listener));
    }
    gateway_close(gw);
    server_free(s);
}

/* ---- the end ----------------------------------------------------------------------------------------- */

/* Fills a connection until it accepts no more. */
static void fill_connection(int fd)
{
    static const char chunk[65536];
    assert_ok(fd_set_nonblocking(fd, true, NULL), NULL);
    while (fd_wait(fd, POLLOUT, clock_deadline(100), -1, NULL) == 0)
        (void)!send(fd, chunk, sizeof chunk, MSG_NOSIGNAL);
}

static void closing_does_not_wait_for_links(void **state)
{
    (void)state;
    struct server *deaf = server_new(DEAF), *echo = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct gateway_listener *l = listen_for_port(gw, deaf->port);
    int fds[] = {dial_port(gw, deaf->port), dial_port(gw, deaf->port), connect_to(l),
                 dial_port(gw, echo->port)};
    send_text(fds[3], "x");
    assert_received(fds[3], "x");
    fill_connection(fds[0]);
    shutdown(fds[1], SHUT_WR);
    int64_t start = clock_now();
    gateway_close(gw);
    assert_true(clock_now() - start < 5000);
    for (size_t i = 0; i < 4; i++) {
        char c;
        assert_ok(fd_set_nonblocking(fds[i], false, NULL), NULL);
        assert_true(read(fds[i], &c, 1) <= 0);
        fd_close(&fds[i]);
    }
    server_free(deaf);
    server_free(echo);
}

static void a_remote_end_that_does_not_read_causes_no_spinning(void **state)
{
    (void)state;
    struct server *s = server_new(DEAF);
    struct gateway *gw = open_gateway();
    int fd = dial_port(gw, s->port);
    assert_waits_without_spinning();
    fill_connection(fd);
    assert_waits_without_spinning();
    /* The local end is closed, and there are still bytes to send. */
    fd_close(&fd);
    assert_waits_without_spinning();
    gateway_close(gw);
    server_free(s);
}

static void a_local_end_that_does_not_read_causes_no_spinning(void **state)
{
    (void)state;
    struct server *s = server_new(FLOOD);
    struct gateway *gw = open_gateway();
    int fd = dial_port(gw, s->port);
    assert_waits_without_spinning();
    shutdown(fd, SHUT_WR);
    assert_waits_without_spinning();
    fd_close(&fd);
    assert_waits_without_spinning();
    gateway_close(gw);
    server_free(s);
}

/* Without a free descriptor, a connection waits without using the processor. It continues when a descriptor
 * is free. */
static void a_connection_waits_for_a_free_descriptor(void **state)
{
    (void)state;
    struct server *s = server_new(ECHO);
    struct gateway *gw = open_gateway();
    struct gateway_listener *l = listen_for_port(gw, s->port);
    assert_conversation(connect_to(l));
    /* Wait until the gateway has closed the descriptors of that connection. */
    for (int i = 0; i < 100; i++)
        fd_wait(-1, 0, clock_deadline(2), -1, NULL);
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    /* `next` is the lowest free descriptor, and the last one allowed. connect_to takes it. */
    int next = fcntl(0, F_DUPFD_CLOEXEC, 0);
    fd_close(&(int){next});
    tight = before;
    tight.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int fd = connect_to(l);
    int64_t busy = processor_ms_within(500);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_in_range(busy, 0, 200);
    assert_conversation(fd);
    gateway_close(gw);
    server_free(s);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dialled_connection_carries_bytes),
        cmocka_unit_test(an_attached_descriptor_carries_bytes),
        cmocka_unit_test(a_listener_accepts_connections),
        cmocka_unit_test(many_bytes_pass_unchanged_in_both_directions),
        cmocka_unit_test(bytes_are_still_sent_after_the_remote_end_has_closed),
        cmocka_unit_test(localhost_is_resolved),
        cmocka_unit_test(a_refused_port_is_an_error),
        cmocka_unit_test(a_silent_port_times_out),
        cmocka_unit_test(dialling_can_be_cancelled),
        cmocka_unit_test(a_reset_reaches_the_client),
        cmocka_unit_test(bytes_before_the_close_are_read),
        cmocka_unit_test(another_process_is_refused),
        SCRATCH(sockets_are_private_and_removed),
        SCRATCH(a_directory_for_sockets_is_chosen),
        SCRATCH(an_existing_path_is_not_replaced),
        cmocka_unit_test(listeners_are_opened_from_many_threads),
        cmocka_unit_test(closing_does_not_wait_for_links),
        cmocka_unit_test(a_remote_end_that_does_not_read_causes_no_spinning),
        cmocka_unit_test(a_local_end_that_does_not_read_causes_no_spinning),
        cmocka_unit_test(a_connection_waits_for_a_free_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
