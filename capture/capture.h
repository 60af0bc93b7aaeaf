/*
 * One capture, from a request to a bundle: opens the hosts, plans and fetches the items, finishes the
 * manifest, draws the page and packs the bundle.
 *
 * A capture prints nothing, handles no signals and chooses no exit code: it sends events to an observer, asks
 * questions through the request's callbacks, ends early when a descriptor becomes readable, and returns its
 * outcome. One process may run several captures at once.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include "capture/baseline.h"
#include "capture/estimate.h"
#include "capture/events.h"
#include "capture/open_files.h"
#include "capture/record.h"
#include "capture/request.h"
#include "capture/resume.h"

/* ---- checks before the run ----------------------------------------------------------------------------- */

/* Checks the requested kinds; if `kinds` is empty, those of each target's service. A profile of more than 5
 * minutes needs `yes`. Fails with ERR_USAGE. */
int capture_check_kinds(const struct strlist *kinds, const struct targets *targets, bool yes,
                        struct err *err);

/* Checks that the manifest of one bundle has room for all items. `pair`: each snapshot is fetched twice.
 * Fails with ERR_USAGE. */
int capture_check_room(const struct strlist *kinds, const struct targets *targets, bool pair,
                       struct err *err);

/* Checks that the limit of hosts at a time, `parallel` (0: none), allows opening all hosts at once, which
 * `sync` requires. Fails with ERR_USAGE. */
int capture_check_sync(bool sync, unsigned parallel, const struct targets *targets, struct err *err);

/* ---- the run ------------------------------------------------------------------------------------------- */

/* Returns whether the bundle has every requested item, and the run was not cancelled. */
bool capture_is_complete(const struct capture_outcome *o);
void capture_outcome_release(struct capture_outcome *o);

/* Set up and release the libraries. Call each once in a process: before the first capture, after the last. */
int capture_global_init(struct err *err);
void capture_global_cleanup(void);

/*
 * Runs the capture. When cancel_fd (or -1) becomes readable, it packs the items collected so far. The
 * work directory stays if there are items but no bundle. The caller releases *ret in every case.
 */
enum capture_end capture_run(const struct capture_request *request, const struct capture_observer *observer,
                             int cancel_fd, struct capture_outcome *ret, struct err *err);

#endif
