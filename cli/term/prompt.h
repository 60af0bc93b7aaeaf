/*
 * Asking the person at the terminal: passphrases, passwords, what a server asks. On /dev/tty, else through
 * SSH_ASKPASS as ssh does (SSH_ASKPASS_REQUIRE included). One question at a time; the others wait for it.
 *
 * What is typed for a hidden question is not shown, and the terminal is put back whatever happens: also when
 * we are stopped or interrupted meanwhile. An interruption ends the question.
 *
 * A private key's passphrase is asked for once in a run, whoever needs it: the login first, the signature of
 * what is handed over then. The last answer is kept for that, unless it is said to have been wrong.
 */
#ifndef CLI_TERM_PROMPT_H
#define CLI_TERM_PROMPT_H

#include "base/base.h"
#include "gateway/gateway.h"

struct prompt_answer;
struct prompt {
    /* Whoever draws on the terminal is told to leave it alone while a question stands; NULL: nobody draws. */
    void (*pause)(void *ctx);
    void (*resume)(void *ctx);
    void *ctx;
    bool batch;                  /* no person is asked */
    const char *passphrase_file; /* NULL: a person knows the passphrases */
    struct secret passphrase;    /* its first line */
    struct prompt_answer *answers;
    char *program; /* this one, for an ssh of ours that asks through it (cli/askpass.h); NULL: not known */
    pthread_mutex_t mutex;
};

void prompt_init(struct prompt *p);
void prompt_release(struct prompt *p);

/* From now on the first line of that file answers for every private key, and no person is asked for one. The
 * string must live as long. As secret_read_line. */
int prompt_use_file(struct prompt *p, const char *file, int64_t wait_ms, struct err *err);

/* Whether somebody sits in front of it who can be asked anything: there is a terminal, what is said goes
 * there, and it is not --batch. */
bool prompt_has_terminal(const struct prompt *p);

/* For gateway_options.ask; `ctx` is the struct prompt. */
int prompt_ask(void *ctx, const struct question *q, struct secret *ret, struct err *err);

#endif
