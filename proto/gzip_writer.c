/*
 * Fills, compresses and writes members in order. At most MEMBERS of them are in memory. A helper thread
 * compresses filled members. If no member is free, the caller's thread compresses too, so the writer also
 * works without the helper.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/gzip.h"
#include "base/banned.h"

enum { MEMBERS = 3 };

enum state { FREE, FILLED, AT_WORK, DONE };

struct member {
    enum state state;
    unsigned char *plain;
    size_t n;
    void *packed;
    size_t n_packed;
    int rc;
    struct err err;
};

struct gzip_writer {
    gzip_sink_fn *sink;
    void *ctx;
    size_t cap_plain;     /* capacity of the first member, which grows */
    size_t filling;       /* number of the member being filled; earlier ones may not be written yet */
    size_t next_to_write; /* number of the next member to write */
    bool without_helper, helper_started;
    pthread_t helper;

    /* Shared by both threads: */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct member members[MEMBERS];
    size_t next_to_compress; /* number of the next member to compress */
    bool ending;
};

static struct member *member_at(struct gzip_writer *w, size_t number)
{
    return &w->members[number % MEMBERS];
}

/* ---- compressing ---- */

/* Compresses the next filled member. Returns false if there is none. The caller holds the lock. */
static bool compress_next(struct gzip_writer *w)
{
    struct member *m = member_at(w, w->next_to_compress);
    if (m->state != FILLED)
        return false;
    m->state = AT_WORK;
    w->next_to_compress++;
    pthread_mutex_unlock(&w->lock);
    m->err = (struct err)ERR_INIT;
    m->rc = gzip_compress(m->plain, m->n, &m->packed, &m->n_packed, &m->err);
    pthread_mutex_lock(&w->lock);
    m->state = DONE;
    pthread_cond_broadcast(&w->changed);
    return true;
}

static void *run_helper(void *ctx)
{
    struct gzip_writer *w = ctx;
    pthread_mutex_lock(&w->lock);
    while (!w->ending)
        if (!compress_next(w))
            pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- filling ---- */

/* Writes the oldest member to the sink once it is compressed. */
static int write_oldest(struct gzip_writer *w, struct err *err)
{
    struct member *m = member_at(w, w->next_to_write);
    pthread_mutex_lock(&w->lock);
    while (m->state != DONE)
        if (!compress_next(w))
            pthread_cond_wait(&w->changed, &w->lock);
    m->state = FREE;
    pthread_mutex_unlock(&w->lock);
    int rc = m->rc;
    if (rc < 0)
        *err = m->err;
    else
        rc = w->sink(w->ctx, m->packed, m->n_packed, err);
    free(m->packed);
    m->packed = NULL;
    m->n = 0;
    w->next_to_write++;
    return rc;
}

/* Marks the current member, which is full or the last one, as filled. */
static void close_member(struct gzip_writer *w)
{
    pthread_mutex_lock(&w->lock);
    member_at(w, w->filling++)->state = FILLED;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Closes the full member and waits for a free one. */
static int next_member(struct gzip_writer *w, struct err *err)
{
    struct err unused = ERR_INIT;
    close_member(w);
    /* If the thread cannot start, compression is only slower. */
    if (!w->without_helper && !w->helper_started)
        w->helper_started = thread_start(&w->helper, run_helper, w, &unused) == 0;
    w->without_helper = !w->helper_started;
    if (w->filling - w->next_to_write == MEMBERS && write_oldest(w, err) < 0)
        return -1;
    struct member *m = member_at(w, w->filling);
    if (!m->plain && !(m->plain = malloc(GZIP_MEMBER_BYTES)))
        return err_nomem(err);
    return 0;
}

/* Makes room for n bytes in the current member: only the first one grows. */
static int make_room(struct gzip_writer *w, size_t n, struct err *err)
{
    struct member *m = member_at(w, w->filling);
    return w->filling > 0
               ? 0
               : array_reserve((void **)&m->plain, &w->cap_plain, m->n + n < 4096 ? 4096 : m->n + n, 1, err);
}

int gzip_writer_add(void *writer, const void *p, size_t n, struct err *err)
{
    struct gzip_writer *w = writer;
    for (const unsigned char *from = p; n > 0;) {
        struct member *m = member_at(w, w->filling);
        if (m->n == GZIP_MEMBER_BYTES && next_member(w, err) < 0)
            return -1;
        m = member_at(w, w->filling);
        size_t fits = n < GZIP_MEMBER_BYTES - m->n ? n : GZIP_MEMBER_BYTES - m->n;
        if (make_room(w, fits, err) < 0)
            return -1;
        memcpy(m->plain + m->n, from, fits);
        m->n += fits;
        from += fits;
        n -= fits;
    }
    return 0;
}

int gzip_writer_end(struct gzip_writer *w, struct err *err)
{
    close_member(w);
    while (w->next_to_write < w->filling)
        if (write_oldest(w, err) < 0)
            return -1;
    return 0;
}

/* ---- life cycle ---- */

struct gzip_writer *gzip_writer_new(gzip_sink_fn *sink, void *ctx, struct err *err)
{
    struct gzip_writer *w = calloc(1, sizeof *w);
    if (!w) {
        err_nomem(err);
        return NULL;
    }
    w->sink = sink;
    w->ctx = ctx;
    w->without_helper = !thread_has_second_processor();
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    return w;
}

void gzip_writer_free(struct gzip_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->helper_started)
        pthread_join(w->helper, NULL);
    for (size_t i = 0; i < MEMBERS; i++) {
        free(w->members[i].plain);
        free(w->members[i].packed);
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
