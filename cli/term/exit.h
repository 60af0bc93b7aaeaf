/* Exit codes of all commands. */
#ifndef CLI_TERM_EXIT_H
#define CLI_TERM_EXIT_H

#include "base/base.h"

enum exit_status {
    EXIT_OK = 0,       /* everything asked for is in the bundle */
    EXIT_NOTHING = 1,  /* no item arrived whole, or it failed */
    EXIT_USAGE = 2,    /* usage, inventory or an unknown kind */
    EXIT_PARTIAL = 3,  /* a bundle was written but something is missing or damaged */
    EXIT_HANDOFF = 4,  /* the bundle is safe on disk, but handing it over failed */
    EXIT_SIGNAL = 128, /* plus the signal: 129 hung up, 130 interrupted, 143 terminated */
};

/* Row i of the list of exit codes for the help: the codes, and a sentence. Returns -1 after the last. */
struct exit_status_help {
    const char *codes, *words;
};
int exit_status_help(size_t i, struct exit_status_help *ret);

/* Returns the exit code for a command that ended with this error. */
int exit_status_of(const struct err *err);

#endif
