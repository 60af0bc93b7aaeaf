/* Running one command: the frame around it. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/args/command.h"

/* Whether the words (without the command's name) ask for help on it, by -h or --help. */
bool run_asks_for_help(int argc, char **argv);

/* Runs the command on these words. Says what went wrong. Returns the exit code. */
int run_command(const struct command *c, int argc, char **argv);

/* The end of all: says the error, if there is one, and makes sure that what was printed has arrived. Returns
 * the exit code, `code` unless something had to be added to it. */
int run_end(int code, const struct err *err);

#endif
