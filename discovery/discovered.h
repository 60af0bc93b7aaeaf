/* Adds jobs, targets and labels to the content of a source. */
#ifndef DISCOVERY_DISCOVERED_H
#define DISCOVERY_DISCOVERED_H

#include "discovery/discovery.h"

/* Adds a job; *ret is its index. Makes the untrusted name printable, and cuts a long one. */
int discovered_add_job(struct discovered *found, const char *name, size_t *ret, struct err *err);

/* Finds the last job with that name; *ret is its index. Returns false if there is none. */
bool discovered_get_job(const struct discovered *found, const char *name, size_t *ret);

/* Adds the target at HOST, HOST:PORT or [V6]:PORT, with or without http:// or https://. Ignores a path. The
 * default port is that of the scheme. Adds a note for an invalid address. ERR_LIMIT if the source has too
 * many targets. */
int discovered_add_target(struct discovered *found, size_t job, const char *address, bool https,
                          struct err *err);

/* Adds a label of a target or group to `labels`. Skips Prometheus' own labels (`__...`, job, instance),
 * invalid names, and values that are empty, long or not visible. Ignores labels above the maximum number. */
int discovered_add_label(struct strlist *labels, const char *name, const char *value, struct err *err);

/* Sets these labels for the targets from index `from` on. Above SOURCE_MAX_LABELS, adds a note instead. */
int discovered_set_labels(struct discovered *found, size_t from, const struct strlist *labels,
                          struct err *err);

/* Makes a note printable and adds it. After the maximum number of notes, adds one last note that there are
 * more. */
int discovered_note(struct discovered *found, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the job's path, without slashes at its end. Fails if the path is not valid for a service. */
int discovered_set_path(struct discovered_job *job, const char *path, struct err *err);

#endif
