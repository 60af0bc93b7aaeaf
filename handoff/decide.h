/* Whether a bundle may go to a place, from facts alone. */
#ifndef HANDOFF_DECIDE_H
#define HANDOFF_DECIDE_H

#include <stdbool.h>

#include "base/base.h"

/* Who can fetch what is attached there, if they have its address. */
enum readers {
    READERS_UNKNOWN,   /* nobody said: taken for anyone */
    READERS_TEAM,      /* those whom the project has as members */
    READERS_SIGNED_IN, /* everybody with an account */
    READERS_ANYONE,
};

struct facts {
    enum readers place;
    bool existing;     /* an issue that was there before */
    bool confidential; /* the issue, as the tracker says now */
    bool encrypted;
    bool plaintext_i_know;
};

/* "readable by anyone". */
const char *readers_text(enum readers readers);

/* 0, or ERR_DENIED with what to do. `place` is what the messages call it: "project ops". */
int decide_bundle(const struct facts *f, const char *place, struct err *err);

/* Whether an internal note must be proved before anything is uploaded: others read the issue. */
bool decide_needs_note(const struct facts *f);

/* Whether words that tell something may go into a note of which `internal` was read back. */
bool decide_words(const struct facts *f, bool internal);

#endif
