/* Decides from facts, without a request, whether a bundle may be sent to a place. */
#ifndef HANDOFF_DECIDE_H
#define HANDOFF_DECIDE_H

#include <stdbool.h>

#include "base/base.h"

/* The people who can fetch an attachment if they have its address. */
enum readers {
    READERS_UNKNOWN,   /* the tracker does not report it: the same as anyone */
    READERS_TEAM,      /* the members of the project */
    READERS_SIGNED_IN, /* every user with an account */
    READERS_ANYONE,
};

struct facts {
    enum readers place;
    bool existing;     /* the issue existed before the hand-off */
    bool confidential; /* the flag of the issue, as the tracker last reported it */
    bool encrypted;
    bool plaintext_i_know;
};

/* Returns a phrase such as "readable by anyone". */
const char *readers_text(enum readers readers);

/* Returns 0, or ERR_DENIED with a hint. `place` is its name in messages: "project ops". */
int decide_bundle(const struct facts *f, const char *place, struct err *err);

/* Returns whether outsiders can read the issue, so that an internal note must be read back before the upload.
 */
bool decide_needs_note(const struct facts *f);

/* Returns whether the summary may be written into the note. `internal` is the flag of the note, as read
 * back. */
bool decide_summary(const struct facts *f, bool internal);

#endif
