/*
 * Asks the user for passphrases, passwords and a server's questions. Uses /dev/tty, or SSH_ASKPASS under the
 * same conditions as ssh (including SSH_ASKPASS_REQUIRE). Only one question is open at a time; other
 * questions wait.
 *
 * The terminal does not echo the answer to a hidden question. Its settings are restored in every case, also
 * after SIGTSTP or an interrupt. An interrupt ends the question.
 *
 * The prompt owns the run's keyring: the user types a secret once, and logins, signatures and opened files
 * share it. The keyring keeps an answer until a caller reports it as wrong (question.is_retry). Logins store
 * their answers in the keyring themselves, because only they know which answer was right.
 */
#ifndef CLI_TERM_PROMPT_H
#define CLI_TERM_PROMPT_H

#include "base/base.h"
#include "gateway/gateway.h"

struct prompt {
    /* Called before and after a question, so that progress does not draw over it; may be NULL. */
    void (*pause)(void *ctx);
    void (*resume)(void *ctx);
    void *ctx;
    bool batch;                  /* never ask the user */
    const char *passphrase_file; /* NULL: ask the user */
    struct secret passphrase;    /* the file's first line */
    struct keyring *keyring;     /* NULL: answers are not stored */
    char *program; /* profgrab's path, which ssh runs as its askpass program (cli/main.c); NULL: unknown */
    pthread_mutex_t mutex; /* held during a question */
};

void prompt_init(struct prompt *p);
void prompt_release(struct prompt *p);

/* Uses the first line of the file as the passphrase of every private key, instead of asking the user. The
 * name must outlive the prompt. If the file is a pipe, waits at most wait_ms for its writer. Fails as
 * secret_read_line does. */
int prompt_use_file(struct prompt *p, const char *file, int64_t wait_ms, struct err *err);

/* Returns whether a user can answer on a terminal: profgrab runs in the foreground of a terminal, stderr is a
 * terminal, and --batch is not given. */
bool prompt_has_terminal(const struct prompt *p);

/* Asks the user. For use as gateway_options.ask; `ctx` is the struct prompt. */
int prompt_ask(void *ctx, const struct question *q, struct secret *ret, struct err *err);

#endif
