/* What reading commands name as a source, short of a URL: files, members of bundles, standard input. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "proto/proto.h"

/* The most that one may have, inflated: the environment's PROFGRAB_PPROF_MAX, or 4 GiB. ERR_USAGE if that is
 * no size. */
int source_most(uint64_t *ret, struct err *err);

/* Whether it is a file, a bundle's member by how it looks, or standard input. */
bool source_is_here(const char *name);

/* How many bytes lie on disk for it: of a member, the whole bundle's. 0 where that is not known. */
uint64_t source_size(const char *name);

/* The bytes of a file, or of BUNDLE:MEMBER where no file of that name is but one of what stands before a
 * colon; `-` is standard input. Messages are worded as Go's. The caller releases *ret in any case. */
int source_read(const char *name, struct buf *ret, struct err *err);

/* The same with gzip taken off, where there is any. */
int source_read_inflated(const char *name, struct buf *ret, struct err *err);

/* The profile that it holds. */
int source_profile(const char *name, struct profile **ret, struct err *err);

/* Whether it is standard input. */
bool source_is_input(const char *name);

/* One of several: either its profile, which is the caller's, or NULL and why. */
struct source_item {
    const char *name;
    bool is_file; /* for source_profiles alone */
    struct profile *profile;
    struct err err;
};
/* Reads them as source_profile does, large files two at a time. */
void source_profiles(struct source_item *items, size_t n);

#endif
