/*
 * The first SIGINT, SIGTERM or SIGHUP makes the cancel descriptor readable. Every wait of the program polls
 * that descriptor. The second signal ends the process immediately.
 */
#ifndef CLI_TERM_SIGNALS_H
#define CLI_TERM_SIGNALS_H

#include <stdbool.h>
#include <termios.h>

#include "base/base.h"

/* Installs the handlers, and ignores SIGPIPE. A second call does nothing, except in a forked child,
 * where it creates a new cancel descriptor. */
int signals_install(struct err *err);

/* Returns the cancel descriptor, readable after a signal; -1 before signals_install. Never read from it. */
int signals_cancel_fd(void);

/* Returns the first signal received, or 0. */
int signals_received(void);

/* Sets the number of live lines at the bottom of stderr. The handler of the first signal wipes them before it
 * prints its message. */
void signals_set_live_lines(int n);

/*
 * A terminal with an open question. SIGTSTP and an exit by a signal restore its normal settings; SIGCONT
 * writes the question again. Only one terminal is registered at a time. The struct must stay valid until
 * signals_register_terminal(NULL).
 */
struct signals_terminal {
    int fd;
    struct termios normal, asking;
    const char *prompt;
};
void signals_register_terminal(const struct signals_terminal *t);

/* Sets whether the message after the first signal announces a bundle of the items collected so far; initially
 * it does not. */
void signals_announce_bundle(bool yes);

/* Sets the text, with a line feed at its end, that the second signal prints before the exit. Copies it. */
void signals_set_exit_text(const char *line);

#endif
