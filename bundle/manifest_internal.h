/* The structs and functions that the files of bundle/manifest*.c share. */
#ifndef BUNDLE_MANIFEST_INTERNAL_H
#define BUNDLE_MANIFEST_INTERNAL_H

#include <jansson.h>

#include "bundle/arena.h"
#include "bundle/bundle.h"
#include "bundle/manifest_json.h"

struct manifest_index {
    struct arena arena;    /* all lists, and texts that do not belong to `source` */
    json_t *source;        /* the JSON that the manifest was read from; NULL: none */
    struct name_map hosts; /* the hosts' indices, each a size_t */
    struct name_map paths; /* the paths of files; the value `no_path` marks a removed path */
    size_t n_paths;        /* without the removed ones */
    bool resumed;          /* the manifest was loaded: new records replace old ones */
    bool finished;         /* manifest_finish was called */
};

/* Creates an empty manifest with its index. */
int manifest_alloc(struct manifest **ret, struct err *err);

/* manifest_find_host finds a host, manifest_find_service a service of `host`. Both look for the printable
 * form of `name`, and return NULL if there is none. */
struct manifest_host *manifest_find_host(const struct manifest *m, const char *name);
struct manifest_service *manifest_find_service(const struct manifest_host *host, const char *name);
/* Returns whether an item has the kind, argument and pair of `wanted`. */
bool manifest_is_same_item(const struct manifest_item *item, const struct manifest_planned *wanted);
/* Returns the first item of a list that has the kind, argument and pair of `wanted` and that `filter` accepts
 * (NULL: every item is accepted). NULL: none. */
typedef bool manifest_filter_fn(const struct manifest_item *item);
struct manifest_item *manifest_find_item(struct manifest_item *items, size_t n,
                                         const struct manifest_planned *wanted, manifest_filter_fn *filter);

/* Records the hosts' new positions in the index. Fills `indices`, an array in the arena with an element for
 * each host. Cannot fail if the index already has all hosts. */
int manifest_index_hosts(struct manifest *m, size_t *indices, struct err *err);

bool manifest_has_path(const struct manifest *m, const char *path);
int manifest_add_path(struct manifest *m, const char *path, struct err *err);
int manifest_remove_path(struct manifest *m, const char *path, struct err *err);

void manifest_set_status(struct manifest_item *item, enum manifest_status status);

/* Sorts the hosts, and the services of each host, in the order of the request. Hosts and services that are
 * not in the request follow. */
int manifest_sort(struct manifest *m, struct err *err);

/* Drops the errors of hosts and services that have all requested items. */
void manifest_drop_resolved_errors(struct manifest *m);

#endif
