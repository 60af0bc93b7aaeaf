/* A host, and the SSH settings that the inventory or the command line has for it. */
#ifndef INVENTORY_HOST_H
#define INVENTORY_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "inventory/service.h"
#include "inventory/ssh_settings.h"

struct host {
    char *name;    /* for messages and paths */
    char *address; /* for `ssh -G`, or for a direct connection */
    bool direct;   /* profgrab connects without SSH (`connect: direct`) */
    bool adhoc;    /* not in the inventory: the user gave its address */
    struct ssh_settings ssh;
    /* The services in the inventory. targets_service_at also returns discovered ones. */
    const struct service **services;
    size_t n_services;
    struct label *labels;
    size_t n_labels;
};

#endif
