/*
 * Signals belong to main. The first SIGINT, SIGTERM or SIGHUP makes a descriptor readable, which everything
 * that waits watches; the second leaves at once.
 */
#ifndef CLI_TERM_SIGNALS_H
#define CLI_TERM_SIGNALS_H

#include <stdbool.h>
#include <termios.h>

#include "base/base.h"

/* Installs the handlers, unless they are; SIGPIPE is ignored from then on. */
int signals_install(struct err *err);

/* Readable once a signal came; -1 before signals_install. Never read from it. */
int signals_cancel_fd(void);

/* The signal that came first, 0 for none. */
int signals_received(void);

/* How many lines the live block at the bottom of stderr has; the first signal wipes them before it speaks. */
void signals_live_lines(int n);

/*
 * A terminal on which a question stands. Whoever stops us (SIGTSTP) or makes us leave finds it as it was;
 * when we go on the question is written again. The struct must stay until it is let go, by NULL; one at a
 * time.
 */
struct signals_terminal {
    int fd;
    struct termios normal, asking;
    const char *prompt;
};
void signals_hold_terminal(const struct signals_terminal *t);

/* Whether the first signal makes profgrab bundle what it has collected so far: a terminal's user is told so.
 * Not at the beginning. */
void signals_bundles(bool yes);

/* What the second signal says before it leaves, a whole line; copied. */
void signals_farewell(const char *line);

#endif
