/* Questions to the user: for a passphrase, a password, or the answer to a server's prompt (RFC 4256). An
 * ask_fn asks them on a terminal or through SSH_ASKPASS. */
#ifndef BASE_ASK_H
#define BASE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/err.h"
#include "base/secret.h"

struct question {
    enum {
        ASK_HIDDEN, /* the answer is hidden while it is typed */
        ASK_SHOWN,
        ASK_NOTICE, /* a notice without an answer, such as "touch the key" */
    } kind;
    const char *prompt;  /* printable, one or more lines */
    const char *file;    /* the file (a key, for example) that the passphrase opens; NULL: the question is not
                            for a file's passphrase */
    bool is_retry;       /* the previous answer was wrong */
    bool bypass_keyring; /* do not use the keyring, because the user chooses a new passphrase, or because the
                            caller looks up and stores the answer itself */
    int64_t deadline;    /* the value of clock_now() at which the wait for the answer ends */
};

/* Asks the user. Several threads may call it at the same time. Except for ASK_NOTICE, fills *ret, which the
 * caller wipes. Fails with ERR_CANCELLED or ERR_TIMEOUT, or with ERR_NOT_FOUND if there is neither a
 * terminal nor SSH_ASKPASS. */
typedef int ask_fn(void *ctx, const struct question *q, struct secret *ret, struct err *err);

#endif
