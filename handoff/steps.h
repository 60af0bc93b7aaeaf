/*
 * The steps of a hand-off at the tracker: a file is attached to an issue that only the team can read.
 *
 * A tracker silently drops the confidentiality flag if the user may not set it, and still answers "created".
 * So profgrab sends nothing that reveals anything before it has read the flag back. The steps are the same
 * for all trackers (enum handoff_step). A place whose readers the tracker does not report counts as public.
 * docs/handoff.md lists the readers after each step.
 */
#ifndef HANDOFF_STEPS_H
#define HANDOFF_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "http/http.h"
#include "inventory/inventory.h"

/* The file and its destination. Strings must live as long as the call. */
struct handoff_request {
    const struct tracker *tracker;
    const char *project; /* in the tracker's form: "group/project", an identifier, a queue */
    const char *issue;   /* the number of an existing one, in digits; NULL: create one */
    const char *file;    /* path of the bundle to send */
    bool encrypted;      /* it is encrypted */
    const char *title;   /* of a new issue, in the user's own words, and as public as the issue is before its
                            flag was read back; NULL: one that tells nothing */
    const char *summary; /* lines about what was found, host names and all: they go only where it was read
                            back that outsiders cannot look; NULL: none */
    const char *reading; /* lines on how to read the bundle, which go with the summary; NULL: none */
    struct strlist labels;    /* of a new issue; only GitLab has them */
    struct strlist assignees; /* of a new issue: GitLab user names; one Redmine member (a name or a number);
                                 one owner in Request Tracker */
};

enum handoff_step {
    HANDOFF_LOOK,      /* the place and, where there is one, the issue: who can read what is put there */
    HANDOFF_DECIDE,    /* a bundle in plain text goes nowhere that outsiders can look */
    HANDOFF_CREATE,    /* a new issue with its flag, and nothing in it that tells anything */
    HANDOFF_READ_BACK, /* the flag, as the tracker has it now */
    HANDOFF_OPEN_NOTE, /* on an issue that others read: an internal note that tells nothing, and its flag */
    HANDOFF_UPLOAD,
    HANDOFF_VERIFY,    /* size and SHA-256 of what was stored */
    HANDOFF_ATTACH,    /* where a file is nobody's until an issue takes it: that, and that the issue has it */
    HANDOFF_NOTE,      /* summary and reading instructions */
    HANDOFF_READ_NOTE, /* that the note is there, and internal */
};
#define HANDOFF_STEPS 10

enum handoff_outcome {
    HANDOFF_NOT_REACHED,
    HANDOFF_DONE,
    HANDOFF_SKIPPED, /* this hand-off does not need it; `text` says why */
    HANDOFF_FAILED,
    HANDOFF_UNKNOWN, /* all was sent and no answer came: it may have happened. Never repeated by itself. */
};

/* What has left and what the tracker has of it, at most, when it ended; each includes those before it. */
enum handoff_left {
    HANDOFF_LEFT_NOTHING,
    HANDOFF_LEFT_ISSUE,        /* an issue or a note that tells nothing but a title of the user's own */
    HANDOFF_LEFT_PART,         /* bytes of the file (bytes_sent), which the tracker did not take */
    HANDOFF_LEFT_FILE_UNKNOWN, /* the file may be there */
    HANDOFF_LEFT_FILE,
    HANDOFF_LEFT_WORDS_UNKNOWN, /* the summary may be there */
    HANDOFF_LEFT_WORDS,
};

struct handoff_result {
    char issue[32];       /* its number; "" before there is one */
    char issue_url[1024]; /* for people; "" if not known */
    char file_name[128];  /* what the file is called there: a name that tells nothing */
    char sha256[SHA256_HEX];
    uint64_t bytes;
    uint64_t bytes_sent; /* of the file, at most, in the try that sent most */
    bool encrypted;      /* as the request had it */
    bool titled;         /* a title of the user's own was on its way */
    bool confidential;   /* of the issue, as read back */
    enum handoff_left left;
    struct {
        enum handoff_outcome outcome;
        char text[256]; /* one line: what came of it; "" where there is nothing to say */
    } steps[HANDOFF_STEPS];
};

/* "look", "decide", ...; and "done", "unknown", ... */
const char *handoff_step_name(enum handoff_step step);
const char *handoff_outcome_name(enum handoff_outcome outcome);
/* Writes a sentence for people, "nothing has left this workstation", into dst, and returns it. */
#define HANDOFF_LEFT_TEXT 200
char *handoff_left_text(const struct handoff_result *r, char *dst, size_t cap);

struct handoff_options {
    /* A bundle in plain text goes also where outsiders can read it. */
    bool plaintext_i_know;
    /* Nothing at all is sent, not even a GET, and no token is read: `would` gets every request as it would
     * be if all went well. Where an answer would be needed, words in capitals stand: ISSUE, NOTE. */
    bool dry_run;
    uint64_t upload_max; /* GitLab: files above it go into the package registry; 0: HANDOFF_UPLOAD_MAX */
    int64_t connect_ms;  /* to connect, TLS included; 0: 20 s */
    int64_t silence_ms;  /* without a byte in either direction; 0: 60 s */
    int64_t patience_ms; /* how long all waits of one request together may be, when the tracker says "too many
                            requests" or cannot answer a question; 0: 2 minutes */
    int cancel_fd;       /* readable: ERR_CANCELLED; -1: none */
    /* All may be NULL. `step` is told of each step as it begins (HANDOFF_NOT_REACHED) and as it has ended. */
    void (*step)(void *ctx, enum handoff_step step, enum handoff_outcome outcome, const char *text);
    void (*progress)(void *ctx, uint64_t bytes, uint64_t of);    /* sent, about ten times a second */
    void (*waiting)(void *ctx, int64_t ms, const char *because); /* before it repeats a request */
    void (*would)(void *ctx, const struct http_would *would);
    void *ctx;
};

#define HANDOFF_UPLOAD_MAX (UINT64_C(100) << 20)

/*
 * Whether that can be right, as far as it can be told without asking anybody: ERR_USAGE with what is wrong,
 * ERR_DENIED where a bundle in plain text would be refused whatever the tracker says. Looks at no file and
 * reads no token, so `file` may be NULL; of the options at plaintext_i_know alone. handoff_run begins with
 * it; it is here for those who want to know before they make what is handed over.
 */
int handoff_check(const struct handoff_request *request, const struct handoff_options *options,
                  struct err *err);

/*
 * Does it, in the calling thread. 0: the bundle is attached, verified, and the note stands. -1: err says
 * what went wrong and to what, and *ret, which is filled in in every case, how far it came. ERR_USAGE: the
 * request cannot be right (no such project or assignee, a flag that is needed); ERR_DENIED: the tracker does
 * not accept the token, or the bundle must not go there. The file itself is only read.
 *
 * libcurl must have been initialised (fetch_global_init).
 */
int handoff_run(const struct handoff_request *request, const struct handoff_options *options,
                struct handoff_result *ret, struct err *err);

#endif
