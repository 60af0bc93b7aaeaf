/* The structs of an inventory, for the files of this folder. */
#ifndef INVENTORY_MODEL_H
#define INVENTORY_MODEL_H

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
    struct name_map seen; /* ignores case */
};

struct group {
    char *name;
    struct hostset members; /* the hosts of its entries, which are hosts, globs, ranges and groups */
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
    struct name_map by_name;                         /* maps names to struct source */
    unsigned last_number[SOURCE_SCRAPE_CONFIGS + 1]; /* the last number in the generated names of each kind */
};

struct inventory {
    char *path; /* NULL: no file */
    struct services services;
    struct hosts hosts;
    struct groups groups;
    struct trackers trackers;
    struct teams teams;
    struct self self;
    struct name_map service_names;   /* maps names to struct service; only services of the file */
    struct name_map broken_services; /* while reading: services that are defined with a mistake */
    struct name_map host_names;      /* maps names to struct host; only hosts of the file; ignores case */
    struct name_map group_names;     /* maps names to struct group */
    struct name_map tracker_names;   /* maps names to struct tracker */
    struct name_map team_names;      /* maps names to struct team */

    bool has_discovery; /* the file has a section `discovery` */
    struct sources sources;
};

/* Both functions append the object and take ownership of it, also on failure. */
int services_add(struct services *l, struct service *s, struct err *err);
int hosts_add(struct hosts *l, struct host *h, struct err *err);
void services_release(struct services *l);
void hosts_release(struct hosts *l);
void sources_release(struct sources *l);
void host_free(struct host *h);
void group_free(struct group *g);
void tracker_free(struct tracker *t);
void team_free(struct team *t);
void self_release(struct self *self);

/* Adds a host unless it is in the set. ERR_USAGE for another host of the same name. */
int hostset_add(struct hostset *set, const struct host *host, struct err *err);
void hostset_release(struct hostset *set);

#endif
