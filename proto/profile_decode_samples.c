/*
 * Decodes the samples of profile.proto.
 *
 * Samples are most of a large profile, so their stacks go directly into the column as indices. For a very
 * large profile two threads read one half each. profile_decode.c has found the start of the second half in
 * the file and in the column of stacks. The labels of the second half are stored separately until both halves
 * are read.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/two_threads.h"
#include "proto/profile_decode.h"
#include "base/banned.h"

/* Bytes that are read before their pages are released. */
#define RELEASE_STEP ((size_t)1 << 20)

/* The input of one thread and its parts of the columns, which no other thread accesses. */
struct reader {
    struct decoder *d;
    size_t at;                 /* offset of the first byte of the thread's part */
    size_t released;           /* bytes before this offset are released */
    size_t n_samples, n_stack; /* position of the next sample and its stack */
    bool is_reserved;          /* room for all stacks is reserved */
    size_t wrong_n_values;     /* see struct decoder */
    bool has_missing_location;
    struct profile_label *labels;
    size_t n_labels, cap_labels;
    size_t room; /* memory that the labels may still use, in bytes */
    struct err *err;
};

/* ---- stacks ---- */

/* Counts the numbers: each byte without the continuation bit ends a number. The last byte always ends one. */
static size_t count_numbers(const unsigned char *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t left = n, n_continued = 0;
    if (n == 0)
        return 0;
    for (--left; left >= sizeof ones; left -= sizeof ones, p += sizeof ones) {
        uint64_t eight;
        memcpy(&eight, p, sizeof eight);
        n_continued += ((eight >> 7 & ones) * ones) >> 56;
    }
    for (; left > 0; left--)
        n_continued += *p++ >> 7;
    return n - n_continued;
}

size_t decode_count_frames(struct protobuf w)
{
    struct protobuf_field f;
    size_t n = 0;
    while (w.p < w.end && protobuf_read_field(&w, &f))
        if (f.number == 1)
            n += f.type == PROTOBUF_LENGTH ? count_numbers(f.p, f.n) : 1;
    return n;
}

static bool reserve_frames(struct reader *r, size_t n)
{
    if (r->is_reserved)
        return true;
    r->d->p->n_stack = r->n_stack;
    return profile_reserve_frames(r->d->p, n, r->err) == 0;
}

/* Appends a location. The caller has reserved room for it. */
static inline unsigned char *put_location(const struct profile *p, const struct id_map *locations,
                                          unsigned char *to, uint64_t id, bool *has_missing_location)
{
    uint32_t location = id_map_get(locations, id);
    *has_missing_location = *has_missing_location || location == PROFILE_NONE;
    return profile_put_frame(p, to, location);
}

/* Most of the decoding time is spent here. Local copies are faster than fields, because the compiler must
 * assume that each written frame changes the fields. */
static bool read_packed_ids(struct reader *r, const struct protobuf_field *f)
{
    if (!reserve_frames(r, f->n))
        return false;
    const struct profile p = *r->d->p;
    const struct id_map locations = r->d->locations;
    const unsigned char *at = f->p, *end = f->p + f->n;
    unsigned char *begin = p.stack + r->n_stack * p.frame_size, *to = begin;
    bool has_missing_location = false;
    while (at < end) {
        uint64_t id = 0, long_id = 0;
        size_t n = protobuf_read_short_number(at, &id);
        if (n == 0) {
            struct protobuf w = {at, end};
            if (!protobuf_read_long_number(&w, &long_id))
                return false;
            id = long_id;
            n = (size_t)(w.p - at);
        }
        at += n;
        to = put_location(&p, &locations, to, id, &has_missing_location);
    }
    r->has_missing_location = r->has_missing_location || has_missing_location;
    r->n_stack += (size_t)(to - begin) / p.frame_size;
    return at == end;
}

static bool read_ids(struct reader *r, const struct protobuf_field *f)
{
    uint64_t id = 0;
    if (f->type == PROTOBUF_LENGTH)
        return read_packed_ids(r, f);
    if (!decode_number(f, &id) || !reserve_frames(r, 1))
        return false;
    const struct profile *p = r->d->p;
    put_location(p, &r->d->locations, p->stack + r->n_stack++ * p->frame_size, id, &r->has_missing_location);
    return true;
}

/* ---- values, labels ---- */

/* Reads values of the newest sample; *n counts them. Surplus values are only counted. */
static bool read_values(struct reader *r, const struct protobuf_field *f, size_t *n)
{
    size_t types = r->d->n_kept_values;
    int64_t *to = r->d->p->values + r->n_samples * types;
    uint64_t v = 0;
    if (f->type != PROTOBUF_LENGTH) {
        if (!decode_number(f, &v))
            return false;
        if (*n < types)
            to[*n] = (int64_t)v;
        ++*n;
        return true;
    }
    for (struct protobuf w = protobuf_of_field(f); w.p < w.end; ++*n) {
        if (!protobuf_read_number(&w, &v))
            return false;
        if (*n < types)
            to[*n] = (int64_t)v;
    }
    return true;
}

/* Clears the number of a label with a text, and converts the label's strings. */
static bool convert_label(const struct decoder *d, struct profile_label *l)
{
    l->is_number = l->str == 0;
    if (!l->is_number) {
        l->num = 0;
        l->unit = 0;
    }
    return decode_convert_string(d, &l->key) && decode_convert_string(d, &l->str) &&
           decode_convert_string(d, &l->unit);
}

/* Adds a label unless it has no text, no number and no unit. */
static bool add_label(struct reader *r, struct profile_label *l)
{
    bool has_content = l->str || l->num || l->unit;
    if (!convert_label(r->d, l))
        return false;
    if (!has_content)
        return true;
    if (r->n_labels >= UINT32_MAX)
        return err_set(r->err, ERR_FAILED, "parsing profile: too many labels") == 0;
    if (!decode_charge(&r->room, 1, sizeof *l, r->err) ||
        array_reserve((void **)&r->labels, &r->cap_labels, r->n_labels + 1, sizeof *l, r->err) < 0)
        return false;
    r->labels[r->n_labels++] = *l;
    r->d->p->samples[r->n_samples].n_labels++;
    return true;
}

static bool read_label_field(const struct protobuf_field *f, struct profile_label *to)
{
    switch (f->number) {
    case 1:
        return decode_string_index(f, &to->key);
    case 2:
        return decode_string_index(f, &to->str);
    case 3:
        return decode_signed(f, &to->num);
    case 4:
        return decode_string_index(f, &to->unit);
    default:
        return true;
    }
}

static bool read_label(struct reader *r, const struct protobuf_field *field)
{
    struct profile_label to = {0};
    struct protobuf_field f;
    struct protobuf w;
    if (!decode_message(field, &w))
        return false;
    while (w.p < w.end)
        if (!protobuf_read_field(&w, &f) || !read_label_field(&f, &to))
            return false;
    return add_label(r, &to);
}

/* ---- samples ---- */

static bool read_sample(struct reader *r, struct protobuf w)
{
    struct profile_sample *to = &r->d->p->samples[r->n_samples];
    struct protobuf_field f;
    size_t n_values = 0;
    *to = (struct profile_sample){.stack_at = (uint32_t)r->n_stack, .label_at = (uint32_t)r->n_labels};
    while (w.p < w.end) {
        bool fine = protobuf_read_field(&w, &f) && (f.number == 1   ? read_ids(r, &f)
                                                    : f.number == 2 ? read_values(r, &f, &n_values)
                                                    : f.number == 3 ? read_label(r, &f)
                                                                    : true);
        if (!fine)
            return false;
    }
    if (n_values != r->d->counts[PROFILE_SAMPLE_TYPE] && r->wrong_n_values == SIZE_MAX)
        r->wrong_n_values = n_values;
    to->depth = (uint32_t)r->n_stack - to->stack_at;
    r->n_samples++;
    return true;
}

/* Releases the bytes read so far, up to the first string. */
static void release_read_bytes(struct reader *r, size_t at)
{
    if (at < r->d->first_string && at - r->released >= RELEASE_STEP) {
        region_release_pages(r->d->bytes, r->released, at);
        r->released = at;
    }
}

/* Reads the samples from `begin` to before `end`. */
static int read_samples(void *ctx, size_t begin, size_t end, struct err *err)
{
    struct reader *r = ctx;
    const struct region *bytes = r->d->bytes;
    struct protobuf w = {bytes->p + r->at, bytes->p + bytes->n}, message;
    struct protobuf_field f;
    r->n_samples = begin;
    r->err = err;
    while (r->n_samples < end) {
        if (!protobuf_read_field(&w, &f))
            return -1;
        if (f.number == PROFILE_SAMPLE && !(decode_message(&f, &message) && read_sample(r, message)))
            return -1;
        release_read_bytes(r, (size_t)(w.p - bytes->p));
    }
    return 0;
}

/* ---- halves ---- */

/*
 * Reserves room for all stacks: the counted frames of the first half, and one frame for each byte of the
 * second. One spare frame separates the halves, because writing the first half's last frame overwrites the
 * bytes after it.
 */
static bool prepare_halves(struct reader halves[2])
{
    struct decoder *d = halves[0].d;
    struct profile *p = d->p;
    if (profile_reserve_frames(p, d->n_first_frames + 1 + (d->bytes->n - d->second_half_at), d->err) < 0)
        return false;
    memset(p->stack + d->n_first_frames * p->frame_size, 0, p->frame_size);
    halves[1].at = halves[1].released = d->second_half_at;
    halves[1].n_stack = d->n_first_frames + 1;
    halves[0].is_reserved = halves[1].is_reserved = true;
    return true;
}

/* Appends the separate labels of the second half. */
static bool append_labels(struct decoder *d, const struct reader *second)
{
    struct profile *p = d->p;
    if (second->n_labels == 0)
        return true;
    if (array_reserve((void **)&p->labels, &p->store->cap_labels, p->n_labels + second->n_labels,
                      sizeof *p->labels, d->err) < 0)
        return false;
    memcpy(p->labels + p->n_labels, second->labels, second->n_labels * sizeof *p->labels);
    for (size_t i = d->n_first_samples; i < p->n_samples; i++)
        p->samples[i].label_at += (uint32_t)p->n_labels;
    p->n_labels += second->n_labels;
    return true;
}

bool decode_samples(struct decoder *d)
{
    struct profile *p = d->p;
    struct reader halves[2] = {
        {.d = d, .wrong_n_values = SIZE_MAX, .labels = p->labels, .cap_labels = p->store->cap_labels},
        {.d = d, .wrong_n_values = SIZE_MAX}};
    /* If no bytes are released before a failure, the file may be parsed again as another form. Two threads
     * run only if the first half is large enough to release bytes, so that one thread and two give the same
     * result. */
    bool in_two = d->second_half_at >= RELEASE_STEP;
    struct reader *first = &halves[0], *second = &halves[1], *last = in_two ? second : first;
    if (in_two && !prepare_halves(halves))
        return false;
    first->room = second->room = in_two ? d->room / 2 : d->room;
    bool fine =
        two_threads_run(read_samples, first, in_two ? second : NULL, d->counts[PROFILE_SAMPLE], d->err) == 0;
    p->labels = first->labels;
    p->n_labels = first->n_labels;
    p->store->cap_labels = first->cap_labels;
    p->n_samples = last->n_samples;
    p->n_stack = last->n_stack;
    d->wrong_n_values = first->wrong_n_values == SIZE_MAX ? second->wrong_n_values : first->wrong_n_values;
    d->has_missing_location = first->has_missing_location || second->has_missing_location;
    d->released = first->released;
    fine = fine && append_labels(d, second);
    free(second->labels);
    return fine;
}
