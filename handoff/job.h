/*
 * A hand-off in progress, and the interface of a tracker. For this folder only.
 *
 * run.c runs the steps and decides. A tracker type only sends requests.
 */
#ifndef HANDOFF_JOB_H
#define HANDOFF_JOB_H

#include <jansson.h>

#include "handoff/attachment.h"
#include "handoff/decide.h"
#include "handoff/steps.h"
#include "http/http.h"

#define JOB_ID_SIZE 32 /* the size of a buffer for a number in digits */

struct handoff_job {
    const struct handoff_request *request;
    const struct handoff_options *options;
    const struct tracker_type *type;
    struct http *http;
    struct attachment attachment;
    struct facts facts;
    struct handoff_result *result;
    int status;           /* HTTP status of the last answer; 0: there was none */
    bool outcome_unknown; /* the last request failed, but may have taken effect */

    /* The results of earlier steps. Numbers are checked digits. */
    char project[600];      /* encoded for paths */
    char project_url[1024]; /* for the user */
    char issue[JOB_ID_SIZE];
    char note[JOB_ID_SIZE];     /* the internal note that is filled later; "" for none */
    char assignee[JOB_ID_SIZE]; /* for trackers with one assignee */
    json_t *assignees;          /* for trackers with several assignees: an array of numbers; NULL: none */
    bool packages_public;       /* GitLab: anyone may download packages */
    bool packages_only;         /* this GitLab cannot return an upload, so use packages */
    struct {
        char id[JOB_ID_SIZE];
        char package_id[JOB_ID_SIZE]; /* GitLab: the package of the file; "": an upload */
        char path[1024];              /* for the download */
        char link[1024];              /* the reference in a note */
        char token[128];              /* Redmine: attaches the file to an issue */
    } stored;                         /* the file at the tracker */
};

/* Each function returns 0, or -1 with the error. On failure it sets job->outcome_unknown if the tracker may
 * have performed the step. A function is NULL if the tracker does not need the step. */
struct tracker_type {
    struct tracker_kind kind; /* the properties that the inventory checks */
    const char *assignee;     /* the form of an assignee, for the documentation */
    const char *auth;         /* the header with the token: a format with one %s */
    const char *place;        /* the product's word for a project: "project", "queue" */
    const char *issue;        /* the product's word for an issue: "issue", "ticket" */
    const char *permissions;  /* the permissions that the token needs, as a hint */
    bool readers_unreported;  /* the tracker never reports the readers of a place */
    /* Sets facts.readers and, for an existing issue, facts.confidential and result->issue_url. */
    int (*read_place)(struct handoff_job *j, struct err *err);
    /* Calls read_place, and checks the rest of the request: assignees, the tracker's version. */
    int (*check_request)(struct handoff_job *j, struct err *err);
    /* Creates a confidential issue with a neutral text; sets `issue` and result->issue_url. */
    int (*create)(struct handoff_job *j, const char *title, const char *description, struct err *err);
    /* Reads the issue's flag back. */
    int (*read_back)(struct handoff_job *j, bool *ret_confidential, struct err *err);
    /* Creates an internal note with a neutral text, and reads its flag back. */
    int (*create_neutral_note)(struct handoff_job *j, const char *text, bool *ret_internal, struct err *err);
    int (*upload)(struct handoff_job *j, struct err *err);
    /* Compares the stored file with the sent one. */
    int (*verify)(struct handoff_job *j, struct err *err);
    /* Attaches the stored file to the issue, and checks that the issue has it. */
    int (*attach)(struct handoff_job *j, struct err *err);
    /* Formats the text of the note: link, summary, instructions. */
    void (*format_note)(const struct handoff_job *j, struct buf *out);
    int (*write_note)(struct handoff_job *j, const char *text, struct err *err);
    /* Checks that the tracker shows the note, and reads its flag. */
    int (*read_note)(struct handoff_job *j, bool *ret_internal, struct err *err);
};

/* Requests the readers of the place and the issue again. ERR_DENIED if they have changed since the hand-off
 * began, or since the flag of a new issue was read back. Call it before each attempt at an upload. */
int job_recheck_readers(struct handoff_job *j, struct err *err);
/* Reads the confidential flag of the issue again if it was set at the last reading; else *ret is false. */
int job_read_flag(struct handoff_job *j, bool *ret, struct err *err);

/* All types, each defined in a file of its own, in the order of the documentation. */
#define TRACKER_TYPES(ROW)                                                                                   \
    ROW(tracker_gitlab)                                                                                      \
    ROW(tracker_redmine)                                                                                     \
    ROW(tracker_rt)
#define DECLARE_TRACKER_TYPE(type) extern const struct tracker_type type;
TRACKER_TYPES(DECLARE_TRACKER_TYPE)

/* Returns the type of a kind from handoff_tracker_kinds; NULL for any other kind. */
const struct tracker_type *tracker_type_of(const struct tracker_kind *kind);

/* ---- sending requests ---------------------------------------------------------------------------------- */

/*
 * Sends a request and expects an answer with HTTP status `status` and a JSON body (204: no body, and *ret is
 * NULL). Any other answer is an error: ERR_DENIED for a token that is not accepted, ERR_NOT_FOUND for a 404.
 * The caller releases *ret with json_decref.
 */
int job_request(struct handoff_job *j, const struct http_request *request, int status, json_t **ret,
                struct err *err);
/* A request with a JSON body. */
struct job_change {
    struct http_request request;
    json_t *body; /* job_send takes the reference; NULL: out of memory */
    int status;   /* the expected HTTP status */
};
#define CHANGE(...) (&(const struct job_change){__VA_ARGS__})
/* Works like job_request. */
int job_send(struct handoff_job *j, const struct job_change *change, json_t **ret, struct err *err);
/* Sends a GET request and expects status 200; in a dry run *ret is parsed from `dry_answer`. */
int job_get(struct handoff_job *j, const char *path, const char *dry_answer, json_t **ret, struct err *err);
/* The receiver of a file. */
struct job_sink {
    int (*receive)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    uint64_t limit; /* bytes; more is an error */
};
/* Fetches a file and passes it to the sink. Follows a redirect of the tracker to its file store. */
int job_fetch(struct handoff_job *j, const char *path, const struct job_sink *sink, struct err *err);
/* Fetches a file and compares it with the attachment. */
int job_compare(struct handoff_job *j, const char *path, struct err *err);

/* Returns the answer with the flag that a dry run assumes. An existing issue counts as not confidential if
 * the bundle is encrypted, because the hand-off then sends the most requests. */
const char *job_dry_run_flag(const struct handoff_job *j);

/* Formats a path; text arguments must be encoded already. Returns dst. */
char *job_path(char *dst, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- reading answers ----------------------------------------------------------------------------------- */

/* Reads the number under `key` as digits. In a dry run the number may be a word in capitals (ISSUE). */
int answer_id(const struct handoff_job *j, const json_t *o, const char *key, char ret[static JOB_ID_SIZE],
              struct err *err);
/* Returns the boolean under `key`; anything but true is false. */
bool answer_flag(const json_t *o, const char *key);
/* Copies the string under `key` into dst, printable and with the token masked, even if JSON escapes hide it;
 * "" if there is none. Returns dst. */
char *answer_text(const struct handoff_job *j, const json_t *o, const char *key, char *dst, size_t cap);

/* ---- building bodies of requests ----------------------------------------------------------------------- */

/* Adds a value to the object and returns the object; takes both references. NULL: out of memory, or an
 * argument was NULL. */
json_t *body_with(json_t *o, const char *key, json_t *value);
/* Returns an array of the list's strings. NULL: out of memory. */
json_t *body_list(const struct strlist *l);

#endif
