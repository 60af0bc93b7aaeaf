/*
 * The numbers below were measured on runs over many hosts. A session of libssh2 has its socket, two pipes
 * and, for each service, a listener, both ends of its connection, libcurl's wake-up descriptors, and the file
 * of the item. A session over OpenSSH has a log and the socket of its master connection in addition. A login
 * needs no more descriptors.
 */
#include "fetch/fetch.h"
#include "base/banned.h"

#define PER_HOST 8
#define PER_SERVICE 8
/* The descriptors of the terminal, libraries, the inventory, the bundle and jump hosts. */
#define BASE_DESCRIPTORS 100

/* The largest number of simultaneous connections to a service: one, and with `concurrent` one more for each
 * costly kind (fetch_add_costly_kinds). */
static size_t count_connections(const struct fetch_job *grab, const struct service *service)
{
    struct strlist costly = {0};
    size_t n = 1;
    if (grab->options.concurrent &&
        fetch_add_costly_kinds(fetch_service_kinds(grab->kinds, service), &costly, NULL) == 0)
        n += costly.n;
    strlist_release(&costly);
    return n;
}

/* The most descriptors that one host needs. */
static size_t most_per_host(const struct fetch_job *grab)
{
    const struct targets *targets = grab->targets;
    size_t connections = 0, max_connections = 0;
    for (size_t i = 0; i < targets->n; i++) {
        bool is_new_host = i == 0 || targets->items[i].host != targets->items[i - 1].host;
        connections = (is_new_host ? 0 : connections) + count_connections(grab, targets->items[i].service);
        max_connections = connections > max_connections ? connections : max_connections;
    }
    return PER_HOST + max_connections * PER_SERVICE;
}

size_t fetch_hosts_at_once(const struct fetch_job *grab)
{
    size_t hosts = targets_count_hosts(grab->targets);
    return grab->options.sync || hosts < grab->options.parallel ? hosts : grab->options.parallel;
}

size_t fetch_count_descriptors(const struct fetch_job *grab)
{
    return BASE_DESCRIPTORS + most_per_host(grab) * fetch_hosts_at_once(grab);
}

unsigned fetch_affordable_hosts(const struct fetch_job *grab, size_t descriptors)
{
    size_t each = most_per_host(grab);
    size_t fit = descriptors > BASE_DESCRIPTORS + each ? (descriptors - BASE_DESCRIPTORS) / each : 1;
    return fit < grab->options.parallel ? (unsigned)fit : grab->options.parallel;
}
