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

/* How many hosts there are, and how many descriptors the one with most services needs. */
static size_t look_at(const struct targets *targets, size_t *ret_each)
{
    size_t hosts = 0, services = 0, most = 0;
    for (size_t i = 0; i < targets->n; i++) {
        bool another = i == 0 || targets->items[i].host != targets->items[i - 1].host;
        hosts += another;
        services = another ? 1 : services + 1;
        most = services > most ? services : most;
    }
    *ret_each = EACH_HOST + most * EACH_SERVICE;
    return hosts;
}

size_t fetch_descriptors(const struct fetch_grab *grab)
{
    size_t each, hosts = look_at(grab->targets, &each);
    return BESIDE + each * (hosts < grab->parallel ? hosts : grab->parallel);
}

unsigned fetch_affordable(const struct fetch_grab *grab, size_t descriptors)
{
    size_t each;
    look_at(grab->targets, &each);
    size_t fit = descriptors > BESIDE + each ? (descriptors - BESIDE) / each : 1;
    return fit < grab->parallel ? (unsigned)fit : grab->parallel;
}
