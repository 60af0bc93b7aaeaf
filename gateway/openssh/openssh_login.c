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

/* The interval of checks whether ssh is ready. We do not wait for a line of the log, because ssh may change
 * its text. */
#define READY_CHECK_MS 20

/* The most CPU time that ssh may take until the login ends, because a server can send messages without end.
 * Opening a key with many rounds (ssh-keygen -a) takes up to a few seconds. */
#define LOGIN_CPU_NS INT64_C(5000000000)

/* Creates the log as a named pipe, because ssh opens it by name. Our own write end prevents an end of file
 * before ssh has opened the pipe. */
static int open_log(struct openssh *o, struct err *err)
{
    char *path = file_join(o->directory, "log");
    if (!path)
        return err_nomem(err);
    int rc = mkfifo(path, 0600);
    if (rc == 0)
        o->log_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (o->log_fd >= 0)
        o->log_write_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (o->log_write_fd < 0)
        rc = err_sys(err, "cannot make %s", path);
#ifdef F_SETPIPE_SZ
    /* Enlarge the pipe, because a full pipe blocks ssh until the hub reads. */
    if (rc == 0)
        fcntl(o->log_fd, F_SETPIPE_SZ, 1 << 20);
#endif
    free(path);
    return rc;
}

static int start_ssh(struct openssh *o, const struct strlist *arguments, const struct askpass *askpass,
                     struct err *err)
{
    int rc = -1, stderr_fd[2] = {-1, -1};
    char *program = NULL;
    const char **argv = calloc(arguments->n + 1, sizeof *argv);
    /* Without askpass, ssh must not read from the terminal, because it is in a background process group. */
    if (!argv || asprintf(&program, "SSH_ASKPASS=%s", askpass->program ? askpass->program : "false") < 0) {
        free(argv);
        return err_nomem(err);
    }
    for (size_t i = 0; i < arguments->n; i++)
        argv[i] = arguments->items[i];
    /* A non-blocking pipe: a full one without a reader must not block ssh. */
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

/* Checks whether the login is complete. ssh creates its socket after it has authenticated. */
static bool is_ready(struct openssh *o, int cancel_fd)
{
    uint32_t pid = 0;
    if (openssh_connect_control(o, cancel_fd, &pid, NULL) == 0 && pid == (uint32_t)o->pid)
        return true;
    mux_close(&o->control);
    return false;
}

/* The state of the wait for the login. */
struct openssh_login {
    struct openssh *o;
    const struct login_options *options;
    struct askpass askpass;
    char server[300];
    int64_t since, deadline;
    int64_t touch_since; /* when ssh began to wait for a touch of a key; 0: it does not wait */
    int64_t agent_since; /* when the agent may have begun to wait for a touch; 0: it does not wait */
};

/* Serves ssh's question if there is one (`asked`), and records the end of a wait for a touch (`touched`).
 * Extends the deadline by the time that the user needed. */
static int serve_question(struct openssh_login *l, bool asked, bool touched, struct err *err)
{
    int64_t since = clock_now();
    char byte;
    if (touched && recv(l->askpass.touch_fd, &byte, 1, MSG_DONTWAIT) == 0) {
        fd_close(&l->askpass.touch_fd);
        l->deadline += since - l->touch_since;
        l->touch_since = 0;
    }
    if (!asked)
        return 0;
    /* ssh logged its version before its question. */
    openssh_read_output(l->o);
    l->askpass.marks_server_prompts = ssh_log_marks_server_prompts(&l->o->ssh_log);
    if (askpass_serve(&l->askpass, l->options, err) < 0)
        return -1;
    if (l->askpass.touch_fd >= 0 && !l->touch_since)
        l->touch_since = since;
    l->deadline += clock_now() - since;
    return 0;
}

/* Records when the agent may have begun to wait for the user, because the agent does not report it to us. */
static void watch_agent(struct openssh_login *l)
{
    bool waits = ssh_log_is_awaiting_agent(&l->o->ssh_log);
    if (!waits)
        l->agent_since = 0;
    else if (!l->agent_since)
        l->agent_since = clock_now();
}

static int64_t find_deadline(const struct openssh_login *l)
{
    int64_t ask_ms = l->options->ask ? l->options->ask_ms : 0;
    if (l->touch_since && ask_ms)
        return l->touch_since + ask_ms;
    return l->agent_since && l->agent_since + ask_ms > l->deadline ? l->agent_since + ask_ms : l->deadline;
}

static int set_delay_error(const struct openssh_login *l, struct err *err)
{
    if (!l->touch_since)
        return ssh_log_explain_delay(&l->o->ssh_log, clock_now() - l->since, err);
    return failure_set(l->options->ask ? FAILURE_TOUCH_MISSING : FAILURE_TOUCH_NOT_ASKED,
                       FAILURE_DETAILS(NULL), err);
}

static int wait_ready(struct openssh_login *l, struct err *err)
{
    struct openssh *o = l->o;
    for (;;) {
        bool ended = proc_has_ended(o->pid, NULL);
        openssh_read_output(o);
        watch_agent(l);
        if (ended)
            return ssh_log_explain_end(&o->ssh_log, l->server, err);
        if (is_ready(o, l->options->limits.cancel_fd))
            return 0;
        if (clock_process_cpu_ns(o->pid) > LOGIN_CPU_NS)
            return failure_set(FAILURE_LOGIN_COSTLY, FAILURE_DETAILS(l->server), err);
        if (clock_now() > find_deadline(l))
            return set_delay_error(l, err);
        struct pollfd fds[] = {{.fd = l->options->limits.cancel_fd, .events = POLLIN},
                               {.fd = l->askpass.listener, .events = POLLIN},
                               {.fd = l->askpass.touch_fd, .events = POLLIN},
                               {.fd = o->log_fd, .events = POLLIN},
                               {.fd = o->stderr_fd, .events = POLLIN}};
        if (poll(fds, sizeof fds / sizeof *fds, READY_CHECK_MS) <= 0)
            continue;
        if (fds[0].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (serve_question(l, fds[1].revents != 0, fds[2].revents != 0, err) < 0)
            return -1;
    }
}

static int prepare_files(struct openssh_login *l, struct err *err)
{
    struct openssh *o = l->o;
    if (openssh_create_directory(o, err) < 0)
        return -1;
    o->path = file_join(o->directory, "m");
    if (!o->path)
        return err_nomem(err);
    if (open_log(o, err) < 0)
        return -1;
    if (!l->options->askpass)
        return 0;
    if (reaper_start(&o->reaper, o->directory, l->options->askpass, err) < 0)
        return -1;
    return askpass_init(&l->askpass, o->directory, l->options->askpass, err);
}

static int log_in(struct openssh_login *l, const struct ssh_config *config, struct err *err)
{
    struct strlist arguments = {0};
    int64_t step_ms = l->options->limits.step_timeout_ms;
    int rc = prepare_files(l, err);
    const struct openssh_call call = {.o = l->o,
                                      .config = config,
                                      .options = l->options,
                                      .can_ask = l->options->ask && l->askpass.listener >= 0};
    if (rc == 0)
        rc = openssh_call_arguments(&call, &arguments, err);
    if (rc == 0)
        rc = start_ssh(l->o, &arguments, &l->askpass, err);
    strlist_release(&arguments);
    if (rc < 0)
        return -1;
    /* The limit is two steps, because ssh itself applies the connect timeout to the first. */
    l->since = clock_now();
    l->deadline = clock_deadline(2 * step_ms);
    return wait_ready(l, err);
}

/* Adds the reason why a key was not offered, which the server does not report. */
static void add_missing_reason(const struct err *missing_reason, struct err *err)
{
    if (!err || err->kind != ERR_DENIED || missing_reason->kind == ERR_NONE)
        return;
    err_append(err, "; not offered: %s", missing_reason->msg);
}

int openssh_start(const struct ssh_config *config, const struct login_options *options,
                  struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    struct openssh_login login = {.options = options, .askpass = {.listener = -1, .touch_fd = -1}};
    login.o = openssh_new(err);
    if (!login.o)
        return -1;
    openssh_describe_host(config, hop);
    snprintf(login.server, sizeof login.server, "%s port %u", hop->address, hop->port);
    int rc = log_in(&login, config, err);
    ssh_log_describe(&login.o->ssh_log, hop);
    ssh_log_drop_complaints(&login.o->ssh_log);
    if (rc < 0)
        add_missing_reason(&login.askpass.missing_reason, err);
    askpass_release(&login.askpass);
    if (rc < 0)
        openssh_close(login.o);
    else
        *ret = login.o;
    return rc;
}
