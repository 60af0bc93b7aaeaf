/*
 * The questions of our own ssh: a passphrase, a password, a PIN, a touch of a key.
 *
 * ssh runs a program for each question (SSH_ASKPASS). That program is profgrab under another name,
 * ASKPASS_NAME. It sends the question through a Unix socket to the gateway that started ssh, and prints the
 * answer. The link ASKPASS_NAME and the socket are in the gateway's private directory, so the answer is in no
 * argument, no variable and no file.
 */
#ifndef GATEWAY_OPENSSH_ASKPASS_H
#define GATEWAY_OPENSSH_ASKPASS_H

#include "base/base.h"
#include "gateway/ssh/hop.h"

#define ASKPASS_NAME "profgrab-askpass"

/* ---- the gateway's side -------------------------------------------------------------------------------- */

struct askpass {
    int listener;  /* -1: ssh cannot ask */
    int touch_fd;  /* the connection of a prompt for a touch, open until ssh gets the touch; -1: none */
    char *program; /* the value of SSH_ASKPASS */

    /*
     * This ssh puts "(user@host) " before a server's question. OpenSSH before 8.5 does not, so a server can
     * imitate ssh's question for a passphrase and would receive the passphrase from the keyring. So the
     * keyring answers no question of an older ssh, unless servers cannot ask at all (options->ask_keys_only):
     * the user must answer, and the question shows the host's name. Set this before askpass_serve.
     */
    bool marks_server_prompts;

    /* The passphrase that this ssh requested last; other logins may need it too (keyring.h). */
    char *question;            /* NULL: none yet, or the user's answer was right */
    char *name;                /* the name of that passphrase in the keyring; NULL: it is never stored */
    unsigned long asking_ssh;  /* the process ID of the ssh that asked: the ssh of a jump host asks too */
    struct keyring *claimed;   /* the keyring that waits for the result; NULL: none waits */
    struct err missing_reason; /* why the last requested passphrase is missing; ERR_NONE: none is missing */
};

/* Creates the link ASKPASS_NAME to `program`, and the socket, in the directory. */
int askpass_init(struct askpass *a, const char *directory, const char *program, struct err *err);
/* Closes the descriptors and frees the strings. If no answer to the last question was right, the next login
 * asks the user. The owner of the directory removes the link and the socket. */
void askpass_release(struct askpass *a);

/*
 * Reads one question and answers it; may wait for the user. Returns -1 if ssh must end (ERR_CANCELLED,
 * ERR_TIMEOUT). The answer to a question about trusting a host key is always no, without asking the user. If
 * several processes of ssh need the passphrase of one key, the first asks the user and the others wait for
 * its result. The keyring stores a passphrase only if it opens the key's file. Other questions name
 * options->host; their answers are not stored.
 */
int askpass_serve(struct askpass *a, const struct login_options *options, struct err *err);

/* ---- the program's side -------------------------------------------------------------------------------- */

/* Sends a question to the socket beside `name`, the path of this program. `hint` is ssh's kind of question
 * (SSH_ASKPASS_PROMPT; NULL: not set). The caller wipes *ret. ERR_NOT_FOUND: no answer. */
int askpass_ask(const char *name, const char *hint, const char *prompt, struct secret *ret, struct err *err);

#endif
