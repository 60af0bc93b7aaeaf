/* The common part of capture_run and capture_resume: fetches into a work directory, and packs the bundle. */
#ifndef CAPTURE_RUN_H
#define CAPTURE_RUN_H

#include "bundle/bundle.h"
#include "capture/events.h"
#include "capture/request.h"

/* The directory and the manifest that the run fills. */
struct run_output {
    struct workdir *work;
    struct manifest *manifest;
    bool resumed;     /* earlier runs have collected items, so the directory stays until a bundle has them */
    bool from_bundle; /* the directory has the items of a bundle, intact or damaged */
    /* An existing bundle with these items; NULL: none. If it exists, a run without new items writes no other
     * bundle. */
    const char *bundle;
    /* The budget for reading the files of earlier runs, with their size; NULL: there are no such files. */
    struct confined_budget *budget;
    size_t missing; /* targets that the run cannot fetch, because the inventory lacks them */
};

/* Runs a capture in an existing work directory. The directory and the manifest cannot be used afterwards; the
 * caller frees both. */
enum capture_end capture_in_workdir(const struct capture_request *request, const struct run_output *output,
                                    const struct capture_observer *observer, struct capture_outcome *ret,
                                    struct err *err);

#endif
