#include "capture/baseline.h"

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

/* Returns the name by which services of two hosts are compared. The names of discovered services of one
 * family may differ in the port at their end. */
static const char *get_comparison_name(const struct service *s)
{
    return s->family ? s->family : s->name;
}

static bool has_service(const struct targets *t, const struct service *service)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(get_comparison_name(t->items[i].service), get_comparison_name(service)) == 0)
            return true;
    return false;
}

static bool is_group(const struct inventory *inventory, const char *name)
{
    const char *group;
    for (size_t i = 0; (group = inventory_group_name(inventory, i)); i++)
        if (strcmp(group, name) == 0)
            return true;
    return false;
}

/* Adds the targets on the hosts and groups in `names`, with the services and the port of the selection. */
static int select_baseline(const struct inventory *inventory, const struct strlist *names,
                           const struct selection *selected, struct targets *all, struct err *err)
{
    struct selection selection = {.services = selected->services,
                                  .port = selected->port,
                                  .unix_path = selected->unix_path,
                                  .path = selected->path,
                                  .https = selected->https};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < names->n; i++)
        rc = strlist_add(is_group(inventory, names->items[i]) ? &selection.groups : &selection.hosts,
                         names->items[i], err);
    if (rc == 0)
        rc = inventory_select(inventory, &selection, all, err);
    strlist_release(&selection.hosts);
    strlist_release(&selection.groups);
    return rc;
}

static int append_target(struct targets *t, const struct target *target, struct err *err)
{
    if (array_reserve((void **)&t->items, &t->cap, t->n + 1, sizeof *t->items, err) < 0)
        return -1;
    t->items[t->n++] = *target;
    return 0;
}

/* Drops baseline targets that cannot be compared: those on selected hosts, and those whose service no
 * selected host has. The baseline targets begin at index `n_selected`. */
static int keep_comparable(struct targets *all, size_t n_selected, struct err *err)
{
    const struct targets selected = {.items = all->items, .n = n_selected};
    size_t n = all->n;
    all->n = n_selected;
    for (size_t i = n_selected; i < n; i++) {
        const struct target t = all->items[i];
        bool is_last = i + 1 == n || all->items[i + 1].host != t.host;
        if (has_host(&selected, t.host))
            continue;
        if (has_service(&selected, t.service))
            all->items[all->n++] = t;
        if (is_last && (all->n == n_selected || all->items[all->n - 1].host != t.host)) {
            err_set(err, ERR_USAGE, "%s has none of the services to be compared", t.host->name);
            return err_hint(err,
                            "name a host that runs the same service, or use --service or --port for both");
        }
    }
    if (all->n > n_selected)
        return 0;
    err_set(err, ERR_USAGE, "no host is left to compare with: all are selected already, or excluded");
    return err_hint(err, "name other hosts for --against than for --host");
}

int baseline_resolve(const struct baseline_request *request, struct targets *all, struct targets *ret,
                     struct err *err)
{
    size_t n_selected = all->n;
    int rc = select_baseline(request->inventory, request->names, request->selection, all, err);
    /* --exclude applies to the baseline hosts too. */
    if (rc == 0)
        rc = targets_exclude(request->inventory, all, n_selected, &request->selection->exclude, err);
    if (rc == 0)
        rc = keep_comparable(all, n_selected, err);
    for (size_t i = n_selected; rc == 0 && i < all->n; i++)
        rc = append_target(ret, &all->items[i], err);
    if (rc == 0)
        return 0;
    all->n = n_selected;
    targets_release(ret);
    return err_wrap(err, "--against");
}
