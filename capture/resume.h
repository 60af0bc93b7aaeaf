/*
 * Resumes an earlier run. The manifest of that run is untrusted: it supplies only names, kinds, and addresses
 * that the inventory lacks, and profgrab checks each of these as on the command line. The user's inventory
 * and configuration determine how to reach a host.
 */
#ifndef CAPTURE_RESUME_H
#define CAPTURE_RESUME_H

#include "bundle/bundle.h"
#include "capture/events.h"
#include "capture/request.h"
#include "inventory/inventory.h"

/* An earlier run. The caller sets the first four members, then calls capture_earlier_open,
 * capture_earlier_choose_targets, capture_earlier_recover and capture_resume. capture_earlier_release is
 * valid after each of them. */
struct capture_earlier {
    const char *path;
    const char *output; /* the place for the work directory that is made of a bundle, as in
                           workdir_new_beside; NULL: beside the bundle */
    int cancel_fd;      /* or -1 */
    const struct capture_observer *observer; /* of events before the run; may be NULL */
    bool is_bundle;                          /* else a work directory */
    struct workdir *work;
    struct manifest *manifest;
    struct err damage;             /* of the bundle's archive; ERR_NONE: it is intact */
    struct targets targets;        /* the targets that are not complete; owns the discovered services */
    struct targets baseline;       /* those of `targets` on baseline hosts */
    size_t n_not_in_inventory;     /* the number of targets that the inventory lacks */
    bool begun;                    /* the new run uses the work directory */
    struct confined_budget budget; /* for the files and the page, since capture_earlier_open */
};

/*
 * Opens the work directory, or unpacks the bundle into a new one beside it or in `output`. Compares the files
 * with the manifest, and drops files that differ. Events: CAPTURE_EARLIER_DAMAGED, CAPTURE_EARLIER_CHANGED.
 */
int capture_earlier_open(struct capture_earlier *e, struct err *err);
/* Removes the work directory that capture_earlier_open made of a bundle, unless the new run has begun. */
void capture_earlier_release(struct capture_earlier *e);

/* Returns the number of requested targets that are not complete. */
size_t capture_earlier_count_incomplete(const struct capture_earlier *e);
/* Adds all hosts of the earlier run to the list, for discovery: the address of a host that the inventory
 * lacked, the names of the others. */
int capture_earlier_list_hosts(const struct capture_earlier *e, struct strlist *hosts, struct err *err);

/* Finds the incomplete targets in the inventory. A target that the inventory lacks stays incomplete, with the
 * event CAPTURE_EARLIER_NOT_IN_INVENTORY. Fails if the earlier run is a bundle and the inventory lacks all
 * targets, or if the earlier run has addresses of more than CAPTURE_MAX_OUTSIDE_HOSTS hosts (ERR_USAGE). */
enum { CAPTURE_MAX_OUTSIDE_HOSTS = 1000 };
int capture_earlier_choose_targets(struct capture_earlier *e, const struct inventory *inventory,
                                   struct err *err);

/*
 * Records the files that the earlier run could not record before it was killed, then drops the targets that
 * are complete. Call this before the first connection, because a host may no longer be reachable.
 *
 * Before each check of a file, calls `check_budget`: `directory` is the file's directory, `bytes` the size of
 * the file that was checked before it, or 0. If `check_budget` returns -1, returns -1 with the same err.
 */
int capture_earlier_recover(struct capture_earlier *e,
                            int (*check_budget)(void *ctx, const char *directory, uint64_t bytes,
                                                struct err *err),
                            void *ctx, struct err *err);

/* Works like capture_run, with e->cancel_fd. Uses the targets, kinds and pairs of the earlier run instead of
 * the request's. Ignores the subject, output and reason of the request. */
enum capture_end capture_resume(struct capture_earlier *e, const struct capture_request *request,
                                const struct capture_observer *observer, struct capture_outcome *ret,
                                struct err *err);

#endif
