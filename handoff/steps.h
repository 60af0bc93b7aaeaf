/*
 * The steps of a hand-off at the tracker, which attach a file to an issue that only the team can read.
 *
 * A tracker silently drops the confidential flag if the user may not set it, and still answers "created".
 * Therefore profgrab sends only neutral text, and the user's title, before it has read the flag back. The
 * steps are the same for all trackers (enum handoff_step). A place whose readers the tracker does not report
 * counts as public. docs/handoff.md lists the readers after each step.
 */
#ifndef HANDOFF_STEPS_H
#define HANDOFF_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "http/http.h"
#include "inventory/inventory.h"

/* All kinds of trackers, for the inventory; ends with NULL. */
extern const struct tracker_kind *const handoff_tracker_kinds[];

/* The file and its destination. The strings must live as long as the call. */
struct handoff_request {
    const struct tracker *tracker;
    const char *project; /* in the tracker's form: "group/project", an identifier, a queue */
    const char *issue;   /* the number of an existing issue, in digits; NULL: a new issue */
    const char *file;    /* the path of the bundle to send */
    bool encrypted;      /* the file is encrypted */
    /* The user's title of a new issue, sent before the issue's flag is read back; NULL: a neutral title. */
    const char *title;
    /* Lines with the findings and host names, sent only after a read-back shows that outsiders cannot read
     * them; NULL: none. */
    const char *summary;
    const char *reading;   /* lines on how to read the bundle, sent with the summary; NULL: none */
    struct strlist labels; /* of a new issue; only for a tracker_kind with labels */
    /* The assignees of a new issue, by their names at the tracker; at most max_assignees of the tracker. */
    struct strlist assignees;
};

enum handoff_step {
    HANDOFF_READ_PLACE, /* requests the readers of the place and of an existing issue */
    HANDOFF_DECIDE,     /* refuses a bundle in plain text if outsiders can read the place */
    HANDOFF_CREATE,     /* creates an issue with its flag and a neutral text */
    HANDOFF_READ_BACK,  /* reads the flag that the tracker has stored */
    HANDOFF_OPEN_NOTE, /* if the issue is not confidential: creates a neutral internal note, reads its flag */
    HANDOFF_UPLOAD,    /* sends the file */
    HANDOFF_VERIFY,    /* compares size and SHA-256 of the stored file */
    HANDOFF_ATTACH,    /* attaches an upload that has no issue yet, and checks that the issue has it */
    HANDOFF_NOTE,      /* writes summary and reading instructions */
    HANDOFF_READ_NOTE, /* checks that the note exists and is internal */
};
#define HANDOFF_STEPS 10

enum handoff_outcome {
    HANDOFF_NOT_REACHED,
    HANDOFF_DONE,
    HANDOFF_SKIPPED, /* this hand-off does not need the step; `text` has the reason */
    HANDOFF_FAILED,
    HANDOFF_UNKNOWN, /* the request was sent completely but failed; profgrab does not repeat it */
};

/* The most data that has left this workstation. Each value includes the previous values. */
enum handoff_sent {
    HANDOFF_SENT_NOTHING,
    HANDOFF_SENT_ISSUE,           /* an issue or a note, with neutral text and perhaps the user's title */
    HANDOFF_SENT_PART,            /* bytes of the file (bytes_sent) that the tracker did not store */
    HANDOFF_SENT_FILE_UNKNOWN,    /* the tracker may have the file */
    HANDOFF_SENT_FILE,            /* the tracker has the file */
    HANDOFF_SENT_SUMMARY_UNKNOWN, /* the tracker has the file and may have the summary */
    HANDOFF_SENT_SUMMARY,         /* the tracker has the file and the summary */
};

struct handoff_result {
    char issue[32];       /* its number; "" before it exists */
    char issue_url[1024]; /* for the user; "" if not known */
    char file_name[128];  /* its neutral name at the tracker */
    char sha256[SHA256_HEX];
    uint64_t bytes;
    uint64_t bytes_sent; /* the most bytes of the file that any attempt sent */
    bool encrypted;      /* as in the request */
    bool titled;         /* the request with the user's title may have been sent */
    bool confidential;   /* of the issue, as read back */
    enum handoff_sent sent;
    struct {
        enum handoff_outcome outcome;
        char text[256]; /* one line on the outcome; "" for none */
    } steps[HANDOFF_STEPS];
};

/* handoff_step_name returns the name in JSON: "look", "decide", ... handoff_step_label returns the name in
 * messages. handoff_outcome_name returns "done", "unknown", ... */
const char *handoff_step_name(enum handoff_step step);
const char *handoff_step_label(enum handoff_step step);
const char *handoff_outcome_name(enum handoff_outcome outcome);
/* Writes a sentence for the user into dst, for example "nothing has left this workstation". Returns dst. */
#define HANDOFF_SENT_TEXT 200
char *handoff_sent_text(const struct handoff_result *r, char *dst, size_t cap);

struct handoff_options {
    /* Sends a bundle in plain text even if outsiders can read it. */
    bool plaintext_i_know;
    /* Sends nothing, not even a GET, and reads no token: `dry_request` receives each request of a successful
     * run. Placeholders in capitals replace values of answers: ISSUE, NOTE. */
    bool dry_run;
    uint64_t upload_max; /* GitLab: files above it go into the package registry; 0: HANDOFF_UPLOAD_MAX */
    int64_t connect_ms;  /* limit of the time to connect, TLS included; 0: 20 s */
    int64_t silence_ms;  /* limit of the time without a byte in either direction; 0: 60 s */
    int64_t max_wait_ms; /* limit of the sum of the pauses between the attempts of a request; 0: 2 minutes */
    int cancel_fd;       /* cancels the hand-off when it becomes readable (ERR_CANCELLED); -1: none */
    /* The callbacks may be NULL. `step` is called before (HANDOFF_NOT_REACHED) and after a step. */
    void (*step)(void *ctx, enum handoff_step step, enum handoff_outcome outcome, const char *text);
    /* The next three are as in struct http_options. */
    void (*progress)(void *ctx, uint64_t sent, uint64_t size);
    void (*waiting)(void *ctx, int64_t ms, const char *because);
    void (*dry_request)(void *ctx, const struct http_dry_request *request);
    void *ctx;
};

#define HANDOFF_UPLOAD_MAX (UINT64_C(100) << 20)

/*
 * Checks a hand-off's request, and sends nothing to the tracker. ERR_USAGE if the request is invalid;
 * ERR_DENIED if no answer of the tracker could allow the bundle, which is in plain text. Opens no file and
 * reads no token, so `file` may be NULL. Reads only plaintext_i_know of the options. handoff_run calls this
 * function first; a caller may call it before it makes the bundle.
 */
int handoff_check(const struct handoff_request *request, const struct handoff_options *options,
                  struct err *err);

/*
 * Runs the steps in the calling thread. 0: the bundle is attached and verified, and the note is written. -1:
 * err has the failed step and its cause. Fills *ret in any case. ERR_USAGE: the request is invalid, for
 * example the assignee is unknown. ERR_DENIED: the tracker does not accept the token, or the bundle must not
 * be sent to that place. Does not change the file.
 *
 * libcurl must have been initialised (http_global_init).
 */
int handoff_run(const struct handoff_request *request, const struct handoff_options *options,
                struct handoff_result *ret, struct err *err);

#endif
