/*
 * Secrets: tokens and passwords, and their sources.
 *
 * Inventories and argument lists contain only the source of a secret, never the secret. secret_read reads it
 * when it is needed, into a fixed array that the caller wipes. No error text contains any part of it.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include "base/data/err.h"
#include "base/proc.h"

enum secret_kind {
    SECRET_NONE,
    SECRET_ENV,     /* an environment variable */
    SECRET_FILE,    /* a file that only its owner can read */
    SECRET_COMMAND, /* the output of a command that /bin/sh runs */
};

struct secret_ref {
    enum secret_kind kind;
    char *locator; /* the variable's name, the file's path or the command */
};
void secret_ref_release(struct secret_ref *ref);

#define SECRET_MAX 4096
struct secret {
    char text[SECRET_MAX]; /* one line without its end, NUL-terminated */
    size_t len;
};

/*
 * Reads the secret: one line of visible ASCII characters and blanks. ERR_USAGE with a hint if the variable is
 * not set, the file is missing or open to other users, the command fails, or the text is not such a line. A
 * cancelled or slow command fails as in proc_run. `limits` apply to the command, except max_output; without a
 * command they may be NULL.
 */
int secret_read(const struct secret_ref *ref, const struct proc_limits *limits, struct secret *ret,
                struct err *err);
void secret_wipe(struct secret *s);

/* Checks that the source exists and its content is valid, before the secret is needed. Does not run a
 * command: the command may ask the user, or its output may expire before it is needed. */
int secret_check(const struct secret_ref *ref, struct err *err);

/* Replaces each copy of the secret `needle` in the text with three asterisks: the unchanged secret, its
 * printable form, and its beginning if the text was cut there (at the end of the text or before `...`).
 * Ignores a secret of fewer than three bytes, and a beginning of fewer than four. Use it on the replies of a
 * host that received the secret. */
void secret_mask(char *text, const char *needle);

/*
 * Reads the first line of a file or a named pipe (mkfifo, <(...) of a shell) and ignores the rest. The line
 * may contain any bytes but NUL, as passphrases do. Checks the file and fails as secret_read does. Waits for
 * the writer of a pipe until the deadline.
 */
int secret_read_line(const char *path, int64_t deadline, int cancel_fd, struct secret *ret, struct err *err);

/* Writes a random secret to `ret`: n random bytes in hexadecimal, 2 n digits and a NUL. */
int secret_make_hex(char *ret, size_t n, struct err *err);

/* Forbids core dumps of this process. On Linux also forbids that debuggers of the same user attach. Builds
 * with sanitizers only forbid core dumps, because sanitizers attach to the process. */
void secret_protect_process(void);

#endif
