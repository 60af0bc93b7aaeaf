/*
 * Targets (host x service), and the selections that resolve to them.
 *
 * Selections and discovery create hosts and services that are not in the inventory. struct targets owns them
 * with all their strings, and the inventory never changes. Threads may share an inventory if each has targets
 * of its own.
 */
#ifndef INVENTORY_TARGETS_H
#define INVENTORY_TARGETS_H

#include "inventory/source.h"

struct target {
    const struct host *host;
    const struct service *service;
};

struct created_objects;

/* The most services of one host that a selection may have, and the most services from sources. */
enum { TARGETS_MAX_OF_HOST = 1024, TARGETS_MAX_FROM_SOURCES = 8000 };

/* Empty if all zero. */
struct targets {
    struct target *items; /* grouped by host, each pair once */
    size_t n;
    size_t cap;
    size_t n_before_sample; /* the number of hosts before sampling; 0: no sample */
    /* The hosts, services and sources that are not in the inventory; NULL: none. */
    struct created_objects *created;
};
void targets_release(struct targets *t);
size_t targets_count_hosts(const struct targets *t);

/* ---- selection ----------------------------------------------------------------------------------------- */

struct selection {
    /* Names, globs (`file-*`), ranges (`file-[04-06]`), or [user@]address outside the inventory. */
    struct strlist hosts;
    struct strlist groups;
    /* Keeps only hosts with these labels, each NAME=VALUE. For each requested name, a host must have one of
     * the values requested for that name. Without hosts and groups, filters all hosts of the inventory. */
    struct strlist labels;
    struct strlist exclude;  /* names, globs, ranges, groups to exclude */
    unsigned sample;         /* select this many hosts at random, and keep their order; 0: all */
    unsigned max_hosts;      /* maximum number of selected hosts; more is ERR_USAGE; 0: no limit */
    struct strlist services; /* empty: all services of each host */
    /* An additional service on every selected host, outside the inventory. Its name is `port-N`, or
     * `unix-debug.sock` for a socket /run/app/debug.sock; `-2`, `-3`, ... is appended if a service has that
     * name. */
    unsigned port;             /* 0: none */
    const char *unix_path;     /* NULL: none; not together with a port */
    const char *path;          /* pprof's path on that service; NULL: the default */
    bool https;                /* over TLS, with the system's authorities */
    struct source_use *source; /* use only its services (targets_select_source); NULL: any */
};
void selection_release(struct selection *sel);

/*
 * Resolves a selection and adds the targets to `t`. Uses the services that discovery has added to `t` like
 * those of the inventory. An unknown host, group or service is ERR_USAGE with the nearest names as a hint. If
 * `port`, `unix_path`, `services` or `source` is set, a host outside the inventory is an address for ssh, and
 * its name is the address without `user@`. `t` owns the hosts and services that the call creates. Host names
 * ignore case.
 *
 * Also ERR_USAGE: a selected host without services; two hosts with the same name; a port together with a
 * socket; `path` or `https` without a port or socket; an invalid `path`; a label that no host has; an
 * exclusion that matches no host of the inventory or the selection; an exclusion of all hosts; more than
 * `max_hosts`. On failure `t` has no more targets than before.
 */
int inventory_select(const struct inventory *inv, const struct selection *sel, struct targets *t,
                     struct err *err);

/* Finds the inventory's hosts that match a name, glob, range or group name; NULL: all. ERR_USAGE for a name
 * in a range that no host has, and for a glob without a match. Free `*ret` with free(). */
int inventory_match(const struct inventory *inv, const char *pattern, const struct host ***ret, size_t *ret_n,
                    struct err *err);

/* Hosts that another object owns. */
struct host_list {
    const struct host **items;
    size_t n;
};

/* Removes the hosts that the selection's labels or exclusions filter out; keeps the order. `t` (may be NULL)
 * has the discovered services. Errors as in inventory_select. */
int inventory_filter(const struct inventory *inv, const struct targets *t, const struct selection *sel,
                     struct host_list *hosts, struct err *err);

/* Removes the targets whose hosts match an exclusion, except those before index `from`; keeps the order. An
 * earlier selection has checked the exclusions, so they may match none of these targets, or all. */
int targets_exclude(const struct inventory *inv, struct targets *t, size_t from,
                    const struct strlist *exclude, struct err *err);

/* ---- labels -------------------------------------------------------------------------------------------- */

/* Checks the form of a requested label. ERR_USAGE unless it is NAME=VALUE. */
int label_check(const char *text, struct err *err);

/* Checks whether `name` is the name of requested[i], and `value` one of the values requested for
 * that name. */
bool label_is_requested(const struct strlist *requested, size_t i, struct str name, const char *value);

/* ---- services that are not in the inventory ------------------------------------------------------------ */

/* Returns service i of the host: first its own, then the discovered ones of `t`. NULL after the last. */
const struct service *targets_service_at(const struct targets *t, const struct host *host, size_t i);

/* Returns the name of discovered service i, each name once, without names of the inventory's own services;
 * NULL after the last. */
const char *targets_discovered_name(const struct targets *t, size_t i);

/* Returns the hosts outside the inventory that a selection with a source names (targets_select_source). */
const struct host *const *targets_named_hosts(const struct targets *t, size_t *ret_n);

/* Returns the host of the inventory, or one of targets_named_hosts, by its name; NULL: none. `t` may be NULL.
 */
const struct host *targets_find_host(const struct inventory *inv, const struct targets *t, const char *name);

/* For discovery: targets_take_service takes ownership of a service, also on failure. targets_add_service adds
 * it to the services of a host; selections find it by its name and by its family. */
int targets_take_service(struct targets *t, struct service *service, struct err *err);
int targets_add_service(const struct inventory *inv, struct targets *t, const struct host *host,
                        const struct service *service, struct err *err);

/* Notes that a source failed. The error of a missing service then names the source and `why`. */
int targets_note_failed_source(struct targets *t, const struct source *source, const char *why,
                               struct err *err);

/* ---- hosts that are one machine ------------------------------------------------------------------------ */

/* Hosts of different names that are probably one machine: they have the same address, port, jump hosts, known
 * hosts and ssh configuration, and services at the same address. The profiles of such a service would be
 * fetched twice. */
struct duplicate_hosts {
    const struct host **hosts; /* two or more, in the targets' order */
    size_t n;
    size_t cap;
};
struct duplicate_hosts_list {
    struct duplicate_hosts *items;
    size_t n;
    size_t cap;
};
int targets_find_duplicates(const struct targets *t, struct duplicate_hosts_list *ret, struct err *err);
void duplicate_hosts_release(struct duplicate_hosts_list *l);

#endif
