/*
 * A capture: one run of fetch, told on stderr, written down in the manifest of a work directory, and packed
 * into a bundle. What `profgrab grab` begins and `profgrab resume` ends.
 */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "bundle/bundle.h"
#include "cli/handoff.h"
#include "cli/term/prompt.h"
#include "cli/result.h"
#include "cli/target.h"
#include "fetch/fetch.h"

struct capture {
    struct fetch_grab fetch;       /* all of it but the directory and the observer */
    const struct targets *against; /* of those fetched from, healthy hosts'; may be NULL */
    struct workdir *work;          /* they are the caller's; both are used up */
    struct manifest *manifest;
    struct prompt *prompt;
    struct result *result;
    const struct delivery *handover;  /* NULL: the bundle stays here */
    const struct target_options *way; /* for lines that are to be repeated */
    size_t missing;                   /* what is known to be missing before anything is opened */
    bool resumed; /* the work directory holds what earlier runs collected: it stays unless it is bundled */
    const char *bundle; /* it holds what this bundle does, which is as good unless more comes; NULL: no */
    bool quiet, verbose;
};

/*
 * Fetches, makes the bundle, prints its path (or leaves it to the result, where that is wanted) and hands it
 * over. Signals are installed. Returns the exit code; what the whole run failed of is in err. The work
 * directory stays where there is no bundle although something was collected.
 */
int capture_run(struct capture *c, struct err *err);

/* Hands over the bundle that the result names, as capture_run does at its end: the exit code, which is `code`
 * where all went well. */
int capture_hand_over(const struct capture *c, int code);

/* Checks the words for kinds, or where there are none those of each service; a profile of more than 5 minutes
 * must be meant (`yes`). ERR_USAGE. */
int capture_check_kinds(const struct strlist *kinds, const struct targets *targets, bool yes,
                        struct err *err);

/* Whether one bundle can describe what the run asks for; `pair`: each snapshot is taken twice. ERR_USAGE. */
int capture_check_room(const struct strlist *kinds, const struct targets *targets, bool pair,
                       struct err *err);

/* The last thing said: the result, if it is wanted; a bundle whose path was not told is named on stderr.
 * Returns the exit code. */
int capture_end(struct result *result, int code, const struct err *failure);

#endif
