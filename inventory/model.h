/* What an inventory is made of, for the files of this folder. */
#ifndef INVENTORY_MODEL_H
#define INVENTORY_MODEL_H

#include "inventory/discovery.h"
#include "inventory/inventory.h"
#include "base/base.h"

struct services {
    struct service **items;
    size_t n;
    size_t cap;
};

struct hosts {
    struct host **items;
    size_t n;
    size_t cap;
};

/* Hosts that belong to someone else, each name once. */
struct hostset {
    const struct host **items;
    size_t n;
    size_t cap;
    struct names seen; /* without regard to case */
};

struct group {
    char *name;
    struct hostset members; /* globs, ranges and other groups resolved */
    unsigned depth;         /* 1 without another group in it; 0: not resolved yet */
    bool resolving;         /* to find groups that contain themselves */
};

struct groups {
    struct group **items;
    size_t n;
    size_t cap;
};

struct trackers {
    struct tracker **items;
    size_t n;
    size_t cap;
};

struct teams {
    struct team **items;
    size_t n;
    size_t cap;
};

struct sources {
    struct source **items;
    size_t n;
    size_t cap;
    struct names by_name;                            /* to struct source */
    unsigned last_number[SOURCE_SCRAPE_CONFIGS + 1]; /* of each kind, of those that were named after it */
};

/* A service that was found on a host, before its name is settled. */
struct candidate {
    struct host *host;
    struct service *service;
    size_t said; /* the how manyth */
};

struct candidates {
    struct candidate *items;
    size_t n;
    size_t cap;
};

/* Names that somebody else owns. */
struct named {
    const char **items;
    size_t n;
    size_t cap;
};

struct inventory {
    char *path; /* NULL: there is no file */
    struct services services;
    struct hosts hosts;
    struct groups groups;
    struct trackers trackers;
    struct teams teams;
    struct self self;
    struct names service_names;   /* to struct service; those of the file only */
    struct names broken_services; /* while the file is read: services that are defined, but with a mistake */
    struct names host_names;      /* to struct host; those of the file only; without regard to case */
    struct names group_names;     /* to struct group */
    struct names tracker_names;   /* to struct tracker */
    struct names team_names;      /* to struct team */

    struct services made_services; /* by oneoff_service: port-N, unix-NAME */
    struct hosts made_hosts;       /* by inventory_select: outside the inventory */
    struct names made_addresses;   /* address to struct host of made_hosts */

    bool may_find; /* there is a section `discovery` */
    struct sources sources;
    struct services found_services; /* by inventory_discover */
    struct candidates candidates;   /* until inventory_discovered */
    struct names found_names;       /* to one such service on some host; families too */
    struct named found_only;        /* of those names, the ones that no service of the file has */
    struct names addresses;         /* to struct host, in the form that is compared: found_canonical */
    struct strlist address_texts;   /* those addresses */
    struct strlist failures;        /* of sources: what may be missing, and why */
};

/* Appending takes the object over, on failure too. */
int services_add(struct services *l, struct service *s, struct err *err);
int hosts_add(struct hosts *l, struct host *h, struct err *err);
void service_free(struct service *s);
void host_free(struct host *h);
void group_free(struct group *g);

/* Adds a host unless it is there; another one of the same name is ERR_USAGE. */
int hostset_add(struct hostset *set, const struct host *host, struct err *err);
void hostset_release(struct hostset *set);

#endif
