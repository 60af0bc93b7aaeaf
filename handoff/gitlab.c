/*
 * GitLab's REST API, version 4 (docs.gitlab.com/api: projects, issues, notes, project uploads, generic
 * packages).
 *
 * An upload belongs to the project, not to the issue. In a public project anyone who has the address of an
 * upload can fetch it, even from a confidential issue. From version 17.4 on, the API returns an upload, so
 * profgrab can compare it. For an older GitLab, profgrab uploads a package, whose SHA-256 GitLab reports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handoff/escape.h"
#include "handoff/job.h"
#include "base/banned.h"

#define API "/api/v4"
#define PACKAGE "profgrab"

/* ---- the place ----------------------------------------------------------------------------------------- */

static enum readers visibility_readers(const char *visibility)
{
    return strcmp(visibility, "private") == 0    ? READERS_TEAM
           : strcmp(visibility, "internal") == 0 ? READERS_SIGNED_IN
           : strcmp(visibility, "public") == 0   ? READERS_ANYONE
                                                 : READERS_UNKNOWN;
}

static int read_project(struct handoff_job *j, struct err *err)
{
    char path[1024], word[64], id[JOB_ID_SIZE];
    struct buf name = BUF_INIT(sizeof j->project - 1);
    json_t *o = NULL;
    buf_add_percent_encoded(&name, j->request->project);
    int rc = buf_check(&name, "the project's name", err);
    snprintf(j->project, sizeof j->project, "%s", buf_str(&name));
    buf_release(&name);
    if (rc < 0)
        return -1;
    job_path(path, sizeof path, API "/projects/%s", j->project);
    if (job_get(j, path, "{\"visibility\":\"private\"}", &o, err) < 0) {
        err_wrap(err, "project %s", j->request->project);
        return err && err->kind == ERR_NOT_FOUND
                   ? err_hint(err, "the project's path is in its address: GROUP/PROJECT")
                   : -1;
    }
    j->facts.readers = visibility_readers(answer_text(j, o, "visibility", word, sizeof word));
    j->packages_public =
        strcmp(answer_text(j, o, "package_registry_access_level", word, sizeof word), "public") == 0;
    answer_text(j, o, "web_url", j->project_url, sizeof j->project_url);
    if (answer_flag(o, "archived"))
        rc = err_set(err, ERR_USAGE, "project %s is archived: nothing can be written there",
                     j->request->project);
    /* GitLab redirects the path of a renamed project; the number of the project does not change. */
    else if (!j->options->dry_run && (rc = answer_id(j, o, "id", id, err)) == 0)
        snprintf(j->project, sizeof j->project, "%s", id);
    json_decref(o);
    return rc;
}

/* Reads GitLab's version. Treats a GitLab that does not report its version as a current one. */
static int read_version(struct handoff_job *j, struct err *err)
{
    char version[64];
    unsigned major = 0, minor = 0;
    json_t *o = NULL;
    struct err why = ERR_INIT;
    if (job_get(j, API "/version", "{}", &o, &why) < 0) {
        bool is_hidden = j->status == 404 || j->status == 403;
        if (!is_hidden && err)
            *err = why;
        return is_hidden ? 0 : -1;
    }
    answer_text(j, o, "version", version, sizeof version);
    json_decref(o);
    char *rest = NULL;
    major = (unsigned)strtoul(version, &rest, 10);
    if (*rest == '.')
        minor = (unsigned)strtoul(rest + 1, NULL, 10);
    j->packages_only = major > 0 && (major < 17 || (major == 17 && minor < 4));
    return 0;
}

static int read_issue(struct handoff_job *j, struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/projects/%s/issues/%s", j->project, j->issue);
    if (job_get(j, path, job_dry_run_flag(j), &o, err) < 0)
        return err_wrap(err, "issue %s", j->issue);
    j->facts.confidential = answer_flag(o, "confidential");
    answer_text(j, o, "web_url", j->result->issue_url, sizeof j->result->issue_url);
    json_decref(o);
    return 0;
}

static int find_user(struct handoff_job *j, const char *name, struct err *err)
{
    struct buf path = BUF_INIT(1024);
    char id[JOB_ID_SIZE];
    json_t *o = NULL;
    buf_adds(&path, API "/users?username=");
    buf_add_percent_encoded(&path, name);
    int rc = buf_check(&path, "the assignee's name", err);
    if (rc == 0)
        rc = job_get(j, buf_str(&path), "[{\"id\":\"USER\"}]", &o, err);
    buf_release(&path);
    if (rc < 0)
        return err_wrap(err, "assignee %s", name);
    json_t *first = json_array_get(o, 0);
    if (json_array_size(o) != 1)
        rc = err_set(err, ERR_USAGE, "there is no user \"%.60s\" to assign", name);
    else if ((rc = answer_id(j, first, "id", id, err)) == 0 &&
             json_array_append(j->assignees, json_object_get(first, "id")) < 0)
        rc = err_nomem(err);
    json_decref(o);
    return rc;
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
    if (read_version(j, err) < 0 || read_place(j, err) < 0)
        return -1;
    if (j->facts.existing)
        return 0;
    j->assignees = json_array();
    if (!j->assignees)
        return err_nomem(err);
    for (size_t i = 0; i < assignees->n; i++)
        if (find_user(j, assignees->items[i], err) < 0)
            return -1;
    return 0;
}

/* ---- the issue ----------------------------------------------------------------------------------------- */

static int create_issue(struct handoff_job *j, const char *title, const char *description, struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    json_t *body =
        json_pack("{s:s, s:s, s:b}", "title", title, "description", description, "confidential", 1);
    if (j->request->labels.n)
        body = body_with(body, "labels", body_list(&j->request->labels));
    if (json_array_size(j->assignees))
        body = body_with(body, "assignee_ids", json_incref(j->assignees));
    job_path(path, sizeof path, API "/projects/%s/issues", j->project);
    if (job_send(j,
                 CHANGE(.request = {.method = "POST", .path = path, .dry_answer = "{\"iid\":\"ISSUE\"}"},
                        .body = body, .status = 201),
                 &o, err) < 0)
        return -1;
    int rc = answer_id(j, o, "iid", j->issue, err);
    j->outcome_unknown = rc < 0;
    answer_text(j, o, "web_url", j->result->issue_url, sizeof j->result->issue_url);
    json_decref(o);
    return rc;
}

static int read_flag(struct handoff_job *j, bool *ret_confidential, struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/projects/%s/issues/%s", j->project, j->issue);
    if (job_get(j, path, job_dry_run_flag(j), &o, err) < 0)
        return -1;
    *ret_confidential = answer_flag(o, "confidential");
    json_decref(o);
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static int upload_package(struct handoff_job *j, struct err *err)
{
    char path[1400];
    json_t *o = NULL;
    if (j->packages_public && !j->facts.encrypted && !j->facts.plaintext_i_know) {
        err_set(err, ERR_DENIED, "the project lets anyone get its packages, and the bundle is not encrypted");
        return err_hint(err, "encrypt it (--for TEAM, --encrypt-to); --plaintext-i-know sends it as it is");
    }
    job_path(j->stored.path, sizeof j->stored.path, API "/projects/%s/packages/generic/" PACKAGE "/%s/%s",
             j->project, j->attachment.stem, j->attachment.name);
    snprintf(path, sizeof path, "%s?select=package_file", j->stored.path);
    struct http_file file = {.fd = j->attachment.fd, .size = j->attachment.size, .name = j->attachment.name};
    struct http_request r = {.method = "PUT",
                             .path = path,
                             .file = &file,
                             .dry_answer = "{\"id\":\"FILE\",\"package_id\":\"PACKAGE\"}"};
    if (job_request(j, &r, 201, &o, err) < 0)
        return err_wrap(err, "the package registry");
    int rc = answer_id(j, o, "id", j->stored.id, err) < 0 ||
                     answer_id(j, o, "package_id", j->stored.package_id, err) < 0
                 ? -1
                 : 0;
    j->outcome_unknown = rc < 0;
    snprintf(j->stored.link, sizeof j->stored.link, "%.300s%.700s", j->request->tracker->url, j->stored.path);
    json_decref(o);
    return rc;
}

/* Reads the address of an upload, /uploads/<32 hexadecimal digits>/NAME. NAME must be the attachment's. */
static int read_upload_url(struct handoff_job *j, const json_t *o, struct err *err)
{
    char url[512], secret[33];
    const char *prefix = "/uploads/";
    answer_text(j, o, "url", url, sizeof url);
    size_t prefix_len = strlen(prefix);
    bool expected = strncmp(url, prefix, prefix_len) == 0 &&
                    strspn(url + prefix_len, "0123456789abcdef") == 32 && url[prefix_len + 32] == '/' &&
                    strcmp(url + prefix_len + 33, j->attachment.name) == 0;
    if (!expected && !j->options->dry_run)
        return err_set(err, ERR_FAILED, "the tracker reports another stored name: \"%.100s\"", url);
    snprintf(secret, sizeof secret, "%.32s", j->options->dry_run ? "UPLOAD" : url + prefix_len);
    job_path(j->stored.path, sizeof j->stored.path, API "/projects/%s/uploads/%s/%s", j->project, secret,
             j->attachment.name);
    snprintf(j->stored.link, sizeof j->stored.link, "%s%s/%s", prefix, secret, j->attachment.name);
    return 0;
}

static int upload_to_project(struct handoff_job *j, struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    struct http_file file = {
        .fd = j->attachment.fd, .size = j->attachment.size, .part = "file", .name = j->attachment.name};
    struct http_request r = {.method = "POST",
                             .path = job_path(path, sizeof path, API "/projects/%s/uploads", j->project),
                             .file = &file,
                             .dry_answer = "{}"};
    if (job_request(j, &r, 201, &o, err) < 0)
        return -1;
    int rc = read_upload_url(j, o, err);
    j->outcome_unknown = rc < 0;
    json_decref(o);
    return rc;
}

static int upload_file(struct handoff_job *j, struct err *err)
{
    uint64_t max = j->options->upload_max ? j->options->upload_max : HANDOFF_UPLOAD_MAX;
    struct err why = ERR_INIT;
    if (j->packages_only || j->attachment.size > max)
        return upload_package(j, err);
    if (upload_to_project(j, &why) == 0)
        return 0;
    /* After a 413 GitLab has stored nothing, and packages have another limit. */
    if (j->status == 413)
        return job_recheck_readers(j, err) < 0 ? -1 : upload_package(j, err);
    if (err)
        *err = why;
    return -1;
}

/* ---- verification -------------------------------------------------------------------------------------- */

static const json_t *find_file(const json_t *list, const char *id)
{
    size_t i = 0;
    json_t *o = NULL;
    json_array_foreach((json_t *)list, i, o)
    {
        char text[JOB_ID_SIZE];
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(json_object_get(o, "id")));
        if (strcmp(text, id) == 0)
            return o;
    }
    return NULL;
}

static int verify_package(struct handoff_job *j, struct err *err)
{
    char path[1024], sha256[SHA256_HEX + 8];
    json_t *list = NULL;
    job_path(path, sizeof path, API "/projects/%s/packages/%s/package_files?per_page=100", j->project,
             j->stored.package_id);
    if (job_get(j, path, "[]", &list, err) < 0)
        return -1;
    const json_t *o = find_file(list, j->stored.id);
    json_int_t size = json_integer_value(json_object_get(o, "size"));
    answer_text(j, o, "file_sha256", sha256, sizeof sha256);
    int rc = 0;
    if (j->options->dry_run)
        rc = 0;
    else if (!o)
        rc = err_set(err, ERR_FAILED, "the tracker does not list the file");
    else if ((uint64_t)size != j->attachment.size)
        rc = err_set(err, ERR_FAILED, "the tracker stored %lld of %llu bytes", (long long)size,
                     (unsigned long long)j->attachment.size);
    else if (!*sha256) /* some installations store no SHA-256 */
        rc = job_compare(j, j->stored.path, err);
    else if (strcmp(sha256, j->attachment.sha256) != 0)
        rc = err_set(err, ERR_FAILED, "the tracker stored other bytes: SHA-256 %s, not %s", sha256,
                     j->attachment.sha256);
    json_decref(list);
    return rc;
}

static int verify_file(struct handoff_job *j, struct err *err)
{
    return *j->stored.package_id ? verify_package(j, err) : job_compare(j, j->stored.path, err);
}

/* ---- notes --------------------------------------------------------------------------------------------- */

static int post_note(struct handoff_job *j, const char *text, struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    json_t *body = json_pack("{s:s, s:b}", "body", text, "internal", 1);
    job_path(path, sizeof path, API "/projects/%s/issues/%s/notes", j->project, j->issue);
    if (job_send(j,
                 CHANGE(.request = {.method = "POST", .path = path, .dry_answer = "{\"id\":\"NOTE\"}"},
                        .body = body, .status = 201),
                 &o, err) < 0)
        return -1;
    int rc = answer_id(j, o, "id", j->note, err);
    j->outcome_unknown = rc < 0;
    json_decref(o);
    return rc;
}

static int read_note(struct handoff_job *j, bool *ret_internal, struct err *err)
{
    char path[1024];
    json_t *o = NULL;
    job_path(path, sizeof path, API "/projects/%s/issues/%s/notes/%s", j->project, j->issue, j->note);
    if (job_get(j, path, "{\"internal\":true}", &o, err) < 0)
        return -1;
    *ret_internal = answer_flag(o, "internal");
    json_decref(o);
    return 0;
}

static int create_neutral_note(struct handoff_job *j, const char *text, bool *ret_internal, struct err *err)
{
    return post_note(j, text, err) < 0 ? -1 : read_note(j, ret_internal, err);
}

static void format_note(const struct handoff_job *j, struct buf *out)
{
    char size[32];
    buf_addf(out, "**Profile bundle**: [%s](%s) (%s)\n\nSHA-256: `%s`\n", j->attachment.name, j->stored.link,
             text_bytes(size, sizeof size, j->attachment.size), j->attachment.sha256);
    if (j->request->summary)
        escape_markdown(out, j->request->summary);
    if (j->request->reading) {
        buf_adds(out, "\nTo read it:\n");
        escape_markdown(out, j->request->reading);
    }
}

static int write_note(struct handoff_job *j, const char *text, struct err *err)
{
    char path[1024];
    if (!*j->note)
        return post_note(j, text, err);
    job_path(path, sizeof path, API "/projects/%s/issues/%s/notes/%s", j->project, j->issue, j->note);
    return job_send(j,
                    CHANGE(.request = {.method = "PUT", .path = path},
                           .body = json_pack("{s:s}", "body", text), .status = 200),
                    NULL, err);
}

const struct tracker_type tracker_gitlab = {
    .kind = {.name = "gitlab",
             .title = "GitLab",
             .project = "a project's path, GROUP/PROJECT",
             .has_labels = true,
             .max_assignees = 20},
    .assignee = "a user name",
    .auth = "PRIVATE-TOKEN: %s",
    .place = "project",
    .issue = "issue",
    .permissions = "it needs the scope api and, for internal notes, the role Reporter",
    .read_place = read_place,
    .check_request = check_request,
    .create = create_issue,
    .read_back = read_flag,
    .create_neutral_note = create_neutral_note,
    .upload = upload_file,
    .verify = verify_file,
    .format_note = format_note,
    .write_note = write_note,
    .read_note = read_note,
};
