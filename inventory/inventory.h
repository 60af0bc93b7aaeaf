/*
 * The inventory: which services run on which hosts, and how to reach the hosts.
 *
 * The parser of the YAML file (docs/inventory.md) is strict: an unknown or repeated key, a wrong type, an
 * anchor or an alias is an error with file:line:column and the nearest valid key. Hosts and services are
 * resolved to targets (host x service) before any connection. SSH settings in the inventory override the
 * user's ssh configuration (gateway/config).
 *
 * An inventory never changes after loading, so threads may share it. Hosts and services that selection and
 * discovery create belong to the targets (targets.h).
 */
#ifndef INVENTORY_INVENTORY_H
#define INVENTORY_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inventory/address.h"
#include "inventory/host.h"
#include "inventory/service.h"
#include "inventory/source.h"
#include "inventory/targets.h"
#include "inventory/team.h"
#include "base/base.h"

/* The maximum number of hosts in an inventory, with expanded ranges. */
#define INVENTORY_MAX_HOSTS 100000

struct inventory;

/*
 * Finds the path of the inventory: `option` if not NULL, else $PROFGRAB_INVENTORY; a file that one of them
 * names must exist. Without both, $XDG_CONFIG_HOME/profgrab/inventory.yaml (~/.config without that variable)
 * if it exists, else /etc/profgrab/inventory.yaml if it exists; never a file of the working directory. *ret
 * is NULL if there is no inventory; the caller frees it.
 */
int inventory_find(const char *option, char **ret, struct err *err);

/* The mistakes of an inventory file, in the order of the file. Each is ERR_USAGE, and its message begins with
 * file:line:column. */
#define MISTAKES_MAX 20
struct mistakes {
    struct err items[MISTAKES_MAX];
    size_t n;
};

struct inventory_options {
    /* The kinds of trackers that the file may name (handoff_tracker_kinds). The array ends with NULL and must
     * outlive the inventory. NULL: the file may name none. */
    const struct tracker_kind *const *tracker_kinds;
    /* Receives at most MISTAKES_MAX mistakes. err then has the mistake if there is one, or the number of
     * mistakes if there are several. NULL: reading ends at the first mistake. */
    struct mistakes *mistakes;
};

/*
 * Reads an inventory; a NULL path makes an empty one. Refuses (ERR_USAGE) a file that belongs to neither the
 * user nor root, or that others can write. Every error about its content is ERR_USAGE. NULL options are the
 * same as empty ones.
 */
int inventory_load(const char *path, const struct inventory_options *options, struct inventory **ret,
                   struct err *err);
/* Parses the bytes of an inventory in the same way; messages name the file `name`. */
int inventory_parse(const char *name, struct str text, const struct inventory_options *options,
                    struct inventory **ret, struct err *err);
void inventory_free(struct inventory *inv);

/* Returns all hosts, in the order of the file. */
const struct host *const *inventory_hosts(const struct inventory *inv, size_t *ret_n);
/* Returns the name of group or service i of the file; NULL after the last. */
const char *inventory_group_name(const struct inventory *inv, size_t i);
const char *inventory_service_name(const struct inventory *inv, size_t i);
/* Adds all labels of the inventory's hosts, as NAME=VALUE, each once. */
int inventory_labels(const struct inventory *inv, struct strlist *ret, struct err *err);
/* Returns the path of the inventory's file; NULL for an empty inventory. */
const char *inventory_path(const struct inventory *inv);

#endif
