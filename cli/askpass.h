/* Answers the questions of an ssh that profgrab started (gateway/openssh/askpass.h). */
#ifndef CLI_ASKPASS_H
#define CLI_ASKPASS_H

#include <stdbool.h>

#include "base/base.h"

/* Whether ssh started this process as its askpass program. */
bool askpass_is_meant(int argc, char **argv);

/* Gets the answer from the parent profgrab, and prints it. Returns the exit code. */
int askpass_run(char **argv, struct err *err);

#endif
