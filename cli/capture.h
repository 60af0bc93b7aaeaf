/*
 * A capture: one run of fetch, told on stderr, written down in the manifest of a work directory, and packed
 * into a bundle. What `profgrab grab` begins and `profgrab resume` ends.
 */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "bundle/bundle.h"
#include "cli/handover.h"
#include "cli/prompt.h"
#include "cli/result.h"
#include "fetch/fetch.h"

struct capture {
    struct fetch_grab fetch;       /* all of it but the directory and the observer */
    const struct targets *against; /* of those fetched from, healthy hosts'; may be NULL */
    struct workdir *work;          /* they are the caller's; both are used up */
    struct manifest *manifest;
    struct prompt *prompt;
    struct result *result;
    const struct handover *handover; /* NULL: the bundle stays here */
    const char *inventory;           /* the option, for the line that repeats a hand-over; may be NULL */
    bool quiet, verbose;
};

/*
 * Fetches, makes the bundle, prints its path (or leaves it to the result, where that is wanted) and hands it
 * over. Signals are installed. Returns the exit code; what the whole run failed of is in err. The work
 * directory stays where there is no bundle although something was collected.
 */
int capture_run(struct capture *c, struct err *err);

#endif
