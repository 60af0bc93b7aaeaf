/*
 * Samples of profile.proto.
 *
 * They are nearly all of a large profile, so their stacks go into its column at once, as indices.
 */
#include "proto/profile_decode.h"
#include "base/banned.h"

/* A frame behind the others, where there is room. */
static unsigned char *put(struct decoder *d, unsigned char *to, uint64_t id)
{
    uint32_t location = id_map_get(&d->locations, id);
    d->stray = d->stray || location == PROFILE_NONE;
    return profile_put_frame(d->p, to, location);
}

static bool packed_ids(struct decoder *d, const struct wire_field *f)
{
    struct profile *p = d->p;
    const unsigned char *at = f->p, *end = f->p + f->n;
    if (profile_reserve_frames(p, f->n, d->err) < 0)
        return false;
    unsigned char *begin = p->stack + p->n_stack * p->frame_size, *to = begin;
    while (at < end) {
        uint64_t id = *at++;
        if (id >= 0x80 && at < end && *at < 0x80) {
            id = (id & 0x7f) | (uint64_t)*at++ << 7;
        } else if (id >= 0x80) {
            struct wire w = {at - 1, end};
            if (!wire_long_number(&w, &id))
                return decode_malformed(d);
            at = w.p;
        }
        to = put(d, to, id);
    }
    p->n_stack += (size_t)(to - begin) / p->frame_size;
    return true;
}

static bool ids(struct decoder *d, const struct wire_field *f)
{
    struct profile *p = d->p;
    uint64_t id = 0;
    if (f->type == WIRE_LENGTH)
        return packed_ids(d, f);
    if (!decode_number(d, f, &id) || profile_reserve_frames(p, 1, d->err) < 0)
        return false;
    put(d, p->stack + p->n_stack++ * p->frame_size, id);
    return true;
}

/* The values of the newest sample; *n is how many it has so far. Those that are too many are only counted. */
static bool values(struct decoder *d, const struct wire_field *f, size_t *n)
{
    size_t types = d->n_kept_values;
    int64_t *to = d->p->values + d->p->n_samples * types;
    uint64_t v = 0;
    if (f->type != WIRE_LENGTH) {
        if (!decode_number(d, f, &v))
            return false;
        if (*n < types)
            to[*n] = (int64_t)v;
        ++*n;
        return true;
    }
    for (struct wire w = wire_into(f); w.p < w.end; ++*n) {
        if (!wire_number(&w, &v))
            return decode_malformed(d);
        if (*n < types)
            to[*n] = (int64_t)v;
    }
    return true;
}

/* Only what its kind has, strings as ours. */
static bool own_label(const struct decoder *d, struct profile_label *l)
{
    l->is_number = l->str == 0;
    if (!l->is_number) {
        l->num = 0;
        l->unit = 0;
    }
    return decode_own(d, &l->key) && decode_own(d, &l->str) && decode_own(d, &l->unit);
}

/* One that says nothing, neither text nor number nor unit, is none. */
static bool add_label(struct decoder *d, struct profile_label *l)
{
    struct profile *p = d->p;
    bool said = l->str || l->num || l->unit;
    if (!own_label(d, l))
        return decode_malformed(d);
    if (!said)
        return true;
    if (p->n_labels >= UINT32_MAX)
        return decode_no(d, "too many labels");
    if (array_reserve((void **)&p->labels, &p->store->cap_labels, p->n_labels + 1, sizeof *l, d->err) < 0)
        return false;
    p->labels[p->n_labels++] = *l;
    p->samples[p->n_samples].n_labels++;
    return true;
}

static bool label_field(struct decoder *d, const struct wire_field *f, struct profile_label *to)
{
    switch (f->number) {
    case 1:
        return decode_string_index(d, f, &to->key);
    case 2:
        return decode_string_index(d, f, &to->str);
    case 3:
        return decode_signed(d, f, &to->num);
    case 4:
        return decode_string_index(d, f, &to->unit);
    default:
        return true;
    }
}

static bool label(struct decoder *d, const struct wire_field *field)
{
    struct profile_label to = {0};
    struct wire_field f;
    struct wire w;
    if (!decode_message(d, field, &w))
        return false;
    while (w.p < w.end)
        if (!decode_next(d, &w, &f) || !label_field(d, &f, &to))
            return false;
    return add_label(d, &to);
}

bool decode_sample(struct decoder *d, struct wire w)
{
    struct profile *p = d->p;
    struct wire_field f;
    size_t n_values = 0;
    struct profile_sample *to = &p->samples[p->n_samples];
    *to = (struct profile_sample){.stack_at = (uint32_t)p->n_stack, .label_at = (uint32_t)p->n_labels};
    while (w.p < w.end) {
        bool fine = decode_next(d, &w, &f) && (f.number == 1   ? ids(d, &f)
                                               : f.number == 2 ? values(d, &f, &n_values)
                                               : f.number == 3 ? label(d, &f)
                                                               : true);
        if (!fine)
            return false;
    }
    if (n_values != d->counts[PROFILE_SAMPLE_TYPE] && d->odd_sample == SIZE_MAX)
        d->odd_sample = n_values;
    to->depth = (uint32_t)p->n_stack - to->stack_at;
    p->n_samples++;
    return true;
}
