/*
 * One hand-off under way, and what the kinds of trackers do in it. Known to this folder alone.
 *
 * run.c goes through the steps, and decides; a kind of tracker only asks and sends. Adding one is a file and
 * a row in tracker_of.
 */
#ifndef HANDOFF_JOB_H
#define HANDOFF_JOB_H

#include <jansson.h>

#include "handoff/attachment.h"
#include "handoff/decide.h"
#include "handoff/steps.h"
#include "http/http.h"

#define JOB_ID 32
/* The address of a request with these fields. */
#define REQUEST(...) (&(const struct http_request){__VA_ARGS__})

struct job {
    const struct handoff_request *request;
    const struct handoff_options *options;
    const struct tracker_type *type;
    struct http *http;
    struct attachment attachment;
    struct facts facts;
    struct handoff_result *result;
    int status; /* of the last answer; 0: there was none */
    bool
        unknown; /* the last request that changes something was sent whole, and nobody said what came of it */

    /* What was learned from the tracker; numbers are digits, checked. */
    char project[600];      /* as it stands in paths */
    char project_url[1024]; /* for people */
    char issue[JOB_ID];
    char note[JOB_ID];     /* the internal note that is filled later; "" for none */
    char assignee[JOB_ID]; /* of trackers that know one */
    json_t *assignees;     /* of those that know several: an array of numbers; NULL: none */
    bool packages_public;  /* GitLab: anyone may get packages */
    bool packages_only;    /* GitLab: it cannot say what it stored as an upload */
    struct {
        char id[JOB_ID], parent[JOB_ID];
        char path[1024]; /* where it can be fetched */
        char link[1024]; /* how a note refers to it */
        char token[128]; /* what binds it to an issue */
    } stored;
};

/*
 * Each returns 0, or -1 with what went wrong and job->unknown set where it may have happened all the same.
 * A NULL step is one that the tracker has no need of.
 */
struct tracker_type {
    enum tracker_kind kind;
    const char *auth;  /* the header with the token, for one %s */
    const char *place; /* what it calls a project: "project", "queue" */
    const char *issue; /* and an issue: "issue", "ticket" */
    const char *may;   /* what its token must be allowed, as a hint */
    bool labels;
    bool readers_untold; /* it never says who can read a place */
    size_t max_assignees;
    /* Fills facts.place, and of an existing issue facts.confidential and result->issue_url. */
    int (*look_place)(struct job *j, struct err *err);
    /* The same, and whatever else must be known before: whom the request names, which version it is. */
    int (*look)(struct job *j, struct err *err);
    /* A new issue with its flag and with words that tell nothing: fills issue, result->issue_url. */
    int (*create)(struct job *j, const char *title, const char *description, struct err *err);
    /* The issue's flag as it is now. */
    int (*read_back)(struct job *j, bool *ret_confidential, struct err *err);
    /* An internal note with words that tell nothing, and its flag as it is now. */
    int (*open_note)(struct job *j, const char *text, bool *ret_internal, struct err *err);
    int (*upload)(struct job *j, struct err *err);
    /* What was stored is what was sent. */
    int (*verify)(struct job *j, struct err *err);
    /* The issue takes the file, and that it has it is read back; NULL: it needs no asking. */
    int (*attach)(struct job *j, struct err *err);
    /* The text of the note: summary, link, instructions. */
    void (*words)(const struct job *j, struct buf *out);
    int (*note)(struct job *j, const char *text, struct err *err);
    int (*read_note)(struct job *j, bool *ret_internal, struct err *err);
};

/* Asks again who can read the place and the issue. ERR_DENIED if that is not what it was when the hand-off
 * began, or when the flag of a new issue was read back: nothing may be uploaded then. Before each try at an
 * upload. */
int job_look_again(struct job *j, struct err *err);

const struct tracker_type *tracker_of(enum tracker_kind kind);
extern const struct tracker_type tracker_gitlab, tracker_redmine, tracker_rt;

/* ---- asking -------------------------------------------------------------------------------------------- */

/*
 * Sends it and wants that status with a JSON body (`status` 204: with none, and *ret is NULL). What else
 * comes becomes an error in words, ERR_DENIED for a token that is not accepted, ERR_NOT_FOUND for a 404. *ret
 * is released with json_decref.
 */
int job_ask(struct job *j, const struct http_request *request, int status, json_t **ret, struct err *err);
/* job_ask with a body made of `body`, whose reference it takes; NULL is "out of memory". */
int job_send(struct job *j, const struct http_request *request, json_t *body, int status, json_t **ret,
             struct err *err);
int job_get(struct job *j, const char *path, const char *dry, json_t **ret, struct err *err);
/* Fetches a file, also from the store that the tracker sends us to, into a sink. */
struct job_sink {
    int (*take)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    uint64_t limit; /* bytes; more is an error */
};
int job_fetch(struct job *j, const char *path, const struct job_sink *sink, struct err *err);
/* Fetches a file and compares it with the attachment. */
int job_compare(struct job *j, const char *path, struct err *err);

/* What a dry run takes for the flag of an issue: of one that exists, that it is not confidential, as far as
 * the bundle may go there then; that makes the most requests. */
const char *job_dry_flag(const struct job *j);

/* A path: "%s" of the format stand for texts that are in it already encoded. */
char *job_path(char *dst, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- reading answers ----------------------------------------------------------------------------------- */

/* The number under `key` as digits. In a dry run a word in capitals may stand there. */
int json_id(const struct job *j, const json_t *o, const char *key, char ret[static JOB_ID], struct err *err);
/* The boolean under `key`; anything but true is false. */
bool json_is_set(const json_t *o, const char *key);
/* The string under `key`, made printable and with the token masked, also if JSON escapes spelled it; "" if
 * there is none. */
char *json_line(const struct job *j, const json_t *o, const char *key, char *dst, size_t cap);
/* The object with a value more; takes both references. NULL: out of memory, or one of them was NULL. */
json_t *json_with(json_t *o, const char *key, json_t *value);
/* An array of the list's strings. NULL: out of memory. */
json_t *json_list(const struct strlist *l);

#endif
