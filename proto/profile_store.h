/* What a profile's columns lie in. Only proto/ sees it. */
#ifndef PROTO_PROFILE_STORE_H
#define PROTO_PROFILE_STORE_H

#include "proto/profile.h"
#include "proto/strtab.h"

/* Memory from the system, page by page, so that what has been read of it can be given back early. */
struct region {
    unsigned char *p;
    size_t n;      /* bytes in use */
    size_t mapped; /* bytes there are; 0: none */
};

/* Bytes behind those in use that are there too, whatever they are: whoever reads numbers may read four at
 * once. */
#define REGION_BEHIND 4

struct profile_store {
    struct strtab strings;
    struct region bytes; /* what the strings of a file lie in */
    size_t cap_sample_types, cap_samples, cap_values, cap_stack, cap_labels, cap_locations, cap_lines,
        cap_functions, cap_mappings, cap_comments;
};

/* Room for so many more frames behind the others, and for the reading and writing of four bytes at each. */
int profile_reserve_frames(struct profile *p, size_t n, struct err *err);
/* Makes frames large enough for so many locations. */
int profile_widen_frames(struct profile *p, size_t n_locations, struct err *err);

/* Writes a frame, and rubbish behind it: returns where it ended. */
static inline unsigned char *profile_put_frame(const struct profile *p, unsigned char *to, uint32_t location)
{
    uint32_t v = htole32(location);
    memcpy(to, &v, sizeof v);
    return to + p->frame_size;
}

/* Of size bytes, all 0; they cost nothing until they are written. */
int region_map(struct region *ret, size_t size, struct err *err);
void region_release(struct region *r);
/* Gives back the whole pages of [from, to), which nobody looks at any more, if they are many. */
void region_forget(struct region *r, size_t from, size_t to);

/* Inflates gzip, member after member, into a region of its own; other bytes are copied. ERR_LIMIT for gzip
 * that inflates to more than max_bytes, or to more than any real profile of its size. */
int region_inflate(const void *p, size_t n, uint64_t max_bytes, struct region *ret, struct err *err);

/*
 * Decodes the message in `bytes`. The profile keeps them: *bytes is empty then. While it is decoded, what has
 * been read is given back, so that bytes and columns never stand in memory both. *ret_other: it is no such
 * message, but may be another form; the bytes are as they were then.
 */
int profile_decode(struct region *bytes, struct profile **ret, bool *ret_other, struct err *err);
/* One of the text forms. */
int profile_parse_text(const void *p, size_t n, struct profile **ret, struct err *err);

#endif
