/*
 * URLs of profiles, accepted and changed as Go's pprof does.
 *
 * Source: cmd/pprof of Go, adjustURL; google/pprof internal/symbolz.
 */
#ifndef CLI_PPROF_PROFILE_URL_H
#define CLI_PPROF_PROFILE_URL_H

#include "base/base.h"

/* Makes the URL for a profile's request: with `?seconds=` if *seconds is positive, and with Go's handler for
 * CPU profiles if the URL has no path. If *seconds is not positive, it becomes the value in the URL. *ret: a
 * new string; untouched if the text is not a URL. */
int profile_url_adjust(const char *text, long *seconds, char **ret, struct err *err);

/* Returns the URL of the symbols on the server of this profile: a new string, or NULL. */
char *profile_url_symbols(const char *profile);

#endif
