/*
 * A profile in memory: google/pprof's profile.proto in columns (an array for each kind of part), for fast
 * traversal and changes in place.
 *
 * References are indices: a sample refers to locations, a location to lines and a mapping, a line to a
 * function. All of them refer to strings by index. Equal strings have equal indices; 0 is the empty string.
 * The IDs of the file are stored too, because some reports show them. Samples, stacks and labels keep the
 * file's order.
 *
 * Sources: google/pprof proto/profile.proto; profile/profile.go and encode.go (validity, corrections on
 * reading).
 */
#ifndef PROTO_PROFILE_H
#define PROTO_PROFILE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

/* No mapping, no function, no location. */
#define PROFILE_NONE UINT32_MAX

struct profile_value_type {
    uint32_t type, unit; /* strings */
};

struct profile_label {
    uint32_t key;
    uint32_t str;  /* the text of a label that is not a number; 0 only in a profile that profgrab built */
    uint32_t unit; /* the unit of a number; 0: none */
    bool is_number;
    int64_t num;
};

struct profile_line {
    uint32_t function; /* index; PROFILE_NONE while a profile is being built */
    int64_t line;
    int64_t column;
};

struct profile_location {
    uint64_t id;
    uint64_t address;
    uint32_t mapping; /* index, or PROFILE_NONE */
    uint32_t n_lines;
    uint32_t line_at; /* index of its first line in `lines`, the innermost call first */
    bool folded;      /* the linker gave several equal functions this address */
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
    uint32_t stack_at; /* index of its first frame, the leaf, in `stack`; profile_frame reads a frame */
    uint32_t depth;
    uint32_t label_at; /* index of its first label in `labels` */
    uint32_t n_labels;
};

/*
 * A caller may shorten a sample's stack or a location's lines, reorder and drop samples (with their values),
 * set values, and change references. Only the functions below may grow columns.
 *
 * Stacks are by far the largest part. Therefore a frame has only the bytes that the largest index needs: 2 to
 * 4, little-endian.
 */
struct profile {
    struct profile_value_type *sample_types;
    size_t n_sample_types;
    struct profile_sample *samples;
    int64_t *values; /* n_sample_types values for each sample */
    size_t n_samples;
    unsigned char *stack; /* location indices, frame_size bytes each */
    size_t n_stack;       /* number of frames */
    unsigned frame_size;
    uint32_t frame_mask; /* all bits of a frame */
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
    uint64_t file_bytes; /* size of its file on disk; after a merge, the sum */

    struct profile_store *store; /* strings, capacities, bytes: private to proto */
};

struct profile *profile_new(struct err *err);
void profile_free(struct profile *p);

/* Returns the location of a frame, by its index in `stack`. */
static inline uint32_t profile_frame_at(const struct profile *p, size_t at)
{
    uint32_t v;
    memcpy(&v, p->stack + at * p->frame_size, sizeof v);
    return le32toh(v) & p->frame_mask;
}

/* Returns the location of a sample's frame; frame 0 is the leaf. */
static inline uint32_t profile_frame(const struct profile *p, const struct profile_sample *s, size_t frame)
{
    return profile_frame_at(p, s->stack_at + frame);
}

/* Iterates over a stack from the leaf on. */
struct profile_walk {
    const unsigned char *at;
    uint32_t left; /* frames left */
    unsigned size;
    uint32_t mask;
};

static inline struct profile_walk profile_walk(const struct profile *p, const struct profile_sample *s)
{
    return (struct profile_walk){p->stack + (size_t)s->stack_at * p->frame_size, s->depth, p->frame_size,
                                 p->frame_mask};
}

/* Sets *ret to the next location. Returns false at the end. */
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

/* Sets a frame to another existing location. */
void profile_set_frame(struct profile *p, const struct profile_sample *s, size_t frame, uint32_t location);

/* Returns the string of an index, valid while the profile lives. */
struct str profile_str(const struct profile *p, uint32_t index);
/* Returns the number of strings. */
size_t profile_n_strings(const struct profile *p);
/* Sets *ret to the index of a string. Adds a copy if the profile does not have the string. */
int profile_intern(struct profile *p, const char *s, size_t n, uint32_t *ret, struct err *err);
/* Cleans the path in string `path` (path_clean). *ret is the index of the cleaned path, which is added if it
 * is new. */
int profile_clean_path(struct profile *p, uint32_t path, uint32_t *ret, struct err *err);

/* Finds the sample type that reports show by default: the one that default_sample_type names, else the last
 * one. ERR_FAILED if the profile has no sample types. */
int profile_default_type(const struct profile *p, size_t *ret, struct err *err);

/*
 * These functions append to the columns. References must be valid. The caller chooses unique IDs. A sample
 * has n_sample_types values. A location's lines are copied.
 */
int profile_add_sample_type(struct profile *p, struct profile_value_type type, struct err *err);
struct profile_new_sample {
    const uint32_t *stack; /* indices of locations, the leaf first */
    size_t depth;
    const int64_t *values;
    const struct profile_label *labels;
    size_t n_labels;
};
int profile_add_sample(struct profile *p, const struct profile_new_sample *from, struct err *err);
int profile_add_location(struct profile *p, const struct profile_location *location,
                         const struct profile_line *lines, struct err *err);
int profile_add_function(struct profile *p, const struct profile_function *function, struct err *err);
int profile_add_mapping(struct profile *p, const struct profile_mapping *mapping, struct err *err);
int profile_add_comment(struct profile *p, uint32_t comment, struct err *err);

/* Replaces a location's lines by a copy of these. */
int profile_set_lines(struct profile *p, size_t location, const struct profile_line *lines, size_t n,
                      struct err *err);
/* Replaces a sample's stack. The new one may have any depth. */
int profile_set_stack(struct profile *p, size_t sample, const uint32_t *stack, size_t depth, struct err *err);

/* ---- reading ---- */

/*
 * Parses a profile: profile.proto, plain or gzip'ed (one member or more), or a text form of Go's runtime.
 * max_bytes limits the inflated size. ERR_UNRECOGNIZED if the bytes are neither. The message of ERR_FAILED is
 * google/pprof's message for the same fault, if google/pprof has one ("parsing profile: …", "malformed
 * profile: …").
 */
int profile_parse(const void *p, size_t n, uint64_t max_bytes, struct profile **ret, struct err *err);
/* Works like profile_parse, but releases the bytes once they are inflated, also on failure, so that a large
 * file and its profile are not in memory at the same time. */
int profile_parse_buf(struct buf *bytes, uint64_t max_bytes, struct profile **ret, struct err *err);

/* ---- changing and writing ---- */

/*
 * Merges profiles: combines equal samples and drops unreferenced parts. All must have the same sample types
 * and period type (profile_reduce_to_common_types ensures that). Drops samples with only zeros. The sources
 * are unchanged.
 */
int profile_merge(struct profile *const *profiles, size_t n, struct profile **ret, struct err *err);
/* Works like profile_merge, but frees each source and sets it to NULL once it is merged. */
int profile_merge_and_free(struct profile **profiles, size_t n, struct profile **ret, struct err *err);
/* Reduces each profile to the sample types that all of them have, in the order of the first profile.
 * ERR_FAILED if they have no type in common. */
int profile_reduce_to_common_types(struct profile *const *profiles, size_t n, struct err *err);
/*
 * Multiplies the values of each sample type by its ratio, and rounds. Drops a sample if all of its values
 * that have a ratio other than 1 become 0, even if its other values are not 0. If all ratios are 1, no sample
 * is dropped.
 */
void profile_scale(struct profile *p, const double *ratios);
/* Scales p so that each sample type's sum equals the base's. */
int profile_normalize(struct profile *p, const struct profile *base, struct err *err);
/*
 * Repeats the sample types `times` times. The profile's values become those of repetition `at`; all other
 * values are 0. With a different `at` for each profile, a merge of several profiles does not add their
 * values.
 */
int profile_repeat_types(struct profile *p, size_t at, size_t times, struct err *err);
/* Keeps only the first n sample types. */
void profile_keep_first_types(struct profile *p, size_t n);
/* Removes all labels from the samples. */
void profile_drop_labels(struct profile *p);
/* Sets this label on every sample and removes other text labels with the same key. */
int profile_set_label(struct profile *p, const char *key, const char *value, struct err *err);

/* Checks that both profiles have the same sample types and period type. The error names the difference. */
int profile_check_compatible(const struct profile *a, const struct profile *b, struct err *err);
/* Formats a value type as Go does, "{cpu nanoseconds 0 0}", made printable. Returns dst. */
#define PROFILE_TYPE_TEXT 256
const char *profile_type_text(const struct profile *p, struct profile_value_type t,
                              char dst[PROFILE_TYPE_TEXT]);

/* Receives the next bytes of the output. If it returns -1, writing ends with its error. */
typedef int profile_sink_fn(void *ctx, const void *p, size_t n, struct err *err);
/* Writes uncompressed profile.proto: byte for byte google/pprof's output for the same profile. */
int profile_write(const struct profile *p, profile_sink_fn *sink, void *ctx, struct err *err);

/* Writes gzip'ed profile.proto without a time in the header: one member, or several if it is large
 * (proto/gzip.h). */
int profile_write_gzip(const struct profile *p, profile_sink_fn *sink, void *ctx, struct err *err);

/* Converts a float as Go does on amd64: towards zero; NaN and overflow give the smallest integer. */
int64_t profile_double_to_int(double v);

/* Checks google/pprof's validity rules: consistent counts, references in range, unique nonzero IDs. */
int profile_check(const struct profile *p, struct err *err);

#endif
