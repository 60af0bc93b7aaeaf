/*
 * Requests that another process answers: one that has read untrusted data, which the server must not read.
 *
 * The delegate is a fork of the server's process. It prepares its data, and then forks a child within limits
 * for each request. The server gives the child a file in memory, which first holds the request and then the
 * answer's body, and a socket, which tells the child that the client has left, and the server the answer's
 * status. A request can therefore stop neither the server nor another request, and its memory is freed with
 * its child.
 */
#ifndef CLI_HTTP_DELEGATE_H
#define CLI_HTTP_DELEGATE_H

#include "base/base.h"
#include "httpd/httpd.h"

struct delegate;

/* A request, in the child. Its texts are valid until `answer` returns. */
struct delegate_request {
    enum httpd_method method;
    const char *path;
    bool wants_json;                          /* the header Accept is application/json */
    const struct httpd_parameter *parameters; /* as httpd_parameters */
    size_t n_parameters;
    struct str body;
};

/* Returns the value of the first parameter of that name, or NULL. */
const char *delegate_parameter(const struct delegate_request *r, const char *name);

struct delegate_work {
    /* Runs once in the delegate, before the first request. Prints its own messages. Returns 0, or the exit
     * code of the delegate. */
    int (*prepare)(void *ctx);
    /* Returns the limits of the child for a path, except cancel_fd and kept. */
    struct proc_fork_limits (*limits)(void *ctx, const char *path);
    /* Runs in the child. Writes the body to the file body_fd, which is empty, and sets *ret_kind to the index
     * of the row in `kinds` that describes it. After an error, the client gets its message as text with the
     * status of delegate_status. */
    int (*answer)(void *ctx, const struct delegate_request *r, int body_fd, unsigned *ret_kind,
                  struct err *err);
    void *ctx;
    const struct httpd_answer *kinds; /* headers of answers */
    unsigned n_kinds;
};

/* Returns the status of an error: 503 for a limit, 501 for ERR_UNSUPPORTED, 404 for ERR_NOT_FOUND, else 400.
 */
int delegate_status(const struct err *err);

/* Starts the delegate, and waits until it has prepared its data. *ret_exit_code: of a delegate that could not
 * prepare, and has printed why; then *ret is NULL. Call it before this process starts threads. `work` must
 * outlive *ret. ERR_CANCELLED: cancel_fd became readable. */
int delegate_start(const struct delegate_work *work, int cancel_fd, struct delegate **ret, int *ret_exit_code,
                   struct err *err);

/* Lets the delegate answer the request. Called by a handler of the server. */
void delegate_answer(struct delegate *d, struct httpd_request *request);

/* Ends the delegate and its children, and waits for them. */
void delegate_end(struct delegate *d);

#endif
