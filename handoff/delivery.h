/*
 * Delivers a bundle to a team: makes a copy of it (redacted, signed, encrypted) and attaches the copy to an
 * issue of the team's tracker. steps.h has the steps at the tracker. Nothing here prints: delivery_run
 * reports its steps through callbacks.
 */
#ifndef HANDOFF_DELIVERY_H
#define HANDOFF_DELIVERY_H

#include "bundle/bundle.h"
#include "handoff/steps.h"
#include "inventory/inventory.h"
#include "seal/seal.h"

/* The user's options. NULL, empty or false: not given. */
struct delivery_options {
    const char *team;
    const char *to;            /* TRACKER:PROJECT[#ISSUE] */
    struct strlist encrypt_to; /* recipients, each a key or a file of keys */
    const char *title;         /* this and the next two: of the new issue */
    struct strlist labels;
    struct strlist assignees;
    struct strlist redact_labels; /* globs of the names of more labels to redact */
    bool plaintext_i_know;
    bool dry_run; /* make the copy, but send no request */
};
void delivery_options_release(struct delivery_options *o);

/* The resolved options. The options and the inventory must outlive this struct. */
struct delivery {
    const struct delivery_options *options;
    const struct self *self;
    const struct team *team;           /* NULL: the options name none */
    const struct tracker *tracker;     /* NULL: the copy is made, but not sent */
    char *project, *issue;             /* issue: NULL for a new one */
    struct age_recipients *recipients; /* NULL: the copy is in plain text */
    struct strlist labels, assignees;
};

/* Sets *ret to whether the options request a delivery. ERR_USAGE for options that have no meaning without a
 * delivery. */
int delivery_is_requested(const struct delivery_options *o, bool *ret, struct err *err);

/* Resolves team, place and recipients, and checks everything that needs no request: the features of the
 * tracker's kind, the existence of the token (without running a command), and the key of a required
 * signature. Call it before the capture. Every failure is ERR_USAGE. */
int delivery_prepare(const struct delivery_options *o, const struct inventory *inventory, int cancel_fd,
                     struct delivery *ret, struct err *err);
void delivery_release(struct delivery *d);

/* The parameters of one delivery_run. The callbacks may be NULL. */
struct delivery_run {
    const char *bundle;
    const char *user, *workstation; /* the names of the user and the workstation, for the copy; may be NULL */
    bundle_draw_fn *draw;           /* as in struct bundle_copy_options */
    const void *draw_ctx;
    int64_t copy_cpu_ms; /* limit for the processor time of the copy; 0: none */
    ask_fn *ask;         /* asks for the passphrase of the signing key */
    void *ask_ctx;
    int64_t ask_ms; /* timeout of the user's answer or touch */
    int cancel_fd;  /* -1: none */
    /* Called when the copy exists. The delivery then sends the copy, if it has a tracker. */
    void (*copied)(void *ctx, const struct bundle_copy_result *copy);
    /* Called if redaction has changed the title; `title` is the redacted one, which is sent. */
    void (*title_redacted)(void *ctx, const char *title);
    /* The next three members are as in struct handoff_options. */
    void (*step)(void *ctx, enum handoff_step step, enum handoff_outcome outcome, const char *text);
    void (*waiting)(void *ctx, int64_t ms, const char *because);
    void (*dry_request)(void *ctx, const struct http_dry_request *request);
    void *ctx; /* of the callbacks */
};

struct delivery_result {
    char *copy; /* the path of the copy; NULL: there is none */
    struct handoff_result handoff;
    bool attached;
};
void delivery_result_release(struct delivery_result *r);

/* Runs the delivery in the calling thread. Never changes the bundle. Sets *ret in every case: ret->handoff
 * reports the data that has left the workstation. With a tracker, libcurl must be initialised
 * (http_global_init). */
int delivery_run(const struct delivery *d, const struct delivery_run *run, struct delivery_result *ret,
                 struct err *err);

#endif
