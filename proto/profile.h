/*
 * A profile in memory: google/pprof's profile.proto in columns, made to be walked fast and changed in place.
 *
 * Everything refers by index: a sample to locations, a location to lines and a mapping, a line to a function,
 * all to strings. Equal strings have equal indices, 0 is the empty one. The file's own IDs are kept for the
 * reports that show them. Samples, and what hangs on them, keep the file's order.
 *
 * Sources: google/pprof proto/profile.proto; profile/profile.go and encode.go (what is valid, what is mended
 * on reading).
 */
#ifndef PROTO_PROFILE_H
#define PROTO_PROFILE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

/* No mapping; no function. */
#define PROFILE_NONE UINT32_MAX

struct profile_value_type {
    uint32_t type, unit; /* strings */
};

struct profile_label {
    uint32_t key;
    uint32_t str; /* its text, if it is no number; never 0 then in a file, but may be in what was made here */
    uint32_t unit; /* of a number; 0: none said */
    bool is_number;
    int64_t num;
};

struct profile_line {
    uint32_t function; /* index, or PROFILE_NONE while a profile is being built */
    int64_t line;
    int64_t column;
};

struct profile_location {
    uint64_t id;
    uint64_t address;
    uint32_t mapping; /* index, or PROFILE_NONE */
    uint32_t n_lines;
    uint32_t line_at; /* its lines: lines[line_at] and the following, the innermost call first */
    bool folded;
};

struct profile_function {
    uint64_t id;
    uint32_t name, system_name, filename; /* strings */
    int64_t start_line;
};

struct profile_mapping {
    uint64_t id;
    uint64_t start, limit, offset;
    uint32_t file, build_id;
    bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_sample {
    uint32_t stack_at; /* its locations, leaf first: so many stand in front of them; see profile_frame */
    uint32_t depth;
    uint32_t label_at; /* its labels, in the file's order */
    uint32_t n_labels;
};

/*
 * Whoever changes a profile may shorten a sample's stack or a location's lines, reorder and drop samples
 * (with their values), set values, and point anything to another index. Columns grow only by the functions
 * below.
 *
 * Stacks are by far the most of a profile, so a location in them takes no more bytes than the largest index
 * needs: 2 to 4, lowest first.
 */
struct profile {
    struct profile_value_type *sample_types;
    size_t n_sample_types;
    struct profile_sample *samples;
    int64_t *values; /* n_sample_types for each sample */
    size_t n_samples;
    unsigned char *stack; /* location indices, frame_size bytes each */
    size_t n_stack;       /* how many there are */
    unsigned frame_size;
    uint32_t frame_mask; /* of that size, all bits */
    struct profile_label *labels;
    size_t n_labels;
    struct profile_location *locations;
    size_t n_locations;
    struct profile_line *lines;
    size_t n_lines;
    struct profile_function *functions;
    size_t n_functions;
    struct profile_mapping *mappings;
    size_t n_mappings;
    uint32_t *comments;
    size_t n_comments;

    uint32_t drop_frames, keep_frames, default_sample_type, doc_url; /* strings */
    struct profile_value_type period_type;
    int64_t period, time_ns, duration_ns;
    uint64_t file_bytes; /* of what it was read from, as that lay on disk; of several merged, their sum */

    struct profile_store *store; /* strings, capacities, the bytes they lie in: proto's own business */
};

struct profile *profile_new(struct err *err);
void profile_free(struct profile *p);

/* The location of a sample's frame, the leaf's being 0. */
static inline uint32_t profile_frame(const struct profile *p, const struct profile_sample *s, size_t frame)
{
    uint32_t v;
    memcpy(&v, p->stack + (s->stack_at + frame) * p->frame_size, sizeof v);
    return le32toh(v) & p->frame_mask;
}

/* A stack, read from the leaf on. */
struct profile_walk {
    const unsigned char *at;
    uint32_t left; /* how many frames there are still */
    unsigned size;
    uint32_t mask;
};

static inline struct profile_walk profile_walk(const struct profile *p, const struct profile_sample *s)
{
    return (struct profile_walk){p->stack + (size_t)s->stack_at * p->frame_size, s->depth, p->frame_size,
                                 p->frame_mask};
}

/* The next of its locations; false at the end. */
static inline bool profile_walk_next(struct profile_walk *w, uint32_t *ret)
{
    uint32_t v;
    if (w->left == 0)
        return false;
    memcpy(&v, w->at, sizeof v);
    *ret = le32toh(v) & w->mask;
    w->at += w->size;
    w->left--;
    return true;
}

/* Sets it to another that there is. */
void profile_set_frame(struct profile *p, const struct profile_sample *s, size_t frame, uint32_t location);

/* The string of an index of this profile, valid for as long as the profile lives. */
struct str profile_str(const struct profile *p, uint32_t index);
/* How many strings there are: every index is smaller. */
size_t profile_n_strings(const struct profile *p);
/* The index of such a string, added if it is new: a copy. */
int profile_intern(struct profile *p, const char *s, size_t n, uint32_t *ret, struct err *err);

/*
 * Add at the end. References must be valid, IDs are the caller's business. A sample has n_sample_types
 * values; a location's lines are copied.
 */
int profile_add_sample_type(struct profile *p, struct profile_value_type type, struct err *err);
int profile_add_sample(struct profile *p, const uint32_t *stack, size_t depth, const int64_t *values,
                       const struct profile_label *labels, size_t n_labels, struct err *err);
int profile_add_location(struct profile *p, const struct profile_location *location,
                         const struct profile_line *lines, struct err *err);
int profile_add_function(struct profile *p, const struct profile_function *function, struct err *err);
int profile_add_mapping(struct profile *p, const struct profile_mapping *mapping, struct err *err);
int profile_add_comment(struct profile *p, uint32_t comment, struct err *err);

/* Gives a location other lines: copied. */
int profile_set_lines(struct profile *p, size_t location, const struct profile_line *lines, size_t n,
                      struct err *err);
/* Gives a sample another stack, of any depth. */
int profile_restack(struct profile *p, size_t sample, const uint32_t *stack, size_t depth, struct err *err);

/* ---- reading ---- */

/*
 * Reads a profile: profile.proto, as it is or gzip'ed (one member or more), or one of the text forms of Go's
 * runtime. At most max_bytes inflated. ERR_FAILED with google/pprof's words where it has some ("parsing
 * profile: …", "malformed profile: …").
 */
int profile_parse(const void *p, size_t n, uint64_t max_bytes, struct profile **ret, struct err *err);
/* The same of bytes that nobody needs any more: they are released once they are inflated, whatever comes of
 * it, so that a large file does not stand in memory beside its profile. */
int profile_parse_buf(struct buf *bytes, uint64_t max_bytes, struct profile **ret, struct err *err);
/* Whether reading failed because the bytes have none of the forms. */
bool profile_is_unrecognized(const struct err *err);

/* ---- changing and writing ---- */

/*
 * One profile of all: equal samples are one, what nothing refers to is left out. They must have the same
 * sample types and period type (profile_common_types makes them so). Samples of nothing but zeros go. The
 * sources are only read.
 */
int profile_merge(struct profile *const *profiles, size_t n, struct profile **ret, struct err *err);
/* The same of profiles that nobody needs any more: each is freed, and NULL then, once it is in the new one.
 */
int profile_merge_all(struct profile **profiles, size_t n, struct profile **ret, struct err *err);
/* Leaves each profile the sample types that all have, in the order of the first. An error if there are none.
 */
int profile_common_types(struct profile *const *profiles, size_t n, struct err *err);
/*
 * Multiplies the values of each sample type, rounded. Samples go whose values that were multiplied by another
 * ratio than 1 have all become 0, whatever the rest are; none go if all ratios are 1.
 */
void profile_scale(struct profile *p, const double *ratios);
/* Scales p so that each sample type's sum is that of the base. */
int profile_normalize(struct profile *p, const struct profile *base, struct err *err);
/*
 * Makes room for what others have measured beside it: `times` times as many sample types, the same ones again
 * and again. The profile's own values stand in the `at`th of those places, 0 in the rest. So profiles can be
 * merged and still be told apart.
 */
int profile_widen(struct profile *p, size_t at, size_t times, struct err *err);
/* Leaves the first n sample types. */
void profile_narrow(struct profile *p, size_t n);
/* Takes all labels off the samples. */
void profile_drop_labels(struct profile *p);
/* Gives every sample this label, in the place of those of the same key. */
int profile_set_label(struct profile *p, const char *key, const char *value, struct err *err);

/* Whether both have the same sample types and period type: 0, or -1 with what differs. */
int profile_compatible(const struct profile *a, const struct profile *b, struct err *err);
/* A value type in messages, as Go prints one: "{cpu nanoseconds 0 0}", made printable. Returns dst. */
#define PROFILE_TYPE_TEXT 256
const char *profile_type_text(const struct profile *p, struct profile_value_type t,
                              char dst[PROFILE_TYPE_TEXT]);

/* Takes bytes in order; -1 ends it with err as it was left. */
typedef int profile_sink_fn(void *ctx, const void *p, size_t n, struct err *err);
/* Writes profile.proto, not compressed: byte for byte what google/pprof writes of the same profile. */
int profile_write(const struct profile *p, profile_sink_fn *sink, void *ctx, struct err *err);

/* The same, gzip'ed, without a time in the header: one member, or several if it is large (proto/gzip.h). */
int profile_write_gzip(const struct profile *p, profile_sink_fn *sink, void *ctx, struct err *err);

/* What a float becomes as an integer, as in Go on amd64: towards zero; what is none, the smallest. */
int64_t profile_integer(double v);

/* What google/pprof calls valid: counts that agree, references within, IDs that are unique and not 0. */
int profile_check(const struct profile *p, struct err *err);

#endif
