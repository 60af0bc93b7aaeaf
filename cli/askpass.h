/* Asking in the name of an ssh that profgrab started: gateway/openssh/askpass.h has the whole of it. */
#ifndef CLI_ASKPASS_H
#define CLI_ASKPASS_H

#include <stdbool.h>

#include "base/base.h"

/* Whether the program was started by ssh for the sake of a question. */
bool askpass_is_meant(int argc, char **argv);

/* Has the question answered and prints the answer. Returns the exit code. */
int askpass_run(char **argv, struct err *err);

#endif
