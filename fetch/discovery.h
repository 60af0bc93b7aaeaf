/*
 * Answers of discovery sources (inventory/discovery.h): fetched by URL, through a gateway like everything
 * else, and cached.
 *
 * The cache is $XDG_CACHE_HOME/profgrab (~/.cache/profgrab without that variable). It has one file for each
 * set of kind, URL, the host that profgrab asks through with its SSH settings, and credentials. A file that
 * others can write, or whose hash is wrong, is not used.
 */
#ifndef FETCH_DISCOVERY_H
#define FETCH_DISCOVERY_H

#include "fetch/fetch.h"

/*
 * Asks a source that has a URL. Uses the grab's settings for opening hosts, timeout_ms and cancel_fd; of its
 * observer `opening`, `step` and `host`, for the host that profgrab asks through. Limits: SOURCE_MAX_BYTES,
 * and two minutes. The caller releases *ret.
 */
int discovery_ask(const struct source *source, const struct fetch_grab *grab, struct discovered *ret,
                  struct err *err);

/* Caches an answer, without its notes. `ssh` (may be NULL) are the settings of the request, as
 * fetch_grab.ssh. */
int discovery_keep(const struct source *source, const struct ssh_settings *ssh, const struct discovered *f,
                   struct err *err);

/* Reads a cached answer of any age; `ret->at` is its time. ERR_NOT_FOUND if there is none, ERR_FAILED if the
 * file cannot be trusted. The caller releases *ret. */
int discovery_kept(const struct source *source, const struct ssh_settings *ssh, struct discovered *ret,
                   struct err *err);

#endif
