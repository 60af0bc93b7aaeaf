#include "fetch/answer.h"

#include <stdio.h>
#include <string.h>

#include "fetch/body/format.h"
#include "base/banned.h"

/*
 * The first matching row counts. `text` is a part of the server's text; NULL matches every text.
 *
 * Sources of the texts: net/http/pprof and runtime/trace; net/http for the text on HTTPS. Two rows have the
 * texts on tracing before and after Go 1.25. Only Go before 1.23 sends the text on the WriteTimeout.
 */
static const struct meaning {
    int status;
    enum err_kind kind;
    const char *text;
    const char *hint;
} meanings[] = {
    {500, ERR_BUSY, "profiling already in use", NULL},
    {500, ERR_BUSY, "tracing is already enabled", NULL},
    {500, ERR_BUSY, "tracer already enabled", NULL},
    {400, ERR_FAILED, "exceeds server's WriteTimeout",
     "the program's http.Server has a WriteTimeout shorter than the profile: ask for a shorter one"},
    {400, ERR_FAILED, "HTTP request to an HTTPS server",
     "it speaks TLS: use `--scheme https` with --port, or `scheme: https` of the service in the inventory"},
    {401, ERR_FAILED, NULL, "it requires authentication: set `auth:` for the service in the inventory"},
    {403, ERR_FAILED, NULL,
     "does it want `auth:`, a client certificate (`tls:`) or another `host_header:` in the inventory?"},
    {404, ERR_NOT_FOUND, "Unknown profile", "this program has no such profile"},
    {404, ERR_NOT_FOUND, NULL,
     "nothing is served at that path: is pprof at another one (`path:` in the inventory, --path)?"},
    {421, ERR_FAILED, NULL, "it knows no such host: set `host_header:` for the service in the inventory"},
    {502, ERR_FAILED, NULL,
     "a proxy answered, not the program: is the program running, and is this port its own?"},
    {503, ERR_FAILED, NULL, "it is overloaded, starting or stopping: repeat in a moment"},
    {504, ERR_FAILED, NULL,
     "a proxy gave up waiting: ask for a shorter profile, or use the port of the program itself"},
};

static const struct meaning *find_meaning(const struct answer *a)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].status == a->status && (!meanings[i].text || strstr(a->text, meanings[i].text)))
            return &meanings[i];
    return NULL;
}

/* The hint does not print a command, because users write secrets into commands. */
static int hint_refused(const struct secret_ref *ref, struct err *err)
{
    if (ref->kind == SECRET_COMMAND)
        return err_hint(err, "it does not accept the output of the command for the secret");
    return err_hint(err, "it does not accept the secret from %s%.100s", ref->kind == SECRET_ENV ? "$" : "",
                    ref->locator);
}

int answer_set_error(const struct answer *a, const struct service *service, struct err *err)
{
    const struct meaning *m = find_meaning(a);
    /* Cut the text, so that the message has room for its context. The manifest has the whole text. */
    err_set(err, m ? m->kind : ERR_FAILED, "HTTP %d%s%.160s%s", a->status, a->text[0] ? ": " : "", a->text,
            strlen(a->text) > 160 ? "..." : "");
    if (a->status == 401 && a->authenticated)
        return hint_refused(&service->auth.secret, err);
    return m && m->hint ? err_hint(err, "%s", m->hint) : -1;
}

bool answer_is_permanent(int status)
{
    return status == 400 || status == 404 || status == 405 || status == 410 || status == 501;
}

void answer_read_text(const char *p, size_t n, char *dst, size_t cap)
{
    char title[200];
    if (format_is_html(p, n) && *format_html_title(p, n, title, sizeof title))
        snprintf(dst, cap, "an HTML page titled \"%s\"", title);
    else
        text_printable(dst, cap, p, n);
}
