/* Serves the page of `profgrab pprof -http`. */
#include <signal.h>
#include <string.h>

#include "cli/http/serve.h"
#include "cli/pprof/picture.h"
#include "cli/pprof/web.h"
#include "cli/term/signals.h"
#include "page/page.h"
#include "base/banned.h"

/* Each connection may wait for an answer, with a file and a socket. */
#define DESCRIPTORS 2048
/* Pasted source files. */
#define BODY_MAX ((size_t)4 << 20)

/* ---- the delegate -------------------------------------------------------------------------------------- */

static int load(void *ctx)
{
    struct web *web = ctx;
    struct err err = ERR_INIT;
    if (signals_install(&err) == 0 && pprof_load(web->options, &web->kept, &web->profile, &err) == 0)
        return 0;
    return pprof_report_failure(&err);
}

/* Each request gets the full time of the budget, as each report of the shell does. */
static struct proc_fork_limits limits_of_request(void *ctx, const char *path)
{
    const struct web *web = ctx;
    struct confined_budget renewed;
    confined_budget_init(web->options->budget->bytes, &renewed);
    renewed.memory_before = web->options->budget->memory_before;
    struct proc_fork_limits limits = confined_budget_remaining(&renewed, -1);
    const char *name = strrchr(path, '/') + 1;
    if (strcmp(name, "source") == 0 || strcmp(name, "disasm") == 0)
        programs_allow(web->profile, &limits);
    if (strcmp(name, "graph") == 0)
        picture_allow(&limits);
    return limits;
}

static const struct httpd_answer kinds[WEB_KINDS] = {
    [WEB_PAGE] = {.type = "text/html; charset=utf-8", .compress = true},
    [WEB_JSON] = {.type = "application/json", .compress = true},
    [WEB_NOTHING] = {.type = "text/plain; charset=utf-8"},
    [WEB_PROFILE] = {.type = "application/vnd.google.protobuf+gzip", .download = "profile.pb.gz"},
    [WEB_FROZEN_PAGE] = {.type = "text/html; charset=utf-8", .download = "profile.html", .compress = true},
};

/* ---- the server ---------------------------------------------------------------------------------------- */

/* The context of the handlers is a struct delegate **, because the server listens before the delegate starts.
 */

static void lead_to_ui(struct httpd_request *request, void *ctx)
{
    (void)ctx;
    httpd_answer_redirect(request, 307, "/ui/");
}

static void lead_to_flamegraph(struct httpd_request *request, void *ctx)
{
    (void)ctx;
    httpd_answer_redirect(request, 301, "flamegraph");
}

static void answer_by_delegate(struct httpd_request *request, void *ctx)
{
    if (strcmp(httpd_path(request), "/ui/") == 0)
        lead_to_flamegraph(request, ctx);
    else
        delegate_answer(*(struct delegate **)ctx, request);
}

static void answer_part(struct httpd_request *request, const char *type, struct str part)
{
    char tag[SHA256_HEX] = "";
    struct sha256 *hash = sha256_new(NULL);
    if (hash) {
        sha256_add(hash, part.p, part.n);
        sha256_hex(hash, tag, NULL);
    }
    sha256_free(hash);
    const struct httpd_answer answer = {
        .status = 200, .type = type, .etag = *tag ? tag : NULL, .compress = true};
    httpd_answer_bytes(request, &answer, part.p, part.n);
}

static void answer_script(struct httpd_request *request, void *ctx)
{
    (void)ctx;
    answer_part(request, "text/javascript; charset=utf-8", page_web_pprof.script);
}

static void answer_style(struct httpd_request *request, void *ctx)
{
    (void)ctx;
    answer_part(request, "text/css; charset=utf-8", page_web_pprof.style);
}

static const struct httpd_route routes[] = {
    {"/ui", HTTPD_GET, lead_to_ui, 0},
    {"/ui/flamegraph2", HTTPD_GET, lead_to_flamegraph, 0},
    {"/ui/flamegraphold", HTTPD_GET, lead_to_flamegraph, 0},
    {"/ui/saveconfig", HTTPD_POST, answer_by_delegate, 0},
    {"/ui/deleteconfig", HTTPD_DELETE, answer_by_delegate, 0},
    {"/ui/source", HTTPD_GET | HTTPD_POST, answer_by_delegate, BODY_MAX},
    {"/ui/freeze/source", HTTPD_GET | HTTPD_POST, answer_by_delegate, BODY_MAX},
    {"/ui/", HTTPD_GET, answer_by_delegate, 0},
    {"/web/pprof.js", HTTPD_GET, answer_script, 0},
    {"/web/pprof.css", HTTPD_GET, answer_style, 0},
    {"", HTTPD_GET, lead_to_ui, 0},
    {NULL, 0, NULL, 0},
};

/* Sets the error of a delegate that could not load the profile. A delegate that a signal did not end has
 * printed why. */
static int set_load_error(int code, struct err *err)
{
    int number = code - 128;
    if (number == SIGINT || number == SIGTERM || number == SIGHUP)
        return err_set(err, ERR_CANCELLED, "interrupted");
    return number > 0 ? err_set(err, ERR_FAILED, "signal %d ended the process that loads the profile", number)
                      : -1;
}

int pprof_run_web(const struct pprof_options *o, struct err *err)
{
    struct web web = {.options = o};
    struct delegate *delegate = NULL;
    struct serve *serve = NULL;
    struct httpd_answer answers[WEB_KINDS];
    struct buf path = BUF_INIT((size_t)1 << 20);
    int code = 0;
    buf_adds(&path, "/ui/flamegraph");
    fd_raise_limit(DESCRIPTORS);
    memcpy(answers, kinds, sizeof answers);
    answers[WEB_PAGE].policy = page_web_pprof.policy;
    answers[WEB_FROZEN_PAGE].policy = page_web_frozen.policy;
    int rc = signals_install(err);
    if (rc == 0)
        rc = web_add_query(o, &path, err);
    const struct delegate_work work = {.prepare = load,
                                       .limits = limits_of_request,
                                       .answer = web_answer,
                                       .ctx = &web,
                                       .kinds = answers,
                                       .n_kinds = WEB_KINDS};
    const struct serve_options options = {.address = o->http,
                                          .title = "profgrab pprof",
                                          .path = buf_str(&path),
                                          .routes = routes,
                                          .ctx = &delegate,
                                          .open_browser = o->no_browser ? NULL : pprof_open_browser};
    if (rc == 0)
        rc = serve_open(&options, &serve, err);
    if (rc == 0)
        rc = delegate_start(&work, signals_cancel_fd(), &delegate, &code, err);
    if (rc == 0 && delegate)
        rc = serve_run(serve, err);
    else if (rc == 0)
        rc = set_load_error(code, err);
    serve_close(serve);
    delegate_end(delegate);
    buf_release(&path);
    return rc;
}
