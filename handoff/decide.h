/* Decides whether a bundle may be sent to a place. Sends no request. */
#ifndef HANDOFF_DECIDE_H
#define HANDOFF_DECIDE_H

#include <stdbool.h>

#include "base/base.h"

/* The users who can fetch an attachment if they have its address. */
enum readers {
    READERS_UNKNOWN,   /* the tracker does not report the readers: treated as READERS_ANYONE */
    READERS_TEAM,      /* the members of the project */
    READERS_SIGNED_IN, /* every user with an account */
    READERS_ANYONE,    /* everybody, also without an account */
};

/* The facts on which the decisions depend. */
struct facts {
    enum readers readers;  /* of the place */
    bool existing;         /* the issue existed before the hand-off */
    bool confidential;     /* the flag of the issue, as the tracker last reported it */
    bool encrypted;        /* the bundle is encrypted */
    bool plaintext_i_know; /* the user allows plain text */
};

/* Returns a phrase such as "readable by anyone". */
const char *readers_text(enum readers readers);

/* Decides whether the bundle may be sent. If not, ERR_DENIED with a hint. `place` is the name of
 * the place in messages, such as "project ops". */
int decide_bundle(const struct facts *f, const char *place, struct err *err);

/* Returns whether outsiders can read the issue, so that the upload needs a verified internal note. */
bool decide_needs_note(const struct facts *f);

/* Returns whether the summary may be written into the note. `internal` is the flag of the note, as read
 * back. */
bool decide_summary(const struct facts *f, bool internal);

#endif
