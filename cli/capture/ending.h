/* The exit code and the last message of a run, from its outcome alone. */
#ifndef CLI_CAPTURE_ENDING_H
#define CLI_CAPTURE_ENDING_H

#include "capture/capture.h"

/* Returns the exit code (cli/term/exit.h) of a capture that was started; `signal` is the signal received, or
 * 0. */
int ending_code(const struct capture_outcome *o, int signal);

/* Sets err to the last message of a run whose bundle is not complete. If resuming the run can fetch a missing
 * item, the hint contains the command `resume_line`. */
void ending_explain(const struct capture_counts *c, const char *resume_line, struct err *err);

#endif
