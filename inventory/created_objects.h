/* The hosts, services and sources that selections and discovery create. struct targets owns them. */
#ifndef INVENTORY_CREATED_OBJECTS_H
#define INVENTORY_CREATED_OBJECTS_H

#include "inventory/model.h"

/* The discovered services of one host. */
struct host_services {
    const struct service **items;
    size_t n;
    size_t cap;
};

/* A list of names that another object owns. */
struct name_list {
    const char **items;
    size_t n;
    size_t cap;
};

struct created_objects {
    struct hosts adhoc_hosts;   /* the hosts at addresses of the selection */
    struct hosts named_hosts;   /* other ad hoc hosts, which patterns match too (targets_select_source) */
    struct name_map by_address; /* maps addresses to the hosts of both lists */
    struct name_map by_name;    /* maps names to `named_hosts`; ignores case */

    struct services adhoc_services;      /* port-N, unix-NAME */
    struct services discovered_services; /* added by targets_take_service */
    struct name_map by_host;             /* maps host names to struct host_services */
    struct name_map service_names;       /* maps service names, and the common names of several services
                                            (service.family), to a discovered service of any host */
    struct name_list discovered_names;   /* the `service_names` that no service of the inventory has */

    struct sources sources;   /* the sources that --from names as [KIND:]URL or [KIND:]FILE */
    struct source_use **uses; /* the sources that this run queries */
    size_t n_uses, cap_uses;
    struct strlist failures; /* NAME: ERROR of each failed source, whose targets are missing */
};

/* Creates t->created if it is missing. NULL if out of memory. */
struct created_objects *targets_created(struct targets *t, struct err *err);

/* The hosts and services that names can mean: those of an inventory, and created ones. */
struct scope {
    const struct inventory *inv;
    const struct created_objects *created; /* NULL: none */
};
struct scope scope_of(const struct inventory *inv, const struct targets *t);

/* Returns host i: first the hosts of the inventory, then named_hosts. NULL after the last. */
const struct host *scope_host_at(const struct scope *s, size_t i);
const struct host *scope_find_host(const struct scope *s, const char *name);

/* Returns the service of that name, from the inventory or discovered on any host. NULL: none. */
const struct service *scope_find_service(const struct scope *s, const char *name);

/* Returns service i of the host: first its own, then the discovered ones. NULL after the last. */
const struct service *scope_service_at(const struct scope *s, const struct host *host, size_t i);

#endif
