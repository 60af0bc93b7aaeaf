#include "capture/autosave.h"

#include "base/banned.h"

void autosave_init(struct autosave *a, struct manifest *manifest, const struct workdir *work)
{
    *a = (struct autosave){.manifest = manifest, .work = work};
    pthread_mutex_init(&a->mutex, NULL);
    pthread_mutex_init(&a->writing, NULL);
}

void autosave_release(struct autosave *a)
{
    pthread_mutex_destroy(&a->mutex);
    pthread_mutex_destroy(&a->writing);
}

struct manifest *autosave_lock(struct autosave *a)
{
    pthread_mutex_lock(&a->mutex);
    return a->manifest;
}

void autosave_unlock(struct autosave *a, bool changed)
{
    a->unsaved |= changed;
    pthread_mutex_unlock(&a->mutex);
}

/* Whether at least nine times the last save's duration has passed since. */
static bool is_due(struct autosave *a, bool before_long)
{
    pthread_mutex_lock(&a->mutex);
    bool due = a->unsaved && (before_long || clock_now() - a->saved >= 9 * a->took);
    pthread_mutex_unlock(&a->mutex);
    return due;
}

/* The caller holds `writing`, so a newer text is never overwritten by an older one. */
static void write_manifest(struct autosave *a)
{
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int64_t began = clock_now();
    pthread_mutex_lock(&a->mutex);
    int rc = manifest_print(a->manifest, &text, NULL);
    a->unsaved = false;
    pthread_mutex_unlock(&a->mutex);
    if (rc == 0)
        manifest_save_text(&text, a->work, NULL);
    pthread_mutex_lock(&a->mutex);
    a->saved = clock_now();
    a->took = a->saved - began;
    pthread_mutex_unlock(&a->mutex);
    buf_release(&text);
}

void autosave_now(struct autosave *a)
{
    pthread_mutex_lock(&a->writing);
    write_manifest(a);
    pthread_mutex_unlock(&a->writing);
}

void autosave_if_due(struct autosave *a, bool before_long)
{
    /* A long profile may be announced only after the save of another thread has ended too. */
    if (before_long)
        pthread_mutex_lock(&a->writing);
    else if (pthread_mutex_trylock(&a->writing) != 0)
        return;
    if (is_due(a, before_long))
        write_manifest(a);
    pthread_mutex_unlock(&a->writing);
}
