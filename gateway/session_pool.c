#include "gateway/session_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/destination.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/login_key.h"
#include "gateway/carrier.h"
#include "base/banned.h"

/* The most sessions of a pool: each destination that does not answer occupies one until its dials time out.
 */
#define SESSIONS_MAX 64

struct pooled_session {
    struct pooled_session *next;
    struct hub *hub;
    struct gateway_hop facts;
    unsigned n_users;
};

struct session_pool {
    struct session_pool *next; /* in session_pools */
    bool shared;               /* session_pools owns it */
    char *key;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    bool is_opening; /* a caller is opening a session */
    unsigned n_finished_openings;
    struct err last_result;          /* of the last opening; ERR_NONE: success */
    struct pooled_session *sessions; /* newest first */
    size_t n_sessions;
};

struct session_pools {
    pthread_mutex_t mutex; /* guards the list */
    struct session_pool *first;
};

/* ---- the key of a pool --------------------------------------------------------------------------------- */

/* Adds the properties that two gateways must have in common to share a session: the login, the carrier, and
 * the address, because the configuration of ssh(1) may depend on the address. */
static void add_key(struct buf *key, const struct hop *hop)
{
    login_key_add(key, hop);
    for (const struct hop *h = hop; h; h = h->previous) {
        login_key_add_text(key, h->config->address);
        login_key_add_text(key, h->config->connect.control_path);
        login_key_add_number(key, h->config->compression);
        login_key_add_number(key, h->config->compressible);
    }
}

/* ---- creation and release ------------------------------------------------------------------------------ */

static struct session_pool *find_shared(const struct session_pools *all, const char *key)
{
    struct session_pool *p = all->first;
    while (p && strcmp(p->key, key) != 0)
        p = p->next;
    return p;
}

static struct session_pool *session_pool_new(const char *key)
{
    struct session_pool *p = calloc(1, sizeof *p);
    if (!p || !(p->key = strdup(key))) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    return p;
}

/* Finds or creates a pool that lives as long as session_pools, so that later hosts reuse its sessions. */
static int get_shared(struct session_pools *all, const char *key, struct session_pool **ret, struct err *err)
{
    pthread_mutex_lock(&all->mutex);
    struct session_pool *p = find_shared(all, key);
    if (!p && (p = session_pool_new(key))) {
        p->shared = true;
        p->next = all->first;
        all->first = p;
    }
    pthread_mutex_unlock(&all->mutex);
    *ret = p;
    return p ? 0 : err_nomem(err);
}

int session_pool_get(const struct hop *hop, struct session_pools *shared, struct session_pool **ret,
                     struct err *err)
{
    struct buf key = BUF_INIT(LOGIN_KEY_MAX);
    add_key(&key, hop);
    buf_addc(&key, '\0');
    int rc = buf_check(&key, "the configuration of ssh", err);
    if (rc == 0 && shared)
        rc = get_shared(shared, key.data, ret, err);
    else if (rc == 0 && !(*ret = session_pool_new(key.data)))
        rc = err_nomem(err);
    buf_release(&key);
    return rc;
}

static void drop_session(struct session_pool *p, struct pooled_session **at)
{
    struct pooled_session *session = *at;
    *at = session->next;
    p->n_sessions--;
    hub_stop(session->hub);
    free(session);
}

static void session_pool_free(struct session_pool *p)
{
    while (p->sessions)
        drop_session(p, &p->sessions);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    free(p->key);
    free(p);
}

void session_pool_release(struct session_pool *p)
{
    if (p && !p->shared)
        session_pool_free(p);
}

int session_pools_new(struct session_pools **ret, struct err *err)
{
    struct session_pools *all = calloc(1, sizeof *all);
    if (!all)
        return err_nomem(err);
    pthread_mutex_init(&all->mutex, NULL);
    *ret = all;
    return 0;
}

void session_pools_free(struct session_pools *all)
{
    if (!all)
        return;
    while (all->first) {
        struct session_pool *next = all->first->next;
        session_pool_free(all->first);
        all->first = next;
    }
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

/* ---- sessions ------------------------------------------------------------------------------------------ */

static struct pooled_session *find_usable_session(const struct session_pool *p, bool exclusive)
{
    struct pooled_session *session = p->sessions;
    while (session && (hub_state(session->hub, NULL) != HUB_USABLE || (exclusive && session->n_users > 0)))
        session = session->next;
    return session;
}

/* Frees unused sessions that are dead, or stuck on a destination that nobody waits for. */
static void drop_dead_sessions(struct session_pool *p)
{
    for (struct pooled_session **at = &p->sessions; *at;) {
        enum hub_state state = hub_state((*at)->hub, NULL);
        bool useless = state == HUB_ENDED || (state == HUB_STUCK && hub_is_idle((*at)->hub));
        if (useless && (*at)->n_users == 0)
            drop_session(p, at);
        else
            at = &(*at)->next;
    }
}

static int start_session(const struct hop *hop, struct pooled_session **ret, struct err *err)
{
    struct carrier carrier = {0};
    struct pooled_session *session = calloc(1, sizeof *session);
    if (!session)
        return err_nomem(err);
    if (carrier_open(hop, &carrier, &session->facts, err) < 0 ||
        hub_start(&carrier, &hop->options->limits, &session->hub, err) < 0) {
        free(session);
        return -1;
    }
    *ret = session;
    return 0;
}

/* Opens another session. Call it with the mutex locked; it unlocks the mutex while opening. */
static int add_session(const struct hop *hop, struct err *err)
{
    struct session_pool *p = hop->pool;
    struct pooled_session *session = NULL;
    struct err why = ERR_INIT;
    drop_dead_sessions(p);
    if (p->n_sessions >= SESSIONS_MAX) {
        char number[24];
        snprintf(number, sizeof number, "%zu", p->n_sessions);
        return failure_set(FAILURE_ALL_SESSIONS_STUCK, FAILURE_DETAILS(number), err);
    }
    p->is_opening = true;
    pthread_mutex_unlock(&p->mutex);
    int rc = start_session(hop, &session, &why);
    pthread_mutex_lock(&p->mutex);
    p->is_opening = false;
    p->n_finished_openings++;
    p->last_result = why;
    pthread_cond_broadcast(&p->changed);
    if (rc < 0) {
        *err = why;
        return -1;
    }
    session->next = p->sessions;
    p->sessions = session;
    p->n_sessions++;
    return 0;
}

/* Waits for another caller's opening and shares its result. */
static int wait_for_opening(struct session_pool *p, struct err *err)
{
    unsigned before = p->n_finished_openings;
    while (p->is_opening && p->n_finished_openings == before)
        pthread_cond_wait(&p->changed, &p->mutex);
    if (p->last_result.kind == ERR_NONE)
        return 0;
    *err = p->last_result;
    return -1;
}

int session_pool_acquire_hub(const struct hop *hop, bool exclusive, struct acquired_hub *ret, struct err *err)
{
    struct session_pool *p = hop->pool;
    struct pooled_session *session;
    struct err why = ERR_INIT;
    bool opened_here = false;
    int rc = 0;
    pthread_mutex_lock(&p->mutex);
    while (!(session = find_usable_session(p, exclusive)) && rc == 0) {
        opened_here = !p->is_opening;
        rc = p->is_opening ? wait_for_opening(p, &why) : add_session(hop, &why);
    }
    if (rc == 0) {
        session->n_users++;
        *ret = (struct acquired_hub){
            .hub = session->hub, .hop_facts = &session->facts, .was_open = !opened_here};
    }
    pthread_mutex_unlock(&p->mutex);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

void session_pool_release_hub(struct session_pool *p, struct hub *hub)
{
    pthread_mutex_lock(&p->mutex);
    for (struct pooled_session *session = p->sessions; session; session = session->next)
        if (session->hub == hub)
            session->n_users--;
    pthread_mutex_unlock(&p->mutex);
}

/* Retries if the session ends or gets stuck before the connection is open. After a stuck session, uses only
 * sessions without other users. */
int session_pool_dial(const struct hop *hop, const struct destination *to, int *ret_fd, struct err *err)
{
    int64_t deadline = clock_deadline(2 * hop->options->limits.step_timeout_ms);
    struct err why = ERR_INIT;
    char name[DESTINATION_NAME];
    for (bool exclusive = false, lost_before = false;;) {
        struct acquired_hub acquired;
        if (session_pool_acquire_hub(hop, exclusive, &acquired, &why) < 0)
            break;
        struct hub *hub = acquired.hub;
        int rc = hub_dial(hub, to, hop->options->limits.cancel_fd, ret_fd, &why);
        bool ended = hub_state(hub, NULL) == HUB_ENDED;
        exclusive = exclusive || hub_state(hub, NULL) == HUB_STUCK;
        session_pool_release_hub(hop->pool, hub);
        if (rc == 0)
            return 0;
        /* Give up after a second lost session: this dial may be the reason. */
        if (why.kind != ERR_LOST || (ended && lost_before))
            break;
        lost_before = lost_before || ended;
        if (clock_now() >= deadline) {
            failure_set(FAILURE_NO_FREE_SESSION, FAILURE_DETAILS(destination_name(to, name)), &why);
            break;
        }
        why = (struct err)ERR_INIT;
    }
    if (err)
        *err = why;
    return -1;
}
