/* Sends requests to a tracker, and turns its failures into errors. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "handoff/job.h"
#include "base/banned.h"

/* ---- the tracker's error text -------------------------------------------------------------------------- */

#define TEXT_BYTES 240 /* of the tracker's error text */

/* The memory for a parsed answer. Answers of real trackers have a few hundred values. */
#define ANSWER_MEMORY ((size_t)32 << 20)
static const struct json_limits answer_form = {
    .what = "its answer", .max_bytes = HTTP_ANSWER_MAX, .max_memory = ANSWER_MEMORY, .max_depth = 64};
/* The answer to a failed request may be any JSON value. */
static const struct json_limits error_form = {.what = "its answer",
                                              .max_bytes = HTTP_ANSWER_MAX,
                                              .max_memory = ANSWER_MEMORY,
                                              .max_depth = 64,
                                              .accept_any_value = true,
                                              .accept_repeated_keys = true};

/* Appends each string of a value after the keys that lead to it: {"title": ["is blank"]} becomes
 * "title is blank". */
static void append_strings(struct buf *out, const json_t *v, unsigned depth)
{
    const char *key = NULL;
    json_t *inner = NULL;
    size_t i = 0;
    if (depth > 4)
        return;
    if (json_is_string(v)) {
        buf_addf(out, "%s%s", out->len ? " " : "", json_string_value(v));
    } else if (json_is_array(v)) {
        json_array_foreach((json_t *)v, i, inner)
        {
            append_strings(out, inner, depth + 1);
        }
    } else if (json_is_object(v)) {
        json_object_foreach((json_t *)v, key, inner)
        {
            if (strcmp(key, "error") != 0 && strcmp(key, "message") != 0)
                buf_addf(out, "%s%s", out->len ? " " : "", key);
            append_strings(out, inner, depth + 1);
        }
    }
}

/* Appends the title of a web page. */
static void append_page_title(const char *page, struct buf *out)
{
    const char *from = strcasestr(page, "<title>"), *to = from ? strcasestr(from, "</title>") : NULL;
    buf_adds(out, "a web page");
    if (to) {
        buf_adds(out, ": ");
        buf_add(out, from + 7, (size_t)(to - from - 7));
    }
}

/* Writes the error text of an answer: the messages in JSON, or the title of a web page. */
static void format_failure(const struct handoff_job *j, const struct http_answer *a, char *dst, size_t cap)
{
    static const char *const keys[] = {"message", "error_description", "error", "errors"};
    struct buf out = BUF_INIT(2048);
    const char *body = buf_str(&a->body);
    json_t *root = NULL;
    (void)json_parse(&error_form, body, strlen(body), &root, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && out.len == 0; i++)
        append_strings(&out, json_object_get(root, keys[i]), 0);
    if (out.len == 0 && json_is_array(root))
        append_strings(&out, root, 0);
    if (!root && body[strspn(body, " \r\n\t")] == '<')
        append_page_title(body, &out);
    else if (!root)
        buf_add(&out, body, strnlen(body, TEXT_BYTES * 2));
    text_printable(dst, cap, buf_str(&out), out.len);
    http_mask(j->http, dst);
    buf_release(&out);
    json_decref(root);
}

/* ---- errors of a status -------------------------------------------------------------------------------- */

static int set_redirect_error(const struct handoff_job *j, const struct http_answer *a, struct err *err)
{
    err_set(err, ERR_FAILED, "HTTP %d: it redirects to %s: not followed", a->status,
            *a->location ? a->location : "nowhere");
    return err_hint(err, "the token goes to %s alone; was the project renamed, or the tracker moved?",
                    j->request->tracker->url);
}

/* Writes ", also after waiting 12s", or "" without a wait. */
static const char *format_waiting(const struct http_answer *a, char *dst, size_t cap)
{
    char duration[32];
    snprintf(dst, cap, a->waited_ms ? ", also after waiting %s" : "%s",
             a->waited_ms ? text_duration(duration, sizeof duration, a->waited_ms) : "");
    return dst;
}

static int set_busy_error(const struct http_answer *a, struct err *err)
{
    char waited[64];
    format_waiting(a, waited, sizeof waited);
    if (*a->retry_after)
        err_set(err, ERR_BUSY, "HTTP 429: too many requests%s; it accepts the next one in %s s", waited,
                a->retry_after);
    else
        err_set(err, ERR_BUSY, "HTTP 429: too many requests%s", waited);
    return err_hint(err, "repeat it later");
}

static const struct meaning {
    int status;
    enum err_kind kind;
    const char *text, *hint;
} meanings[] = {
    {401, ERR_DENIED, "the token is not accepted",
     "has it expired? the tracker's entry in the inventory says where it comes from"},
    {403, ERR_DENIED, "the token may not do that", NULL},
    {404, ERR_NOT_FOUND, "there is none, or the token may not see it", NULL},
    {413, ERR_FAILED, "too large for the tracker", NULL},
    {422, ERR_FAILED, "refused", NULL},
};

static int set_status_error(const struct handoff_job *j, const struct http_answer *a, struct err *err)
{
    char text[TEXT_BYTES], waited[64];
    if (a->status >= 300 && a->status < 400)
        return set_redirect_error(j, a, err);
    if (a->status == 429)
        return set_busy_error(a, err);
    format_failure(j, a, text, sizeof text);
    const char *colon = *text ? ": " : "";
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].status == a->status) {
            err_set(err, meanings[i].kind, "HTTP %d: %s%s%s", a->status, meanings[i].text, colon, text);
            const char *hint = a->status == 403 ? j->type->permissions : meanings[i].hint;
            return hint ? err_hint(err, "%s", hint) : -1;
        }
    if (a->status >= 500)
        return err_set(err, ERR_FAILED, "HTTP %d: the tracker failed%s%s%s", a->status,
                       format_waiting(a, waited, sizeof waited), colon, text);
    return err_set(err, ERR_FAILED, "HTTP %d%s%s", a->status, colon, text);
}

/* ---- sending requests ---------------------------------------------------------------------------------- */

static int set_json_error(const struct handoff_job *j, const struct http_answer *a, struct err *err)
{
    char text[TEXT_BYTES];
    format_failure(j, a, text, sizeof text);
    if (!*text)
        return err_set(err, ERR_FAILED, "HTTP %d, and an empty answer instead of JSON", a->status);
    err_set(err, ERR_FAILED, "HTTP %d, and no JSON: %s", a->status, text);
    return err_hint(err, "is %s the tracker itself, and not a login page in front of it?",
                    j->request->tracker->url);
}

/* Sets the error of a success with another status than `status`. An answer that is not JSON has its own
 * error.
 */
static int set_success_error(const struct handoff_job *j, const struct http_answer *a, int status,
                             struct err *err)
{
    const char *text = buf_str(&a->body);
    json_t *root = NULL;
    if (json_check(&answer_form, text, a->body.len, NULL) < 0 ||
        json_parse(&answer_form, text, a->body.len, &root, NULL) < 0)
        return set_json_error(j, a, err);
    json_decref(root);
    return err_set(err, ERR_FAILED, "HTTP %d instead of %d", a->status, status);
}

static int parse_answer(const struct handoff_job *j, const struct http_answer *a, json_t **ret,
                        struct err *err)
{
    struct err why = ERR_INIT;
    const char *text = buf_str(&a->body);
    if (json_check(&answer_form, text, a->body.len, err) < 0)
        return -1;
    if (json_parse(&answer_form, text, a->body.len, ret, &why) == 0)
        return 0;
    return why.kind == ERR_FAILED ? set_json_error(j, a, err) : err_nomem(err);
}

/* Checks whether a failed request may have taken effect: it was sent completely, and the tracker did not
 * refuse it. */
static bool may_have_taken_effect(const struct http_request *r, const struct http_answer *a)
{
    bool refused = a->status >= 300 && a->status < 500;
    return strcmp(r->method, "GET") != 0 && a->sent == HTTP_SENT_ALL && !refused;
}

int job_request(struct handoff_job *j, const struct http_request *request, int status, json_t **ret,
                struct err *err)
{
    struct http_answer a;
    json_t *root = NULL;
    j->outcome_unknown = false;
    int rc = http_send(j->http, request, &a, err);
    if (rc == 0 && !j->options->dry_run && a.status != status)
        rc = a.status >= 200 && a.status < 300 ? set_success_error(j, &a, status, err)
                                               : set_status_error(j, &a, err);
    if (rc == 0 && status != 204)
        rc = parse_answer(j, &a, &root, err);
    j->outcome_unknown = rc < 0 && may_have_taken_effect(request, &a);
    if (a.file_sent > j->result->bytes_sent)
        j->result->bytes_sent = a.file_sent;
    j->status = a.status;
    http_answer_release(&a);
    if (rc < 0)
        return -1;
    if (ret)
        *ret = root;
    else
        json_decref(root);
    return 0;
}

int job_send(struct handoff_job *j, const struct job_change *change, json_t **ret, struct err *err)
{
    char *text = change->body ? json_dumps(change->body, JSON_COMPACT) : NULL;
    json_decref(change->body);
    if (!text)
        return err_nomem(err);
    struct http_request request = change->request;
    request.json = text;
    int rc = job_request(j, &request, change->status, ret, err);
    free(text);
    return rc;
}

int job_get(struct handoff_job *j, const char *path, const char *dry_answer, json_t **ret, struct err *err)
{
    struct http_request r = {.method = "GET", .path = path, .dry_answer = dry_answer};
    return job_request(j, &r, 200, ret, err);
}

/* Sets the error of a download. A file store gets no token, so its errors have no hint on tokens. */
static int set_fetch_error(const struct handoff_job *j, const struct http_answer *a, struct err *err)
{
    if (!*a->other_origin)
        return set_status_error(j, a, err);
    char text[TEXT_BYTES];
    format_failure(j, a, text, sizeof text);
    return err_set(err, ERR_FAILED, "HTTP %d%s%s", a->status, *text ? ": " : "", text);
}

int job_fetch(struct handoff_job *j, const char *path, const struct job_sink *sink, struct err *err)
{
    struct http_answer a;
    struct http_request r = {.method = "GET",
                             .path = path,
                             .body = sink->receive,
                             .ctx = sink->ctx,
                             .limit = sink->limit,
                             .may_leave_origin = true};
    int rc = http_send(j->http, &r, &a, err);
    if (rc == 0 && !j->options->dry_run && a.status != 200)
        rc = set_fetch_error(j, &a, err);
    if (rc < 0 && *a.other_origin)
        err_wrap(err, "the store %s, to which the tracker redirects downloads", a.other_origin);
    http_answer_release(&a);
    return rc < 0 ? err_wrap(err, "it cannot be fetched back to be compared") : 0;
}

int job_compare(struct handoff_job *j, const char *path, struct err *err)
{
    struct downloaded_file stored;
    struct job_sink sink = {.receive = downloaded_file_add, .ctx = &stored, .limit = j->attachment.size + 1};
    if (downloaded_file_begin(&stored, err) < 0)
        return -1;
    int rc = job_fetch(j, path, &sink, err);
    if (rc == 0 && !j->options->dry_run)
        rc = downloaded_file_compare(&stored, &j->attachment, err);
    downloaded_file_release(&stored);
    return rc;
}

const char *job_dry_run_flag(const struct handoff_job *j)
{
    return j->facts.existing && j->facts.encrypted ? "{\"confidential\":false}" : "{\"confidential\":true}";
}

char *job_path(char *dst, size_t cap, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(dst, cap, fmt, ap);
    va_end(ap);
    return dst;
}

/* ---- reading answers ----------------------------------------------------------------------------------- */

/* Accepts a JSON number and a string of digits, because trackers send both. */
int answer_id(const struct handoff_job *j, const json_t *o, const char *key, char ret[static JOB_ID_SIZE],
              struct err *err)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    uint64_t number = 0;
    bool is_placeholder = j->options->dry_run && text;
    if (json_is_integer(v) && json_integer_value(v) > 0)
        snprintf(ret, JOB_ID_SIZE, "%lld", (long long)json_integer_value(v));
    else if (text && (is_placeholder || text_to_uint(text, UINT64_MAX, &number) == 0))
        snprintf(ret, JOB_ID_SIZE, "%.31s", text);
    else
        return err_set(err, ERR_FAILED, "the tracker's answer has no number under \"%s\"", key);
    return 0;
}

bool answer_flag(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

char *answer_text(const struct handoff_job *j, const json_t *o, const char *key, char *dst, size_t cap)
{
    const char *text = json_string_value(json_object_get(o, key));
    text_printable(dst, cap, text ? text : "", text ? strlen(text) : 0);
    http_mask(j->http, dst);
    return dst;
}

/* ---- building bodies of requests ----------------------------------------------------------------------- */

json_t *body_with(json_t *o, const char *key, json_t *value)
{
    if (o && value && json_object_set_new(o, key, value) == 0)
        return o;
    if (!o)
        json_decref(value);
    json_decref(o);
    return NULL;
}

json_t *body_list(const struct strlist *l)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < l->n; i++)
        if (json_array_append_new(list, json_string(l->items[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}
