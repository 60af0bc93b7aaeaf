/*
 * The questions that an ssh of ours asks: a passphrase, a password, a PIN, a touch of a key.
 *
 * ssh runs a program to have them answered (SSH_ASKPASS). Here that is this very program under another name,
 * ASKPASS_NAME, which hands the question to the gateway that started ssh through a Unix socket, and prints
 * what it is answered. Name and socket lie in the gateway's private directory, so an answer is in no
 * argument, no variable and no file.
 */
#ifndef GATEWAY_ASKPASS_H
#define GATEWAY_ASKPASS_H

#include "base/base.h"
#include "gateway/gateway.h"

#define ASKPASS_NAME "profgrab-askpass"

/* ---- the gateway's side -------------------------------------------------------------------------------- */

struct askpass {
    int listener;  /* -1: nobody is asked */
    int touch;     /* a key waits to be touched as long as this is open; -1: none */
    char *program; /* for SSH_ASKPASS */

    /*
     * This ssh puts "(user@host) " in front of what a server asks. One that does not (before OpenSSH 8.5)
     * lets a server ask in the very words in which ssh asks for a passphrase; a passphrase that is known
     * already would go to that server. So its questions are all put to the person, with the host in front,
     * unless servers cannot ask at all (options->ask_keys_only). Set it before askpass_serve.
     */
    bool labels_logins;

    /* The passphrase this ssh asked for last, which others may want too (keyring.h). */
    char *question;      /* NULL: none yet */
    unsigned long asker; /* which ssh it was: one on the way asks for itself */
    bool pending;        /* the keyring waits for what comes of it */
    struct secret given;
    struct err refused; /* why the last passphrase that was wanted was not given; ERR_NONE: each was */
};

/* Puts the name and the socket into the directory; `program` is the file that is run under that name. */
int askpass_init(struct askpass *a, const char *directory, const char *program, struct err *err);
/* ssh has logged in, or has not: whether what it was answered last was right. Before askpass_release. */
void askpass_settle(struct askpass *a, const struct gateway_options *options, bool right);
/* Closes; the directory's owner removes what is in it. */
void askpass_release(struct askpass *a);

/* Takes one question and has it answered, which takes a person's time. Whether ssh may go on: ERR_CANCELLED
 * and ERR_TIMEOUT are no answer to it but its end. A question whether to trust a host key is never asked of
 * anybody: it is answered with no. The passphrase of a key that several ssh want is asked for once: the
 * others wait until the first is through with it. Other questions name options->host, and their answers are
 * neither kept nor shared. */
int askpass_serve(struct askpass *a, const struct gateway_options *options, struct err *err);

/* ---- the program's side -------------------------------------------------------------------------------- */

/* Asks at the socket beside `name`, the path this program was started as. `hint` is what ssh says of the kind
 * of question (SSH_ASKPASS_PROMPT; NULL: nothing). The caller wipes *ret. ERR_NOT_FOUND: it is not answered.
 */
int askpass_ask(const char *name, const char *hint, const char *prompt, struct secret *ret, struct err *err);

#endif
