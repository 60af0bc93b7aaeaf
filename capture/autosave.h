/*
 * Saves the manifest of a run in progress, so that a killed run can be resumed: at once before a profile that
 * takes time, otherwise at the cost of at most a tenth of the time. Threads that record a result wait for a
 * lock that is never held while the disk is written.
 */
#ifndef CAPTURE_AUTOSAVE_H
#define CAPTURE_AUTOSAVE_H

#include <pthread.h>

#include "bundle/bundle.h"

struct autosave {
    struct manifest *manifest; /* the caller's, like `work` */
    const struct workdir *work;
    pthread_mutex_t mutex;   /* guards the manifest and the members below */
    bool unsaved;            /* it has changed since it was last printed */
    int64_t saved;           /* clock_now() of the last save; 0: none */
    int64_t took;            /* how long that was */
    pthread_mutex_t writing; /* of the thread that writes to the disk */
};

void autosave_init(struct autosave *a, struct manifest *manifest, const struct workdir *work);
void autosave_release(struct autosave *a);

/* The manifest, which is this thread's until autosave_unlock. `changed`: it must be saved again. */
struct manifest *autosave_lock(struct autosave *a);
void autosave_unlock(struct autosave *a, bool changed);

/* Saves the manifest. Ignores a failure: only the end of the run needs the file. */
void autosave_now(struct autosave *a);
/* Saves it if it has changed, and if it is time: `before_long` makes it time, and waits for another thread's
 * save. */
void autosave_if_due(struct autosave *a, bool before_long);

#endif
