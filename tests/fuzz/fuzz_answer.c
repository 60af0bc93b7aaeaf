/*
 * A tracker that answers anything: the input is a list of answers with a NUL between them, each a status of
 * three digits, a blank and a body. The first byte chooses the kind of tracker, issue and encryption. In a
 * body, NAME stands for the name of the uploaded file, which contains the time; the body FILE stands for the
 * content of the file.
 *
 * With any answers: texts for the user have no token and no control characters; paths of requests are valid
 * in a request line; an unencrypted file is sent only to a project that only members can read, according to
 * the last answer; the summary is not in a GET request; the number of requests is bounded.
 *
 * This file replaces http_send (--wrap, see the Makefile).
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handoff/handoff.h"
#include "http/http.h"
#include "base/banned.h"

#define TOKEN "the-token-of-the-fuzzer"
#define SUMMARY "text-of-the-summary"
#define ATTACHMENT "age-encryption.org/v1\nnot more than a beginning"

/* The rest of the input, and the state of the earlier answers. */
static struct answers {
    const char *p, *end;
    bool encrypted, members_only;
    size_t n_requests;
} answers;

int __wrap_http_send(struct http *h, const struct http_request *r, struct http_answer *ret, struct err *err);

static void expect_request(const struct http_request *r)
{
    assert(++answers.n_requests < 500);
    assert(r->path[0] == '/' && r->path[1] != '/');
    for (const char *c = r->path; *c; c++)
        assert(*c > ' ' && *c <= '~');
    assert(!strstr(r->path, "/../"));
    assert(!r->file || answers.encrypted || answers.members_only);
    assert(!r->json || !strstr(r->json, TOKEN));
    assert(!r->json || !strstr(r->json, SUMMARY) || strcmp(r->method, "GET") != 0);
}

/* Records from the answer to a request for a project whether only members can read it. */
static void record_visibility(const struct http_request *r, const char *body, int status)
{
    json_t *root = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
    const json_t *project = json_object_get(root, "project");
    const char *visibility = json_string_value(json_object_get(root, "visibility"));
    bool is_project = strcmp(r->method, "GET") == 0 && (strstr(r->path, "/projects/")) &&
                      !strstr(r->path, "/issues/") && !strstr(r->path, "/uploads/") &&
                      !strstr(r->path, "/packages/") && !strstr(r->path, "memberships");
    if (is_project)
        answers.members_only = status == 200 && ((visibility && strcmp(visibility, "private") == 0) ||
                                                 json_is_false(json_object_get(project, "is_public")));
    json_decref(root);
}

static int parse_status(const char *answer, size_t n)
{
    int status = 0;
    for (size_t i = 0; i < 3; i++)
        status = n > 3 && answer[i] >= '0' && answer[i] <= '9' ? status * 10 + answer[i] - '0' : -10000;
    return status < 100 ? 500 : status;
}

/* Returns the body of an answer, a new string, with the name of the uploaded file in place of NAME. */
static char *make_body(const struct http_request *r, const char *p, size_t n)
{
    static char name[200];
    struct buf body = BUF_INIT(HTTP_ANSWER_MAX);
    const char *at = memmem(p, n, "NAME", 4);
    if (r->file)
        snprintf(name, sizeof name, "%s", r->file->name);
    buf_add(&body, p, at ? (size_t)(at - p) : n);
    if (at) {
        buf_adds(&body, name);
        buf_add(&body, at + 4, n - (size_t)(at - p) - 4);
    }
    char *text = strdup(buf_str(&body));
    buf_release(&body);
    assert(text);
    return text;
}

int __wrap_http_send(struct http *h, const struct http_request *r, struct http_answer *ret, struct err *err)
{
    expect_request(r);
    size_t n = strnlen(answers.p, (size_t)(answers.end - answers.p));
    int status = parse_status(answers.p, n);
    char *body = n > 4 ? make_body(r, answers.p + 4, n - 4) : make_body(r, "", 0);
    *ret = (struct http_answer){.status = status, .sent = HTTP_SENT_ALL, .body = BUF_INIT(HTTP_ANSWER_MAX)};
    /* Removes the token like the real http_send, so that only a token with JSON's escapes remains. */
    http_mask(h, body);
    text_printable(ret->location, sizeof ret->location, body, strlen(body));
    record_visibility(r, body, status);
    if (r->body && status == 200)
        body = strcmp(body, "FILE") == 0 ? (free(body), strdup(ATTACHMENT)) : body;
    int rc = r->body && status == 200 ? r->body(r->ctx, body, strlen(body), err) : 0;
    if (!r->body || status != 200)
        buf_adds(&ret->body, body);
    free(body);
    answers.p += n + (answers.p + n < answers.end);
    return rc;
}

static void expect_result(const struct handoff_result *r)
{
    char sent[HANDOFF_SENT_TEXT];
    const char *const texts[] = {r->issue, r->issue_url, r->file_name,
                                 handoff_sent_text(r, sent, sizeof sent)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert(fuzz_has_no_controls(texts[i], false) && !strstr(texts[i], TOKEN));
    for (int i = 0; i < HANDOFF_STEPS; i++)
        assert(fuzz_has_no_controls(r->steps[i].text, false) && !strstr(r->steps[i].text, TOKEN));
}

static const char *attachment_path(void)
{
    static char path[64];
    if (*path)
        return path;
    int fd = memfd_create("attachment", 0);
    assert(fd >= 0 && write(fd, ATTACHMENT, strlen(ATTACHMENT)) == (ssize_t)strlen(ATTACHMENT));
    assert(setenv("FUZZ_TOKEN", TOKEN, 1) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    char name[] = "work", url[] = "https://tracker.example", variable[] = "FUZZ_TOKEN", assignee[] = "ann",
         *assignees[] = {assignee};
    struct tracker tracker = {.name = name,
                              .kind = handoff_tracker_kinds[(p[0] & 0x3) % 3],
                              .url = url,
                              .token = {.kind = SECRET_ENV, .locator = variable}};
    struct handoff_request request = {
        .tracker = &tracker,
        .project = "ops/x",
        .issue = p[0] & 0x4 ? "7" : NULL,
        .file = attachment_path(),
        .encrypted = p[0] & 0x8,
        .summary = SUMMARY,
        .reading = "how to read it",
        .assignees = {.items = assignees, .n = p[0] & 0x10 && !(p[0] & 0x4) ? 1 : 0}};
    struct handoff_options options = {.cancel_fd = -1, .upload_max = p[0] & 0x20 ? 1 : 0};
    struct handoff_result result;
    struct err err = ERR_INIT;
    answers = (struct answers){
        .p = (const char *)p + 1, .end = (const char *)p + n, .encrypted = request.encrypted};
    if (handoff_run(&request, &options, &result, &err) < 0) {
        fuzz_expect_err(&err);
        assert(!strstr(err.msg, TOKEN) && !strstr(err.hint, TOKEN));
    } else {
        assert(result.sent == HANDOFF_SENT_SUMMARY && result.issue[0]);
    }
    expect_result(&result);
    return 0;
}
