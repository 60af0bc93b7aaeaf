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

/* What one host takes: the one with most services. */
static size_t look_at(const struct targets *targets)
{
    size_t services = 0, most = 0;
    for (size_t i = 0; i < targets->n; i++) {
        bool another = i == 0 || targets->items[i].host != targets->items[i - 1].host;
        services = another ? 1 : services + 1;
        most = services > most ? services : most;
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
    return BESIDE + look_at(grab->targets) * fetch_at_once(grab);
}

unsigned fetch_affordable(const struct fetch_grab *grab, size_t descriptors)
{
    size_t each = look_at(grab->targets);
    size_t fit = descriptors > BESIDE + each ? (descriptors - BESIDE) / each : 1;
    return fit < grab->parallel ? (unsigned)fit : grab->parallel;
}
