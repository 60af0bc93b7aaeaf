#include "fetch/discovery.h"

#include <stdio.h>
#include <string.h>

#include "fetch/credentials.h"
#include "fetch/endpoint.h"
#include "fetch/transfer.h"
#include "base/banned.h"

#define LIMIT_MS (2 * 60 * 1000)

/* An answer that is being received. */
struct answer_reader {
    struct discovered_reader *reader;
    size_t bytes;
};

static int feed_answer(void *ctx, const void *p, size_t n, struct err *err)
{
    struct answer_reader *r = ctx;
    r->bytes += n;
    if (r->bytes > SOURCE_MAX_BYTES) {
        err_set(err, ERR_FAILED, "its answer is larger than %zu MiB", SOURCE_MAX_BYTES >> 20);
        return err_hint(err, "is that the right address? it should say targets, and nothing else");
    }
    return discovered_reader_feed(r->reader, p, n, err);
}

/* The secret that a source's answer must not repeat in texts. */
struct masking {
    const struct service *ask;
    const struct secret *secret;
};

static void mask_secret(void *ctx, char *text)
{
    const struct masking *m = ctx;
    endpoint_redact(text, m->ask, m->secret);
}

/* answer_error has hints for services; a source needs other keys of the inventory. */
static int add_hint(const struct source *s, const struct transfer_response *r, struct err *err)
{
    if ((r->status == 401 || r->status == 403) && s->ask->auth.secret.source == SECRET_NONE)
        return err_hint(err, "it wants to know who asks: set `auth:` in its entry under `discovery`");
    if (r->status == 404)
        return err_hint(err, "nothing is there at %.200s: a %s behind a path has that in its URL",
                        s->ask->path, source_kind_name(s->kind));
    if (r->status == 200 && err && strstr(err->msg, "JSON"))
        return err_hint(err, "is that the right URL, or a login page in front of it?");
    return -1;
}

static int fetch_answer(const struct source *s, struct gateway_listener *listener,
                        const struct secret *secret, const struct fetch_grab *grab, struct discovered *into,
                        struct err *err)
{
    struct answer_reader reader = {0};
    struct transfer *t = NULL;
    struct transfer_response response = {0};
    struct transfer_options options = {
        .cancel_fd = grab->access.cancel_fd, .timeout_ms = grab->access.timeout_ms, .secret = secret};
    struct transfer_request request = {
        .target = s->ask->path, .limit_ms = LIMIT_MS, .ctx = &reader, .body = feed_answer};
    struct masking masking = {s->ask, secret};
    if (discovered_reader_new(s->kind, into, &reader.reader, err) < 0)
        return -1;
    if (secret)
        discovered_reader_mask(reader.reader, mask_secret, &masking);
    int rc = transfer_new(listener, s->ask, &options, &t, err);
    if (rc == 0) {
        rc = transfer_get(t, &request, &response, err);
        if (rc == 0)
            rc = discovered_reader_end(reader.reader, err);
        if (rc < 0)
            add_hint(s, &response, err);
    }
    transfer_free(t);
    discovered_reader_free(reader.reader);
    return rc;
}

/* Over an open gateway. */
static int ask_over(const struct source *s, struct gateway *gw, const struct secret *secret,
                    const struct fetch_grab *grab, struct discovered *into, struct err *err)
{
    struct gateway_listener *listener = NULL;
    struct destination to = {.host = s->ask->host, .port = s->ask->port};
    if (gateway_listen(gw, &to, &listener, err) < 0)
        return -1;
    return fetch_answer(s, listener, secret, grab, into, err);
}

static int ask_from(const struct source *s, const struct host *from, const struct secret *secret,
                    const struct fetch_grab *grab, struct discovered *into, struct err *err)
{
    struct gateway_pool *pool = NULL;
    struct gateway *gw = NULL;
    int rc = gateway_pool_new(&pool, err);
    if (rc == 0)
        rc = fetch_open(grab, from, pool, &gw, err);
    if (rc < 0 && !from->direct)
        err_wrap(err, "%s", from->name);
    if (rc == 0)
        rc = ask_over(s, gw, secret, grab, into, err);
    gateway_close(gw);
    gateway_pool_free(pool);
    return rc;
}

int discovery_ask(const struct source *s, const struct fetch_grab *grab, struct discovered *ret,
                  struct err *err)
{
    struct proc_limits limits = {.timeout_ms = grab->access.timeout_ms, .cancel_fd = grab->access.cancel_fd};
    struct host here = {.name = s->name, .address = s->ask->host, .direct = true};
    const struct host *from = s->through ? s->through : &here;
    struct target target = {.host = from, .service = s->ask};
    struct credentials credentials = {0};
    struct discovered f = {.at = clock_utc()};
    int rc = credentials_load(&(struct targets){.items = &target, .n = 1}, &limits, &credentials, err);
    if (rc == 0)
        rc = ask_from(s, from, credentials_find(&credentials, s->ask), grab, &f, err);
    credentials_release(&credentials);
    if (rc < 0)
        discovered_release(&f);
    else
        *ret = f;
    return rc;
}
