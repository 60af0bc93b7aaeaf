/* Collects the content of a source. */
#ifndef DISCOVERY_DISCOVERED_H
#define DISCOVERY_DISCOVERED_H

#include "discovery/discovery.h"

/* Adds a job; *ret is its index. `name` is untrusted: it is made printable and cut. */
int discovered_add_job(struct discovered *f, const char *name, size_t *ret, struct err *err);

/* Finds the last job with that name; *ret is its index. Returns false without one. */
bool discovered_get_job(const struct discovered *f, const char *name, size_t *ret);

/* Adds the target at HOST, HOST:PORT or [V6]:PORT, with or without http:// or https://. Ignores a path.
 * Without a port it is the scheme's. An invalid address becomes a note. ERR_LIMIT if there are too many. */
int discovered_add(struct discovered *f, size_t job, const char *address, bool https, struct err *err);

/* Adds a label of an element. Skips Prometheus' own labels (`__...`, job, instance), invalid names, and
 * values that are empty, long or not visible. Limits the number. */
int discovered_add_label(struct strlist *labels, const char *name, const char *value, struct err *err);

/* Sets these labels for the targets from number `from` on. The number of labels is limited; then there is a
 * note. */
int discovered_set_labels(struct discovered *f, size_t from, const struct strlist *labels, struct err *err);

/* Adds a printable note. The number is limited; then one last note says so. */
int discovered_note(struct discovered *f, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Converts a host's name or an IP address to its canonical form: lower case, no dot at the end, IP addresses
 * as inet_ntop writes them. -1 if it is neither. */
#define ADDRESS_MAX 254
int discovered_canonical(const char *host, char ret[static ADDRESS_MAX]);

/* Sets the job's path, without slashes at its end, if it is valid for a service. */
int discovered_set_path(struct discovered_job *job, const char *path, struct err *err);

#endif
