/*
 * Request Tracker's REST2 (docs.bestpractical.com/rt/5.0.3/RT/REST2.html).
 *
 * It has no confidential flag: the queue's rights decide, and nobody tells them, so a queue counts as public.
 * What it has are comments, which a ticket's requestor neither sees nor gets by mail, as opposed to
 * correspondence; attachments of a comment are as hidden as it is, those of a new ticket are not. So all that
 * tells anything is a comment, and that it became one is read back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handoff/content.h"
#include "handoff/inert.h"
#include "handoff/job.h"
#include "base/banned.h"

#define API "/REST/2.0"

/* ---- look ---------------------------------------------------------------------------------------------- */

static void know_ticket(struct job *j)
{
    snprintf(j->result->issue_url, sizeof j->result->issue_url, "%.900s/Ticket/Display.html?id=%s",
             j->request->tracker->url, j->issue);
}

static int look_queue(struct job *j, struct err *err)
{
    struct buf path = BUF_INIT(1000);
    char id[JOB_ID];
    json_t *o = NULL;
    buf_adds(&path, API "/queue/");
    http_encode(&path, j->request->project);
    int rc = buf_check(&path, "the queue's name", err);
    if (rc == 0)
        rc = job_get(j, buf_str(&path), "{\"id\":\"QUEUE\"}", &o, err);
    buf_release(&path);
    if (rc < 0)
        return err_wrap(err, "queue %s", j->request->project);
    j->facts.place = READERS_UNKNOWN;
    rc = json_id(j, o, "id", id, err);
    if (rc == 0)
        snprintf(j->project, sizeof j->project, "%s", id);
    json_decref(o);
    return rc;
}

static int look_ticket(struct job *j, struct err *err)
{
    char path[200], queue[JOB_ID];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/ticket/%s", j->issue);
    if (job_get(j, path, "{\"Queue\":{\"id\":\"QUEUE\"}}", &o, err) < 0)
        return err_wrap(err, "ticket %s", j->issue);
    int rc = json_id(j, json_object_get(o, "Queue"), "id", queue, err);
    if (rc == 0 && strcmp(queue, j->project) != 0)
        rc = err_set(err, ERR_USAGE, "ticket %s belongs to another queue than %s", j->issue,
                     j->request->project);
    json_decref(o);
    if (rc == 0)
        know_ticket(j);
    return rc;
}

static int look(struct job *j, struct err *err)
{
    if (look_queue(j, err) < 0)
        return -1;
    return j->facts.existing ? look_ticket(j, err) : 0;
}

/* ---- the ticket ---------------------------------------------------------------------------------------- */

static int create(struct job *j, const char *title, const char *description, struct err *err)
{
    const struct strlist *people = &j->request->assignees;
    json_t *o = NULL;
    json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "Queue", j->project, "Subject", title, "Content",
                             description, "ContentType", "text/plain");
    if (people->n)
        body = json_with(body, "Owner", json_string(people->items[0]));
    if (job_send(j, REQUEST(.method = "POST", .path = API "/ticket", .dry = "{\"id\":\"ISSUE\"}"), body, 201,
                 &o, err) < 0)
        return -1;
    int rc = json_id(j, o, "id", j->issue, err);
    j->unknown = rc < 0;
    json_decref(o);
    if (rc == 0)
        know_ticket(j);
    return rc;
}

/* ---- comments ------------------------------------------------------------------------------------------ */

static int is_comment(struct job *j, const char *transaction, bool *ret, struct err *err)
{
    char path[200], type[64];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/transaction/%s", transaction);
    if (job_get(j, path, "{\"Type\":\"Comment\"}", &o, err) < 0)
        return -1;
    *ret = strcmp(json_line(o, "Type", type, sizeof type), "Comment") == 0;
    json_decref(o);
    return 0;
}

static int comment(struct job *j, const char *text, const struct http_file *file, struct err *err)
{
    char path[200];
    job_path(path, sizeof path, API "/ticket/%s/comment", j->issue);
    json_t *body = json_pack("{s:s, s:s}", "Content", text, "ContentType", "text/plain");
    if (!file)
        return job_send(j, REQUEST(.method = "POST", .path = path, .dry = "[]"), body, 201, NULL, err);
    char *json = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (!json)
        return err_nomem(err);
    struct http_file with = *file;
    with.json = json;
    struct http_request r = {.method = "POST", .path = path, .file = &with, .dry = "[]"};
    int rc = job_ask(j, &r, 201, NULL, err);
    free(json);
    return rc;
}

/* The newest of the ticket's transactions. */
static int newest(struct job *j, char ret[static JOB_ID], struct err *err)
{
    char path[200];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/ticket/%s/history?orderby=id&order=DESC&per_page=1", j->issue);
    if (job_get(j, path, "{\"items\":[{\"id\":\"NOTE\"}]}", &o, err) < 0)
        return -1;
    int rc = json_id(j, json_array_get(json_object_get(o, "items"), 0), "id", ret, err);
    json_decref(o);
    return rc;
}

static void words(const struct job *j, struct buf *out)
{
    char size[32];
    buf_addf(out, "Profile bundle: %s (%s), attached to the comment before this one\n\nSHA-256: %s\n",
             j->cargo.name, text_bytes(size, sizeof size, j->cargo.size), j->cargo.sha256);
    if (j->request->summary)
        inert_plain(out, j->request->summary);
    if (j->request->reading) {
        buf_adds(out, "\nTo read it:\n");
        inert_plain(out, j->request->reading);
    }
}

static int note(struct job *j, const char *text, struct err *err)
{
    return comment(j, text, NULL, err);
}

static int read_note(struct job *j, bool *ret_internal, struct err *err)
{
    return newest(j, j->note, err) < 0 ? -1 : is_comment(j, j->note, ret_internal, err);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static int upload(struct job *j, struct err *err)
{
    struct http_file file = {
        .fd = j->cargo.fd, .size = j->cargo.size, .part = "Attachments", .name = j->cargo.name};
    return comment(j, "A bundle of performance profiles. What it is of follows in the next comment.", &file,
                   err);
}

/* Among the newest attachments of the ticket, that of the file's name, which no other has. With limits set to
 * drop what is long, RT keeps a note of that in its place, under another name and type. */
static int find_attachment(struct job *j, struct err *err)
{
    char path[300], name[200], type[100];
    json_t *o = NULL, *item = NULL;
    size_t i = 0;
    job_path(path, sizeof path,
             API "/ticket/%s/attachments?fields=Filename,ContentType&orderby=id&order=DESC&per_page=20",
             j->issue);
    if (job_get(j, path, "{}", &o, err) < 0)
        return -1;
    if (j->options->dry_run)
        snprintf(j->stored.id, sizeof j->stored.id, "FILE");
    int rc = 0;
    json_array_foreach(json_object_get(o, "items"), i, item)
    {
        if (strcmp(json_line(item, "Filename", name, sizeof name), j->cargo.name) != 0)
            continue;
        if (strcmp(json_line(item, "ContentType", type, sizeof type), "application/octet-stream") == 0)
            rc = json_id(j, item, "id", j->stored.id, err);
    }
    json_decref(o);
    return rc < 0 || *j->stored.id ? rc : err_set(err, ERR_FAILED, "the tracker did not store the file");
}

static int take_content(void *ctx, const void *p, size_t n, struct err *err)
{
    return content_add(ctx, p, n, err);
}

static int compare(struct job *j, const char *path, struct err *err)
{
    struct receipt receipt;
    struct http_answer a;
    if (receipt_begin(&receipt, err) < 0)
        return -1;
    struct content content = {.take = receipt_take, .ctx = &receipt};
    struct http_request r = {.method = "GET",
                             .path = path,
                             .body = take_content,
                             .ctx = &content,
                             .limit = j->cargo.size * 2 + HTTP_ANSWER_MAX};
    int rc = http_send(j->http, &r, &a, err);
    if (rc == 0 && !j->options->dry_run)
        rc = a.status != 200                  ? err_set(err, ERR_FAILED, "HTTP %d", a.status)
             : content_end(&content, err) < 0 ? -1
                                              : receipt_judge(&receipt, &j->cargo, err);
    http_answer_release(&a);
    receipt_release(&receipt);
    return rc;
}

static int verify(struct job *j, struct err *err)
{
    char path[200], transaction[JOB_ID];
    bool internal = false;
    if (find_attachment(j, err) < 0)
        return -1;
    job_path(path, sizeof path, API "/attachment/%s", j->stored.id);
    if (compare(j, path, err) < 0 || newest(j, transaction, err) < 0 ||
        is_comment(j, transaction, &internal, err) < 0)
        return -1;
    return internal ? 0 : err_set(err, ERR_FAILED, "the tracker did not take it for a comment");
}

const struct tracker_type tracker_rt = {
    .kind = TRACKER_RT,
    .auth = "Authorization: token %s",
    .place = "queue",
    .issue = "ticket",
    .readers_untold = true,
    .may = "its user needs SeeQueue, ShowTicket, CreateTicket, CommentOnTicket and ShowTicketComments on the "
           "queue",
    .max_assignees = 1,
    .look = look,
    .create = create,
    .upload = upload,
    .verify = verify,
    .words = words,
    .note = note,
    .read_note = read_note,
};
