/* What only a person can answer: a passphrase, a password, what a server asks (RFC 4256). Whoever talks to
 * the person (the terminal, SSH_ASKPASS) is behind an ask_fn. */
#ifndef BASE_ASK_H
#define BASE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"

struct question {
    enum {
        ASK_HIDDEN, /* the answer is not shown as it is typed */
        ASK_SHOWN,
        ASK_TELL, /* wants no answer: a key waits to be touched */
    } kind;
    const char *prompt; /* printable, one or more lines */
    const char *key;    /* the private key, or the file, whose passphrase is wanted; NULL: it is none */
    bool again;         /* what was answered a moment ago was wrong */
    bool fresh;         /* of a passphrase that is chosen now: no earlier answer will do */
    int64_t deadline;   /* clock_now() at which the answer is not waited for any longer */
};

/* Asks; may be called from any thread and by several at a time. -1: ERR_NOT_FOUND when there is nobody to
 * ask, ERR_CANCELLED, ERR_TIMEOUT. Not ASK_TELL fills in *ret, which the caller wipes. */
typedef int ask_fn(void *ctx, const struct question *q, struct secret *ret, struct err *err);

#endif
