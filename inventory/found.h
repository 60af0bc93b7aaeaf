/* Collecting what a source says. */
#ifndef INVENTORY_FOUND_H
#define INVENTORY_FOUND_H

#include "inventory/discovery.h"

/* Adds a job; *ret is its index. `name` is what anybody wrote: it is made printable, and cut where it is
 * long. */
int found_add_job(struct found *f, const char *name, size_t *ret, struct err *err);

/* The last job that was added under that name; *ret is its index. False: there is none. */
bool found_get_job(const struct found *f, const char *name, size_t *ret);

/* Adds the target at HOST, HOST:PORT, [V6]:PORT or such behind http:// or https://, with a path behind it
 * that does not count. Without a port it is the scheme's. What is no address becomes a note. ERR_FAILED if
 * there are too many. */
int found_add(struct found *f, size_t job, const char *address, bool https, struct err *err);

/* Adds a label to those of an element. Left out are Prometheus' own (`__...`, job, instance), what is no
 * label's name here, a value that is empty, long or not visible, and what goes beyond a few. */
int found_add_label(struct strlist *labels, const char *name, const char *value, struct err *err);

/* Gives these labels to the targets from number `from` on. So many as a source has targets are kept, then
 * there is a note. */
int found_set_labels(struct found *f, size_t from, const struct strlist *labels, struct err *err);

/* A note, made printable; behind a few there is only one more that says so. */
int found_note(struct found *f, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts a host's name, or an IP address, into the one form that is compared: lower case, no dot at its end,
 * IP addresses as inet_ntop writes them. -1 if it is neither. */
#define FOUND_ADDRESS_MAX 254
int found_canonical(const char *host, char ret[static FOUND_ADDRESS_MAX]);

/* Whether the path may be one of a service, and without slashes at its end: a new string in the job. */
int found_set_path(struct found_job *job, const char *path, struct err *err);

#endif
