/*
 * A body is written to NAME.part. A complete body that passes its check is renamed to NAME, a damaged one to
 * NAME.damaged: half a goroutine dump is useful if its name shows that it is damaged.
 */
#include "fetch/item.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fetch/answer.h"
#include "fetch/retry.h"
#include "fetch/finding.h"
#include "base/banned.h"

/* The destination of a body. */
struct sink {
    int fd;
    const char *path; /* below the work directory; for messages */
    uint64_t size;
    uint64_t max;          /* 0: no limit */
    struct budget *budget; /* NULL: none */
    struct sha256 *hash;
    struct check *check;
};

static int set_too_large_error(const struct sink *s, struct err *err)
{
    char most[32];
    err_set(err, ERR_FAILED, "its body is larger than %s, the limit of this kind: the rest was not read",
            text_bytes(most, sizeof most, s->max));
    return err_hint(err, "--max-bytes sets another limit");
}

static int feed_sink(void *ctx, const void *p, size_t n, struct err *err)
{
    struct sink *s = ctx;
    if (s->max > 0 && n > s->max - s->size)
        return set_too_large_error(s, err);
    if (s->budget && budget_count_bytes(s->budget, n, err) < 0)
        return -1;
    s->size += n;
    if (s->fd >= 0 && fd_write_all(s->fd, p, n, err) < 0)
        return err_wrap(err, "%s", s->path);
    sha256_add(s->hash, p, n);
    return check_feed(s->check, p, n, err);
}

/* `limit`: of the processor time for the check; NULL: none. */
static int open_sink(struct sink *s, enum body_format format, struct check_limit *limit, struct err *err)
{
    s->hash = sha256_new(err);
    s->check = s->hash ? check_new(format, err) : NULL;
    if (!s->check)
        return -1;
    check_set_limit(s->check, limit);
    return 0;
}

static void release_sink(struct sink *s)
{
    sha256_free(s->hash);
    check_free(s->check);
}

/* Writes the Go versions that may have written a trace. `minor` is the version in the trace's header, which
 * changes only with the format of traces. Source: Go's internal/trace/version, and the releases that changed
 * it. */
static void write_trace_go_version(unsigned minor, char *dst, size_t cap)
{
    static const struct {
        unsigned minor;
        const char *version;
    } versions[] = {{11, "1.11 to 1.18"}, {19, "1.19 or 1.20"}, {21, "1.21"},
                    {22, "1.22"},         {23, "1.23 or 1.24"}, {25, "1.25"}};
    snprintf(dst, cap, ">= 1.%u", minor);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].minor == minor)
            snprintf(dst, cap, "%s", versions[i].version);
}

/* Ends the hash and the check. Returns -1 with the error of the check. */
static int finish_sink(struct sink *s, struct fetch_item *item, bool complete, struct err *err)
{
    struct check_result result = {0};
    if (sha256_hex(s->hash, item->sha256, err) < 0)
        return -1;
    int rc = check_finish(s->check, &result, err);
    /* The numbers of an incomplete profile are not reliable. */
    item->has_profile = rc == 0 && complete && result.has_profile;
    item->profile = result.profile;
    snprintf(item->go_version, sizeof item->go_version, "%s", result.profile.go_version);
    if (result.trace_minor)
        write_trace_go_version(result.trace_minor, item->go_version, sizeof item->go_version);
    item->permanent |= rc < 0 && complete && result.has_other_format;
    /* Keep the server's text if it sent text instead of a profile. */
    if (rc < 0 && complete)
        snprintf(item->server_words, sizeof item->server_words, "%s", result.beginning);
    return rc;
}

static void init_item(struct fetch_item *item, const struct plan_item *plan)
{
    snprintf(item->kind, sizeof item->kind, "%s", plan->kind);
    snprintf(item->argument, sizeof item->argument, "%s", plan->argument);
    snprintf(item->request, sizeof item->request, "GET %s", plan->request_target);
    item->pair = plan->pair;
}

void item_skip(const struct plan_item *plan, const struct err *why, struct fetch_item *ret)
{
    *ret = (struct fetch_item){.status = why->kind == ERR_CANCELLED ? FETCH_INTERRUPTED : FETCH_FAILED};
    init_item(ret, plan);
    ret->err = *why;
    ret->transient = retry_is_transient(why, 0);
}

void item_absent(const struct plan_item *plan, struct fetch_item *ret)
{
    *ret = (struct fetch_item){.status = FETCH_FAILED, .permanent = true};
    init_item(ret, plan);
    err_set(&ret->err, ERR_NOT_FOUND, "this program has no %s: its index page does not list it", plan->kind);
    err_hint(&ret->err, "if the program serves it unlisted, request the path: %s", plan->request_target);
}

void item_leave_out(const struct plan_item *plan, const char *why, struct fetch_item *ret)
{
    *ret = (struct fetch_item){.status = FETCH_LEFT_OUT};
    init_item(ret, plan);
    err_set(&ret->err, ERR_FAILED, "%s", why);
}

static void record_response(struct fetch_item *item, const struct http_response *r)
{
    item->http_status = r->status;
    item->started = r->started;
    item->duration_ms = r->duration_ms;
    item->bytes = r->bytes;
    snprintf(item->content_type, sizeof item->content_type, "%s", r->content_type);
    answer_read_text(r->page, strlen(r->page), item->server_words, sizeof item->server_words);
}

/* The file endings of raw paths by content type. */
static const struct {
    const char *type, *ending;
} endings[] = {{"application/json", ".json"}, {"text/html", ".html"}, {"text/", ".txt"}, {"", ".bin"}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static const char *find_ending(const char *content_type)
{
    size_t i = 0;
    while (i < ENDINGS - 1 && strncmp(content_type, endings[i].type, strlen(endings[i].type)) != 0)
        i++;
    return endings[i].ending;
}

const char *item_file_ending(size_t i)
{
    return i < ENDINGS ? endings[i].ending : NULL;
}

/* Renames NAME.part to its final name. */
static int rename_part(const struct plan_item *plan, const struct item_context *context, const char *part,
                       struct fetch_item *item, struct err *err)
{
    snprintf(item->file, sizeof item->file, "%s/%s%s%s", context->directory, plan->file,
             plan->ending_by_type ? find_ending(item->content_type) : "",
             item->status == FETCH_OK ? "" : ".damaged");
    return dir_rename_new(context->work, part, item->file, err);
}

static void set_status(int fetch_rc, struct sink *s, struct fetch_item *item)
{
    struct err check_err = ERR_INIT;
    bool has_body = item->bytes > 0;
    int check_rc = has_body ? finish_sink(s, item, fetch_rc == 0, &check_err) : -1;
    if (fetch_rc == 0 && !has_body)
        err_set(&item->err, ERR_FAILED, "HTTP %d with an empty body", item->http_status);
    else if (fetch_rc == 0 && check_rc < 0)
        item->err = check_err;
    if (fetch_rc == 0 && check_rc == 0)
        item->status = FETCH_OK;
    else if (item->err.kind == ERR_CANCELLED)
        item->status = FETCH_INTERRUPTED;
    else
        item->status = has_body ? FETCH_DAMAGED : FETCH_FAILED;
}

static int open_part(const struct plan_item *plan, const struct item_context *context, struct sink *sink,
                     struct fetch_item *ret)
{
    char *part = NULL;
    if (asprintf(&part, "%s/%s.part", context->directory, plan->file) < 0)
        return err_nomem(&ret->err);
    sink->path = part;
    sink->max = context->max_bytes ? context->max_bytes : plan->max_bytes;
    sink->budget = context->budget;
    sink->fd = dir_create(context->work, part, &ret->err);
    return sink->fd < 0 ? -1 : open_sink(sink, plan->format, context->check, &ret->err);
}

void item_fetch(struct transfer *t, const struct plan_item *plan, const struct item_context *context,
                struct fetch_item *ret)
{
    struct sink sink = {.fd = -1};
    struct http_response response = {0};
    struct http_get get = {.timed_ms = plan->timed_ms,
                           .ctx = &sink,
                           .body = feed_sink,
                           .progress = context->progress,
                           .progress_ctx = context->progress_ctx};
    *ret = (struct fetch_item){.status = FETCH_FAILED};
    init_item(ret, plan);
    if (open_part(plan, context, &sink, ret) < 0)
        goto out;
    context->ready(context->progress_ctx);
    int fetch_rc = transfer_get(t, plan->request_target, &get, &response, &ret->err);
    record_response(ret, &response);
    ret->transient =
        fetch_rc < 0 && (transfer_is_cut_off(&response) || retry_is_transient(&ret->err, response.status));
    set_status(fetch_rc, &sink, ret);
    ret->permanent |= fetch_rc < 0 && answer_is_permanent(response.status);
    /* An error page may repeat the request's secret, which must not enter a bundle. */
    bool reflected = ret->bytes > 0; /* stays true if the file cannot be read */
    if (reflected)
        transfer_find_secret(t, sink.fd, &reflected);
    if (reflected) {
        ret->status = FETCH_FAILED;
        ret->sha256[0] = '\0';
        err_set(&ret->err, ERR_FAILED, "the body contains the secret of the request, so profgrab removed it");
    }
    transfer_mask(t, ret->err.msg);
    transfer_mask(t, ret->server_words);
    /* A failed write may have left more bytes than were counted and hashed. */
    if (ret->status != FETCH_OK && ret->bytes > 0 && ftruncate(sink.fd, (off_t)ret->bytes) < 0)
        err_sys(&ret->err, "%s: cannot cut it to the received bytes", sink.path);
    /* Keep an interrupted body too: collected data is not lost. */
    if (ret->bytes > 0 && !reflected && rename_part(plan, context, sink.path, ret, &ret->err) < 0) {
        ret->status = FETCH_DAMAGED;
        snprintf(ret->file, sizeof ret->file, "%s/%s.part", context->directory, plan->file);
    }
    fetch_finding_check(&ret->findings, &(struct evidence){.item = ret,
                                                           .plan = plan,
                                                           .response = &response,
                                                           .waited_ms = context->waited_ms,
                                                           .concurrent_kinds = context->concurrent_kinds});
out:
    /* Do not remove a file that this fetch did not create. */
    if (sink.fd >= 0 && !ret->file[0])
        dir_remove(context->work, sink.path, NULL);
    fd_close(&sink.fd);
    release_sink(&sink);
    free((char *)(uintptr_t)sink.path);
}

/* ---- files of an earlier run --------------------------------------------------------------------------- */

/* Feeds the rest of a file to the sink. */
static int feed_file(struct sink *s, int fd, int cancel_fd, struct err *err)
{
    char chunk[65536];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read %s", s->path);
        if (fd_cancelled(cancel_fd))
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (feed_sink(s, chunk, (size_t)n, err) < 0)
            return -1;
    }
    return 0;
}

/* Computes the hash of a file. With a format other than BODY_ANY, also checks the file and fills in the facts
 * of its content. */
static int examine_file(const struct item_context *context, enum body_format format, int cancel_fd,
                        struct fetch_item *item, struct err *err)
{
    struct sink sink = {.fd = -1, .path = item->file};
    int rc = -1, fd = dir_open(context->work, item->file, err);
    if (fd >= 0 && open_sink(&sink, format, context->check, err) == 0 &&
        feed_file(&sink, fd, cancel_fd, err) == 0) {
        rc = finish_sink(&sink, item, true, err);
        item->bytes = sink.size;
    }
    fd_close(&fd);
    release_sink(&sink);
    return rc;
}

int item_adopt(const struct plan_item *plan, const struct item_context *context, const char *name,
               struct fetch_item *ret, struct err *err)
{
    static const struct http_response none = {0};
    *ret = (struct fetch_item){.status = FETCH_OK};
    init_item(ret, plan);
    snprintf(ret->file, sizeof ret->file, "%s/%s", context->directory, name);
    if (examine_file(context, plan->format, context->cancel_fd, ret, err) < 0)
        return -1;
    if (ret->bytes == 0)
        return err_set(err, ERR_FAILED, "%s is empty", ret->file);
    fetch_finding_check(&ret->findings, &(struct evidence){.item = ret, .plan = plan, .response = &none});
    fetch_finding_add(&ret->findings, FETCH_FINDING_ADOPTED, NULL, NULL, NULL);
    return 0;
}

int item_measure_file(const struct item_context *context, struct fetch_item *ret, struct err *err)
{
    return examine_file(context, BODY_ANY, -1, ret, err);
}

void fetch_item_release(struct fetch_item *item)
{
    findings_release(&item->findings);
}

/* ---- local files --------------------------------------------------------------------------------------- */

/* Guesses the format of a file from its first bytes and its name. */
static enum body_format guess_format(const char *path, const unsigned char *p, size_t n)
{
    const char *name = file_base(path);
    unsigned minor;
    if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b)
        return BODY_PPROF;
    if (trace_parse_header(p, n, &minor, NULL) == 0)
        return BODY_TRACE;
    if (strstr(name, ".pb") || strstr(name, ".pprof") || strstr(name, ".prof"))
        return BODY_PPROF;
    return text_ends_in(name, ".html") || memchr(p, '\0', n) ? BODY_ANY : BODY_TEXT;
}

static void set_kind_of_file(struct fetch_item *item, enum body_format format)
{
    const char *kind = format == BODY_TRACE ? "trace" : format == BODY_TEXT ? "text" : "file";
    if (format == BODY_PPROF)
        kind = "profile";
    for (size_t t = 0; t < item->profile.n_types; t++) {
        const char *known = kind_of_sample_type(item->profile.types[t].type);
        kind = known ? known : kind;
    }
    snprintf(item->kind, sizeof item->kind, "%s", kind);
}

int fetch_examine_file(const struct fetch_local_file *file, struct fetch_item *ret, struct err *err)
{
    struct fetch_item item = {.status = FETCH_OK};
    struct sink sink = {.fd = file->copy_fd, .path = "the copy"};
    char chunk[65536];
    int rc = -1;
    ssize_t n = read(file->fd, chunk, sizeof chunk);
    enum body_format format = guess_format(file->path, (const unsigned char *)chunk, n > 0 ? (size_t)n : 0);
    if (n >= 0 && open_sink(&sink, format, NULL, err) < 0)
        goto out;
    for (; n != 0; n = read(file->fd, chunk, sizeof chunk)) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(err, "cannot read %s", file->path);
            goto out;
        }
        if (fd_cancelled(file->cancel_fd)) {
            err_set(err, ERR_CANCELLED, "interrupted");
            goto out;
        }
        if (feed_sink(&sink, chunk, (size_t)n, err) < 0)
            goto out;
        item.bytes += (uint64_t)n;
    }
    if (finish_sink(&sink, &item, true, &item.err) < 0)
        item.status = FETCH_DAMAGED;
    item.server_words[0] = '\0';
    set_kind_of_file(&item, format);
    *ret = item;
    rc = 0;
out:
    release_sink(&sink);
    return rc;
}
