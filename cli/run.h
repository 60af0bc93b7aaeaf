/* Runs one command. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/args/command.h"

/* Whether the words (without the command's name) contain -h or --help. */
bool run_asks_for_help(int argc, char **argv);

/* Runs the command with these words, and prints its error. Returns the exit code. */
int run_command(const struct command *c, int argc, char **argv);

/* Ends the program: prints the error, if any, and flushes stdout. Returns `code`, or another one if the
 * flush fails. */
int run_end(int code, const struct err *err);

#endif
