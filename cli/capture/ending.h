/* The exit code and the last line of a run. They depend on its outcome alone. */
#ifndef CLI_CAPTURE_ENDING_H
#define CLI_CAPTURE_ENDING_H

#include "capture/capture.h"

/* Returns the exit code (cli/term/exit.h) of a capture that was started; `signal` is the signal received, or
 * 0. */
int ending_code(const struct capture_outcome *o, int signal);

/* Sets err to the last line of a run with a bundle that is not complete; its hint is `resume_line`, a
 * command, if that can fetch any of the missing items. */
void ending_explain(const struct capture_counts *c, const char *resume_line, struct err *err);

#endif
