#include "gateway/ssh/resolve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* A lookup, which the caller and the thread share. The thread frees it if the caller has given up, else the
 * caller frees it. */
struct lookup {
    char *host;
    char service[16];
    struct addrinfo hints;
    int done[2]; /* the write end closes when there is an answer */
    pthread_mutex_t mutex;
    bool abandoned; /* the caller has given up */
    bool answered;
    int rc; /* of getaddrinfo */
    int saved_errno;
    struct addrinfo *found;
};

static void lookup_free(struct lookup *l)
{
    if (l->found)
        freeaddrinfo(l->found);
    fd_close(&l->done[0]);
    fd_close(&l->done[1]);
    pthread_mutex_destroy(&l->mutex);
    free(l->host);
    free(l);
}

static void *look_up(void *ctx)
{
    struct lookup *l = ctx;
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(l->host, l->service, &l->hints, &found);
    int saved_errno = errno;
    pthread_mutex_lock(&l->mutex);
    l->rc = rc;
    l->saved_errno = saved_errno;
    l->found = rc == 0 ? found : NULL;
    l->answered = true;
    bool abandoned = l->abandoned;
    fd_close(&l->done[1]);
    pthread_mutex_unlock(&l->mutex);
    if (abandoned)
        lookup_free(l);
    return NULL;
}

static int lookup_start(const char *host, const char *service, int family, struct lookup **ret,
                        struct err *err)
{
    pthread_t thread;
    struct lookup *l = calloc(1, sizeof *l);
    if (!l)
        return err_nomem(err);
    *l = (struct lookup){.done = {-1, -1}, .host = strdup(host)};
    l->hints = (struct addrinfo){.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    snprintf(l->service, sizeof l->service, "%s", service);
    pthread_mutex_init(&l->mutex, NULL);
    if (!l->host)
        err_nomem(err);
    else if (fd_pipe(l->done, err) == 0 && thread_start(&thread, look_up, l, err) == 0) {
        pthread_detach(thread);
        *ret = l;
        return 0;
    }
    lookup_free(l);
    return -1;
}

/* Returns whether an answer has arrived. If not, the thread frees the lookup. */
static bool claim_answer(struct lookup *l)
{
    pthread_mutex_lock(&l->mutex);
    bool answered = l->answered;
    l->abandoned = !answered;
    pthread_mutex_unlock(&l->mutex);
    return answered;
}

static int set_lookup_error(const char *host, int rc, int saved_errno, struct err *err)
{
    if (rc == EAI_SYSTEM) {
        errno = saved_errno;
        return err_sys(err, "cannot resolve %s", host);
    }
    char reason[400];
    snprintf(reason, sizeof reason, "%s: %s", host, gai_strerror(rc));
    return failure_set(FAILURE_RESOLVE, FAILURE_DETAILS(reason), err);
}

int resolve_host(const struct resolve_query *query, struct addrinfo **ret, struct err *err)
{
    const char *host = query->host;
    char service[16];
    struct err why = ERR_INIT;
    struct lookup *l = NULL;
    struct addrinfo numeric = {
        .ai_family = query->family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
    snprintf(service, sizeof service, "%u", query->port);
    if (getaddrinfo(host, service, &numeric, ret) == 0)
        return 0;
    if (lookup_start(host, service, query->family, &l, err) < 0)
        return -1;
    int rc = fd_wait(l->done[0], POLLIN, query->deadline, query->cancel_fd, &why);
    if (!claim_answer(l)) {
        if (rc < 0 && why.kind == ERR_TIMEOUT)
            failure_set(FAILURE_RESOLVER_SILENT, FAILURE_DETAILS(host), &why);
        if (err)
            *err = why;
        return -1;
    }
    rc = l->rc == 0 ? 0 : set_lookup_error(host, l->rc, l->saved_errno, err);
    if (rc == 0) {
        *ret = l->found;
        l->found = NULL;
    }
    lookup_free(l);
    return rc;
}
