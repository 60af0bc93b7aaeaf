/* Exit codes of all commands. */
#ifndef CLI_TERM_EXIT_H
#define CLI_TERM_EXIT_H

#include "base/base.h"

enum exit_status {
    EXIT_OK = 0,       /* the bundle has every requested item */
    EXIT_FAILED = 1,   /* no item is intact, or the command failed */
    EXIT_USAGE = 2,    /* wrong usage, an error in the inventory, or an unknown kind */
    EXIT_PARTIAL = 3,  /* the bundle lacks items, or some are damaged */
    EXIT_HANDOFF = 4,  /* the bundle was written, but the hand-off failed */
    EXIT_SIGNAL = 128, /* plus the signal: 129 SIGHUP, 130 SIGINT, 143 SIGTERM */
};

struct exit_status_help {
    const char *codes, *text; /* "129, 130, 143" and their meaning */
};
/* Sets *ret to row i of the list of exit codes for the help. Returns -1 after the last row. */
int exit_status_help(size_t i, struct exit_status_help *ret);

/* Returns the exit code for a command that ended with this error. */
int exit_status_of(const struct err *err);

#endif
