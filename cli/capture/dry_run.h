/* `grab --dry-run`: prints the hosts and items that a capture would open and fetch, and their cost; fetches
 * nothing. */
#ifndef CLI_CAPTURE_DRY_RUN_H
#define CLI_CAPTURE_DRY_RUN_H

#include "capture/capture.h"
#include "cli/bundle/handoff.h"
#include "cli/hosts/target.h"

struct dry_run {
    struct capture_request request; /* its questions go through `prompt` */
    struct prompt *prompt;
    const struct target_options *target; /* the options to repeat in suggested commands */
    const struct delivery *delivery;     /* the hand-off; NULL: none */
    bool json, quiet, verbose;
};

/*
 * Opens the hosts, reads their index pages and prints the estimate on stdout, as a table or as JSON
 * (docs/formats.md). The caller has called signals_install. Returns the exit code that a successful capture
 * would return: 0; 3 if an item would be missing; 1 or 2 if nothing would be fetched.
 */
int dry_run(const struct dry_run *dry, struct err *err);

#endif
