/*
 * Answers of trackers. Whole hand-offs run against a tracker with valid answers, except for the requests that
 * a parser's row names: those get the input. This file replaces http_send (--wrap, see the Makefile).
 */
#include "tests/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "handoff/handoff.h"
#include "http/http.h"
#include "http/url_origin.h"

#include "base/banned.h"

/* ---- the tracker --------------------------------------------------------------------------------------- */

#define ATTACHMENT "age-encryption.org/v1\nnot more than a beginning"
#define ATTACHMENT_BASE64 "YWdlLWVuY3J5cHRpb24ub3JnL3YxCm5vdCBtb3JlIHRoYW4gYSBiZWdpbm5pbmc="
#define ATTACHMENT_SHA256 "ce022dc1832eba153db836d63feb4aa618e31930c68fd279e9b4fb797a36aa4e"

/* A valid answer to any request, for all kinds of trackers. */
#define ANSWER                                                                                               \
    "\"version\":\"15.0\",\"id\":1,\"iid\":1,\"visibility\":\"private\",\"confidential\":true,"              \
    "\"internal\":true,\"package_id\":1,\"Type\":\"Comment\",\"Queue\":{\"id\":1},"                          \
    "\"project\":{\"id\":1,\"is_public\":false},\"upload\":{\"id\":1,\"token\":\"1." ATTACHMENT_SHA256 "\"}"
#define ISSUE "{" ANSWER ",\"issue\":{\"id\":1,\"is_private\":true,\"project\":{\"id\":1},"

/* The input of a run. */
static struct {
    const struct tracker_kind *kind;
    const char *path; /* requests whose path contains this text get the input */
    int status;       /* the status of these answers; 0: the expected one */
    struct str input;
    /* The next members describe the current hand-off. */
    unsigned n_requests;
    char file[200]; /* the name of the file */
    bool listed;    /* RT has listed the file among its attachments */
} tracker;

/* A hand-off with more requests lets an answer decide their number. */
#define MAX_REQUESTS 500

static bool is_kind(const char *name)
{
    return strcmp(tracker.kind->name, name) == 0;
}

static int expected_status(const struct http_request *r)
{
    if (strcmp(r->method, "GET") == 0)
        return 200;
    if (strcmp(r->method, "PUT") == 0)
        return r->file ? 201 : is_kind("redmine") ? 204 : 200;
    return 201;
}

/* The tracker's valid answer. */
static void add_valid_answer(const struct http_request *r, struct buf *to)
{
    if (strstr(r->path, "/attachments?"))
        buf_addf(to,
                 "{\"items\":[{\"id\":\"1\",\"Filename\":\"%s\",\"TransactionId\":1,"
                 "\"ContentType\":\"application/octet-stream\"}]}",
                 tracker.file);
    else if (strstr(r->path, "?include=attachments"))
        buf_addf(to, ISSUE "\"attachments\":[{\"id\":1,\"filename\":\"%s\",\"filesize\":%zu}]}}",
                 tracker.file, strlen(ATTACHMENT));
    else if (r->body && is_kind("rt"))
        buf_adds(to, "{\"Content\":\"" ATTACHMENT_BASE64 "\"}");
    else if (r->body)
        buf_adds(to, ATTACHMENT);
    else
        buf_adds(to, ISSUE "\"x\":1}}");
}

/* Returns whether the request is for RT's first list of attachments, which has the file. The hand-off
 * searches the second list for the note. */
static bool is_first_list(const struct http_request *r)
{
    return is_kind("rt") && strstr(r->path, "/attachments?") && !tracker.listed;
}

/* Returns whether the request gets the input. RT's first list gets it only if all requests do (the path "/").
 */
static bool is_hostile(const struct http_request *r)
{
    return strstr(r->path, tracker.path) && !(is_first_list(r) && tracker.path[1]);
}

int __wrap_http_send(struct http *h, const struct http_request *r, struct http_answer *ret, struct err *err);
int __wrap_http_send(struct http *h, const struct http_request *r, struct http_answer *ret, struct err *err)
{
    bool hostile = is_hostile(r);
    tracker.listed = tracker.listed || is_first_list(r);
    (void)h;
    if (++tracker.n_requests > MAX_REQUESTS)
        abort();
    if (r->file)
        snprintf(tracker.file, sizeof tracker.file, "%s", r->file->name);
    *ret = (struct http_answer){.status = hostile && tracker.status ? tracker.status : expected_status(r),
                                .sent = HTTP_SENT_ALL,
                                .body = BUF_INIT(HTTP_ANSWER_MAX)};
    if (hostile)
        buf_add(&ret->body, tracker.input.p, tracker.input.n);
    else
        add_valid_answer(r, &ret->body);
    if (!r->body || ret->status != 200)
        return 0;
    int rc = r->body(r->ctx, buf_str(&ret->body), ret->body.len, err);
    buf_clear(&ret->body);
    return rc;
}

/* Returns the path of a file that exists as long as the process. */
static const char *attachment_path(void)
{
    static char path[64];
    int fd = *path ? -1 : memfd_create("attachment", 0);
    if (!*path && (fd < 0 || fd_write_all(fd, ATTACHMENT, strlen(ATTACHMENT), NULL) < 0))
        abort();
    if (!*path)
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void hand_off(const char *issue, bool encrypted)
{
    char name[] = "work", url[] = "https://tracker.example", variable[] = "COST_TOKEN", assignee[] = "ann",
         *assignees[] = {assignee};
    struct tracker to = {
        .name = name, .kind = tracker.kind, .url = url, .token = {.kind = SECRET_ENV, .locator = variable}};
    struct handoff_request request = {.tracker = &to,
                                      .project = "ops/x",
                                      .issue = issue,
                                      .file = attachment_path(),
                                      .encrypted = encrypted,
                                      .summary = "text",
                                      .assignees = {.items = assignees, .n = issue ? 0 : 1}};
    /* Files larger than one byte go to GitLab's package registry, whatever its version. */
    struct handoff_options options = {.cancel_fd = -1, .upload_max = 1};
    struct handoff_result result;
    struct err err = ERR_INIT;
    tracker.n_requests = 0;
    tracker.listed = false;
    if (setenv("COST_TOKEN", "a-token-of-no-one", 1) < 0)
        abort();
    (void)handoff_run(&request, &options, &result, &err);
}

static void hand_off_with_answer(const char *kind, const char *path, int status, struct str input)
{
    const struct tracker_kind *const *k = handoff_tracker_kinds;
    while (strcmp((*k)->name, kind) != 0)
        k++;
    tracker.kind = *k;
    tracker.path = path;
    tracker.status = status;
    tracker.input = input;
    hand_off(NULL, true);
    hand_off("1", true);
    hand_off("1", false);
}

/* ---- answers of any shape ------------------------------------------------------------------------------ */

static const struct cost_grammar texts[] = {
    {"empty objects", "[", "{},", "{}]", NULL, 0},
    {"opened lists", "{\"message\":", "[", "", NULL, 0},
    {"messages", "{\"message\":[", "\"a\",", "\"a\"]}", NULL, 0},
    {"keys of messages", "{\"message\":{", "\"a\1\":[\"b\"],", "\"a\":\"b\"}}", NULL, 0},
    {"messages in messages", "{\"message\":", "{\"message\":", "", NULL, 0},
    {"equal keys", "{", "\"message\":\"a\",", "\"message\":\"a\"}", NULL, 0},
    {"one long message", "{\"message\":\"", "\\u20ac", "\"}", NULL, 0},
    {"a page", "<html>", "<title", "", NULL, 0},
    {"titles without end", "", "<title>", "", NULL, 0},
    {"blanks", "", " ", "<", NULL, 0},
    {"words", "", "a ", "", NULL, 0},
    {"objects with keys", "{", "\"\1\":1,", ANSWER "}", NULL, 0},
    {0},
};

static void answer_all(const char *p, size_t n)
{
    for (const struct tracker_kind *const *kind = handoff_tracker_kinds; *kind; kind++) {
        hand_off_with_answer((*kind)->name, "/", 0, (struct str){p, n});
        hand_off_with_answer((*kind)->name, "/", 422, (struct str){p, n});
    }
}

/* ---- lists in answers ---------------------------------------------------------------------------------- */

static const struct cost_grammar package_files[] = {
    {"files", "[", "{\"id\":\"\1\",\"size\":1},", "{\"id\":1,\"size\":47}]", NULL, 0},
    {"empty files", "[", "{},", "{}]", NULL, 0},
    {0},
};

static void answer_package_files(const char *p, size_t n)
{
    hand_off_with_answer("gitlab", "/package_files", 0, (struct str){p, n});
}

static const struct cost_grammar members[] = {
    {"members", "{\"memberships\":[", "{\"user\":{\"id\":1,\"name\":\"a\1\"}},", "{}],\"total_count\":1}",
     NULL, 0},
    {"long names", "{\"memberships\":[{\"user\":{\"id\":1,\"name\":\"", "a", "\"}}],\"total_count\":1}", NULL,
     0},
    {0},
};

static void answer_members(const char *p, size_t n)
{
    hand_off_with_answer("redmine", "/memberships", 0, (struct str){p, n});
}

static const struct cost_grammar issue_files[] = {
    {"attachments", ISSUE "\"attachments\":[", "{\"id\":2},", "{}]}}", NULL, 0},
    {"long names", ISSUE "\"attachments\":[{\"id\":1,\"filename\":\"", "a", "\"}]}}", NULL, 0},
    {0},
};

static void answer_issue(const char *p, size_t n)
{
    hand_off_with_answer("redmine", "/issues/", 0, (struct str){p, n});
}

static const struct cost_grammar journals[] = {
    {"journals", ISSUE "\"journals\":[", "{\"id\":1,\"notes\":\"a\"},", "{}]}}", NULL, 0},
    {"one long note", ISSUE "\"journals\":[{\"id\":1,\"notes\":\"", "ce022dc1832e", "\"}]}}", NULL, 0},
    {0},
};

static void answer_journals(const char *p, size_t n)
{
    hand_off_with_answer("redmine", "?include=journals", 0, (struct str){p, n});
}

#define TEXT "{\"id\":\"2\",\"ContentType\":\"text/plain\"}"
static const struct cost_grammar attachments[] = {
    {"attachments", "{\"items\":[", "{\"id\":\"2\1\"},", "{\"id\":1}]}", NULL, 0},
    {"texts", "{\"items\":[", TEXT ",", TEXT "]}", NULL, 0},
    {"files", "{\"items\":[", "{\"id\":\"1\",\"ContentType\":\"application/octet-stream\"},", "{\"id\":1}]}",
     NULL, 0},
    {0},
};

static void answer_attachments(const char *p, size_t n)
{
    hand_off_with_answer("rt", "/attachments?", 0, (struct str){p, n});
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

static const struct cost_grammar addresses[] = {
    {"slashes", "https://", "/", "", NULL, 0},
    {"at signs", "https://", "a:b@", "/", NULL, 0},
    {"dots", "https://", "a.", "/", NULL, 0},
    {"brackets", "https://", "[", "]/", NULL, 0},
    {"schemes", "", "https://", "", NULL, 0},
    {"queries", "https://a/", "?a=b#", "", NULL, 0},
    {"percent signs", "https://a/", "%2f", "", NULL, 0},
    {0},
};

static void read_address(const char *p, size_t n)
{
    struct url_origin o;
    char *room = malloc(n + 1);
    (void)url_origin_parse(p, &o, NULL);
    (void)url_origin_is_same(p, "https://a/b");
    (void)url_origin_may_redirect("https://a/b", p);
    if (room) {
        (void)url_origin_text(p, room, n + 1);
        (void)url_origin_strip_secrets(p, room, n + 1);
    }
    free(room);
}

const struct cost_parser cost_answer_parsers[] = {
    {"job_read_flag of trackers' answers", answer_all, texts, 100, HTTP_ANSWER_MAX / 2},
    {"GitLab's package files", answer_package_files, package_files, 100, HTTP_ANSWER_MAX / 2},
    {"Redmine's members", answer_members, members, 100, HTTP_ANSWER_MAX / 2},
    {"Redmine's issues", answer_issue, issue_files, 100, HTTP_ANSWER_MAX / 2},
    {"Redmine's journals", answer_journals, journals, 100, HTTP_ANSWER_MAX / 2},
    {"RT's attachments", answer_attachments, attachments, 100, HTTP_ANSWER_MAX / 2},
    {"url_origin_parse, url_origin_text", read_address, addresses, 20, 1u << 20},
    {0},
};
