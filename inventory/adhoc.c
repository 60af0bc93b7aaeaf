#include "inventory/adhoc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/match.h"
#include "base/banned.h"

#define NAME_MAX_BYTES 160 /* of a generated name; a socket's path has at most 107 */

static int check_selection(const struct selection *sel, struct err *err)
{
    if (sel->port && sel->unix_path) {
        err_set(err, ERR_USAGE, "a port and a Unix socket cannot be combined");
        return err_hint(err, "a service listens on one of them");
    }
    if (sel->port || sel->unix_path || (!sel->path && !sel->https))
        return 0;
    err_set(err, ERR_USAGE, "%s given, but neither a port nor a Unix socket",
            sel->path ? "the path of a service is" : "HTTPS is");
    return err_hint(err, "add --port N; a service of the inventory has its own path and scheme");
}

/* Builds the base of a service's name: port-N, or unix- and the file name of the socket with only valid
 * characters. */
static void generate_base_name(const struct selection *sel, char ret[static NAME_MAX_BYTES])
{
    if (sel->port)
        snprintf(ret, NAME_MAX_BYTES, "port-%u", sel->port);
    else
        snprintf(ret, NAME_MAX_BYTES, "unix-%s", file_base(sel->unix_path));
    for (char *p = ret; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            *p = '-';
}

static bool is_taken(const struct inventory *inv, const struct services *made, const char *name)
{
    for (size_t i = 0; i < made->n; i++)
        if (strcmp(made->items[i]->name, name) == 0)
            return true;
    return name_map_get(&inv->service_names, name) != NULL;
}

/* Replaces *ret by a name that no service has: `base`, `base`-2, `base`-3, ... Names must be unique, because
 * a service's profiles are stored in a directory of its name. */
static int set_unique_name(const struct inventory *inv, const struct services *made, const char *base,
                           char **ret, struct err *err)
{
    char name[NAME_MAX_BYTES + 16];
    snprintf(name, sizeof name, "%s", base);
    for (unsigned i = 2; is_taken(inv, made, name); i++)
        snprintf(name, sizeof name, "%s-%u", base, i);
    char *copy = strdup(name);
    if (!copy)
        return err_nomem(err);
    free(*ret);
    *ret = copy;
    return 0;
}

static int make_service(const struct selection *sel, const char *name, struct service **ret, struct err *err)
{
    struct service *service = service_new(name, sel->port);
    if (!service)
        return err_nomem(err);
    service->https = sel->https;
    service->adhoc = true;
    if ((sel->unix_path && service_set_unix(service, sel->unix_path, err) < 0) ||
        (sel->path && service_set_path(service, sel->path, err) < 0)) {
        service_free(service);
        return -1;
    }
    *ret = service;
    return 0;
}

static bool is_same_service(const struct service *a, const struct service *b)
{
    const char *sockets[] = {a->unix_path ? a->unix_path : "", b->unix_path ? b->unix_path : ""};
    return a->port == b->port && a->https == b->https && strcmp(a->path, b->path) == 0 &&
           strcmp(sockets[0], sockets[1]) == 0;
}

/* Names the service and adds it to `made`. If `made` has an equal service, frees the new one and returns the
 * equal one. */
static int add_or_reuse(const struct inventory *inv, struct services *made, struct service *service,
                        const struct service **ret, struct err *err)
{
    for (size_t i = 0; i < made->n; i++)
        if (is_same_service(made->items[i], service)) {
            *ret = made->items[i];
            service_free(service);
            return 0;
        }
    if (set_unique_name(inv, made, service->name, &service->name, err) < 0) {
        service_free(service);
        return -1;
    }
    if (services_add(made, service, err) < 0)
        return -1;
    *ret = service;
    return 0;
}

int adhoc_service(const struct inventory *inv, struct created_objects *c, const struct selection *sel,
                  const struct service **ret, struct err *err)
{
    char name[NAME_MAX_BYTES];
    struct service *service = NULL;
    if (check_selection(sel, err) < 0)
        return -1;
    if (!sel->port && !sel->unix_path) {
        *ret = NULL;
        return 0;
    }
    generate_base_name(sel, name);
    if (make_service(sel, name, &service, err) < 0)
        return -1;
    return add_or_reuse(inv, &c->adhoc_services, service, ret, err);
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

static int make_host(const struct address *a, struct host **ret, struct err *err)
{
    struct host *host = calloc(1, sizeof *host);
    if (!host || !(host->name = address_name(a)) || !(host->address = address_text(a))) {
        host_free(host);
        return err_nomem(err);
    }
    host->adhoc = true;
    *ret = host;
    return 0;
}

/* Parses the address and finds the host that was created for it. If there is none, *ret_new receives a new
 * host, which the caller owns. */
static int find_or_make(const struct created_objects *c, const char *text, const struct host **ret,
                        struct host **ret_new, struct err *err)
{
    struct address a = {0};
    struct host *host = NULL;
    if (address_parse(text, &a, err) < 0)
        return -1;
    int rc = make_host(&a, &host, err);
    address_release(&a);
    if (rc < 0)
        return -1;
    *ret = name_map_get(&c->by_address, host->address);
    if (*ret)
        host_free(host);
    else
        *ret_new = host;
    return 0;
}

int adhoc_host(struct created_objects *c, const char *text, const struct host **ret, struct err *err)
{
    struct host *host = NULL;
    const struct host *known = NULL;
    if (find_or_make(c, text, &known, &host, err) < 0)
        return -1;
    if (host && (hosts_add(&c->adhoc_hosts, host, err) < 0 ||
                 name_map_add(&c->by_address, host->address, host, err) < 0))
        return -1;
    *ret = host ? host : known;
    return 0;
}

/* Adds the host to the created ones. Takes ownership of the host, also on failure. */
static int add_named(const struct scope *s, struct created_objects *c, struct host *host, struct err *err)
{
    if (scope_find_host(s, host->name)) {
        err_set(err, ERR_USAGE, "the host at %s would have the name of the inventory's host %s",
                host->address, host->name);
        host_free(host);
        return err_hint(err, "--host with the name selects the inventory's host");
    }
    if (hosts_add(&c->named_hosts, host, err) < 0 || name_map_add(&c->by_name, host->name, host, err) < 0)
        return -1;
    return name_map_add(&c->by_address, host->address, host, err);
}

int adhoc_create_named_hosts(const struct inventory *inv, struct created_objects *c, const char *pattern,
                             struct err *err)
{
    const struct scope s = {inv, c};
    struct strlist names = {0};
    int rc = match_expand(pattern, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = names.items[i];
        const struct host *known = NULL;
        struct host *host = NULL;
        if (match_is_glob(name) || name_map_get(&inv->group_names, name) || scope_find_host(&s, name))
            continue;
        rc = find_or_make(c, name, &known, &host, err);
        if (rc == 0 && host)
            rc = add_named(&s, c, host, err);
    }
    strlist_release(&names);
    return rc;
}
