/* Shared by the files of the decoder. See profile_decode.c. */
#ifndef PROTO_PROFILE_DECODE_H
#define PROTO_PROFILE_DECODE_H

#include "proto/id_map.h"
#include "proto/profile_store.h"
#include "proto/wire.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_DROP_FRAMES,
    PROFILE_KEEP_FRAMES,
    PROFILE_TIME,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_SAMPLE_TYPE,
    PROFILE_DOC_URL,
    PROFILE_N_FIELDS
};

struct decoder {
    struct profile *p;
    struct region *bytes;
    size_t counts[PROFILE_N_FIELDS];
    size_t n_kept_values; /* values kept for each sample: the number of types, or 0 if they cannot all be
                             there */
    size_t first_string;  /* offset of the first string */
    size_t forgotten;     /* bytes released, from the start on */
    size_t room;          /* memory that the columns may still use, in bytes */

    /* For two threads: the number of samples in the first half, else 0; and the start of the second half, in
     * the bytes and in the stack column. */
    size_t first_half, middle, middle_stack;

    /* References as in the file: the function of each line, the mapping of each location. */
    uint64_t *line_functions, *location_mappings;
    size_t cap_line_functions, cap_location_mappings;

    uint32_t *strings; /* our indices of the file's strings */
    size_t n_strings;
    struct id_map locations;

    size_t odd_sample; /* the wrong number of values of a sample; SIZE_MAX: none is wrong */
    bool stray;        /* a sample refers to a missing location */
    bool concatenated;
    struct err *err;
};

/*
 * All of these return false on failure. If no error is set, the bytes are malformed.
 */

/* Sets another reason why the bytes are no profile.proto. Always returns false. */
static inline bool decode_no(struct decoder *d, const char *why)
{
    return err_set(d->err, ERR_FAILED, "parsing profile: %s", why) == 0;
}

/* Charges `room` for n elements of `size` bytes. False with ERR_LIMIT if they do not fit. */
static inline bool decode_charge(size_t *room, size_t n, size_t size, struct err *err)
{
    if (n > *room / size)
        return err_set(err, ERR_LIMIT,
                       "parsing profile: it would take more memory than a real profile of its size") == 0;
    *room -= n * size;
    return true;
}

/* Reads the value of a number field. */
static inline bool decode_number(const struct wire_field *f, uint64_t *ret)
{
    if (f->type == WIRE_NUMBER)
        *ret = f->value;
    return f->type == WIRE_NUMBER;
}

static inline bool decode_signed(const struct wire_field *f, int64_t *ret)
{
    if (f->type == WIRE_NUMBER)
        *ret = (int64_t)f->value;
    return f->type == WIRE_NUMBER;
}

/* Reads a string index of the file. An impossible index becomes the largest. */
static inline bool decode_string_index(const struct wire_field *f, uint32_t *ret)
{
    if (f->type == WIRE_NUMBER)
        *ret = f->value < UINT32_MAX ? (uint32_t)f->value : UINT32_MAX;
    return f->type == WIRE_NUMBER;
}

static inline bool decode_message(const struct wire_field *f, struct wire *ret)
{
    if (f->type == WIRE_LENGTH)
        *ret = wire_into(f);
    return f->type == WIRE_LENGTH;
}

/* Converts the file's string index to ours. False if the file has no such string. */
static inline bool decode_own(const struct decoder *d, uint32_t *index)
{
    if (*index >= d->n_strings)
        return false;
    *index = d->strings[*index];
    return true;
}

/* Reads any field but a sample. Strings keep the file's indices, references are noted. */
bool decode_table(struct decoder *d, const struct wire_field *f);
/* Counts the locations on a sample's stack, as far as it is readable. */
size_t decode_count_frames(struct wire sample);
/* Reads all samples. Everything that they refer to must be read before. */
bool decode_samples(struct decoder *d);

/* Refuses a profile that expands to far more text than it has bytes: ERR_FAILED (profile_spelled.c). */
int decode_check_spelled(const struct profile *p, struct err *err);

#endif
