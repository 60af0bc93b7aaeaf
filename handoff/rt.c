/*
 * Request Tracker's REST2 (docs.bestpractical.com/rt/5.0.3/RT/REST2.html).
 *
 * RT has no confidential flag: the queue's rights decide who reads a ticket. RT does not report these rights,
 * so a queue counts as public. A ticket's requestor neither sees its comments nor gets them by mail, unlike
 * correspondence. The attachments of a comment have the readers of the comment; those of a new ticket have
 * the readers of the ticket. So profgrab sends the file and the summary as comments, and checks that their
 * transactions are comments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handoff/rt_attachment.h"
#include "handoff/escape.h"
#include "handoff/job.h"
#include "base/banned.h"

#define API "/REST/2.0"
/* The maximum size of a note in bytes, including additions by RT. */
#define NOTE_MAX (512u << 10)

/* ---- the place ----------------------------------------------------------------------------------------- */

static void set_ticket_url(struct handoff_job *j)
{
    snprintf(j->result->issue_url, sizeof j->result->issue_url, "%.900s/Ticket/Display.html?id=%s",
             j->request->tracker->url, j->issue);
}

static int read_queue(struct handoff_job *j, struct err *err)
{
    struct buf path = BUF_INIT(1000);
    char id[JOB_ID_SIZE];
    json_t *o = NULL;
    buf_adds(&path, API "/queue/");
    buf_add_percent_encoded(&path, j->request->project);
    int rc = buf_check(&path, "the queue's name", err);
    if (rc == 0)
        rc = job_get(j, buf_str(&path), "{\"id\":\"QUEUE\"}", &o, err);
    buf_release(&path);
    if (rc < 0)
        return err_wrap(err, "queue %s", j->request->project);
    j->facts.readers = READERS_UNKNOWN;
    rc = answer_id(j, o, "id", id, err);
    if (rc == 0)
        snprintf(j->project, sizeof j->project, "%s", id);
    json_decref(o);
    return rc;
}

static int read_ticket(struct handoff_job *j, struct err *err)
{
    char path[200], queue[JOB_ID_SIZE];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/ticket/%s", j->issue);
    if (job_get(j, path, "{\"Queue\":{\"id\":\"QUEUE\"}}", &o, err) < 0)
        return err_wrap(err, "ticket %s", j->issue);
    int rc = answer_id(j, json_object_get(o, "Queue"), "id", queue, err);
    if (rc == 0 && strcmp(queue, j->project) != 0)
        rc = err_set(err, ERR_USAGE, "ticket %s belongs to another queue than %s", j->issue,
                     j->request->project);
    json_decref(o);
    if (rc == 0)
        set_ticket_url(j);
    return rc;
}

static int read_place(struct handoff_job *j, struct err *err)
{
    if (read_queue(j, err) < 0)
        return -1;
    return j->facts.existing ? read_ticket(j, err) : 0;
}

/* ---- the ticket ---------------------------------------------------------------------------------------- */

static int create_ticket(struct handoff_job *j, const char *title, const char *description, struct err *err)
{
    const struct strlist *assignees = &j->request->assignees;
    json_t *o = NULL;
    json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "Queue", j->project, "Subject", title, "Content",
                             description, "ContentType", "text/plain");
    if (assignees->n)
        body = body_with(body, "Owner", json_string(assignees->items[0]));
    if (job_send(
            j,
            CHANGE(.request = {.method = "POST", .path = API "/ticket", .dry_answer = "{\"id\":\"ISSUE\"}"},
                   .body = body, .status = 201),
            &o, err) < 0)
        return -1;
    int rc = answer_id(j, o, "id", j->issue, err);
    j->outcome_unknown = rc < 0;
    json_decref(o);
    if (rc == 0)
        set_ticket_url(j);
    return rc;
}

/* ---- comments ------------------------------------------------------------------------------------------ */

/* Sets *ret to whether the transaction is a comment. */
static int check_comment(struct handoff_job *j, const char *transaction, bool *ret, struct err *err)
{
    char path[200], type[64];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/transaction/%s", transaction);
    if (job_get(j, path, "{\"Type\":\"Comment\"}", &o, err) < 0)
        return -1;
    *ret = strcmp(answer_text(j, o, "Type", type, sizeof type), "Comment") == 0;
    json_decref(o);
    return 0;
}

static int post_comment(struct handoff_job *j, const char *text, const struct http_file *file,
                        struct err *err)
{
    char path[200];
    job_path(path, sizeof path, API "/ticket/%s/comment", j->issue);
    json_t *body = json_pack("{s:s, s:s}", "Content", text, "ContentType", "text/plain");
    if (!file)
        return job_send(j,
                        CHANGE(.request = {.method = "POST", .path = path, .dry_answer = "[]"}, .body = body,
                               .status = 201),
                        NULL, err);
    char *json = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    if (!json)
        return err_nomem(err);
    struct http_file file_and_json = *file;
    file_and_json.json = json;
    struct http_request r = {.method = "POST", .path = path, .file = &file_and_json, .dry_answer = "[]"};
    int rc = job_request(j, &r, 201, NULL, err);
    free(json);
    return rc;
}

static void format_note(const struct handoff_job *j, struct buf *out)
{
    char size[32];
    buf_addf(out, "Profile bundle: %s (%s), attached to the comment before this one\n\nSHA-256: %s\n",
             j->attachment.name, text_bytes(size, sizeof size, j->attachment.size), j->attachment.sha256);
    if (j->request->summary)
        escape_plain(out, j->request->summary);
    if (j->request->reading) {
        buf_adds(out, "\nTo read it:\n");
        escape_plain(out, j->request->reading);
    }
}

static int write_note(struct handoff_job *j, const char *text, struct err *err)
{
    return post_comment(j, text, NULL, err);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static int upload_file(struct handoff_job *j, struct err *err)
{
    struct http_file file = {.fd = j->attachment.fd,
                             .size = j->attachment.size,
                             .part = "Attachments",
                             .name = j->attachment.name};
    return post_comment(j, "A bundle of performance profiles. The next comment describes it.", &file, err);
}

/* The maximum number of attachments in the page that is requested. */
#define ATTACHMENTS_PAGE 100

/* Lists the newest attachments of the ticket, the newest first. The texts of comments are attachments too.
 * The position in the list does not identify an attachment, because RT's automatic actions add mails, replies
 * and changes as separate transactions, and the token's user may not see all of them. */
static int list_attachments(struct handoff_job *j, json_t **ret, struct err *err)
{
    char path[300];
    json_t *o = NULL;
    job_path(path, sizeof path,
             API "/ticket/%s/attachments?fields=Filename,ContentType,ContentLength,TransactionId&orderby=id"
                 "&order=DESC&per_page=%d",
             j->issue, ATTACHMENTS_PAGE);
    if (job_get(j, path, "{\"items\":[]}", &o, err) < 0)
        return -1;
    json_t *items = json_object_get(o, "items");
    size_t n = json_array_size(items);
    int rc = 0;
    /* Limit the number, because each attachment may need a request. */
    if (n > ATTACHMENTS_PAGE)
        rc = err_set(err, ERR_FAILED, "the tracker lists %zu attachments, more than the %d requested", n,
                     ATTACHMENTS_PAGE);
    else
        *ret = json_incref(items);
    json_decref(o);
    return rc;
}

static bool is_type(const struct handoff_job *j, const json_t *attachment, const char *type)
{
    char text[100];
    return strcmp(answer_text(j, attachment, "ContentType", text, sizeof text), type) == 0;
}

/* Finds the oldest attachment with the file's unique name, because later mails may repeat the attachment. If
 * RT drops long attachments, it stores a notice instead, under another name and type. */
static int find_file(struct handoff_job *j, char ret_transaction[static JOB_ID_SIZE], struct err *err)
{
    char name[200];
    json_t *list = NULL, *item = NULL;
    size_t i = 0;
    if (list_attachments(j, &list, err) < 0)
        return -1;
    if (j->options->dry_run) {
        snprintf(j->stored.id, sizeof j->stored.id, "FILE");
        snprintf(ret_transaction, JOB_ID_SIZE, "TRANSACTION");
    }
    int rc = 0;
    json_array_foreach(list, i, item)
    {
        if (strcmp(answer_text(j, item, "Filename", name, sizeof name), j->attachment.name) != 0 ||
            !is_type(j, item, "application/octet-stream"))
            continue;
        rc = answer_id(j, item, "id", j->stored.id, err);
        if (rc == 0)
            rc = answer_id(j, item, "TransactionId", ret_transaction, err);
        if (rc < 0)
            break;
    }
    json_decref(list);
    return rc < 0 || *j->stored.id ? rc : err_set(err, ERR_FAILED, "the tracker did not store the file");
}

static int decode_content(void *ctx, const void *p, size_t n, struct err *err)
{
    return rt_attachment_add(ctx, p, n, err);
}

/* Decodes an attachment into `sink`, whose limit is for the decoded bytes. RT sends base64 in JSON. */
static int read_content(struct handoff_job *j, const char *path, const struct job_sink *sink, struct err *err)
{
    struct rt_attachment_decoder decoder = {.receive = sink->receive, .ctx = sink->ctx};
    struct job_sink encoded = {
        .receive = decode_content, .ctx = &decoder, .limit = sink->limit * 2 + HTTP_ANSWER_MAX};
    if (job_fetch(j, path, &encoded, err) < 0)
        return -1;
    return j->options->dry_run ? 0 : rt_attachment_end(&decoder, err);
}

static int verify_file(struct handoff_job *j, struct err *err)
{
    char path[200], transaction[JOB_ID_SIZE];
    bool internal = false;
    if (find_file(j, transaction, err) < 0)
        return -1;
    job_path(path, sizeof path, API "/attachment/%s", j->stored.id);
    struct downloaded_file stored;
    if (downloaded_file_begin(&stored, err) < 0)
        return -1;
    int rc = read_content(j, path, &(struct job_sink){downloaded_file_add, &stored, j->attachment.size}, err);
    if (rc == 0 && !j->options->dry_run)
        rc = downloaded_file_compare(&stored, &j->attachment, err);
    downloaded_file_release(&stored);
    if (rc < 0 || check_comment(j, transaction, &internal, err) < 0)
        return -1;
    return internal ? 0 : err_set(err, ERR_FAILED, "the tracker did not accept it as a comment");
}

static int append_text(void *ctx, const void *p, size_t n, struct err *err)
{
    struct buf *text = ctx;
    buf_add(text, p, n);
    return buf_check(text, "the note", err);
}

/* Checks whether the attachment may be the text of profgrab's note: plain text, newer than the file, at most
 * NOTE_MAX bytes. */
static bool may_be_note(const struct handoff_job *j, const json_t *attachment, const char *id)
{
    uint64_t number = 0, file_number = 0, size = 0;
    const char *length = json_string_value(json_object_get(attachment, "ContentLength"));
    return is_type(j, attachment, "text/plain") && text_to_uint(id, UINT64_MAX, &number) == 0 &&
           text_to_uint(j->stored.id, UINT64_MAX, &file_number) == 0 && number > file_number &&
           (!length || text_to_uint(length, NOTE_MAX, &size) == 0);
}

/* If the attachment is the text of profgrab's note, sets *ret to true and j->note to its transaction. */
static int check_note(struct handoff_job *j, const json_t *attachment, bool *ret, struct err *err)
{
    char path[200], id[JOB_ID_SIZE];
    if (answer_id(j, attachment, "id", id, err) < 0)
        return -1;
    if (!may_be_note(j, attachment, id))
        return 0;
    struct buf text = BUF_INIT(NOTE_MAX + 1);
    job_path(path, sizeof path, API "/attachment/%s", id);
    int rc = read_content(j, path, &(struct job_sink){append_text, &text, NOTE_MAX}, err);
    if (rc == 0 && strstr(buf_str(&text), j->attachment.sha256)) {
        *ret = true;
        rc = answer_id(j, attachment, "TransactionId", j->note, err);
    }
    buf_release(&text);
    return rc;
}

/* Finds the oldest text with the file's SHA-256: later mails repeat the text in other transactions. */
static int read_note(struct handoff_job *j, bool *ret_internal, struct err *err)
{
    json_t *list = NULL;
    bool found = j->options->dry_run;
    if (list_attachments(j, &list, err) < 0)
        return -1;
    snprintf(j->note, sizeof j->note, "%s", found ? "NOTE" : "");
    int rc = 0;
    for (size_t i = json_array_size(list); rc == 0 && !found && i-- > 0;)
        rc = check_note(j, json_array_get(list, i), &found, err);
    json_decref(list);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_FAILED, "the tracker does not show the note");
    return rc < 0 ? -1 : check_comment(j, j->note, ret_internal, err);
}

const struct tracker_type tracker_rt = {
    .kind = {.name = "rt", .title = "Request Tracker", .project = "a queue's name", .max_assignees = 1},
    .assignee = "an owner's name",
    .auth = "Authorization: token %s",
    .place = "queue",
    .issue = "ticket",
    .readers_unreported = true,
    .permissions =
        "its user needs SeeQueue, ShowTicket, CreateTicket, CommentOnTicket and ShowTicketComments on the "
        "queue",
    .read_place = read_place,
    .check_request = read_place,
    .create = create_ticket,
    .upload = upload_file,
    .verify = verify_file,
    .format_note = format_note,
    .write_note = write_note,
    .read_note = read_note,
};
