/*
 * What sources of services say (inventory/discovery.h): asked for by URL, through a gateway like everything
 * else, and kept for a while.
 *
 * Kept answers lie in $XDG_CACHE_HOME/profgrab (~/.cache/profgrab without that variable), one file for
 * everything that makes a difference: kind, URL, the host it is asked through with its SSH settings, who
 * asks. What others could have written, and what is not as it was written, is not used.
 */
#ifndef FETCH_DISCOVERY_H
#define FETCH_DISCOVERY_H

#include "fetch/fetch.h"

/*
 * Asks a source that has a URL. Of the grab counts what concerns opening hosts, timeout_ms and cancel_fd; of
 * its observer `opening`, `step` and `host`, for the host it is asked through. At most SOURCE_MAX_BYTES, and
 * two minutes. The caller releases *ret.
 */
int discovery_ask(const struct source *source, const struct fetch_grab *grab, struct found *ret,
                  struct err *err);

/* Keeps an answer, without its notes. `ssh` (may be NULL) is what the source was asked with, as
 * fetch_grab.ssh.
 */
int discovery_keep(const struct source *source, const struct ssh_settings *ssh, const struct found *f,
                   struct err *err);

/* What was kept, however old: `ret->at` says. ERR_NOT_FOUND if there is nothing, ERR_FAILED if what is there
 * cannot be trusted. The caller releases *ret. */
int discovery_kept(const struct source *source, const struct ssh_settings *ssh, struct found *ret,
                   struct err *err);

#endif
