/* The memory of a profile's columns. Private to proto/. */
#ifndef PROTO_PROFILE_STORE_H
#define PROTO_PROFILE_STORE_H

#include "proto/profile.h"
#include "proto/strtab.h"

/* Memory mapped in pages, so that pages that were read can be released early. */
struct region {
    unsigned char *p;
    size_t n;      /* bytes in use */
    size_t mapped; /* bytes mapped; 0: none */
};

/* The number of bytes after those in use that are readable too, because numbers are read in steps of four
 * bytes. */
#define REGION_PADDING 4

struct profile_store {
    struct strtab strings;
    struct region bytes; /* the file's bytes that strings point into */
    size_t cap_sample_types, cap_samples, cap_values, cap_stack, cap_labels, cap_locations, cap_lines,
        cap_functions, cap_mappings, cap_comments;
};

/* Makes room for n more frames, with four readable and writable bytes at each. */
int profile_reserve_frames(struct profile *p, size_t n, struct err *err);
/* Makes frames large enough for indices of n_locations locations. */
int profile_widen_frames(struct profile *p, size_t n_locations, struct err *err);

/* Writes a frame and overwrites the bytes after it. Returns the frame's end. */
static inline unsigned char *profile_put_frame(const struct profile *p, unsigned char *to, uint32_t location)
{
    uint32_t v = htole32(location);
    memcpy(to, &v, sizeof v);
    return to + p->frame_size;
}

/* Maps `size` zero bytes. A page uses memory only after it is written. */
int region_map(struct region *ret, size_t size, struct err *err);
void region_release(struct region *r);
/* Releases the whole pages in [from, to), which must not be read again. Does nothing for a small range. */
void region_release_pages(struct region *r, size_t from, size_t to);

/* Inflates gzip, member after member, into a new region; copies other bytes. ERR_LIMIT for gzip that inflates
 * to more than max_bytes, or to more than an ordinary profile of its size. */
int region_inflate(const void *p, size_t n, uint64_t max_bytes, struct region *ret, struct err *err);

/*
 * Decodes the message in `bytes`. On success the profile takes ownership of the region, and *bytes becomes
 * empty. On failure the caller releases *bytes. The decoder releases bytes after reading them, so that all
 * bytes and all columns are never in memory at the same time. *ret_other becomes true if decoding failed, but
 * the bytes may be a text form. In this case they are unchanged.
 */
int profile_decode(struct region *bytes, struct profile **ret, bool *ret_other, struct err *err);
/* Parses a text form. */
int profile_parse_text(const void *p, size_t n, struct profile **ret, struct err *err);

#endif
