/* Runs a capture for `profgrab grab` and `profgrab resume`. */
#ifndef CLI_CAPTURE_CAPTURE_COMMAND_H
#define CLI_CAPTURE_CAPTURE_COMMAND_H

#include "capture/capture.h"
#include "cli/bundle/handoff.h"
#include "cli/capture/result.h"
#include "cli/hosts/target.h"
#include "cli/term/prompt.h"

struct capture_command {
    struct capture_request request;
    struct capture_earlier *earlier; /* the run to resume; NULL: none */
    struct prompt *prompt;
    struct result *result;
    const struct delivery *handover;     /* NULL: the bundle stays here */
    const struct target_options *target; /* for command lines to repeat */
    bool quiet, verbose;
};

/*
 * Runs the capture with its progress on stderr, prints the bundle's path on stdout (unless --json prints the
 * result), and hands the bundle over. Signals are installed. Returns the exit code; err has the failure of
 * the run as a whole.
 */
int capture_command_run(const struct capture_command *c, struct err *err);

/* Hands over the bundle that the result names, as capture_command_run does at its end. Returns the exit code:
 * `code` if it succeeds. */
int capture_command_hand_over(const struct capture_command *c, int code);

/* Prints an event of resume before the run. A capture_observer's `event` without ctx. */
void capture_command_print_earlier(void *ctx, const struct capture_event *event);

/* Prints the last output: the JSON result if it is wanted; else, if the bundle's path was not printed, a line
 * on stderr. Returns the exit code. */
int capture_command_end(struct result *result, int code, const struct err *failure);

#endif
