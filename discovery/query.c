#include "discovery/discovered.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* The time limit of a query. */
#define LIMIT_MS (2 * 60 * 1000)

/* An answer that is being received. */
struct answer {
    struct discovered_reader *reader;
    size_t bytes;
};

static int feed_answer(void *ctx, const void *p, size_t n, struct err *err)
{
    struct answer *a = ctx;
    a->bytes += n;
    if (a->bytes > SOURCE_MAX_BYTES) {
        err_set(err, ERR_FAILED, "its answer is larger than %zu MiB", SOURCE_MAX_BYTES >> 20);
        return err_hint(err, "is the URL right? the answer of a source lists only targets");
    }
    return discovered_reader_feed(a->reader, p, n, err);
}

/* Masks the secret in the answer, because the source may repeat it. */
static void mask_secret(void *ctx, void (*redact)(void *redact_ctx, char *text), void *redact_ctx)
{
    struct answer *a = ctx;
    discovered_reader_set_mask(a->reader, redact, redact_ctx);
}

/* Replaces the hint of fetch_get, which is for services, because a source has other keys in the inventory. */
static int add_hint(const struct source *s, int status, const struct discovered_reader *reader,
                    struct err *err)
{
    if ((status == 401 || status == 403) && s->endpoint->auth.secret.kind == SECRET_NONE)
        return err_hint(err, "it requires authentication: set `auth:` in its entry under `discovery`");
    if (status == 404)
        return err_hint(err, "nothing exists at %.200s: if the %s is below a path, add the path to its URL",
                        s->endpoint->path, source_kind_name(s->kind));
    if (status == 200 && discovered_reader_is_malformed(reader))
        return err_hint(err, "is the URL right, or is a login page in front of the source?");
    return -1;
}

int discovery_query(const struct source *s, const struct fetch_job *grab, struct discovered *ret,
                    struct err *err)
{
    struct host direct_host = {.name = s->name, .address = s->endpoint->host, .direct = true};
    struct discovered found = {.at = clock_utc()};
    struct answer answer = {0};
    struct fetch_get_request request = {.host = s->through ? s->through : &direct_host,
                                        .service = s->endpoint,
                                        .limit_ms = LIMIT_MS,
                                        .ctx = &answer,
                                        .on_secret = mask_secret,
                                        .body = feed_answer};
    int status = 0;
    if (discovered_reader_new(s->kind, &found, &answer.reader, err) < 0)
        return -1;
    int rc = fetch_get(grab, &request, &status, err);
    if (rc == 0)
        rc = discovered_reader_end(answer.reader, err);
    if (rc < 0)
        add_hint(s, status, answer.reader, err);
    discovered_reader_free(answer.reader);
    if (rc < 0)
        discovered_release(&found);
    else
        *ret = found;
    return rc;
}
