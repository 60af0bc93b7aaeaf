/*
 * While one caller asks the user, the entry has a pipe without data. Closing its write end wakes all waiting
 * callers. Each caller polls its own duplicate of the read end, because the original descriptor may be closed
 * and its number reused.
 */
#include "base/keyring.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/banned.h"

struct entry {
    char *name;
    enum { UNKNOWN, ASKING, KNOWN, CANNOT_ASK } state;
    int done_pipe[2];
    struct secret secret; /* KNOWN */
    struct err why;       /* CANNOT_ASK */
};

struct keyring {
    pthread_mutex_t mutex;
    struct entry *entries;
    size_t n, cap;
};

char *keyring_name_of_file(const char *path)
{
    char *name = NULL, *real = realpath(path, NULL);
    if (asprintf(&name, "file %s", real ? real : path) < 0)
        name = NULL;
    free(real);
    return name;
}

int keyring_new(struct keyring **ret, struct err *err)
{
    struct keyring *k = calloc(1, sizeof *k);
    if (!k)
        return err_nomem(err);
    pthread_mutex_init(&k->mutex, NULL);
    *ret = k;
    return 0;
}

void keyring_free(struct keyring *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->n; i++) {
        free(k->entries[i].name);
        fd_close(&k->entries[i].done_pipe[0]);
        fd_close(&k->entries[i].done_pipe[1]);
        secret_wipe(&k->entries[i].secret);
    }
    free(k->entries);
    pthread_mutex_destroy(&k->mutex);
    free(k);
}

static struct entry *find_entry(struct keyring *k, const char *name)
{
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->entries[i].name, name) == 0)
            return &k->entries[i];
    return NULL;
}

/* Makes room for an entry. Does not use realloc, which would leave secrets in freed memory. */
static int reserve_entry(struct keyring *k, struct err *err)
{
    size_t cap = k->cap ? 2 * k->cap : 4;
    if (k->n < k->cap)
        return 0;
    struct entry *larger = calloc(cap, sizeof *larger);
    if (!larger)
        return err_nomem(err);
    if (k->n) {
        memcpy(larger, k->entries, k->n * sizeof *larger);
        explicit_bzero(k->entries, k->n * sizeof *larger);
    }
    free(k->entries);
    k->entries = larger;
    k->cap = cap;
    return 0;
}

static struct entry *find_or_add(struct keyring *k, const char *name, struct err *err)
{
    struct entry *e = find_entry(k, name);
    if (e || reserve_entry(k, err) < 0)
        return e;
    char *copy = strdup(name);
    if (!copy) {
        err_nomem(err);
        return NULL;
    }
    e = &k->entries[k->n++];
    *e = (struct entry){.name = copy, .done_pipe = {-1, -1}};
    return e;
}

/* Copies a known secret, or claims an unknown one. If another caller asks for the secret, sets *ret_done_fd
 * to a descriptor that becomes readable when that caller is done; the caller of this function closes it. */
static int get_or_claim_at_once(struct keyring *k, const char *name, struct secret *ret, int *ret_done_fd,
                                struct err *err)
{
    struct entry *e = find_or_add(k, name, err);
    if (!e)
        return -1;
    switch (e->state) {
    case UNKNOWN:
        if (fd_pipe(e->done_pipe, err) < 0)
            return -1;
        e->state = ASKING;
        break;
    case ASKING:
        *ret_done_fd = fcntl(e->done_pipe[0], F_DUPFD_CLOEXEC, 3);
        return *ret_done_fd < 0 ? err_sys(err, "cannot wait for an answer") : 0;
    case KNOWN:
        *ret = e->secret;
        break;
    case CANNOT_ASK:
        if (err)
            *err = e->why;
        return -1;
    }
    return 0;
}

int keyring_get_or_claim(struct keyring *k, const char *name, const struct keyring_wait *wait,
                         struct secret *ret, struct err *err)
{
    *ret = (struct secret){0};
    while (k) {
        int done_fd = -1;
        pthread_mutex_lock(&k->mutex);
        int rc = get_or_claim_at_once(k, name, ret, &done_fd, err);
        pthread_mutex_unlock(&k->mutex);
        if (rc < 0 || done_fd < 0)
            return rc;
        rc = fd_wait(done_fd, POLLIN, wait->deadline, wait->cancel_fd, err);
        fd_close(&done_fd);
        if (rc < 0)
            return err_wrap(err, "waiting for the answer to a prompt of another host");
    }
    return 0;
}

void keyring_store_result(struct keyring *k, const char *name, const struct secret *found,
                          const struct err *why)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->mutex);
    struct entry *e = find_entry(k, name);
    if (e) {
        e->state = UNKNOWN;
        if (found) {
            e->state = KNOWN;
            e->secret = *found;
        } else if (why && why->kind == ERR_NOT_FOUND) {
            e->state = CANNOT_ASK;
            e->why = *why;
        }
        fd_close(&e->done_pipe[0]);
        fd_close(&e->done_pipe[1]);
    }
    pthread_mutex_unlock(&k->mutex);
}

void keyring_forget(struct keyring *k, const char *name)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->mutex);
    struct entry *e = find_entry(k, name);
    if (e && e->state != ASKING) {
        e->state = UNKNOWN;
        secret_wipe(&e->secret);
    }
    pthread_mutex_unlock(&k->mutex);
}
