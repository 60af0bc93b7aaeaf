#include "capture/autosave.h"

#include "base/banned.h"

void autosave_init(struct autosave *a, struct manifest *manifest, const struct workdir *work)
{
    *a = (struct autosave){.manifest = manifest, .work = work};
    pthread_mutex_init(&a->manifest_mutex, NULL);
    pthread_mutex_init(&a->disk_mutex, NULL);
}

void autosave_release(struct autosave *a)
{
    pthread_mutex_destroy(&a->manifest_mutex);
    pthread_mutex_destroy(&a->disk_mutex);
}

struct manifest *autosave_lock(struct autosave *a)
{
    pthread_mutex_lock(&a->manifest_mutex);
    return a->manifest;
}

void autosave_unlock(struct autosave *a, bool changed)
{
    a->unsaved |= changed;
    pthread_mutex_unlock(&a->manifest_mutex);
}

/* Returns whether to save now. Between two saves, nine times the duration of the last one must pass, so that
 * saving takes at most a tenth of the time. */
static bool is_due(struct autosave *a, bool before_timed_item)
{
    pthread_mutex_lock(&a->manifest_mutex);
    bool due = a->unsaved && (before_timed_item || clock_now() - a->saved_at >= 9 * a->save_duration);
    pthread_mutex_unlock(&a->manifest_mutex);
    return due;
}

/* Writes the manifest. The caller locks disk_mutex, so that no older text overwrites a newer one. */
static void write_manifest(struct autosave *a)
{
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int64_t began = clock_now();
    pthread_mutex_lock(&a->manifest_mutex);
    int rc = manifest_print(a->manifest, &text, NULL);
    a->unsaved = false;
    pthread_mutex_unlock(&a->manifest_mutex);
    if (rc == 0)
        rc = manifest_save_text(&text, a->work, NULL);
    pthread_mutex_lock(&a->manifest_mutex);
    a->unsaved |= rc < 0;
    a->saved_at = clock_now();
    a->save_duration = a->saved_at - began;
    pthread_mutex_unlock(&a->manifest_mutex);
    buf_release(&text);
}

void autosave_now(struct autosave *a)
{
    pthread_mutex_lock(&a->disk_mutex);
    write_manifest(a);
    pthread_mutex_unlock(&a->disk_mutex);
}

void autosave_if_due(struct autosave *a, bool before_timed_item)
{
    /* Before a profile that takes time, wait for another thread's save. */
    if (before_timed_item)
        pthread_mutex_lock(&a->disk_mutex);
    else if (pthread_mutex_trylock(&a->disk_mutex) != 0)
        return;
    if (is_due(a, before_timed_item))
        write_manifest(a);
    pthread_mutex_unlock(&a->disk_mutex);
}
