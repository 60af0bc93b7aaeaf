/*
 * Redmine's REST API (redmine.org/projects/redmine/wiki/Rest_api: issues, attachments).
 *
 * Until an upload is attached to an issue, only its author can fetch it. The answer to an upload is a token,
 * which contains the SHA-256 of the file and attaches the file to an issue. Every reader of the issue can
 * fetch an attached file, even if the note that attached it is private. profgrab checks that the issue has
 * the file before a note refers to it. profgrab never changes a note, because a change needs one more
 * permission. On an issue that is not private, profgrab first writes a neutral note and checks that note's
 * flag, and then writes the summary into a second note.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "handoff/escape.h"
#include "handoff/job.h"
#include "base/banned.h"

/* The maximum number of members in a page, and of all members that are searched. */
#define MEMBERS_PAGE 100
#define MEMBERS_MAX 10000

#define ATTACHED_TEXT "The bundle is attached here. The next note describes it."

/* ---- the place ----------------------------------------------------------------------------------------- */

static int read_project(struct handoff_job *j, struct err *err)
{
    struct buf path = BUF_INIT(1000);
    char id[JOB_ID_SIZE];
    json_t *o = NULL;
    buf_adds(&path, "/projects/");
    buf_add_percent_encoded(&path, j->request->project);
    buf_adds(&path, ".json");
    int rc = buf_check(&path, "the project's name", err);
    if (rc == 0)
        rc = job_get(j, buf_str(&path), "{\"project\":{\"id\":\"PROJECT\",\"is_public\":false}}", &o, err);
    buf_release(&path);
    if (rc < 0)
        return err_wrap(err, "project %s", j->request->project);
    const json_t *p = json_object_get(o, "project"), *public = json_object_get(p, "is_public");
    j->facts.readers = json_is_true(public)    ? READERS_ANYONE
                       : json_is_false(public) ? READERS_TEAM
                                               : READERS_UNKNOWN;
    rc = answer_id(j, p, "id", id, err);
    if (rc == 0)
        snprintf(j->project, sizeof j->project, "%s", id);
    json_decref(o);
    return rc;
}

static int get_issue(struct handoff_job *j, const char *query, const char *dry_answer, json_t **ret,
                     struct err *err)
{
    char path[200];
    job_path(path, sizeof path, "/issues/%s.json%s", j->issue, query);
    return job_get(j, path, dry_answer, ret, err);
}

static void set_issue_url(struct handoff_job *j)
{
    snprintf(j->result->issue_url, sizeof j->result->issue_url, "%.900s/issues/%s", j->request->tracker->url,
             j->issue);
}

static int read_issue(struct handoff_job *j, struct err *err)
{
    char project[JOB_ID_SIZE];
    json_t *o = NULL;
    if (get_issue(j, "", "{\"issue\":{\"project\":{\"id\":\"PROJECT\"}}}", &o, err) < 0)
        return err_wrap(err, "issue %s", j->issue);
    const json_t *issue = json_object_get(o, "issue");
    int rc = answer_id(j, json_object_get(issue, "project"), "id", project, err);
    if (rc == 0 && strcmp(project, j->project) != 0)
        rc = err_set(err, ERR_USAGE, "issue %s belongs to another project than %s", j->issue,
                     j->request->project);
    j->facts.confidential = answer_flag(issue, "is_private");
    json_decref(o);
    if (rc == 0)
        set_issue_url(j);
    return rc;
}

/* Looks for a member whose number is `assignee`, else for the first whose name is `assignee`. Writes its
 * number to j->assignee; changes nothing if no member matches. */
static void find_member(struct handoff_job *j, const json_t *members, const char *assignee)
{
    char name[200], id[JOB_ID_SIZE];
    json_t *member = NULL;
    size_t i = 0;
    json_array_foreach((json_t *)members, i, member)
    {
        const json_t *user = json_object_get(member, "user");
        if (user && answer_id(j, user, "id", id, NULL) == 0 &&
            (strcmp(id, assignee) == 0 ||
             (!*j->assignee && strcasecmp(answer_text(j, user, "name", name, sizeof name), assignee) == 0)))
            snprintf(j->assignee, sizeof j->assignee, "%s", id);
    }
}

/* Searches one page of members; *ret_more: more pages follow. */
static int search_members(struct handoff_job *j, const char *assignee, size_t offset, bool *ret_more,
                          struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    job_path(path, sizeof path, "/projects/%s/memberships.json?limit=%d&offset=%zu", j->project, MEMBERS_PAGE,
             offset);
    if (job_get(j, path, "{}", &o, err) < 0)
        return err_wrap(err, "assignee %s", assignee);
    const json_t *members = json_object_get(o, "memberships");
    find_member(j, members, assignee);
    json_int_t total = json_integer_value(json_object_get(o, "total_count"));
    *ret_more = json_array_size(members) > 0 && (json_int_t)(offset + MEMBERS_PAGE) < total;
    json_decref(o);
    return 0;
}

static int find_assignee(struct handoff_job *j, const char *assignee, struct err *err)
{
    bool more = true;
    if (j->options->dry_run)
        snprintf(j->assignee, sizeof j->assignee, "0");
    for (size_t offset = 0; more && offset < MEMBERS_MAX; offset += MEMBERS_PAGE) {
        if (search_members(j, assignee, offset, &more, err) < 0)
            return -1;
        if (*j->assignee)
            return 0;
    }
    if (!more)
        return err_set(err, ERR_USAGE, "the project has no member \"%.60s\" to assign", assignee);
    err_set(err, ERR_USAGE, "\"%.60s\" is none of the project's first %d members", assignee, MEMBERS_MAX);
    return err_hint(err, "omit the assignee, and assign the issue at the tracker");
}

static int read_place(struct handoff_job *j, struct err *err)
{
    if (read_project(j, err) < 0)
        return -1;
    return j->facts.existing ? read_issue(j, err) : 0;
}

static int check_request(struct handoff_job *j, struct err *err)
{
    const struct strlist *assignees = &j->request->assignees;
    if (read_place(j, err) < 0)
        return -1;
    return assignees->n && !j->facts.existing ? find_assignee(j, assignees->items[0], err) : 0;
}

/* ---- the issue ----------------------------------------------------------------------------------------- */

static int create_issue(struct handoff_job *j, const char *title, const char *description, struct err *err)
{
    json_t *o = NULL;
    json_t *issue = json_pack("{s:s, s:s, s:s, s:b}", "project_id", j->project, "subject", title,
                              "description", description, "is_private", 1);
    if (*j->assignee)
        issue = body_with(issue, "assigned_to_id", json_string(j->assignee));
    json_t *body = issue ? json_pack("{s:o}", "issue", issue) : NULL;
    if (job_send(j,
                 CHANGE(.request = {.method = "POST",
                                    .path = "/issues.json",
                                    .dry_answer = "{\"issue\":{\"id\":\"ISSUE\"}}"},
                        .body = body, .status = 201),
                 &o, err) < 0)
        return -1;
    int rc = answer_id(j, json_object_get(o, "issue"), "id", j->issue, err);
    j->outcome_unknown = rc < 0;
    json_decref(o);
    if (rc == 0)
        set_issue_url(j);
    return rc;
}

static int read_flag(struct handoff_job *j, bool *ret_confidential, struct err *err)
{
    json_t *o = NULL;
    bool assume_public = j->facts.existing && j->facts.encrypted;
    if (get_issue(j, "", assume_public ? "{}" : "{\"issue\":{\"is_private\":true}}", &o, err) < 0)
        return -1;
    *ret_confidential = answer_flag(json_object_get(o, "issue"), "is_private");
    json_decref(o);
    return 0;
}

/* ---- notes --------------------------------------------------------------------------------------------- */

static int put_note(struct handoff_job *j, const char *text, bool with_file, struct err *err)
{
    char path[100];
    json_t *issue = json_pack("{s:s, s:b}", "notes", text, "private_notes", 1);
    if (with_file)
        issue = body_with(issue, "uploads",
                          json_pack("[{s:s, s:s, s:s}]", "token", j->stored.token, "filename",
                                    j->attachment.name, "content_type", "application/octet-stream"));
    job_path(path, sizeof path, "/issues/%s.json", j->issue);
    return job_send(j,
                    CHANGE(.request = {.method = "PUT", .path = path},
                           .body = issue ? json_pack("{s:o}", "issue", issue) : NULL, .status = 204),
                    NULL, err);
}

/* Finds the newest note that contains `text`, because the answer to a new note does not contain its number.
 * Sets j->note. */
static int find_note(struct handoff_job *j, const char *text, bool *ret_private, struct err *err)
{
    json_t *o = NULL, *journal = NULL;
    size_t i = 0;
    if (get_issue(j, "?include=journals",
                  "{\"issue\":{\"journals\":[{\"id\":\"NOTE\",\"notes\":\"\",\"private_notes\":true}]}}", &o,
                  err) < 0)
        return -1;
    const json_t *found = NULL;
    json_array_foreach(json_object_get(json_object_get(o, "issue"), "journals"), i, journal)
    {
        const char *notes = json_string_value(json_object_get(journal, "notes"));
        if (notes && (strstr(notes, text) || j->options->dry_run))
            found = journal;
    }
    int rc = found ? answer_id(j, found, "id", j->note, err)
                   : err_set(err, ERR_FAILED, "the tracker does not show the note");
    if (rc == 0)
        *ret_private = answer_flag(found, "private_notes");
    json_decref(o);
    return rc;
}

static int create_neutral_note(struct handoff_job *j, const char *text, bool *ret_internal, struct err *err)
{
    if (put_note(j, text, false, err) < 0)
        return -1;
    /* The issue has the note now, even if find_note fails. */
    snprintf(j->note, sizeof j->note, "new");
    return find_note(j, text, ret_internal, err);
}

static int write_note(struct handoff_job *j, const char *text, struct err *err)
{
    return put_note(j, text, false, err);
}

static int read_note(struct handoff_job *j, bool *ret_internal, struct err *err)
{
    return find_note(j, j->attachment.sha256, ret_internal, err);
}

static void format_note(const struct handoff_job *j, struct buf *out)
{
    char size[32];
    buf_addf(out, "Profile bundle: attachment:%s (%s)\n\nSHA-256: %s\n", j->attachment.name,
             text_bytes(size, sizeof size, j->attachment.size), j->attachment.sha256);
    if (j->request->summary)
        escape_redmine(out, j->request->summary);
    if (j->request->reading) {
        buf_adds(out, "\nTo read it:\n");
        escape_redmine(out, j->request->reading);
    }
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static int upload_file(struct handoff_job *j, struct err *err)
{
    char path[300];
    json_t *o = NULL;
    struct http_file file = {.fd = j->attachment.fd, .size = j->attachment.size, .name = j->attachment.name};
    struct http_request r = {
        .method = "POST",
        .path = job_path(path, sizeof path, "/uploads.json?filename=%s", j->attachment.name),
        .file = &file,
        .dry_answer = "{\"upload\":{\"id\":\"FILE\",\"token\":\"TOKEN\"}}",
    };
    if (job_request(j, &r, 201, &o, err) < 0)
        return -1;
    const json_t *upload = json_object_get(o, "upload");
    int rc = answer_id(j, upload, "id", j->stored.id, err);
    answer_text(j, upload, "token", j->stored.token, sizeof j->stored.token);
    j->outcome_unknown = rc < 0;
    json_decref(o);
    return rc;
}

/* Compares the sent file with the SHA-256 in the tracker's token, "<number>.<SHA-256>", then with the
 * downloaded file. */
static int verify_file(struct handoff_job *j, struct err *err)
{
    char path[300];
    const char *dot = strchr(j->stored.token, '.');
    if (!j->options->dry_run && (!dot || strcmp(dot + 1, j->attachment.sha256) != 0))
        return err_set(err, ERR_FAILED, "the tracker stored other bytes: its token is \"%.100s\"",
                       j->stored.token);
    job_path(path, sizeof path, "/attachments/download/%s/%s", j->stored.id, j->attachment.name);
    return job_compare(j, path, err);
}

/* Checks that the issue has the file, because Redmine reports no error if it does not attach one. */
static int check_file_is_attached(struct handoff_job *j, const json_t *attachments, struct err *err)
{
    char id[JOB_ID_SIZE], name[200];
    json_t *file = NULL;
    size_t i = 0;
    json_array_foreach((json_t *)attachments, i, file)
    {
        if (answer_id(j, file, "id", id, NULL) < 0 || strcmp(id, j->stored.id) != 0)
            continue;
        json_int_t size = json_integer_value(json_object_get(file, "filesize"));
        if (strcmp(answer_text(j, file, "filename", name, sizeof name), j->attachment.name) != 0)
            return err_set(err, ERR_FAILED, "the issue has it under another name: \"%.100s\"", name);
        if (size < 0 || (uint64_t)size != j->attachment.size)
            return err_set(err, ERR_FAILED, "the issue has %lld of %llu bytes", (long long)size,
                           (unsigned long long)j->attachment.size);
        return 0;
    }
    err_set(err, ERR_FAILED, "the tracker accepted the request, but the issue does not have the file");
    return err_hint(err, "may the token's user attach files there? no note refers to it");
}

static int attach_file(struct handoff_job *j, struct err *err)
{
    json_t *o = NULL;
    if (put_note(j, ATTACHED_TEXT, true, err) < 0 || get_issue(j, "?include=attachments", "{}", &o, err) < 0)
        return -1;
    int rc = 0;
    if (!j->options->dry_run)
        rc = check_file_is_attached(j, json_object_get(json_object_get(o, "issue"), "attachments"), err);
    json_decref(o);
    return rc;
}

const struct tracker_type tracker_redmine = {
    .kind = {.name = "redmine", .title = "Redmine", .project = "a project's identifier", .max_assignees = 1},
    .assignee = "a member's number or displayed name",
    .auth = "X-Redmine-API-Key: %s",
    .place = "project",
    .issue = "issue",
    .permissions = "its user needs a role that adds issues and notes and may set them private",
    .read_place = read_place,
    .check_request = check_request,
    .create = create_issue,
    .read_back = read_flag,
    .create_neutral_note = create_neutral_note,
    .upload = upload_file,
    .verify = verify_file,
    .attach = attach_file,
    .format_note = format_note,
    .write_note = write_note,
    .read_note = read_note,
};
