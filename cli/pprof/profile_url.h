/*
 * URLs of profiles, accepted and changed as Go's pprof does.
 *
 * Source: cmd/pprof of Go, adjustURL; google/pprof internal/symbolz.
 */
#ifndef CLI_PPROF_PROFILE_URL_H
#define CLI_PPROF_PROFILE_URL_H

#include "base/base.h"

/* Makes the URL for a profile's request. Adds `?seconds=` if *seconds is positive; otherwise sets *seconds to
 * the value in the URL. Adds the path of Go's handler for CPU profiles if the URL has no path. *ret: a new
 * string; untouched if the text is not a URL. */
int profile_url_adjust(const char *text, long *seconds, char **ret, struct err *err);

/* Returns the URL of the symbol endpoint on the server of this profile: a new string, or NULL. */
char *profile_url_symbols(const char *profile_url);

#endif
