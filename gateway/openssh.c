/*
 * Our own ssh runs with a private directory (0700) in which its master socket lies, a pipe through which its
 * log comes (-E), and where there is somebody to ask, askpass's socket. The log is what it tells of the host
 * key and of itself; what jump hosts and proxies say comes by standard error. A keeper ends it when we
 * cannot.
 */
#include "gateway/openssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/listener.h"
#include "gateway/openssh_inside.h"
#include "base/banned.h"

/* A master that lives answers at once. */
#define ALIVE_MS 2000
/* How often it is looked whether ssh has got so far: it says so, but in words that may change. */
#define LOOK_MS 20
/* What ssh may take to go when it is asked to. */
#define LEAVE_MS 300
/* ssh makes its socket under another name first: "/m.", sixteen letters and a NUL. */
#define SOCKET_ROOM 20

/* ---- the master ---------------------------------------------------------------------------------------- */

static void hear_one(struct ssh_log *l, enum ssh_log_source source, int *fd)
{
    char chunk[4096];
    ssize_t n;
    while (*fd >= 0 && (n = read(*fd, chunk, sizeof chunk)) != 0) {
        if (n > 0)
            ssh_log_feed(l, source, chunk, (size_t)n);
        else if (errno != EINTR)
            return;
    }
    /* Its end; poll would tell of it again and again. */
    fd_close(fd);
}

void openssh_hear(struct openssh *o)
{
    hear_one(&o->said, SSH_LOG, &o->log);
    hear_one(&o->said, SSH_STDERR, &o->complaints);
}

bool openssh_is_gone(struct openssh *o)
{
    struct mux_message m;
    int rc;
    while ((rc = mux_take(&o->control, &m, NULL)) == 1)
        if (m.type == MUX_ALIVE)
            o->answered = m.id;
    o->lost = o->lost || rc < 0;
    return o->lost;
}

uint32_t openssh_ask(struct openssh *o)
{
    mux_put_plain(&o->control.out, MUX_ALIVE_CHECK, ++o->asked);
    if (mux_send(&o->control, NULL) < 0)
        o->lost = true;
    return o->asked;
}

int openssh_socket_name(struct openssh *o, char **ret, struct err *err)
{
    char name[16];
    if (!o->directory && listener_directory(SOCKET_ROOM, &o->directory, err) < 0)
        return -1;
    snprintf(name, sizeof name, "u%u", o->n_sockets++);
    *ret = file_join(o->directory, name);
    return *ret ? 0 : err_nomem(err);
}

/* Opens the control connection and asks whether somebody is there. */
static int greet(struct openssh *o, int cancel_fd, uint32_t *ret_pid, struct err *err)
{
    struct mux_message m;
    if (mux_connect(&o->control, o->path, err) < 0)
        return -1;
    mux_put_hello(&o->control.out);
    mux_put_plain(&o->control.out, MUX_ALIVE_CHECK, 0);
    if (mux_send(&o->control, err) < 0 ||
        mux_wait(&o->control, clock_deadline(ALIVE_MS), cancel_fd, &m, err) < 0)
        return -1;
    if (m.type != MUX_ALIVE)
        return err_set(err, ERR_FAILED, "the master connection at %s does not say that it is alive", o->path);
    *ret_pid = m.number;
    return 0;
}

static struct openssh *new_openssh(struct err *err)
{
    struct openssh *o = calloc(1, sizeof *o);
    if (!o) {
        err_nomem(err);
        return NULL;
    }
    o->control.fd = o->log = o->log_keeper = o->complaints = o->keeper.pipe = -1;
    return o;
}

static void describe_host(const struct ssh_config *config, struct gateway_hop *hop)
{
    *hop = (struct gateway_hop){.port = config->port};
    text_printable(hop->address, sizeof hop->address, config->hostname, strlen(config->hostname));
    text_printable(hop->user, sizeof hop->user, config->user, strlen(config->user));
}

int openssh_find(const struct ssh_config *config, const struct gateway_options *options,
                 struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    struct err why = ERR_INIT;
    uint32_t pid = 0;
    if (!config->control_path)
        return err_set(err, ERR_NOT_FOUND, "no master connection is configured");
    struct openssh *o = new_openssh(err);
    if (!o)
        return -1;
    o->path = strdup(config->control_path);
    if (!o->path)
        err_nomem(&why);
    else if (greet(o, options->cancel_fd, &pid, &why) == 0) {
        describe_host(config, hop);
        snprintf(hop->via, sizeof hop->via, "the ssh -M at ");
        size_t n = strlen(hop->via);
        text_printable(hop->via + n, sizeof hop->via - n, o->path, strlen(o->path));
        *ret = o;
        return 0;
    }
    openssh_close(o);
    /* Whatever is wrong with it: there is another way. */
    return err_set(err, why.kind == ERR_CANCELLED ? ERR_CANCELLED : ERR_NOT_FOUND, "%s", why.msg);
}

/* ---- our own ssh --------------------------------------------------------------------------------------- */

/* The pipe of the log, by name, since ssh opens it itself. A writer of ours keeps it from looking closed. */
static int open_log(struct openssh *o, struct err *err)
{
    char *path = file_join(o->directory, "log");
    if (!path)
        return err_nomem(err);
    int rc = mkfifo(path, 0600);
    if (rc == 0)
        o->log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (o->log >= 0)
        o->log_keeper = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (o->log_keeper < 0)
        rc = err_sys(err, "cannot make %s", path);
#ifdef F_SETPIPE_SZ
    /* One that is full makes ssh wait until the hub turns. */
    if (rc == 0)
        fcntl(o->log, F_SETPIPE_SZ, 1 << 20);
#endif
    free(path);
    return rc;
}

static int spawn(struct openssh *o, const struct strlist *arguments, const struct askpass *ask,
                 struct err *err)
{
    int rc = -1, complaints[2] = {-1, -1};
    char *program = NULL;
    const char **argv = calloc(arguments->n + 1, sizeof *argv);
    /* Without anybody to ask it must not turn to a terminal either: it is no foreground process there. */
    if (!argv || asprintf(&program, "SSH_ASKPASS=%s", ask->program ? ask->program : "false") < 0) {
        free(argv);
        return err_nomem(err);
    }
    for (size_t i = 0; i < arguments->n; i++)
        argv[i] = arguments->items[i];
    /* Nor must it come to a halt because nobody listens. */
    if (fd_pipe(complaints, err) == 0 && fd_set_nonblocking(complaints[0], true, err) == 0 &&
        fd_set_nonblocking(complaints[1], true, err) == 0)
        rc = proc_start_with(
            argv,
            &(struct proc_setting){.variables =
                                       (const char *const[]){program, "SSH_ASKPASS_REQUIRE=force", NULL},
                                   .group = o->keeper.pid},
            (int[]){-1, -1, complaints[1]}, &o->pid, err);
    if (rc == 0) {
        o->complaints = complaints[0];
        complaints[0] = -1;
    }
    fd_close(&complaints[0]);
    fd_close(&complaints[1]);
    free(program);
    free(argv);
    return rc;
}

/* Whether it is through: it makes its socket once it has authenticated. */
static bool is_ready(struct openssh *o, int cancel_fd)
{
    uint32_t pid = 0;
    if (greet(o, cancel_fd, &pid, NULL) == 0 && pid == (uint32_t)o->pid)
        return true;
    mux_close(&o->control);
    return false;
}

/* What is waited for while it logs in. */
struct login {
    struct openssh *o;
    const struct gateway_options *options;
    struct askpass ask;
    char where[300];
    int64_t since, deadline;
    int64_t touch_since; /* a person is asked to touch a key since then; 0: none is */
    int64_t agent_since; /* the agent may ask one since then; 0: it does not */
};

/* While a person is asked, the time does not count. */
static int attend(struct login *in, bool asked, bool touched, struct err *err)
{
    int64_t since = clock_now();
    char byte;
    if (touched && recv(in->ask.touch, &byte, 1, MSG_DONTWAIT) == 0) {
        fd_close(&in->ask.touch);
        in->deadline += since - in->touch_since;
        in->touch_since = 0;
    }
    if (!asked)
        return 0;
    if (askpass_serve(&in->ask, in->options, err) < 0)
        return -1;
    if (in->ask.touch >= 0 && !in->touch_since)
        in->touch_since = since;
    in->deadline += clock_now() - since;
    return 0;
}

/* A person may be asked by the agent as well, of which we hear nothing. */
static void watch_agent(struct login *in)
{
    bool waits = ssh_log_awaits_agent(&in->o->said);
    if (!waits)
        in->agent_since = 0;
    else if (!in->agent_since)
        in->agent_since = clock_now();
}

static int64_t deadline_of(const struct login *in)
{
    int64_t ask = in->options->ask ? gateway_ask_ms(in->options) : 0;
    if (in->touch_since && ask)
        return in->touch_since + ask;
    return in->agent_since && in->agent_since + ask > in->deadline ? in->agent_since + ask : in->deadline;
}

static int too_late(const struct login *in, struct err *err)
{
    if (!in->touch_since)
        return ssh_log_delay(&in->o->said, clock_now() - in->since, err);
    if (!in->options->ask) {
        err_set(err, ERR_TIMEOUT, "a key waits to be touched, and nobody is told");
        return err_hint(err, "without --batch you are told, and waited for as long as --ask-timeout says");
    }
    err_set(err, ERR_TIMEOUT, "nobody touched the key");
    return err_hint(err, "its token blinks when it waits for a touch; --ask-timeout says how long");
}

static int wait_ready(struct login *in, struct err *err)
{
    struct openssh *o = in->o;
    for (;;) {
        bool ended = proc_ended(o->pid, NULL);
        openssh_hear(o);
        watch_agent(in);
        if (ended)
            return ssh_log_failure(&o->said, in->where, err);
        if (is_ready(o, in->options->cancel_fd))
            return 0;
        if (clock_now() > deadline_of(in))
            return too_late(in, err);
        struct pollfd fds[] = {{.fd = in->options->cancel_fd, .events = POLLIN},
                               {.fd = in->ask.listener, .events = POLLIN},
                               {.fd = in->ask.touch, .events = POLLIN},
                               {.fd = o->log, .events = POLLIN},
                               {.fd = o->complaints, .events = POLLIN}};
        if (poll(fds, sizeof fds / sizeof *fds, LOOK_MS) <= 0)
            continue;
        if (fds[0].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (attend(in, fds[1].revents != 0, fds[2].revents != 0, err) < 0)
            return -1;
    }
}

static int prepare(struct login *in, struct err *err)
{
    struct openssh *o = in->o;
    if (listener_directory(SOCKET_ROOM, &o->directory, err) < 0)
        return -1;
    o->path = file_join(o->directory, "m");
    if (!o->path)
        return err_nomem(err);
    if (open_log(o, err) < 0)
        return -1;
    if (!in->options->askpass)
        return 0;
    if (keeper_start(&o->keeper, o->directory, in->options->askpass, err) < 0)
        return -1;
    return askpass_init(&in->ask, o->directory, in->options->askpass, err);
}

static int log_in(struct login *in, const struct ssh_config *config, struct err *err)
{
    struct strlist arguments = {0};
    int64_t step = in->options->step_timeout_ms;
    int rc = prepare(in, err);
    if (rc == 0)
        rc = openssh_call(in->o, config, in->options, in->options->ask && in->ask.listener >= 0, &arguments,
                          err);
    if (rc == 0)
        rc = spawn(in->o, &arguments, &in->ask, err);
    strlist_release(&arguments);
    if (rc < 0)
        return -1;
    /* ssh has the first part to connect in, and says itself when that was not enough. */
    in->since = clock_now();
    in->deadline = clock_deadline(2 * step);
    return wait_ready(in, err);
}

int openssh_start(const struct ssh_config *config, const struct gateway_options *options,
                  struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    struct login in = {.options = options, .ask = {.listener = -1, .touch = -1}};
    in.o = new_openssh(err);
    if (!in.o)
        return -1;
    describe_host(config, hop);
    snprintf(in.where, sizeof in.where, "%s port %u", hop->address, hop->port);
    int rc = log_in(&in, config, err);
    ssh_log_describe(&in.o->said, hop);
    ssh_log_settle(&in.o->said);
    askpass_settle(&in.ask, options, rc == 0);
    askpass_release(&in.ask);
    if (rc < 0)
        openssh_close(in.o);
    else
        *ret = in.o;
    return rc;
}

/* ---- its end ------------------------------------------------------------------------------------------- */

int openssh_fd(const struct openssh *o)
{
    return o->control.fd;
}

/* It lets go of us before it says why it goes. */
static void hear_last_words(struct openssh *o)
{
    int64_t deadline = clock_deadline(LEAVE_MS);
    while (!proc_ended(o->pid, NULL) && o->complaints >= 0 &&
           fd_wait(o->complaints, POLLIN, deadline, -1, NULL) == 0)
        openssh_hear(o);
    openssh_hear(o);
}

bool openssh_ended(struct openssh *o, struct err *fate)
{
    struct err why = ERR_INIT;
    openssh_hear(o);
    if (!openssh_is_gone(o))
        return false;
    if (o->pid) {
        hear_last_words(o);
        ssh_log_failure(&o->said, "", &why);
    } else {
        err_set(&why, ERR_LOST, "the master connection at %s has ended", o->path);
    }
    err_set(fate, ERR_LOST, "the SSH session was lost: %s", why.msg);
    return true;
}

/* Asked to, it says goodbye to the server; then whatever is left of it and of what it started is ended. */
static void end_own(struct openssh *o)
{
    if (o->control.fd >= 0 && !openssh_is_gone(o)) {
        mux_put_plain(&o->control.out, MUX_TERMINATE, ++o->asked);
        int64_t deadline = clock_deadline(LEAVE_MS);
        struct mux_message m;
        if (mux_send(&o->control, NULL) == 0)
            while (mux_wait(&o->control, deadline, -1, &m, NULL) == 0)
                ;
    }
    proc_end(o->pid);
}

void openssh_close(struct openssh *o)
{
    if (!o)
        return;
    if (o->pid)
        end_own(o);
    keeper_end(&o->keeper);
    mux_close(&o->control);
    fd_close(&o->log);
    fd_close(&o->log_keeper);
    fd_close(&o->complaints);
    if (o->directory)
        file_remove(o->directory, NULL);
    free(o->directory);
    free(o->path);
    free(o);
}
