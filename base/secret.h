/*
 * Secrets: tokens and passwords, and where they come from.
 *
 * A secret itself stands in no inventory and no argument list, only where to find it. It is read when it is
 * needed into a fixed array, and wiped by whoever read it; no error text holds any of it.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/proc.h"

enum secret_source {
    SECRET_NONE,
    SECRET_ENV,     /* an environment variable */
    SECRET_FILE,    /* a file that only its owner can read */
    SECRET_COMMAND, /* what a command prints; run by /bin/sh */
};

struct secret_ref {
    enum secret_source source;
    char *where; /* the variable's name, the file's path or the command */
};
void secret_ref_release(struct secret_ref *ref);

#define SECRET_MAX 4096
struct secret {
    char text[SECRET_MAX]; /* one line without its end, NUL-terminated */
    size_t len;
};

/*
 * Reads it: one line of visible ASCII characters and blanks. ERR_USAGE with what to do when the variable is
 * not set, the file is missing or readable by others, the command fails, or what came is empty or no such
 * line. A command that is cancelled or takes too long: as proc_run has it. `limits` are the command's; their
 * max_output is not looked at, and without a command they may be NULL.
 */
int secret_read(const struct secret_ref *ref, const struct proc_limits *limits, struct secret *ret,
                struct err *err);
void secret_wipe(struct secret *s);

/* Whether it is where it should be and looks like one, for whoever needs it later and wants to know now. A
 * command is not run: it may ask its owner for something, or what it prints may not live that long. */
int secret_check(const struct secret_ref *ref, struct err *err);

/* Puts three asterisks in the place of a secret wherever it stands in the text, as it is or made printable,
 * and in that of what is left of it where the text was cut (at its end, or before `...`). What is shorter
 * than the asterisks is no secret. For whatever comes back from those who were told it. */
void secret_mask(char *text, const char *needle);

/*
 * Reads the first line of a file, or of a pipe with a name (mkfifo, <(...) of a shell), whatever is behind
 * it. It may hold any bytes but NUL, as passphrases do. The same conditions for the file, and ERR_USAGE;
 * whoever writes into a pipe is waited for until the deadline.
 */
int secret_read_line(const char *path, int64_t deadline, int cancel_fd, struct secret *ret, struct err *err);

/* Keeps what the process holds out of core dumps and away from debuggers of the same user, from now on.
 * Sanitizers need the latter, so their builds only limit core dumps. */
void secret_protect_process(void);

#endif
