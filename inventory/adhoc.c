#include "inventory/adhoc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/service.h"
#include "base/banned.h"

#define NAME_MAX_BYTES 160 /* of a generated name; a socket's path has at most 107 */

static int check_selection(const struct selection *sel, struct err *err)
{
    if (sel->port && sel->unix_path) {
        err_set(err, ERR_USAGE, "a port and a Unix socket are both given");
        return err_hint(err, "a service listens on one of them");
    }
    if (sel->port || sel->unix_path || (!sel->path && !sel->https))
        return 0;
    err_set(err, ERR_USAGE, "%s given, but neither a port nor a Unix socket",
            sel->path ? "the path of a service is" : "HTTPS is");
    return err_hint(err,
                    "--port N says where it listens; a service of the inventory has its own path and scheme");
}

/* Builds the start of the name: port-N, or unix- and the socket's name as a valid name. */
static void base_name(const struct selection *sel, char ret[static NAME_MAX_BYTES])
{
    if (sel->port)
        snprintf(ret, NAME_MAX_BYTES, "port-%u", sel->port);
    else
        snprintf(ret, NAME_MAX_BYTES, "unix-%s", file_base(sel->unix_path));
    for (char *p = ret; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            *p = '-';
}

static bool is_taken(const struct inventory *inv, const char *name)
{
    for (size_t i = 0; i < inv->made_services.n; i++)
        if (strcmp(inv->made_services.items[i]->name, name) == 0)
            return true;
    return names_get(&inv->service_names, name) != NULL;
}

/* Service names must be unique, because a service's profiles go to a directory of its name. */
static int find_name(const struct inventory *inv, const char *base, char **ret, struct err *err)
{
    char name[NAME_MAX_BYTES + 16];
    snprintf(name, sizeof name, "%s", base);
    for (unsigned i = 2; is_taken(inv, name); i++)
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

static bool is_same(const struct service *a, const struct service *b)
{
    const char *sockets[] = {a->unix_path ? a->unix_path : "", b->unix_path ? b->unix_path : ""};
    return a->port == b->port && a->https == b->https && strcmp(a->path, b->path) == 0 &&
           strcmp(sockets[0], sockets[1]) == 0;
}

/* Names the service and adds it to the inventory, which owns it. Returns an equal existing one instead. */
static int add_or_reuse(struct inventory *inv, struct service *service, const struct service **ret,
                        struct err *err)
{
    struct services *made = &inv->made_services;
    for (size_t i = 0; i < made->n; i++)
        if (is_same(made->items[i], service)) {
            *ret = made->items[i];
            service_free(service);
            return 0;
        }
    if (find_name(inv, service->name, &service->name, err) < 0) {
        service_free(service);
        return -1;
    }
    if (services_add(made, service, err) < 0)
        return -1;
    *ret = service;
    return 0;
}

int adhoc_service(struct inventory *inv, const struct selection *sel, const struct service **ret,
                  struct err *err)
{
    char name[NAME_MAX_BYTES];
    struct service *service = NULL;
    if (check_selection(sel, err) < 0)
        return -1;
    if (!sel->port && !sel->unix_path) {
        *ret = NULL;
        return 0;
    }
    base_name(sel, name);
    if (make_service(sel, name, &service, err) < 0)
        return -1;
    return add_or_reuse(inv, service, ret, err);
}
