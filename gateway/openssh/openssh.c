/* An open master connection, the user's or our own: its requests, its log and its end. */
#include "gateway/openssh/openssh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/openssh/openssh_internal.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* The timeout of an alive check. A live master answers at once. */
#define ALIVE_TIMEOUT_MS 2000
/* The time that ssh has to exit on request. */
#define EXIT_TIMEOUT_MS 300

static void read_stream(struct ssh_log *l, enum ssh_log_source source, int *fd)
{
    char chunk[4096];
    ssize_t n;
    while (*fd >= 0 && (n = read(*fd, chunk, sizeof chunk)) != 0) {
        if (n > 0)
            ssh_log_feed(l, source, chunk, (size_t)n);
        else if (errno != EINTR)
            return;
    }
    /* Close an ended stream, because poll would report its end repeatedly. */
    fd_close(fd);
}

void openssh_read_output(struct openssh *o)
{
    read_stream(&o->ssh_log, SSH_LOG, &o->log_fd);
    read_stream(&o->ssh_log, SSH_STDERR, &o->stderr_fd);
}

bool openssh_is_disconnected(struct openssh *o)
{
    struct mux_message m;
    int rc;
    while ((rc = mux_read(&o->control, &m, NULL)) == 1)
        if (m.type == MUX_ALIVE)
            o->checks_answered = m.id;
    o->lost = o->lost || rc < 0;
    return o->lost;
}

uint32_t openssh_send_alive_check(struct openssh *o)
{
    mux_add_request(&o->control.out, MUX_ALIVE_CHECK, ++o->last_request);
    if (mux_send(&o->control, NULL) < 0)
        o->lost = true;
    return o->last_request;
}

/* Leaves room in the path for the temporary name of ssh's socket: "/m.", sixteen letters and a NUL. */
int openssh_create_directory(struct openssh *o, struct err *err)
{
    return unix_socket_make_directory(sizeof "/m." + 16, &o->directory, err);
}

int openssh_socket_name(struct openssh *o, char **ret, struct err *err)
{
    char name[16];
    if (!o->directory && openssh_create_directory(o, err) < 0)
        return -1;
    snprintf(name, sizeof name, "u%u", o->n_sockets++);
    *ret = file_join(o->directory, name);
    return *ret ? 0 : err_nomem(err);
}

int openssh_connect_control(struct openssh *o, int cancel_fd, uint32_t *ret_pid, struct err *err)
{
    struct mux_message m;
    if (mux_connect(&o->control, o->path, err) < 0)
        return -1;
    mux_add_hello(&o->control.out);
    mux_add_request(&o->control.out, MUX_ALIVE_CHECK, 0);
    if (mux_send(&o->control, err) < 0 ||
        mux_wait(&o->control, clock_deadline(ALIVE_TIMEOUT_MS), cancel_fd, &m, err) < 0)
        return -1;
    if (m.type != MUX_ALIVE)
        return failure_set(FAILURE_MASTER_NOT_ALIVE, FAILURE_DETAILS(o->path), err);
    *ret_pid = m.number;
    return 0;
}

struct openssh *openssh_new(struct err *err)
{
    struct openssh *o = calloc(1, sizeof *o);
    if (!o) {
        err_nomem(err);
        return NULL;
    }
    o->control.fd = o->log_fd = o->log_write_fd = o->stderr_fd = o->reaper.pipe = -1;
    return o;
}

void openssh_describe_host(const struct ssh_config *config, struct gateway_hop *hop)
{
    *hop = (struct gateway_hop){.port = config->port};
    text_printable(hop->address, sizeof hop->address, config->hostname, strlen(config->hostname));
    text_printable(hop->user, sizeof hop->user, config->user, strlen(config->user));
}

int openssh_find(const struct ssh_config *config, const struct login_options *options,
                 struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    struct err why = ERR_INIT;
    uint32_t pid = 0;
    if (!config->connect.control_path)
        return err_set(err, ERR_NOT_FOUND, "no master connection is configured");
    struct openssh *o = openssh_new(err);
    if (!o)
        return -1;
    o->path = strdup(config->connect.control_path);
    if (!o->path)
        err_nomem(&why);
    else if (openssh_connect_control(o, options->limits.cancel_fd, &pid, &why) == 0) {
        openssh_describe_host(config, hop);
        snprintf(hop->via, sizeof hop->via, "the ssh -M at ");
        size_t n = strlen(hop->via);
        text_printable(hop->via + n, sizeof hop->via - n, o->path, strlen(o->path));
        *ret = o;
        return 0;
    }
    openssh_close(o);
    /* ERR_NOT_FOUND: only this master is unusable, and the caller opens a connection of its own. */
    if (err && why.kind == ERR_CANCELLED)
        *err = why;
    else
        err_set(err, ERR_NOT_FOUND, "%s", why.msg);
    return -1;
}

/* ---- the end of the connection ------------------------------------------------------------------------- */

int openssh_fd(const struct openssh *o)
{
    return o->control.fd;
}

/* Reads the rest of the log, because ssh closes our connection before it logs the reason. */
static void read_last_log(struct openssh *o)
{
    int64_t deadline = clock_deadline(EXIT_TIMEOUT_MS);
    while (!proc_has_ended(o->pid, NULL) && o->stderr_fd >= 0 &&
           fd_wait(o->stderr_fd, POLLIN, deadline, -1, NULL) == 0)
        openssh_read_output(o);
    openssh_read_output(o);
}

bool openssh_has_ended(struct openssh *o, struct err *reason)
{
    struct err why = ERR_INIT;
    char where[sizeof why.msg];
    openssh_read_output(o);
    if (o->pid && cpu_budget_is_exceeded(&o->cpu, clock_process_cpu_ns(o->pid))) {
        failure_set(FAILURE_SESSION_FLOODED, FAILURE_DETAILS("the SSH session was ended"), reason);
        return true;
    }
    if (!openssh_is_disconnected(o))
        return false;
    if (o->pid) {
        read_last_log(o);
        ssh_log_explain_end(&o->ssh_log, "", &why);
    } else {
        snprintf(where, sizeof where, " at %s", o->path);
        failure_set(FAILURE_MASTER_ENDED, FAILURE_DETAILS(where), &why);
    }
    failure_set(FAILURE_SESSION_LOST_BECAUSE, FAILURE_DETAILS(why.msg), reason);
    return true;
}

/* Asks ssh to log out, then ends it and its child processes. */
static void stop_own_ssh(struct openssh *o)
{
    if (o->control.fd >= 0 && !openssh_is_disconnected(o)) {
        mux_add_request(&o->control.out, MUX_TERMINATE, ++o->last_request);
        int64_t deadline = clock_deadline(EXIT_TIMEOUT_MS);
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
        stop_own_ssh(o);
    mux_close(&o->control);
    fd_close(&o->log_fd);
    fd_close(&o->log_write_fd);
    fd_close(&o->stderr_fd);
    if (o->directory)
        file_remove(o->directory, NULL);
    /* End the reaper last: it removes the directory if we are killed before this line. */
    reaper_end(&o->reaper);
    free(o->directory);
    free(o->path);
    free(o);
}
