/* The inside of struct manifest, for the rest of this folder. */
#ifndef BUNDLE_MANIFEST_H
#define BUNDLE_MANIFEST_H

#include <jansson.h>

#include "bundle/bundle.h"
#include "bundle/fields.h"

struct manifest {
    json_t *head;  /* everything that is known from the start */
    json_t *hosts; /* lists, as the manifest shows them */
    json_t *files;
    json_t *run;     /* its keys, of a loaded one the earlier run's `sync`; NULL: none */
    json_t *summary; /* NULL: none */
    json_t *report;
    json_t *by_name; /* the same hosts by name */
    json_t *paths;   /* the files named so far, as the keys of an object */
    int64_t finished;
    bool interrupted, complete;
    bool resumed; /* it was loaded: what is added takes the place of what is there */
};

/* The host of that name, the service of that name on it: NULL if there is none. Names are compared as the
 * manifest shows them. -1: no memory. */
int manifest_find_host(const struct manifest *m, const char *name, json_t **ret, struct err *err);
int manifest_find_service(const json_t *host, const char *name, json_t **ret, struct err *err);

/* Puts it in the place of `old`, or behind the others if that is NULL. Takes it over. */
int manifest_place(json_t *list, const json_t *old, json_t *made);

void manifest_put_verdicts(struct fields *r, const struct manifest_verdict *verdicts, size_t n);

/* Puts hosts, and the services of each, in the order in which they were asked for; what was not stands behind
 * them. */
int manifest_order(struct manifest *m, struct err *err);

/* Drops the errors of hosts and services that have all they were asked for: what they lacked when they were
 * tried last was found in the work directory. */
int manifest_forget_errors(struct manifest *m, struct err *err);

/* Whether two items, or an item and an entry of a plan, are of one kind, argument and pair. */
bool manifest_same_item(const json_t *a, const json_t *b);
/* The first of the list that is so, and that `fits` (NULL: any); NULL if there is none. */
typedef bool manifest_fits_fn(const json_t *item);
json_t *manifest_find_item(const json_t *list, const json_t *like, manifest_fits_fn *fits);

/* What an item's status is called, by enum manifest_status; the last is NULL. */
extern const char *const manifest_statuses[];

/* The whole manifest as JSON, its keys in the order of docs/formats.md. NULL if there is no memory. The
 * caller owns a reference, and does not change what it refers to. */
json_t *manifest_json(const struct manifest *m);

#endif
