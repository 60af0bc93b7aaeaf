/*
 * Measured on runs over many hosts: a session of libssh2 has its socket, two pipes and, for each service, a
 * listener, both ends of its connection, what libcurl wakes itself with, and the file; one that OpenSSH
 * carries, a log and the socket of its master connection beside. Logging in takes no more than that.
 */
#include "fetch/fetch.h"
#include "base/banned.h"

#define EACH_HOST 8
#define EACH_SERVICE 8
/* The terminal, libraries, the inventory, the bundle, jump hosts. */
#define BESIDE 100

/* How many connections to a service there are at a time: one, and with `concurrent` another for each kind
 * that may take its time. */
static size_t connections(const struct fetch_grab *grab, const struct service *service)
{
    struct strlist costly = {0};
    size_t n = 1;
    if (grab->concurrent &&
        fetch_costly(grab->kinds && grab->kinds->n ? grab->kinds : &service->kinds, &costly, NULL) == 0)
        n += costly.n;
    strlist_release(&costly);
    return n;
}

/* What one host takes: the one with most connections. */
static size_t look_at(const struct fetch_grab *grab)
{
    const struct targets *targets = grab->targets;
    size_t here = 0, most = 0;
    for (size_t i = 0; i < targets->n; i++) {
        bool another = i == 0 || targets->items[i].host != targets->items[i - 1].host;
        here = (another ? 0 : here) + connections(grab, targets->items[i].service);
        most = here > most ? here : most;
    }
    return EACH_HOST + most * EACH_SERVICE;
}

size_t fetch_at_once(const struct fetch_grab *grab)
{
    size_t hosts = targets_hosts(grab->targets);
    return grab->sync || hosts < grab->parallel ? hosts : grab->parallel;
}

size_t fetch_descriptors(const struct fetch_grab *grab)
{
    return BESIDE + look_at(grab) * fetch_at_once(grab);
}

unsigned fetch_affordable(const struct fetch_grab *grab, size_t descriptors)
{
    size_t each = look_at(grab);
    size_t fit = descriptors > BESIDE + each ? (descriptors - BESIDE) / each : 1;
    return fit < grab->parallel ? (unsigned)fit : grab->parallel;
}
