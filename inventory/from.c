/*
 * A source of services for one run (--from SOURCE). The source gives ports, and the user names the hosts. A
 * host that only --host names is created here, before the request to the source, so that targets can belong
 * to it.
 */
#include <stdlib.h>
#include <string.h>

#include "inventory/address.h"
#include "inventory/discovery.h"
#include "inventory/match.h"
#include "inventory/exclude.h"
#include "base/banned.h"

/* Adds a host outside the inventory, from [user@]address. */
static int add_host(struct inventory *inv, const struct address *a, const char *text, struct err *err)
{
    struct host *host = calloc(1, sizeof *host);
    if (!host || !(host->name = address_name(a)) || !(host->address = strdup(text))) {
        host_free(host);
        return err_nomem(err);
    }
    host->outside = true;
    if (names_get(&inv->host_names, host->name)) {
        err_set(err, ERR_USAGE, "%s would be called like the inventory's host %s", text, host->name);
        host_free(host);
        return err_hint(err, "--host with the name means the inventory's own");
    }
    if (hosts_add(&inv->hosts, host, err) < 0 || names_add(&inv->host_names, host->name, host, err) < 0)
        return -1;
    return names_add(&inv->made_addresses, host->address, host, err);
}

static int name_host(struct inventory *inv, const char *name, struct err *err)
{
    struct address a = {0};
    if (match_is_glob(name) || names_get(&inv->group_names, name) || names_get(&inv->host_names, name))
        return 0;
    if (address_parse(name, &a, err) < 0)
        return -1;
    char *text = address_text(&a);
    int rc = !text                                   ? err_nomem(err)
             : names_get(&inv->made_addresses, text) ? 0
                                                     : add_host(inv, &a, text, err);
    free(text);
    address_release(&a);
    return rc;
}

static int name_hosts(struct inventory *inv, const char *pattern, struct err *err)
{
    struct strlist names = {0};
    int rc = match_expand(pattern, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        rc = name_host(inv, names.items[i], err);
    strlist_release(&names);
    return rc;
}

/* Returns the selection's only named host, NULL if there are none or several. */
static const struct host *only_host(const struct inventory *inv, const struct selection *sel)
{
    if (sel->hosts.n != 1 || sel->groups.n > 0)
        return NULL;
    const struct host *made = names_get(&inv->made_addresses, sel->hosts.items[0]);
    return made ? made : names_get(&inv->host_names, sel->hosts.items[0]);
}

int inventory_use_source(struct inventory *inv, const char *text, struct selection *sel, struct err *err)
{
    const struct source *found = NULL;
    if (sel->port || sel->unix_path) {
        err_set(err, ERR_USAGE, "--from and a port or a Unix socket are both given");
        return err_hint(err, "--from SOURCE says which ports there are");
    }
    if (inventory_source(inv, text, &found, err) < 0)
        return -1;
    for (size_t i = 0; i < sel->hosts.n; i++)
        if (name_hosts(inv, sel->hosts.items[i], err) < 0)
            return -1;
    /* The inventory owns its sources, so it may change them. */
    struct source *s = (struct source *)(uintptr_t)found;
    s->for_run = true;
    if (!s->host)
        s->host = only_host(inv, sel);
    sel->source = s;
    return 0;
}
