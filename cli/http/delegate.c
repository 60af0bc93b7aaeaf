#include "cli/http/delegate.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

/* Children at a time. More would take more memory; with fewer, a heavy request of one client would more often
 * make those of others wait. */
#define CHILDREN_MAX 8
/* The most requests that the server has sent to the delegate and that have no answer yet; others wait in the
 * server. The messages of these requests must fit into the socket's buffer, because the server must not
 * block. */
#define SENT_MAX (2 * CHILDREN_MAX)
/* A request of the server: path, parameters, body. */
#define REQUEST_BYTES ((size_t)8 << 20)
/* While children run, the delegate looks for ended ones at this interval. */
#define REAP_MS 200
/* An answer that takes longer is given up. A child's limit of processor time is usually lower. */
#define ANSWER_MS INT64_C(600000)

/* A request that waits for its child. */
struct pending {
    struct delegate *delegate;
    struct pending *next; /* in `queue` */
    int file, socket;
    int child_socket; /* for the child; -1: the delegate has it */
};

struct delegate {
    const struct delegate_work *work;
    int fd; /* sends a file and a socket for each request */
    pid_t pid;
    int cancel_fd;         /* kept open in the delegate and its children, where keys refer to it; -1: none */
    unsigned n_sent;       /* requests that the delegate has */
    struct pending *queue; /* requests that it does not have yet, the oldest first */
};

/* A child's report to the server. */
struct child_report {
    int status;
    unsigned kind; /* index in `kinds`; n_kinds: a text */
};

int delegate_status(const struct err *err)
{
    switch (err->kind) {
    case ERR_LIMIT:
    case ERR_CANCELLED:
        return 503;
    case ERR_UNSUPPORTED:
        return 501;
    case ERR_NOT_FOUND:
        return 404;
    default:
        return err->out_of_memory ? 503 : 400;
    }
}

const char *delegate_parameter(const struct delegate_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_parameters; i++)
        if (strcmp(r->parameters[i].name, name) == 0)
            return r->parameters[i].value;
    return NULL;
}

/* ---- the request in the file --------------------------------------------------------------------------- */

/* The file holds this head, then strings that end with NUL: the path, and a name and a value for each
 * parameter; then the body. */
struct request_head {
    enum httpd_method method;
    bool wants_json;
    size_t n_parameters, body_bytes;
};

static int write_request(int fd, struct httpd_request *request, struct err *err)
{
    size_t n = 0;
    const struct httpd_parameter *parameters = httpd_parameters(request, &n);
    const char *accept = httpd_header(request, "Accept");
    struct str body = httpd_body(request);
    struct buf text = BUF_INIT(REQUEST_BYTES);
    const struct request_head head = {.method = httpd_method(request),
                                      .wants_json = accept && strcmp(accept, "application/json") == 0,
                                      .n_parameters = n,
                                      .body_bytes = body.n};
    buf_add(&text, &head, sizeof head);
    buf_add(&text, httpd_path(request), strlen(httpd_path(request)) + 1);
    for (size_t i = 0; i < n; i++) {
        buf_add(&text, parameters[i].name, strlen(parameters[i].name) + 1);
        buf_add(&text, parameters[i].value, strlen(parameters[i].value) + 1);
    }
    buf_add(&text, body.p, body.n);
    int rc = buf_check(&text, "the request", err);
    if (rc == 0)
        rc = fd_write_all(fd, text.data, text.len, err);
    buf_release(&text);
    return rc;
}

/* Splits the text of write_request. `parameters` has room for head->n_parameters. */
static void split_request(const struct buf *text, const struct request_head *head,
                          struct httpd_parameter *parameters, struct delegate_request *ret)
{
    const char *at = text->data + sizeof *head;
    *ret = (struct delegate_request){.method = head->method,
                                     .wants_json = head->wants_json,
                                     .path = at,
                                     .parameters = parameters,
                                     .n_parameters = head->n_parameters};
    at += strlen(at) + 1;
    for (size_t i = 0; i < head->n_parameters; i++) {
        parameters[i].name = at;
        at += strlen(at) + 1;
        parameters[i].value = at;
        at += strlen(at) + 1;
    }
    ret->body = (struct str){at, head->body_bytes};
}

/* ---- a child ------------------------------------------------------------------------------------------- */

struct child {
    const struct delegate_work *work;
    int file, socket;
};

/* Ends the process when the client has left. */
static void *watch_client(void *ctx)
{
    const struct child *c = ctx;
    fd_wait(c->socket, POLLIN, CLOCK_NEVER, -1, NULL);
    _exit(0);
}

static int answer_request(const struct child *c, unsigned *ret_kind, struct err *err)
{
    struct buf text = BUF_INIT(REQUEST_BYTES);
    struct request_head head;
    struct httpd_parameter *parameters = NULL;
    struct delegate_request request;
    int rc = lseek(c->file, 0, SEEK_SET) < 0 || fd_read_all(c->file, &text) < 0 || text.len < sizeof head ||
                     ftruncate(c->file, 0) < 0 || lseek(c->file, 0, SEEK_SET) < 0
                 ? err_sys(err, "cannot read the request")
                 : 0;
    if (rc == 0) {
        memcpy(&head, text.data, sizeof head);
        parameters = calloc(head.n_parameters + 1, sizeof *parameters);
        rc = parameters ? 0 : err_nomem(err);
    }
    if (rc == 0) {
        split_request(&text, &head, parameters, &request);
        rc = c->work->answer(c->work->ctx, &request, c->file, ret_kind, err);
    }
    free(parameters);
    buf_release(&text);
    return rc;
}

/* Replaces what the file has by the error's message. */
static int write_error(int file, const struct err *err)
{
    char text[sizeof err->msg + 1];
    int n = snprintf(text, sizeof text, "%s\n", err->msg);
    return ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0 ? -1
                                                                  : fd_write_all(file, text, (size_t)n, NULL);
}

/* Answers a request with an error. */
static int report_error(const struct child *c, const struct err *err)
{
    const struct child_report report = {delegate_status(err), c->work->n_kinds};
    return write_error(c->file, err) < 0 ? -1 : fd_write_all(c->socket, &report, sizeof report, NULL);
}

static int run_child(void *ctx)
{
    struct child *c = ctx;
    struct child_report report = {.status = 200, .kind = c->work->n_kinds};
    struct err err = ERR_INIT;
    pthread_t watcher;
    int rc = thread_start(&watcher, watch_client, c, &err);
    if (rc == 0)
        rc = answer_request(c, &report.kind, &err);
    rc = rc < 0 ? report_error(c, &err) : fd_write_all(c->socket, &report, sizeof report, NULL);
    return rc < 0 ? 1 : 0;
}

/* ---- the delegate -------------------------------------------------------------------------------------- */

/* Reaps children that have ended. Waits until at most `most` of them run. */
static void reap(unsigned *running, unsigned most)
{
    while (*running > 0) {
        pid_t pid = waitpid(-1, NULL, *running > most ? 0 : WNOHANG);
        if (pid > 0)
            --*running;
        else if (pid == 0 || errno != EINTR)
            return;
    }
}

/* Reads the beginning of the request's path. */
static void read_path(int file, char *ret, size_t n)
{
    ssize_t got = pread(file, ret, n - 1, sizeof(struct request_head));
    ret[got > 0 ? got : 0] = '\0';
}

/* Starts a child for the request. Without a child, the server notices that the socket is closed. */
static void start_child(const struct delegate *d, int file, int socket, unsigned *running)
{
    struct child child = {d->work, file, socket};
    struct err err = ERR_INIT;
    char path[256];
    pid_t pid;
    read_path(file, path, sizeof path);
    struct proc_fork_limits limits = d->work->limits(d->work->ctx, path);
    limits.cancel_fd = d->cancel_fd;
    limits.kept[0] = file;
    limits.kept[1] = socket;
    if (fd_wait(socket, POLLIN, 0, -1, NULL) == 0)
        return; /* the client has left */
    if (proc_start_fork(run_child, &child, &limits, &pid, &err) == 0)
        ++*running;
    else
        report_error(&child, &err);
}

/* Ignores the signals that end profgrab: after Ctrl-C, the server answers the open requests and then ends the
 * delegate. */
static void ignore_ending_signals(void)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &ignore, NULL);
}

static int run_delegate(void *ctx)
{
    const struct delegate *d = ctx;
    unsigned running = 0;
    int code = d->work->prepare(d->work->ctx);
    if (code != 0)
        return code;
    ignore_ending_signals();
    if (fd_write_all(d->fd, "", 1, NULL) < 0)
        return 0;
    for (;;) {
        do
            reap(&running, CHILDREN_MAX - 1);
        while (running > 0 && fd_wait(d->fd, POLLIN, clock_deadline(REAP_MS), -1, NULL) < 0);
        int file = fd_receive(d->fd);
        bool ended = file < 0 && errno == 0;
        int socket = file < 0 ? -1 : fd_receive(d->fd);
        if (socket >= 0)
            start_child(d, file, socket, &running);
        fd_close(&socket);
        fd_close(&file);
        if (ended)
            break;
    }
    reap(&running, 0);
    return 0;
}

/* ---- the server ---------------------------------------------------------------------------------------- */

int delegate_start(const struct delegate_work *work, int cancel_fd, struct delegate **ret, int *ret_exit_code,
                   struct err *err)
{
    int pair[2] = {-1, -1};
    char ready;
    struct err why = ERR_INIT;
    struct delegate *d = calloc(1, sizeof *d);
    *ret = NULL;
    if (!d)
        return err_nomem(err);
    *d = (struct delegate){.work = work, .cancel_fd = cancel_fd};
    int rc = fd_socketpair(pair, err);
    if (rc == 0) {
        struct proc_fork_limits limits = {.cancel_fd = cancel_fd, .kept = {pair[1]}};
        d->fd = pair[1];
        rc = proc_start_fork(run_delegate, d, &limits, &d->pid, err);
        d->fd = pair[0];
    }
    fd_close(&pair[1]);
    if (rc < 0) {
        fd_close(&pair[0]);
        free(d);
        return -1;
    }
    rc = fd_wait(d->fd, POLLIN, CLOCK_NEVER, cancel_fd, &why);
    if (rc == 0 && read(d->fd, &ready, 1) == 1) {
        *ret = d;
        return 0;
    }
    *ret_exit_code = rc < 0 ? proc_end(d->pid) : proc_wait(d->pid);
    fd_close(&d->fd);
    free(d);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* Sends requests of the queue to the delegate. A request that cannot be sent gets no child: its socket
 * closes, and the server answers it. */
static void send_queued(struct delegate *d)
{
    while (d->queue && d->n_sent < SENT_MAX) {
        struct pending *p = d->queue;
        d->queue = p->next;
        d->n_sent++;
        if (fd_send(d->fd, p->file) == 0)
            fd_send(d->fd, p->child_socket);
        fd_close(&p->child_socket);
    }
}

static void add_to_queue(struct pending *p)
{
    struct pending **at = &p->delegate->queue;
    while (*at)
        at = &(*at)->next;
    *at = p;
}

static void remove_from_queue(struct pending *p)
{
    struct pending **at = &p->delegate->queue;
    while (*at && *at != p)
        at = &(*at)->next;
    if (*at)
        *at = p->next;
}

static void end_pending(void *ctx)
{
    struct pending *p = ctx;
    if (p->child_socket >= 0)
        remove_from_queue(p);
    else
        p->delegate->n_sent--;
    fd_close(&p->child_socket);
    fd_close(&p->file);
    fd_close(&p->socket);
    send_queued(p->delegate);
    free(p);
}

static bool is_valid(const struct child_report *s, const struct delegate_work *work)
{
    return s->status >= 200 && s->status < 600 && s->kind <= work->n_kinds;
}

/* Sends the child's answer. A child that ended without one has reached a limit. */
static void send_answer(struct httpd_request *request, void *ctx)
{
    struct pending *p = ctx;
    const struct delegate_work *work = p->delegate->work;
    struct child_report report;
    struct stat st;
    ssize_t n = read(p->socket, &report, sizeof report);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n != (ssize_t)sizeof report || !is_valid(&report, work) || fstat(p->file, &st) < 0) {
        httpd_answer_text(
            request, 503,
            "the process that makes the answer has ended: it exceeded a limit of memory or processor time, "
            "or has a fault\n");
    } else {
        struct httpd_answer answer = {.type = "text/plain; charset=utf-8"};
        if (report.kind < work->n_kinds)
            answer = work->kinds[report.kind];
        answer.status = report.status;
        int file = p->file;
        p->file = -1;
        httpd_answer_file(request, &answer, file, (uint64_t)st.st_size);
    }
    end_pending(p);
}

static int pending_new(struct delegate *d, struct httpd_request *request, struct pending **ret,
                       struct err *err)
{
    int pair[2] = {-1, -1};
    struct pending *p = calloc(1, sizeof *p);
    if (!p)
        return err_nomem(err);
    p->delegate = d;
    p->file = file_create_scratch(err);
    if (p->file < 0 || write_request(p->file, request, err) < 0 || fd_socketpair(pair, err) < 0) {
        fd_close(&p->file);
        free(p);
        return -1;
    }
    p->socket = pair[0];
    p->child_socket = pair[1];
    *ret = p;
    return 0;
}

void delegate_answer(struct delegate *d, struct httpd_request *request)
{
    struct err err = ERR_INIT;
    struct pending *p = NULL;
    if (pending_new(d, request, &p, &err) < 0) {
        httpd_answer_text(request, 503, "%s\n", err.msg);
        return;
    }
    add_to_queue(p);
    send_queued(d);
    httpd_wait(
        request,
        &(struct httpd_wait){
            .ready = send_answer, .gone = end_pending, .ctx = p, .fd = p->socket, .timeout_ms = ANSWER_MS});
}

void delegate_end(struct delegate *d)
{
    if (!d)
        return;
    fd_close(&d->fd);
    proc_wait(d->pid);
    free(d);
}
