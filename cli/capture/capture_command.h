/*
 * Runs a capture for `profgrab grab` and `profgrab resume`.
 *
 * grab.c and resume.c read the options (fetch_options.h) and make a request. capture/ runs the request. This
 * folder prints the events, the targets (outcome_table.h) and the result (result.h) of the run, and chooses
 * the exit code (ending.h). dry_run.h prints the plan instead.
 */
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
    const struct delivery *delivery;     /* the hand-off; NULL: none */
    const struct target_options *target; /* the options to repeat in suggested commands */
    bool quiet, verbose;
};

/*
 * Runs the capture with its progress on stderr, prints the bundle's path on stdout (unless --json prints the
 * result), and hands the bundle off. The caller has called signals_install. Returns the exit code; err has an
 * error that concerns the whole run.
 */
int capture_command_run(const struct capture_command *c, struct err *err);

/* Hands off the bundle that the result names, as capture_command_run does at its end. Returns the exit code:
 * `code` if the hand-off succeeds. */
int capture_command_hand_off(const struct capture_command *c, int code);

/* Prints an event about the earlier run. For use as capture_observer.event; ignores ctx. */
void capture_command_print_earlier(void *ctx, const struct capture_event *event);

/* Prints the JSON result if --json is given. If that fails, prints the bundle's path on stderr. Returns
 * `code`, or EXIT_PARTIAL if `code` is EXIT_OK and the result could not be printed. */
int capture_command_end(struct result *result, int code, const struct err *failure);

#endif
