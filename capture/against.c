#include "capture/against.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static bool has_host(const struct targets *t, const struct host *host)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].host == host)
            return true;
    return false;
}

/* Of those that were found each host has its own, and where one has several they are told apart by port. */
static const char *family_of(const struct service *s)
{
    return s->family ? s->family : s->name;
}

static bool has_service(const struct targets *t, const struct service *service)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(family_of(t->items[i].service), family_of(service)) == 0)
            return true;
    return false;
}

static bool is_group(const struct inventory *inventory, const char *word)
{
    const char *name;
    for (size_t i = 0; (name = inventory_group_name(inventory, i)); i++)
        if (strcmp(name, word) == 0)
            return true;
    return false;
}

/* The words as a selection of their own; what is asked for there is the same as of the others. */
static int select_healthy(struct inventory *inventory, const struct strlist *words,
                          const struct selection *sick, struct targets *ret, struct err *err)
{
    struct selection sel = {.services = sick->services,
                            .port = sick->port,
                            .unix_path = sick->unix_path,
                            .path = sick->path,
                            .https = sick->https};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++)
        rc = strlist_add(is_group(inventory, words->items[i]) ? &sel.groups : &sel.hosts, words->items[i],
                         err);
    if (rc == 0)
        rc = inventory_select(inventory, &sel, ret, err);
    strlist_release(&sel.hosts);
    strlist_release(&sel.groups);
    return rc;
}

static int append(struct targets *t, const struct target *target, struct err *err)
{
    if (array_reserve((void **)&t->items, &t->cap, t->n + 1, sizeof *t->items, err) < 0)
        return -1;
    t->items[t->n++] = *target;
    return 0;
}

/* Whoever is not to be opened is not opened as a healthy one either. */
static int leave_out(const struct inventory *inventory, const struct strlist *exclude, struct targets *t,
                     struct err *err)
{
    const struct host **hosts = calloc(t->n + 1, sizeof *hosts);
    size_t n = 0, kept = 0;
    if (!hosts)
        return err_nomem(err);
    for (size_t i = 0; i < t->n; i++)
        if (n == 0 || hosts[n - 1] != t->items[i].host)
            hosts[n++] = t->items[i].host;
    int rc = inventory_exclude(inventory, exclude, hosts, &n, err);
    /* Both are in the same order. */
    for (size_t i = 0, at = 0; rc == 0 && i < t->n;) {
        const struct host *host = t->items[i].host;
        bool stays = at < n && hosts[at] == host;
        at += stays;
        for (; i < t->n && t->items[i].host == host; i++)
            if (stays)
                t->items[kept++] = t->items[i];
    }
    if (rc == 0)
        t->n = kept;
    free(hosts);
    return rc;
}

/* Keeps what can be compared. */
static int sift(const struct targets *found, const struct targets *sick, struct targets *ret, struct err *err)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct target *t = &found->items[i];
        if (has_host(sick, t->host))
            continue;
        if (has_service(sick, t->service) && append(ret, t, err) < 0)
            return -1;
        bool last = i + 1 == found->n || found->items[i + 1].host != t->host;
        if (last && !has_host(ret, t->host)) {
            err_set(err, ERR_USAGE, "%s has none of the services to be compared", t->host->name);
            return err_hint(err, "name a host that runs the same, or --service or --port for both");
        }
    }
    if (ret->n > 0)
        return 0;
    err_set(err, ERR_USAGE, "no host is left to compare with: all are selected already, or excluded");
    return err_hint(err, "a host is sick (--host) or healthy (--against), not both");
}

int against_resolve(struct inventory *inventory, const struct strlist *words,
                    const struct selection *selection, struct targets *all, struct targets *ret,
                    struct err *err)
{
    struct targets found = {0}, healthy = {0};
    int rc = select_healthy(inventory, words, selection, &found, err);
    if (rc == 0)
        rc = leave_out(inventory, &selection->exclude, &found, err);
    if (rc == 0)
        rc = sift(&found, all, &healthy, err);
    for (size_t i = 0; rc == 0 && i < healthy.n; i++)
        rc = append(all, &healthy.items[i], err);
    if (rc == 0) {
        *ret = healthy;
        healthy = (struct targets){0};
    }
    targets_release(&found);
    targets_release(&healthy);
    return rc < 0 ? err_wrap(err, "--against") : 0;
}
