/* Shared by the files of the decoder. See profile_decode.c. */
#ifndef PROTO_PROFILE_DECODE_H
#define PROTO_PROFILE_DECODE_H

#include "proto/id_map.h"
#include "proto/profile_store.h"
#include "proto/protobuf.h"

/* The field numbers of the message Profile. */
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
    size_t n_kept_values; /* values stored for each sample: the number of types, or 0 if the file is too small
                             for them */
    size_t first_string;  /* offset of the first string */
    size_t released;      /* number of bytes released, from the start of the file */
    size_t room;          /* memory that the columns may still use, in bytes */

    /* For two threads. With one thread, n_first_samples is 0. */
    size_t n_first_samples; /* number of samples in the first half */
    size_t n_first_frames;  /* number of frames in the first half */
    size_t second_half_at;  /* offset of the second half in the bytes */

    /* The IDs of the file: the function's ID of each line, the mapping's ID of each location. */
    uint64_t *line_functions, *location_mappings;
    size_t cap_line_functions, cap_location_mappings;

    uint32_t *strings; /* the profile's string index for each string of the file */
    size_t n_strings;
    struct id_map locations;

    size_t wrong_n_values; /* a sample's number of values, if it differs from the number of types; SIZE_MAX:
                            none differs */
    bool has_missing_location; /* a sample refers to a missing location */
    bool concatenated;         /* the file has a second profile after the first */
    struct err *err;
};

/*
 * The functions that return bool return false on failure. If no error is set, the bytes are malformed.
 */

/* Sets the error "parsing profile: WHY". Always returns false. */
static inline bool decode_fail(struct decoder *d, const char *why)
{
    return err_set(d->err, ERR_FAILED, "parsing profile: %s", why) == 0;
}

/* Subtracts the memory of n elements of `size` bytes from `room`. Returns false with ERR_LIMIT if `room` is
 * too small. */
static inline bool decode_charge(size_t *room, size_t n, size_t size, struct err *err)
{
    if (n > *room / size)
        return err_set(err, ERR_LIMIT,
                       "parsing profile: it would take more memory than an ordinary profile of its size") ==
               0;
    *room -= n * size;
    return true;
}

/* Reads the value of a number field. */
static inline bool decode_number(const struct protobuf_field *f, uint64_t *ret)
{
    if (f->type == PROTOBUF_NUMBER)
        *ret = f->value;
    return f->type == PROTOBUF_NUMBER;
}

static inline bool decode_signed(const struct protobuf_field *f, int64_t *ret)
{
    if (f->type == PROTOBUF_NUMBER)
        *ret = (int64_t)f->value;
    return f->type == PROTOBUF_NUMBER;
}

/* Reads a string index of the file. An index of more than 32 bits becomes UINT32_MAX. */
static inline bool decode_string_index(const struct protobuf_field *f, uint32_t *ret)
{
    if (f->type == PROTOBUF_NUMBER)
        *ret = f->value < UINT32_MAX ? (uint32_t)f->value : UINT32_MAX;
    return f->type == PROTOBUF_NUMBER;
}

static inline bool decode_message(const struct protobuf_field *f, struct protobuf *ret)
{
    if (f->type == PROTOBUF_LENGTH)
        *ret = protobuf_of_field(f);
    return f->type == PROTOBUF_LENGTH;
}

/* Converts a string index of the file to the profile's index. Returns false if the file has no such string.
 */
static inline bool decode_convert_string(const struct decoder *d, uint32_t *index)
{
    if (*index >= d->n_strings)
        return false;
    *index = d->strings[*index];
    return true;
}

/* Reads a field that is not a sample. String indices and IDs remain those of the file: they are converted
 * after all tables are read. */
bool decode_table(struct decoder *d, const struct protobuf_field *f);
/* Counts the locations on a sample's stack, up to the first malformed byte. */
size_t decode_count_frames(struct protobuf sample);
/* Reads all samples. Call it after all tables are read. */
bool decode_samples(struct decoder *d);

/* Refuses a profile that expands to far more text than it has bytes: ERR_FAILED (proto/profile_expansion.c).
 */
int decode_check_expansion(const struct profile *p, struct err *err);

#endif
