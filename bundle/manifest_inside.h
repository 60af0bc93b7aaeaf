/* The members of struct manifest, for this folder only. */
#ifndef BUNDLE_MANIFEST_INSIDE_H
#define BUNDLE_MANIFEST_INSIDE_H

#include <jansson.h>

#include "bundle/bundle.h"
#include "bundle/fields.h"

struct manifest {
    json_t *head;  /* the facts known at the start */
    json_t *hosts; /* lists, in the manifest's form */
    json_t *files;
    json_t *run;     /* the keys of the whole run; after loading, the earlier run's `sync`; NULL: none */
    json_t *summary; /* NULL: none */
    json_t *report;
    json_t *by_name; /* the same hosts by name */
    json_t *paths;   /* the files named so far, as the keys of an object */
    int64_t finished;
    bool interrupted, complete;
    bool resumed; /* loaded: new records replace old ones */
};

/* Finds the host of that name, or the service of that name on it: NULL if there is none. Compares names in
 * the manifest's printable form. -1: no memory. */
int manifest_find_host(const struct manifest *m, const char *name, json_t **ret, struct err *err);
int manifest_find_service(const json_t *host, const char *name, json_t **ret, struct err *err);

/* Replaces `old` by `made`, or appends it if `old` is NULL. Takes it over. */
int manifest_place(json_t *list, const json_t *old, json_t *made);

/* Sorts hosts, and the services of each, in the order of the request; others follow. */
int manifest_order(struct manifest *m, struct err *err);

/* Drops the errors of hosts and services that have all requested items: the work directory contained the
 * missing ones. */
int manifest_forget_errors(struct manifest *m, struct err *err);

/* Whether two items, or an item and a plan's entry, have the same kind, argument and pair. */
bool manifest_same_item(const json_t *a, const json_t *b);
/* The first matching item of the list that also passes `fits` (NULL: any); NULL if there is none. */
typedef bool manifest_fits_fn(const json_t *item);
json_t *manifest_find_item(const json_t *list, const json_t *like, manifest_fits_fn *fits);

/* The names of an item's status, by enum manifest_status; the last is NULL. */
extern const char *const manifest_statuses[];

/* The whole manifest as JSON, its keys in the order of docs/formats.md. NULL without memory. The caller owns
 * a reference, and must not change the objects. */
json_t *manifest_json(const struct manifest *m);

#endif
