#include "gateway/way.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/destination.h"
#include "gateway/login_key.h"
#include "gateway/pool.h"
#include "base/banned.h"

/* Each destination that does not answer occupies a session until its dials time out. */
#define SESSIONS_MAX 64

struct member {
    struct member *next;
    struct hub *hub;
    struct gateway_hop hop;
    unsigned users;
};

struct way {
    struct way *next; /* in the pool's list */
    bool shared;      /* the pool owns it */
    char *key;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    bool opening;           /* a caller is opening a session */
    unsigned opened;        /* the number of finished openings */
    struct err last;        /* the result of the last opening */
    struct member *members; /* newest first */
    size_t n_members;
};

/* ---- the key of a pool --------------------------------------------------------------------------------- */

/* Two gateways share a session only with the same login and the same carrier. Our own ssh reads its
 * configuration by the address, so the key contains it too. */
static void add_key(struct buf *key, const struct hop *hop)
{
    login_key_add(key, hop);
    for (const struct hop *h = hop; h; h = h->before) {
        login_key_text(key, h->config->address);
        login_key_text(key, h->config->control_path);
        login_key_number(key, h->config->compression);
        login_key_number(key, h->config->shrinks);
    }
}

/* ---- creation and release ------------------------------------------------------------------------------ */

static struct way *find_shared(const struct gateway_pool *pool, const char *key)
{
    struct way *w = pool->ways;
    while (w && strcmp(w->key, key) != 0)
        w = w->next;
    return w;
}

static struct way *way_new(const char *key)
{
    struct way *w = calloc(1, sizeof *w);
    if (!w || !(w->key = strdup(key))) {
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    return w;
}

/* A shared one lives as long as the gateway_pool: later hosts reuse its session. */
static int get_shared(const struct hop *hop, const char *key, struct way **ret, struct err *err)
{
    struct gateway_pool *pool = hop->options->pool;
    pthread_mutex_lock(&pool->mutex);
    struct way *w = find_shared(pool, key);
    if (!w && (w = way_new(key))) {
        w->shared = true;
        w->next = pool->ways;
        pool->ways = w;
    }
    pthread_mutex_unlock(&pool->mutex);
    *ret = w;
    return w ? 0 : err_nomem(err);
}

int way_get(const struct hop *hop, bool shared, struct way **ret, struct err *err)
{
    struct buf key = BUF_INIT(LOGIN_KEY_MAX);
    add_key(&key, hop);
    buf_addc(&key, '\0');
    int rc = buf_check(&key, "the configuration of ssh", err);
    if (rc == 0 && shared && hop->options->pool)
        rc = get_shared(hop, key.data, ret, err);
    else if (rc == 0 && !(*ret = way_new(key.data)))
        rc = err_nomem(err);
    buf_release(&key);
    return rc;
}

static void drop_member(struct way *w, struct member **at)
{
    struct member *m = *at;
    *at = m->next;
    w->n_members--;
    hub_stop(m->hub);
    free(m);
}

static void way_free(struct way *w)
{
    while (w->members)
        drop_member(w, &w->members);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    free(w->key);
    free(w);
}

void way_put(struct way *w)
{
    if (w && !w->shared)
        way_free(w);
}

void ways_end(struct way *ways)
{
    while (ways) {
        struct way *next = ways->next;
        way_free(ways);
        ways = next;
    }
}

/* ---- sessions ------------------------------------------------------------------------------------------ */

static struct member *fit_member(const struct way *w, bool alone)
{
    struct member *m = w->members;
    while (m && (hub_state(m->hub, NULL) != HUB_FIT || (alone && m->users > 0)))
        m = m->next;
    return m;
}

/* Ends unused sessions that have ended or only wait for an abandoned destination. */
static void end_useless(struct way *w)
{
    for (struct member **at = &w->members; *at;) {
        enum hub_state state = hub_state((*at)->hub, NULL);
        bool useless = state == HUB_ENDED || (state == HUB_STUCK && hub_is_idle((*at)->hub));
        if (useless && (*at)->users == 0)
            drop_member(w, at);
        else
            at = &(*at)->next;
    }
}

static int start_member(const struct hop *hop, struct member **ret, struct err *err)
{
    struct carrier carrier = {0};
    struct member *m = calloc(1, sizeof *m);
    if (!m)
        return err_nomem(err);
    if (hop_open(hop, &carrier, &m->hop, err) < 0 || hub_start(&carrier, hop->options, &m->hub, err) < 0) {
        free(m);
        return -1;
    }
    *ret = m;
    return 0;
}

/* Opens another session. The caller locks the mutex, which is unlocked during the opening. */
static int add_member(const struct hop *hop, struct err *err)
{
    struct way *w = hop->way;
    struct member *m = NULL;
    struct err why = ERR_INIT;
    end_useless(w);
    if (w->n_members >= SESSIONS_MAX)
        return err_set(err, ERR_FAILED, "%zu sessions to it wait for destinations that do not answer",
                       w->n_members);
    w->opening = true;
    pthread_mutex_unlock(&w->mutex);
    int rc = start_member(hop, &m, &why);
    pthread_mutex_lock(&w->mutex);
    w->opening = false;
    w->opened++;
    w->last = why;
    pthread_cond_broadcast(&w->changed);
    if (rc < 0) {
        *err = why;
        return -1;
    }
    m->next = w->members;
    w->members = m;
    w->n_members++;
    return 0;
}

/* Waits for another caller's opening and shares its result. */
static int wait_for_other(struct way *w, struct err *err)
{
    unsigned before = w->opened;
    while (w->opening && w->opened == before)
        pthread_cond_wait(&w->changed, &w->mutex);
    if (w->last.kind == ERR_NONE)
        return 0;
    *err = w->last;
    return -1;
}

int way_hub(const struct hop *hop, bool alone, struct hub **ret, struct gateway_hop *ret_hop,
            bool *ret_shared, struct err *err)
{
    struct way *w = hop->way;
    struct member *m;
    struct err why = ERR_INIT;
    bool opened = false;
    int rc = 0;
    pthread_mutex_lock(&w->mutex);
    while (!(m = fit_member(w, alone)) && rc == 0) {
        opened = !w->opening;
        rc = w->opening ? wait_for_other(w, &why) : add_member(hop, &why);
    }
    if (rc == 0) {
        m->users++;
        *ret = m->hub;
        if (ret_hop)
            *ret_hop = m->hop;
        if (ret_shared)
            *ret_shared = !opened;
    }
    pthread_mutex_unlock(&w->mutex);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

void way_let_go(struct way *w, struct hub *hub)
{
    pthread_mutex_lock(&w->mutex);
    for (struct member *m = w->members; m; m = m->next)
        if (m->hub == hub)
            m->users--;
    pthread_mutex_unlock(&w->mutex);
}

/*
 * Retries for a while if the session is lost or stuck between the choice and the dial. After a dial that
 * waited for another destination, the retry needs a session without other users, because more destinations
 * may not answer and each would cost another round.
 */
int way_dial(const struct hop *hop, const struct destination *to, int *ret_fd, struct err *err)
{
    int64_t deadline = clock_deadline(2 * hop->options->step_timeout_ms);
    struct err why = ERR_INIT;
    char name[DESTINATION_NAME];
    for (bool alone = false, again = false;;) {
        struct hub *hub = NULL;
        if (way_hub(hop, alone, &hub, NULL, NULL, &why) < 0)
            break;
        int rc = hub_dial(hub, to, hop->options->cancel_fd, ret_fd, &why);
        bool ended = hub_state(hub, NULL) == HUB_ENDED;
        alone = alone || hub_state(hub, NULL) == HUB_STUCK;
        way_let_go(hop->way, hub);
        if (rc == 0)
            return 0;
        /* Otherwise we would log in forever at a server that ends its session over this dial. */
        if (why.kind != ERR_LOST || (ended && again))
            break;
        again = again || ended;
        if (clock_now() >= deadline) {
            err_set(&why, ERR_LOST, "no session became free for a connection to %s",
                    destination_name(to, name));
            break;
        }
        why = (struct err)ERR_INIT;
    }
    if (err)
        *err = why;
    return -1;
}
