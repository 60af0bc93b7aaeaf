/* Fetches profiles from URLs, with pprof's messages.
 * Source: getProfile of Go's cmd/pprof; google/pprof internal/driver/fetch.go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/pprof.h"
#include "cli/input/input.h"
#include "http/http.h"
#include "base/banned.h"

/* The maximum length of a server's error text in a message. */
#define ERROR_TEXT_MAX 400
/* The time limit for symbols without -timeout. */
#define SYMBOLS_TIMEOUT_S 60

static struct url_request make_request(const struct pprof_options *o, const char *url, long timeout_s)
{
    return (struct url_request){.url = url,
                                .timeout_s = timeout_s,
                                .tls_ca = o->tls_ca,
                                .tls_cert = o->tls_cert,
                                .tls_key = o->tls_key};
}

/* Fails for an answer other than 200. */
static int check_status(const struct url_answer *a, struct err *err)
{
    char text[ERROR_TEXT_MAX];
    if (a->status == 200)
        return 0;
    if (!a->is_pprof_error || !a->is_text)
        return err_set(err, ERR_FAILED, "server response: %s", a->status_line);
    return err_set(err, ERR_FAILED, "server response: %s - %s", a->status_line,
                   text_printable(text, sizeof text, buf_str(&a->body), a->body.len));
}

int pprof_fetch(const struct pprof_options *o, const char *url, long timeout_s, struct buf *ret,
                struct err *err)
{
    struct url_request request = make_request(o, url, timeout_s);
    struct url_answer answer = {.body = BUF_INIT(ret->max)};
    int rc = url_send(&request, &answer, err);
    if (rc < 0 && answer.body.failed && !answer.body.out_of_memory)
        input_hint_unknown_size(err);
    if (rc == 0)
        rc = check_status(&answer, err);
    buf_release(ret);
    *ret = answer.body;
    return rc;
}

static int wrap_post_error(const char *url, struct err *err)
{
    char *shown = url_without_password(url);
    err_wrap(err, "http post %s", shown ? shown : "");
    free(shown);
    return err_hint(err, "-symbolize=local does not ask the server, and -symbolize=none looks up no names");
}

int pprof_post_addresses(const struct pprof_options *o, const char *source, struct str addresses,
                         struct buf *ret, struct err *err)
{
    char *url = load_url_symbols(source);
    if (!url)
        return err_nomem(err);
    struct url_request request = make_request(o, url, o->timeout > 0 ? o->timeout : SYMBOLS_TIMEOUT_S);
    struct url_answer answer = {.body = BUF_INIT(ret->max)};
    request.body = &addresses;
    int rc = url_send(&request, &answer, err);
    if (rc == 0)
        rc = check_status(&answer, err);
    if (rc == 0) {
        buf_release(ret);
        *ret = answer.body;
        answer.body = (struct buf)BUF_INIT(ret->max);
    } else {
        wrap_post_error(url, err);
    }
    buf_release(&answer.body);
    free(url);
    return rc;
}
