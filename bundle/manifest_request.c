/* The request of a run: the manifest's key `asked`. */
#include "bundle/manifest_internal.h"

#include <string.h>

#include "bundle/manifest_rows.h"
#include "base/banned.h"

int manifest_set_request(struct manifest *m, const struct manifest_request *request, struct err *err)
{
    struct manifest_request added = {0};
    if (json_rows_copy(manifest_request_rows, request, &added, &m->index->arena, err) < 0)
        return -1;
    m->request = added;
    m->has_request = true;
    return 0;
}

/* ---- the order ----------------------------------------------------------------------------------------- */

/* Moves the service to the end of the sorted part; `n_sorted` is the length of that part. */
static void move_to_sorted(struct manifest_host *host, struct manifest_service *service, size_t *n_sorted)
{
    const struct manifest_service moved = *service;
    struct manifest_service *to = &host->services[*n_sorted];
    if (service < to)
        return;
    memmove(to + 1, to, (size_t)(service - to) * sizeof *to);
    *to = moved;
    ++*n_sorted;
}

/* Sorts the services of a host, whose first target has the index `from`. Returns the index of the next host's
 * first target. */
static size_t order_services(const struct manifest_request *request, size_t from, struct manifest_host *host)
{
    const char *name = request->targets[from].host;
    size_t i = from, sorted = 0;
    for (; i < request->n_targets && strcmp(request->targets[i].host, name) == 0; i++) {
        struct manifest_service *service = manifest_find_service(host, request->targets[i].service);
        if (service)
            move_to_sorted(host, service, &sorted);
    }
    return i;
}

int manifest_sort(struct manifest *m, struct err *err)
{
    struct manifest_host *sorted = arena_alloc(&m->index->arena, m->n_hosts * sizeof *sorted);
    size_t *indices = arena_alloc(&m->index->arena, m->n_hosts * sizeof *indices), n = 0;
    if (!sorted || !indices)
        return err_nomem(err);
    for (size_t i = 0; i < m->request.n_targets;) {
        struct manifest_host *host = manifest_find_host(m, m->request.targets[i].host);
        i = order_services(&m->request, i, host);
        if (host && host->name) {
            sorted[n++] = *host;
            host->name = NULL; /* the host is in `sorted` */
        }
    }
    for (size_t i = 0; i < m->n_hosts; i++)
        if (m->hosts[i].name)
            sorted[n++] = m->hosts[i];
    m->hosts = sorted;
    m->cap_hosts = n;
    return manifest_index_hosts(m, indices, err);
}

/* ---- the check ----------------------------------------------------------------------------------------- */

struct seen_targets {
    struct name_map hosts, targets; /* `targets`: by HOST/SERVICE */
    struct arena arena;             /* the keys of `targets` */
};

/* Returns HOST/SERVICE, which is unique because no name contains a slash. NULL without memory. */
static const char *join_names(const struct manifest_target *t, struct arena *a)
{
    size_t n = strlen(t->host), m = strlen(t->service);
    char *name = arena_alloc(a, n + 1 + m + 1);
    if (!name)
        return NULL;
    memcpy(name, t->host, n);
    name[n] = '/';
    memcpy(name + n + 1, t->service, m);
    return name;
}

/* Checks a target, and adds it to the seen ones. same_host: the previous target has the same host. */
static int check_target(const struct manifest_target *t, bool same_host, struct seen_targets *seen,
                        struct err *err)
{
    const char *name = join_names(t, &seen->arena);
    if (!name)
        return err_nomem(err);
    if (name_map_get(&seen->targets, name))
        return err_set(err, ERR_FAILED, "%.100s: %.100s is requested twice", t->host, t->service);
    if (!same_host && name_map_get(&seen->hosts, t->host))
        return err_set(err, ERR_FAILED, "%.100s is requested again after other hosts", t->host);
    return name_map_set(&seen->hosts, t->host, t, err) < 0 ? -1 : name_map_set(&seen->targets, name, t, err);
}

int manifest_check_request(const struct manifest *m, struct err *err)
{
    const struct manifest_target *targets = m->request.targets;
    struct seen_targets seen = {0};
    int rc = 0;
    if (!m->has_request && m->n_files > 0)
        return err_set(err, ERR_NOT_FOUND,
                       "the bundle has only local files, so there is no request to repeat");
    if (!m->has_request) {
        err_set(err, ERR_NOT_FOUND, "it does not contain the request, so its missing items are not known");
        return err_hint(err, "it may come from an older profgrab: collect anew");
    }
    for (size_t i = 0; rc == 0 && i < m->request.n_targets; i++) {
        bool same_host = i > 0 && strcmp(targets[i - 1].host, targets[i].host) == 0;
        rc = check_target(&targets[i], same_host, &seen, err);
    }
    name_map_release(&seen.hosts);
    name_map_release(&seen.targets);
    arena_release(&seen.arena);
    return rc;
}
