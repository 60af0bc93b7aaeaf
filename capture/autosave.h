/*
 * Saves the manifest of a run in progress, so that a killed run can be resumed. Before a profile that takes
 * time it saves at once, otherwise so rarely that saving takes at most a tenth of the run's time. A thread
 * that records a result never waits for the disk.
 */
#ifndef CAPTURE_AUTOSAVE_H
#define CAPTURE_AUTOSAVE_H

#include <pthread.h>

#include "bundle/bundle.h"

struct autosave {
    struct manifest *manifest; /* the caller owns it and `work` */
    const struct workdir *work;
    pthread_mutex_t manifest_mutex; /* guards the manifest and the members below */
    bool unsaved;                   /* the manifest has changed since manifest_print */
    int64_t saved_at;               /* clock_now() of the last save; 0: none */
    int64_t save_duration;          /* of the last save, in milliseconds */
    pthread_mutex_t disk_mutex;     /* locked while a thread writes to the disk */
};

void autosave_init(struct autosave *a, struct manifest *manifest, const struct workdir *work);
void autosave_release(struct autosave *a);

/* Returns the manifest. No other thread uses the manifest until autosave_unlock, whose `changed` says whether
 * the caller has changed it. */
struct manifest *autosave_lock(struct autosave *a);
void autosave_unlock(struct autosave *a, bool changed);

/* Saves the manifest. Ignores a failure: the next save writes the whole manifest again. */
void autosave_now(struct autosave *a);
/* Saves a changed manifest if nine times the duration of the last save has passed since then. Before a
 * profile that takes time (`before_timed_item`), waits for another thread's save, and saves at once. */
void autosave_if_due(struct autosave *a, bool before_timed_item);

#endif
