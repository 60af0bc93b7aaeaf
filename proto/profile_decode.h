/* What the parts of the decoder share. See profile_decode.c. */
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
    size_t n_kept_values; /* of each sample: as many as there are types, or 0 if they cannot all be there */
    size_t first_string;  /* where the first string stands */
    size_t forgotten;     /* bytes given back, from the beginning on */
    size_t room;          /* bytes of memory that columns may still take */

    /* Where two threads read a half of the samples each: how many the first half has, or else 0; and where
     * the second half begins, in the bytes, and its stacks in their column. */
    size_t first_half, middle, middle_stack;

    /* References as the file has them: the function of each line, the mapping of each location. */
    uint64_t *line_functions, *location_mappings;
    size_t cap_line_functions, cap_location_mappings;

    uint32_t *strings; /* the indices of the file's */
    size_t n_strings;
    struct id_map locations;

    size_t odd_sample; /* how many values a sample has that has too few or too many; SIZE_MAX: none */
    bool stray;        /* a sample has a location that is not there */
    bool concatenated;
    struct err *err;
};

/*
 * All of these return false after a failure. Where no error was set the bytes are malformed, no more is to be
 * said of them.
 */

/* They are no profile.proto for another reason. Always false. */
bool decode_no(struct decoder *d, const char *why);

/* Takes n elements of `size` bytes from the room of the columns. False with ERR_LIMIT if they do not fit. */
bool decode_charge(size_t *room, size_t n, size_t size, struct err *err);

/* The value of a field that is a number. */
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

/* The index of a string, the file's own as yet. What cannot be one becomes the largest. */
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

/* Turns an index of the file's strings into ours. False if there is none. */
static inline bool decode_own(const struct decoder *d, uint32_t *index)
{
    if (*index >= d->n_strings)
        return false;
    *index = d->strings[*index];
    return true;
}

/* Any field of the profile but samples: strings keep the file's indices, references are noted. */
bool decode_table(struct decoder *d, const struct wire_field *f);
/* How many locations are on a sample's stack, as far as it can be read. */
size_t decode_count_frames(struct wire sample);
/* All samples, once all is known that they refer to. */
bool decode_samples(struct decoder *d);

/* Refuses a profile that spells out far more text than it has bytes: ERR_FAILED (profile_spelled.c). */
int decode_check_spelled(const struct profile *p, struct err *err);

#endif
