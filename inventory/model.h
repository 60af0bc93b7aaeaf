/* The structs of an inventory, for the files of this folder. */
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

/* Hosts that another object owns, each name once. */
struct hostset {
    const struct host **items;
    size_t n;
    size_t cap;
    struct names seen; /* ignores case */
};

struct group {
    char *name;
    struct hostset members; /* with resolved globs, ranges and groups */
    unsigned depth;         /* 1 without nested groups; 0: not resolved yet */
    bool resolving;         /* detects groups that contain themselves */
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
    unsigned last_number[SOURCE_SCRAPE_CONFIGS + 1]; /* the last number in the generated names of each kind */
};

/* A discovered service without its final name. */
struct candidate {
    struct host *host;
    struct service *service;
    size_t said; /* its number in the order of discovery */
};

struct candidates {
    struct candidate *items;
    size_t n;
    size_t cap;
};

/* Names that another object owns. */
struct named {
    const char **items;
    size_t n;
    size_t cap;
};

struct inventory {
    char *path; /* NULL: no file */
    struct services services;
    struct hosts hosts;
    struct groups groups;
    struct trackers trackers;
    struct teams teams;
    struct self self;
    struct names service_names;   /* to struct service; those of the file only */
    struct names broken_services; /* while reading: services that are defined with a mistake */
    struct names host_names;      /* to struct host; those of the file only; ignores case */
    struct names group_names;     /* to struct group */
    struct names tracker_names;   /* to struct tracker */
    struct names team_names;      /* to struct team */

    struct services made_services; /* by adhoc_service: port-N, unix-NAME */
    struct hosts made_hosts;       /* by inventory_select: outside the inventory */
    struct names made_addresses;   /* address to struct host of made_hosts */

    bool has_discovery; /* there is a section `discovery` */
    struct sources sources;
    struct services found_services; /* by inventory_discover */
    struct candidates candidates;   /* until inventory_discovered */
    struct names found_names;       /* to one such service on some host; families too */
    struct named found_only;        /* the names that no service of the file has */
    struct names addresses;         /* to struct host, by canonical address: discovered_canonical */
    struct strlist address_texts;   /* those addresses */
    struct strlist failures;        /* of sources: what may be missing, and why */
};

/* Appending takes ownership of the object, also on failure. */
int services_add(struct services *l, struct service *s, struct err *err);
int hosts_add(struct hosts *l, struct host *h, struct err *err);
void service_free(struct service *s);
void host_free(struct host *h);
void group_free(struct group *g);

/* Adds a host unless it is in the set. ERR_USAGE for another host of the same name. */
int hostset_add(struct hostset *set, const struct host *host, struct err *err);
void hostset_release(struct hostset *set);

#endif
