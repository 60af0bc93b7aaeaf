/*
 * Our own ssh has a private directory (0700) with its master socket, a pipe for its log (-E), and askpass's
 * socket if the user can answer. The log has the facts about the host key and the login; jump hosts and
 * proxies write to standard error. A reaper ends ssh if we cannot.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "gateway/openssh/openssh_internal.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* The interval of checks whether ssh is ready. The log would show it, but its words may change. */
#define LOOK_MS 20

/* Opens the named pipe of the log, because ssh opens it by name. Our own write end prevents an early end of
 * file. */
static int open_log(struct openssh *o, struct err *err)
{
    char *path = file_join(o->directory, "log");
    if (!path)
        return err_nomem(err);
    int rc = mkfifo(path, 0600);
    if (rc == 0)
        o->log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (o->log >= 0)
        o->log_writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (o->log_writer < 0)
        rc = err_sys(err, "cannot make %s", path);
#ifdef F_SETPIPE_SZ
    /* A full pipe blocks ssh until the hub reads. */
    if (rc == 0)
        fcntl(o->log, F_SETPIPE_SZ, 1 << 20);
#endif
    free(path);
    return rc;
}

static int start_ssh(struct openssh *o, const struct strlist *arguments, const struct askpass *ask,
                     struct err *err)
{
    int rc = -1, stderr_fd[2] = {-1, -1};
    char *program = NULL;
    const char **argv = calloc(arguments->n + 1, sizeof *argv);
    /* Without askpass, ssh must not read from a terminal either: it is no foreground process. */
    if (!argv || asprintf(&program, "SSH_ASKPASS=%s", ask->program ? ask->program : "false") < 0) {
        free(argv);
        return err_nomem(err);
    }
    for (size_t i = 0; i < arguments->n; i++)
        argv[i] = arguments->items[i];
    /* A full pipe without a reader must not block ssh. */
    if (fd_pipe_nonblocking(stderr_fd, err) == 0)
        rc = proc_start_with_setting(
            argv,
            &(struct proc_setting){.variables =
                                       (const char *const[]){program, "SSH_ASKPASS_REQUIRE=force", NULL},
                                   .group = o->reaper.pid},
            (int[]){-1, -1, stderr_fd[1]}, &o->pid, err);
    if (rc == 0) {
        o->stderr_fd = stderr_fd[0];
        stderr_fd[0] = -1;
    }
    fd_close(&stderr_fd[0]);
    fd_close(&stderr_fd[1]);
    free(program);
    free(argv);
    return rc;
}

/* Whether the login is complete. ssh creates its socket after it has authenticated. */
static bool is_ready(struct openssh *o, int cancel_fd)
{
    uint32_t pid = 0;
    if (openssh_connect_control(o, cancel_fd, &pid, NULL) == 0 && pid == (uint32_t)o->pid)
        return true;
    mux_close(&o->control);
    return false;
}

/* The state of the wait for the login. */
struct login {
    struct openssh *o;
    const struct login_options *options;
    struct askpass ask;
    char where[300];
    int64_t since, deadline;
    int64_t touch_since; /* since then ssh waits for a touch of a key; 0: no */
    int64_t agent_since; /* since then the agent may wait for a touch; 0: no */
};

/* Extends the deadline by the time that the user needs for an answer. */
static int extend_deadline(struct login *in, bool asked, bool touched, struct err *err)
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
    /* ssh logged its version before its question. */
    openssh_read_output(in->o);
    in->ask.labels_logins = ssh_log_has_login_labels(&in->o->ssh_log);
    if (askpass_serve(&in->ask, in->options, err) < 0)
        return -1;
    if (in->ask.touch >= 0 && !in->touch_since)
        in->touch_since = since;
    in->deadline += clock_now() - since;
    return 0;
}

/* The agent may ask the user too, and does not report it to us. */
static void watch_agent(struct login *in)
{
    bool waits = ssh_log_is_awaiting_agent(&in->o->ssh_log);
    if (!waits)
        in->agent_since = 0;
    else if (!in->agent_since)
        in->agent_since = clock_now();
}

static int64_t deadline_of(const struct login *in)
{
    int64_t ask = in->options->ask ? in->options->ask_ms : 0;
    if (in->touch_since && ask)
        return in->touch_since + ask;
    return in->agent_since && in->agent_since + ask > in->deadline ? in->agent_since + ask : in->deadline;
}

static int set_delay_error(const struct login *in, struct err *err)
{
    if (!in->touch_since)
        return ssh_log_explain_delay(&in->o->ssh_log, clock_now() - in->since, err);
    return failure_set(in->options->ask ? FAILURE_TOUCH_MISSING : FAILURE_TOUCH_NOT_ASKED,
                       FAILURE_DETAILS(NULL), err);
}

static int wait_ready(struct login *in, struct err *err)
{
    struct openssh *o = in->o;
    for (;;) {
        bool ended = proc_has_ended(o->pid, NULL);
        openssh_read_output(o);
        watch_agent(in);
        if (ended)
            return ssh_log_failure(&o->ssh_log, in->where, err);
        if (is_ready(o, in->options->limits.cancel_fd))
            return 0;
        if (clock_now() > deadline_of(in))
            return set_delay_error(in, err);
        struct pollfd fds[] = {{.fd = in->options->limits.cancel_fd, .events = POLLIN},
                               {.fd = in->ask.listener, .events = POLLIN},
                               {.fd = in->ask.touch, .events = POLLIN},
                               {.fd = o->log, .events = POLLIN},
                               {.fd = o->stderr_fd, .events = POLLIN}};
        if (poll(fds, sizeof fds / sizeof *fds, LOOK_MS) <= 0)
            continue;
        if (fds[0].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (extend_deadline(in, fds[1].revents != 0, fds[2].revents != 0, err) < 0)
            return -1;
    }
}

static int prepare_files(struct login *in, struct err *err)
{
    struct openssh *o = in->o;
    if (openssh_create_directory(o, err) < 0)
        return -1;
    o->path = file_join(o->directory, "m");
    if (!o->path)
        return err_nomem(err);
    if (open_log(o, err) < 0)
        return -1;
    if (!in->options->askpass)
        return 0;
    if (reaper_start(&o->reaper, o->directory, in->options->askpass, err) < 0)
        return -1;
    return askpass_init(&in->ask, o->directory, in->options->askpass, err);
}

static int log_in(struct login *in, const struct ssh_config *config, struct err *err)
{
    struct strlist arguments = {0};
    int64_t step = in->options->limits.step_timeout_ms;
    int rc = prepare_files(in, err);
    const struct openssh_call call = {.o = in->o,
                                      .config = config,
                                      .options = in->options,
                                      .ask = in->options->ask && in->ask.listener >= 0};
    if (rc == 0)
        rc = openssh_call_arguments(&call, &arguments, err);
    if (rc == 0)
        rc = start_ssh(in->o, &arguments, &in->ask, err);
    strlist_release(&arguments);
    if (rc < 0)
        return -1;
    /* ssh applies the connect timeout itself and reports it. */
    in->since = clock_now();
    in->deadline = clock_deadline(2 * step);
    return wait_ready(in, err);
}

/* The server's error only shows that a key was not offered. */
static void add_refused(const struct err *refused, struct err *err)
{
    if (!err || err->kind != ERR_DENIED || refused->kind == ERR_NONE)
        return;
    size_t n = strlen(err->msg);
    snprintf(err->msg + n, sizeof err->msg - n, "; not offered: %s", refused->msg);
}

int openssh_start(const struct ssh_config *config, const struct login_options *options,
                  struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    struct login in = {.options = options, .ask = {.listener = -1, .touch = -1}};
    in.o = openssh_new(err);
    if (!in.o)
        return -1;
    openssh_describe_host(config, hop);
    snprintf(in.where, sizeof in.where, "%s port %u", hop->address, hop->port);
    int rc = log_in(&in, config, err);
    ssh_log_describe(&in.o->ssh_log, hop);
    ssh_log_drop_complaints(&in.o->ssh_log);
    askpass_report_login(&in.ask, options, rc == 0);
    if (rc < 0)
        add_refused(&in.ask.refused, err);
    askpass_release(&in.ask);
    if (rc < 0)
        openssh_close(in.o);
    else
        *ret = in.o;
    return rc;
}
