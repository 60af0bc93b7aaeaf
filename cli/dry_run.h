/* `grab --dry-run`: what a capture would open and fetch, and what that would cost, without fetching anything.
 */
#ifndef CLI_DRY_RUN_H
#define CLI_DRY_RUN_H

#include "cli/handoff.h"
#include "cli/target.h"
#include "fetch/fetch.h"

struct dry_run {
    struct fetch_grab fetch; /* all of it but the observer; its prompt is `prompt` */
    struct prompt *prompt;
    const struct target_options *way; /* for lines that are to be repeated */
    const struct delivery *handover;  /* NULL: the bundle would stay here */
    bool json, quiet, verbose;
};

/*
 * Opens the hosts, reads their index pages and prints on stdout what would be fetched, as a table or as JSON
 * (docs/formats.md). Signals are installed. Returns the exit code that a capture would have if all went as it
 * did now: 0, 3 where something would be missing, 1 or 2 where nothing would come.
 */
int dry_run(const struct dry_run *how, struct err *err);

#endif
