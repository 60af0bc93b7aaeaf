/*
 * Runs the steps of a hand-off in order. Each step depends on the values that earlier steps have read back.
 * The tracker type sends the requests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handoff/job.h"
#include "base/banned.h"

#define TOKEN_TIMEOUT_MS 30000

/* ---- the steps ----------------------------------------------------------------------------------------- */

#define NEUTRAL_TEXT                                                                                         \
    "profgrab is attaching performance profiles here. A note with the details follows after profgrab has "   \
    "verified that only the team can read it."

/* The line on the outcome of a step. */
struct step_report {
    char *text;
    size_t cap;
};
#define REPORT(t, ...) snprintf((t)->text, (t)->cap, __VA_ARGS__)

static void raise_sent(struct handoff_result *r, enum handoff_sent sent)
{
    if (sent > r->sent)
        r->sent = sent;
}

/* Runs a step. Returns 0 if it is done, 1 if it is not needed, or -1. */
typedef int step_fn(struct handoff_job *j, const struct step_report *report, struct err *err);

static int read_place(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    if (j->type->check_request(j, err) < 0)
        return -1;
    if (j->options->dry_run) {
        REPORT(report, "dry run: %s %s is assumed to be private", j->type->place, j->request->project);
        return 0;
    }
    const char *flag =
        j->facts.confidential ? "; the issue is confidential" : "; the issue is not confidential";
    REPORT(report, "%s %s: %s%s", j->type->place, j->request->project, readers_text(j->facts.readers),
           j->facts.existing && j->type->read_back ? flag : "");
    return 0;
}

static int check_may_send(const struct handoff_job *j, struct err *err)
{
    char place[300];
    snprintf(place, sizeof place, "%s %s", j->type->place, j->request->project);
    return decide_bundle(&j->facts, place, err);
}

static int decide_to_send(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    if (check_may_send(j, err) < 0)
        return -1;
    REPORT(report, "%s",
           j->facts.encrypted ? "the copy may be sent, because it is encrypted"
           : j->facts.plaintext_i_know
               ? "the copy may be sent in plain text, because of --plaintext-i-know"
               : "the copy may be sent in plain text, because only members can read it");
    return 0;
}

static int create_issue(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    char title[256], now[32];
    if (j->facts.existing) {
        REPORT(report, "%s %s exists", j->type->issue, j->issue);
        return 1;
    }
    snprintf(title, sizeof title, "Profiles taken with profgrab, %s",
             clock_format(now, sizeof now, clock_utc()));
    j->result->titled = j->request->title != NULL;
    if (j->request->title)
        text_printable(title, sizeof title, j->request->title, strlen(j->request->title));
    if (j->type->create(j, title, NEUTRAL_TEXT, err) < 0)
        return -1;
    REPORT(report, "%s %s, with a neutral text", j->type->issue, j->issue);
    return 0;
}

static int set_flag_error(const struct handoff_job *j, struct err *err)
{
    err_set(err, ERR_DENIED, "the tracker created the %s without its confidential flag", j->type->issue);
    return err_hint(err,
                    "is the token's user allowed to make confidential issues there? nothing was attached; "
                    "close %s, which names no host",
                    *j->result->issue_url ? j->result->issue_url : j->issue);
}

static int read_flag(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    bool confidential = false;
    if (!j->type->read_back) {
        REPORT(report, "the %s's rights decide who reads a %s", j->type->place, j->type->issue);
        return 1;
    }
    if (j->type->read_back(j, &confidential, err) < 0)
        return -1;
    j->facts.confidential = j->result->confidential = confidential;
    if (!confidential && !j->facts.existing)
        return set_flag_error(j, err);
    /* The flag of an existing issue may have changed since the first step. */
    if (check_may_send(j, err) < 0)
        return -1;
    REPORT(report, "%s %s is%s confidential", j->type->issue, j->issue, confidential ? "" : " not");
    return 0;
}

static int create_neutral_note(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    bool internal = false;
    if (!decide_needs_note(&j->facts) || !j->type->create_neutral_note) {
        REPORT(report, "%s",
               j->type->create_neutral_note ? "the issue is confidential" : "a comment is always internal");
        return 1;
    }
    int rc = j->type->create_neutral_note(j, NEUTRAL_TEXT, &internal, err);
    if (*j->note && !j->options->dry_run)
        raise_sent(j->result, HANDOFF_SENT_ISSUE);
    if (rc < 0 || internal)
        return rc;
    err_set(err, ERR_DENIED, "the tracker created the note without its internal flag");
    return err_hint(err,
                    "may the token's user write internal notes there? nothing was attached; the note reveals "
                    "nothing and can be removed: %s",
                    j->result->issue_url);
}

static int upload_file(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    char size[32];
    if (job_recheck_readers(j, err) < 0 || j->type->upload(j, err) < 0)
        return -1;
    REPORT(report, "%s, %s", j->attachment.name, text_bytes(size, sizeof size, j->attachment.size));
    return 0;
}

static int verify_file(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    if (j->type->verify(j, err) < 0) {
        err_hint(err,
                 "the stored file differs from the sent one, or cannot be compared: no note refers to it");
        return -1;
    }
    REPORT(report, "%llu bytes, SHA-256 %s", (unsigned long long)j->attachment.size, j->attachment.sha256);
    return 0;
}

/* Checks the flag again, because a user may have made the issue public during the upload. */
static int check_flag(struct handoff_job *j, struct err *err)
{
    bool confidential = false;
    if (job_read_flag(j, &confidential, err) < 0)
        return -1;
    return confidential == j->facts.confidential
               ? 0
               : err_set(err, ERR_DENIED, "the %s is not confidential any more", j->type->issue);
}

static int attach_file(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    if (!j->type->attach) {
        REPORT(report, "it is attached already");
        return 1;
    }
    if (check_flag(j, err) < 0 || j->type->attach(j, err) < 0)
        return -1;
    REPORT(report, "%s %s has it", j->type->issue, j->issue);
    return 0;
}

static int write_note(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    struct buf note = BUF_INIT(256u << 10);
    (void)report;
    int rc = check_flag(j, err);
    if (rc == 0) {
        j->type->format_note(j, &note);
        rc = buf_check(&note, "the note", err);
    }
    if (rc == 0)
        rc = j->type->write_note(j, buf_str(&note), err);
    buf_release(&note);
    return rc;
}

static int read_note(struct handoff_job *j, const struct step_report *report, struct err *err)
{
    bool internal = false;
    if (j->type->read_note(j, &internal, err) < 0)
        return -1;
    if (!decide_summary(&j->facts, internal)) {
        err_set(err, ERR_DENIED,
                "the note is not internal: everybody with access to the %s could read the summary",
                j->type->issue);
        return err_hint(err, "remove the note: %s", j->result->issue_url);
    }
    REPORT(report, "%s", internal ? "the note is internal" : "the note is as confidential as its issue");
    return 0;
}

static const struct {
    const char *name;  /* in JSON */
    const char *label; /* in messages */
    const char *doing; /* precedes the step's error */
    step_fn *run;
    enum handoff_sent done, unknown; /* the data that has left after this outcome */
} steps[HANDOFF_STEPS] = {
    [HANDOFF_READ_PLACE] = {"look", "place", "reading the place", read_place, HANDOFF_SENT_NOTHING,
                            HANDOFF_SENT_NOTHING},
    [HANDOFF_DECIDE] = {"decide", "decide", "refused", decide_to_send, HANDOFF_SENT_NOTHING,
                        HANDOFF_SENT_NOTHING},
    [HANDOFF_CREATE] = {"create", "create", "creating the issue", create_issue, HANDOFF_SENT_ISSUE,
                        HANDOFF_SENT_ISSUE},
    [HANDOFF_READ_BACK] = {"read-back", "read-back", "reading the flag back", read_flag, HANDOFF_SENT_NOTHING,
                           HANDOFF_SENT_NOTHING},
    [HANDOFF_OPEN_NOTE] = {"open-note", "open-note", "creating an internal note", create_neutral_note,
                           HANDOFF_SENT_ISSUE, HANDOFF_SENT_ISSUE},
    [HANDOFF_UPLOAD] = {"upload", "upload", "uploading", upload_file, HANDOFF_SENT_FILE,
                        HANDOFF_SENT_FILE_UNKNOWN},
    [HANDOFF_VERIFY] = {"verify", "verify", "verifying", verify_file, HANDOFF_SENT_NOTHING,
                        HANDOFF_SENT_NOTHING},
    [HANDOFF_ATTACH] = {"attach", "attach", "attaching the file to the issue", attach_file,
                        HANDOFF_SENT_NOTHING, HANDOFF_SENT_NOTHING},
    [HANDOFF_NOTE] = {"note", "note", "writing the note", write_note, HANDOFF_SENT_SUMMARY,
                      HANDOFF_SENT_SUMMARY_UNKNOWN},
    [HANDOFF_READ_NOTE] = {"read-note", "read-note", "reading the note back", read_note, HANDOFF_SENT_NOTHING,
                           HANDOFF_SENT_NOTHING},
};

const char *handoff_step_name(enum handoff_step step)
{
    return steps[step].name;
}

const char *handoff_step_label(enum handoff_step step)
{
    return steps[step].label;
}

const char *handoff_outcome_name(enum handoff_outcome outcome)
{
    static const char *const names[] = {"not reached", "done", "skipped", "failed", "unknown"};
    return names[outcome];
}

/* bytes_sent is an upper limit, because libcurl may not have sent all bytes that it has read. */
static char *format_part(const struct handoff_result *r, const char *bundle, char *dst, size_t cap)
{
    char sent[32], size[32];
    text_bytes(sent, sizeof sent, r->bytes_sent);
    text_bytes(size, sizeof size, r->bytes);
    if (r->bytes_sent < r->bytes)
        snprintf(dst, cap, "at most %s of %s of %s left this workstation, and the tracker did not take it",
                 sent, size, bundle);
    else
        snprintf(dst, cap, "%s (%s) left this workstation, and the tracker refused it", bundle, size);
    return dst;
}

char *handoff_sent_text(const struct handoff_result *r, char *dst, size_t cap)
{
    const char *bundle = r->encrypted ? "the encrypted bundle" : "the bundle, in plain text,";
    const char *verb = "has", *summary = "but not the summary";
    if (r->sent == HANDOFF_SENT_PART)
        return format_part(r, bundle, dst, cap);
    if (r->sent <= HANDOFF_SENT_ISSUE) {
        snprintf(dst, cap, "nothing has left this workstation%s",
                 r->sent == HANDOFF_SENT_NOTHING ? ""
                 : r->titled                     ? " but an issue with your title"
                                                 : " but a neutral issue or note");
        return dst;
    }
    if (r->sent == HANDOFF_SENT_FILE_UNKNOWN)
        verb = "may have", summary = "but does not have the summary";
    else if (r->sent == HANDOFF_SENT_SUMMARY_UNKNOWN)
        summary = "and may have the summary";
    else if (r->sent == HANDOFF_SENT_SUMMARY)
        summary = "and the summary";
    snprintf(dst, cap, "the tracker %s %s %s", verb, bundle, summary);
    return dst;
}

/* ---- running the steps --------------------------------------------------------------------------------- */

static void report_step(const struct handoff_job *j, enum handoff_step step)
{
    const struct handoff_options *o = j->options;
    if (o->step)
        o->step(o->ctx, step, j->result->steps[step].outcome, j->result->steps[step].text);
}

/* Records a failed step. If its outcome is unknown, the error states this, and the hint names the page where
 * the user can check it. */
static int fail_step(struct handoff_job *j, enum handoff_step step, struct err *err)
{
    bool unknown = j->outcome_unknown;
    struct handoff_result *r = j->result;
    r->steps[step].outcome = unknown ? HANDOFF_UNKNOWN : HANDOFF_FAILED;
    if (r->bytes_sent > 0)
        raise_sent(r, HANDOFF_SENT_PART);
    if (unknown) {
        raise_sent(r, steps[step].unknown);
        err_wrap(err, "the request was sent, but its result is unknown");
        err_hint(err, "check %s before you repeat it",
                 *r->issue_url     ? r->issue_url
                 : *j->project_url ? j->project_url
                                   : j->request->tracker->url);
    }
    if (err) {
        http_mask(j->http, err->msg);
        http_mask(j->http, err->hint);
        snprintf(r->steps[step].text, sizeof r->steps[step].text, "%.255s", err->msg);
    }
    report_step(j, step);
    return err_wrap(err, "%s: %s", j->request->tracker->name, steps[step].doing);
}

static int run_step(struct handoff_job *j, enum handoff_step step, struct err *err)
{
    struct step_report report = {j->result->steps[step].text, sizeof j->result->steps[step].text};
    j->outcome_unknown = false;
    report_step(j, step);
    int rc = fd_cancelled(j->options->cancel_fd) ? err_set(err, ERR_CANCELLED, "interrupted")
                                                 : steps[step].run(j, &report, err);
    if (rc < 0)
        return fail_step(j, step, err);
    j->result->steps[step].outcome = rc ? HANDOFF_SKIPPED : HANDOFF_DONE;
    if (rc == 0 && !j->options->dry_run)
        raise_sent(j->result, steps[step].done);
    report_step(j, step);
    return 0;
}

static int run_steps(struct handoff_job *j, struct err *err)
{
    for (int step = 0; step < HANDOFF_STEPS; step++)
        if (run_step(j, (enum handoff_step)step, err) < 0)
            return -1;
    return 0;
}

/* ---- set-up -------------------------------------------------------------------------------------------- */

static int check_issue(const struct handoff_request *r, struct err *err)
{
    uint64_t number = 0;
    if (!r->issue)
        return 0;
    if (text_to_uint(r->issue, INT64_MAX, &number) < 0 || number == 0)
        return err_set(err, ERR_USAGE, "\"%.60s\" is no number of an issue", r->issue);
    if (!r->labels.n && !r->assignees.n && !r->title)
        return 0;
    err_set(err, ERR_USAGE, "%s: issue %s exists and keeps its title, labels and assignees", r->tracker->name,
            r->issue);
    return err_hint(err, "omit them, or omit #%s for a new issue", r->issue);
}

static int check_labels_and_assignees(const struct handoff_request *r, const struct tracker_type *type,
                                      struct err *err)
{
    if (r->labels.n && !type->kind.has_labels)
        return err_set(err, ERR_USAGE, "%s: this kind of tracker has no labels", r->tracker->name);
    if (r->assignees.n <= type->kind.max_assignees)
        return 0;
    return err_set(err, ERR_USAGE, "%s: this kind of tracker has at most %zu assignee%s, not %zu",
                   r->tracker->name, type->kind.max_assignees, text_plural_s(type->kind.max_assignees),
                   r->assignees.n);
}

int handoff_check(const struct handoff_request *r, const struct handoff_options *options, struct err *err)
{
    const struct tracker_type *type = tracker_type_of(r->tracker->kind);
    struct facts facts = {.readers = READERS_UNKNOWN,
                          .existing = r->issue != NULL,
                          .encrypted = r->encrypted,
                          .plaintext_i_know = options->plaintext_i_know};
    char place[300];
    if (!type)
        return err_set(err, ERR_USAGE, "no such kind of tracker");
    if (strlen(r->project) > TRACKER_PROJECT_MAX)
        return err_set(err, ERR_USAGE, "%s: the name of a %s has at most %d characters, not %zu",
                       r->tracker->name, type->place, TRACKER_PROJECT_MAX, strlen(r->project));
    if (!*r->project || !text_is_visible(r->project))
        return err_set(err, ERR_USAGE, "\"%.60s\" is no name of a %s", r->project, type->place);
    if (r->title && !r->title[strspn(r->title, " \t\n")])
        return err_set(err, ERR_USAGE, "%s: the title is empty", r->tracker->name);
    if (check_issue(r, err) < 0 || check_labels_and_assignees(r, type, err) < 0)
        return -1;
    snprintf(place, sizeof place, "%s %s", type->place, r->project);
    if (type->readers_unreported && decide_bundle(&facts, place, err) < 0)
        return err_wrap(err, "%s: %s", r->tracker->name, steps[HANDOFF_DECIDE].doing);
    return 0;
}

static int connect_to_tracker(struct handoff_job *j, struct secret *token, struct err *err)
{
    const struct tracker *t = j->request->tracker;
    const struct handoff_options *h = j->options;
    struct proc_limits limits = {.timeout_ms = TOKEN_TIMEOUT_MS, .cancel_fd = h->cancel_fd};
    bool dry = h->dry_run;
    if (!dry && secret_read(&t->token, &limits, token, err) < 0)
        return err_wrap(err, "%s: the token", t->name);
    struct http_options o = {.url = t->url,
                             .ca = t->ca,
                             .auth = j->type->auth,
                             .token = dry ? NULL : token,
                             .dry_run = dry,
                             .connect_ms = h->connect_ms,
                             .silence_ms = h->silence_ms,
                             .max_wait_ms = h->max_wait_ms,
                             .cancel_fd = h->cancel_fd,
                             .progress = h->progress,
                             .waiting = h->waiting,
                             .dry_request = h->dry_request,
                             .ctx = h->ctx};
    return http_new(&o, &j->http, err) < 0 ? err_wrap(err, "%s", t->name) : 0;
}

static void fill_result(struct handoff_job *j)
{
    struct handoff_result *r = j->result;
    snprintf(r->file_name, sizeof r->file_name, "%s", j->attachment.name);
    snprintf(r->sha256, sizeof r->sha256, "%s", j->attachment.sha256);
    r->bytes = j->attachment.size;
    r->encrypted = j->request->encrypted;
}

int handoff_run(const struct handoff_request *request, const struct handoff_options *options,
                struct handoff_result *ret, struct err *err)
{
    struct err why = ERR_INIT;
    struct secret token = {.len = 0};
    struct handoff_job j = {.request = request,
                            .options = options,
                            .type = tracker_type_of(request->tracker->kind),
                            .attachment = {.fd = -1},
                            .facts = {.existing = request->issue != NULL,
                                      .encrypted = request->encrypted,
                                      .plaintext_i_know = options->plaintext_i_know},
                            .result = ret};
    *ret = (struct handoff_result){.sent = HANDOFF_SENT_NOTHING};
    int rc = handoff_check(request, options, &why);
    if (rc == 0)
        rc = attachment_open(request->file, request->encrypted, options->cancel_fd, &j.attachment, &why);
    if (rc == 0) {
        fill_result(&j);
        rc = connect_to_tracker(&j, &token, &why);
    }
    if (rc == 0) {
        snprintf(j.issue, sizeof j.issue, "%s", request->issue ? request->issue : "");
        rc = run_steps(&j, &why);
    }
    snprintf(ret->issue, sizeof ret->issue, "%s", j.issue);
    json_decref(j.assignees);
    http_free(j.http);
    attachment_close(&j.attachment);
    secret_wipe(&token);
    if (rc < 0 && err)
        *err = why;
    return rc;
}
