/*
 * Writes profile.proto as google/pprof does: strings in the order of their first use, labels in the order of
 * label_order.h, lists of more than two numbers packed, fields in the order of their numbers, no field with
 * the value 0.
 *
 * Messages are built in scratch memory, because the length precedes the bytes. Room for tag and length is
 * left free before a sample, and filled last.
 *
 * Most of the output is IDs of locations. Therefore each location's ID is encoded once, in four bytes of
 * `ids`.
 *
 * Source: google/pprof profile/encode.go, proto.go.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/gzip.h"
#include "proto/label_order.h"
#include "proto/protobuf.h"
#include "base/banned.h"

/* Lists of more numbers than this are packed. */
#define MAX_UNPACKED 2

/* The last byte of an encoded ID is the number of its bytes, at most three. */
#define ID_SIZE_SHIFT 24

struct writer {
    const struct profile *p;
    profile_sink_fn *sink;
    void *ctx;
    struct err *err;
    struct label_order order;
    uint32_t *numbers;  /* the number of each string in the file; 0: none yet, or the empty string */
    uint32_t *in_order; /* the strings by number */
    uint32_t n_strings; /* with the empty one */
    uint32_t *ids; /* the encoded ID of each location, little-endian, with its size in the last byte; size 0:
                      the ID is too long */
    unsigned char *message;
    size_t cap_message;
    size_t n_block;
    unsigned char block[65536];
};

/* ---- bytes ---- */

static int flush_block(struct writer *w)
{
    size_t n = w->n_block;
    w->n_block = 0;
    return n ? w->sink(w->ctx, w->block, n, w->err) : 0;
}

static int add_bytes(struct writer *w, const void *p, size_t n)
{
    if (n > sizeof w->block - w->n_block && flush_block(w) < 0)
        return -1;
    if (n > sizeof w->block)
        return w->sink(w->ctx, p, n, w->err);
    if (n)
        memcpy(w->block + w->n_block, p, n);
    w->n_block += n;
    return 0;
}

static int add_field(struct writer *w, unsigned number, uint64_t v)
{
    unsigned char field[PROTOBUF_FIELD_SIZE];
    return add_bytes(w, field, (size_t)(protobuf_write_field(field, number, v) - field));
}

static int add_nonzero_field(struct writer *w, unsigned number, uint64_t v)
{
    return v ? add_field(w, number, v) : 0;
}

static int add_tag_and_length(struct writer *w, unsigned number, size_t n)
{
    unsigned char head[PROTOBUF_FIELD_SIZE];
    return add_bytes(w, head, (size_t)(protobuf_write_tag_and_length(head, number, n) - head));
}

/* Makes room for a message. */
static int reserve_message(struct writer *w, size_t n)
{
    return array_reserve((void **)&w->message, &w->cap_message, n, 1, w->err);
}

/* Writes the message in scratch memory, up to `end`, as a field. */
static int add_message(struct writer *w, unsigned number, const unsigned char *end)
{
    size_t n = (size_t)(end - w->message);
    return add_tag_and_length(w, number, n) < 0 ? -1 : add_bytes(w, w->message, n);
}

/* Writes a field unless it is 0. Returns its end. */
static unsigned char *put_nonzero_field(unsigned char *to, unsigned number, uint64_t v)
{
    return v ? protobuf_write_field(to, number, v) : to;
}

/* ---- strings ---- */

static void number_string(struct writer *w, uint32_t string)
{
    if (string == 0 || w->numbers[string])
        return;
    w->numbers[string] = w->n_strings;
    w->in_order[w->n_strings++] = string;
}

static int number_labels(struct writer *w, const struct profile_sample *s)
{
    const struct profile_label *labels = NULL;
    if (label_order_sort(&w->order, w->p->labels + s->label_at, s->n_labels, &labels, w->err) < 0)
        return -1;
    for (size_t i = 0; i < s->n_labels; i++) {
        number_string(w, labels[i].key);
        number_string(w, labels[i].is_number ? labels[i].unit : labels[i].str);
    }
    return 0;
}

static void number_header(struct writer *w)
{
    const struct profile *p = w->p;
    number_string(w, p->drop_frames);
    number_string(w, p->keep_frames);
    number_string(w, p->period_type.type);
    number_string(w, p->period_type.unit);
    for (size_t i = 0; i < p->n_comments; i++)
        number_string(w, p->comments[i]);
    number_string(w, p->default_sample_type);
    number_string(w, p->doc_url);
}

static int number_strings(struct writer *w)
{
    const struct profile *p = w->p;
    for (size_t i = 0; i < p->n_sample_types; i++) {
        number_string(w, p->sample_types[i].type);
        number_string(w, p->sample_types[i].unit);
    }
    for (size_t i = 0; i < p->n_samples; i++)
        if (p->samples[i].n_labels && number_labels(w, &p->samples[i]) < 0)
            return -1;
    for (size_t i = 0; i < p->n_mappings; i++) {
        number_string(w, p->mappings[i].file);
        number_string(w, p->mappings[i].build_id);
    }
    for (size_t i = 0; i < p->n_functions; i++) {
        number_string(w, p->functions[i].name);
        number_string(w, p->functions[i].system_name);
        number_string(w, p->functions[i].filename);
    }
    number_header(w);
    return 0;
}

/* ---- messages ---- */

static int write_value_type(struct writer *w, unsigned field, const struct profile_value_type *t)
{
    unsigned char *to = put_nonzero_field(w->message, 1, w->numbers[t->type]);
    return add_message(w, field, put_nonzero_field(to, 2, w->numbers[t->unit]));
}

/* Writes the IDs of a stack. May overwrite up to three bytes after them. */
static unsigned char *put_ids(const struct writer *w, const struct profile_sample *s, unsigned char *to)
{
    const uint32_t *ids = w->ids;
    uint32_t frame = 0;
    for (struct profile_walk walk = profile_walk(w->p, s); profile_walk_next(&walk, &frame);) {
        uint32_t id = ids[frame];
        memcpy(to, &id, sizeof id);
        size_t size = le32toh(id) >> ID_SIZE_SHIFT;
        to = size ? to + size : protobuf_write_number(to, w->p->locations[frame].id);
    }
    return to;
}

/* Writes the stack as a field. The caller has left room for tag and length before `to`. *ret_begin is the
 * start of the field. */
static unsigned char *put_stack(const struct writer *w, const struct profile_sample *s, unsigned char *to,
                                unsigned char **ret_begin)
{
    const struct profile *p = w->p;
    *ret_begin = to;
    if (s->depth > MAX_UNPACKED) {
        unsigned char *end = put_ids(w, s, to);
        *ret_begin = protobuf_prepend_tag_and_length(to, 1, (size_t)(end - to));
        return end;
    }
    for (size_t i = 0; i < s->depth; i++)
        to = protobuf_write_field(to, 1, p->locations[profile_frame(p, s, i)].id);
    return to;
}

static unsigned char *put_values(const int64_t *values, size_t n, unsigned char *to)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += protobuf_number_size((uint64_t)values[i]);
    if (n > MAX_UNPACKED)
        to = protobuf_write_tag_and_length(to, 2, size);
    for (size_t i = 0; i < n; i++)
        to = n > MAX_UNPACKED ? protobuf_write_number(to, (uint64_t)values[i])
                              : protobuf_write_field(to, 2, (uint64_t)values[i]);
    return to;
}

static unsigned char *put_label(const struct writer *w, const struct profile_label *l, unsigned char *to)
{
    unsigned char body[4 * PROTOBUF_FIELD_SIZE], *end = put_nonzero_field(body, 1, w->numbers[l->key]);
    if (l->is_number) {
        end = put_nonzero_field(end, 3, (uint64_t)l->num);
        end = put_nonzero_field(end, 4, w->numbers[l->unit]);
    } else {
        end = put_nonzero_field(end, 2, w->numbers[l->str]);
    }
    to = protobuf_write_tag_and_length(to, 3, (uint64_t)(end - body));
    memcpy(to, body, (size_t)(end - body));
    return to + (end - body);
}

static int write_sample(struct writer *w, size_t at)
{
    const struct profile *p = w->p;
    const struct profile_sample *s = &p->samples[at];
    const struct profile_label *labels = NULL;
    size_t n = p->n_sample_types;
    if (reserve_message(w, (4 + s->depth + n + (size_t)s->n_labels * 5) * PROTOBUF_FIELD_SIZE) < 0 ||
        label_order_sort(&w->order, p->labels + s->label_at, s->n_labels, &labels, w->err) < 0)
        return -1;
    unsigned char *begin, *end = put_stack(w, s, w->message + 2 * PROTOBUF_FIELD_SIZE, &begin);
    end = put_values(p->values + at * n, n, end);
    for (size_t i = 0; i < s->n_labels; i++)
        end = put_label(w, &labels[i], end);
    begin = protobuf_prepend_tag_and_length(begin, 2, (size_t)(end - begin));
    return add_bytes(w, begin, (size_t)(end - begin));
}

static int write_mapping(struct writer *w, const struct profile_mapping *m)
{
    unsigned char *to = put_nonzero_field(w->message, 1, m->id);
    to = put_nonzero_field(to, 2, m->start);
    to = put_nonzero_field(to, 3, m->limit);
    to = put_nonzero_field(to, 4, m->offset);
    to = put_nonzero_field(to, 5, w->numbers[m->file]);
    to = put_nonzero_field(to, 6, w->numbers[m->build_id]);
    to = put_nonzero_field(to, 7, m->has_functions);
    to = put_nonzero_field(to, 8, m->has_filenames);
    to = put_nonzero_field(to, 9, m->has_line_numbers);
    return add_message(w, 3, put_nonzero_field(to, 10, m->has_inline_frames));
}

static unsigned char *put_line(const struct profile *p, const struct profile_line *l, unsigned char *to)
{
    unsigned char body[3 * PROTOBUF_FIELD_SIZE];
    unsigned char *end =
        put_nonzero_field(body, 1, l->function == PROFILE_NONE ? 0 : p->functions[l->function].id);
    end = put_nonzero_field(end, 2, (uint64_t)l->line);
    end = put_nonzero_field(end, 3, (uint64_t)l->column);
    to = protobuf_write_tag_and_length(to, 4, (uint64_t)(end - body));
    memcpy(to, body, (size_t)(end - body));
    return to + (end - body);
}

static int write_location(struct writer *w, const struct profile_location *l)
{
    const struct profile *p = w->p;
    if (reserve_message(w, (4 + (size_t)l->n_lines * 4) * PROTOBUF_FIELD_SIZE) < 0)
        return -1;
    unsigned char *to = put_nonzero_field(w->message, 1, l->id);
    to = put_nonzero_field(to, 2, l->mapping == PROFILE_NONE ? 0 : p->mappings[l->mapping].id);
    to = put_nonzero_field(to, 3, l->address);
    for (size_t i = 0; i < l->n_lines; i++)
        to = put_line(p, &p->lines[l->line_at + i], to);
    return add_message(w, 4, put_nonzero_field(to, 5, l->folded));
}

static int write_function(struct writer *w, const struct profile_function *f)
{
    unsigned char *to = put_nonzero_field(w->message, 1, f->id);
    to = put_nonzero_field(to, 2, w->numbers[f->name]);
    to = put_nonzero_field(to, 3, w->numbers[f->system_name]);
    to = put_nonzero_field(to, 4, w->numbers[f->filename]);
    return add_message(w, 5, put_nonzero_field(to, 5, (uint64_t)f->start_line));
}

static int write_strings(struct writer *w)
{
    for (uint32_t i = 0; i < w->n_strings; i++) {
        struct str s = profile_str(w->p, w->in_order[i]);
        if (add_tag_and_length(w, 6, s.n) < 0 || add_bytes(w, s.p, s.n) < 0)
            return -1;
    }
    return 0;
}

static int write_comments(struct writer *w)
{
    const struct profile *p = w->p;
    size_t size = 0;
    for (size_t i = 0; i < p->n_comments; i++)
        size += protobuf_number_size(w->numbers[p->comments[i]]);
    if (p->n_comments > MAX_UNPACKED && add_tag_and_length(w, 13, size) < 0)
        return -1;
    for (size_t i = 0; i < p->n_comments; i++) {
        unsigned char bytes[PROTOBUF_FIELD_SIZE];
        uint64_t v = w->numbers[p->comments[i]];
        unsigned char *end = p->n_comments > MAX_UNPACKED ? protobuf_write_number(bytes, v)
                                                          : protobuf_write_field(bytes, 13, v);
        if (add_bytes(w, bytes, (size_t)(end - bytes)) < 0)
            return -1;
    }
    return 0;
}

static int write_header(struct writer *w)
{
    const struct profile *p = w->p;
    if (add_nonzero_field(w, 7, w->numbers[p->drop_frames]) < 0 ||
        add_nonzero_field(w, 8, w->numbers[p->keep_frames]) < 0 ||
        add_nonzero_field(w, 9, (uint64_t)p->time_ns) < 0 ||
        add_nonzero_field(w, 10, (uint64_t)p->duration_ns) < 0)
        return -1;
    if ((p->period_type.type || p->period_type.unit) && write_value_type(w, 11, &p->period_type) < 0)
        return -1;
    /* The default sample type is written even if it is 0. */
    return add_nonzero_field(w, 12, (uint64_t)p->period) < 0 || write_comments(w) < 0 ||
                   add_field(w, 14, w->numbers[p->default_sample_type]) < 0
               ? -1
               : add_nonzero_field(w, 15, w->numbers[p->doc_url]);
}

static int write_all(struct writer *w)
{
    const struct profile *p = w->p;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n_sample_types; i++)
        rc = write_value_type(w, 1, &p->sample_types[i]);
    for (size_t i = 0; rc == 0 && i < p->n_samples; i++)
        rc = write_sample(w, i);
    for (size_t i = 0; rc == 0 && i < p->n_mappings; i++)
        rc = write_mapping(w, &p->mappings[i]);
    for (size_t i = 0; rc == 0 && i < p->n_locations; i++)
        rc = write_location(w, &p->locations[i]);
    for (size_t i = 0; rc == 0 && i < p->n_functions; i++)
        rc = write_function(w, &p->functions[i]);
    return rc < 0 || write_strings(w) < 0 || write_header(w) < 0 ? -1 : flush_block(w);
}

static void encode_ids(const struct profile *p, uint32_t *ids)
{
    for (size_t i = 0; i < p->n_locations; i++) {
        unsigned char bytes[sizeof *ids + PROTOBUF_NUMBER_SIZE] = {0};
        size_t size = protobuf_number_size(p->locations[i].id);
        if (size < sizeof *ids) {
            protobuf_write_number(bytes, p->locations[i].id);
            bytes[sizeof *ids - 1] = (unsigned char)size;
        }
        memcpy(&ids[i], bytes, sizeof *ids);
    }
}

int profile_write(const struct profile *p, profile_sink_fn *sink, void *ctx, struct err *err)
{
    size_t n = profile_n_strings(p);
    int rc = -1;
    struct writer *w = malloc(sizeof *w);
    if (!w)
        return err_nomem(err);
    w->p = p;
    w->sink = sink;
    w->ctx = ctx;
    w->err = err;
    w->order = (struct label_order){0};
    w->numbers = calloc(n, sizeof *w->numbers);
    w->in_order = malloc(n * sizeof *w->in_order);
    w->ids = malloc((p->n_locations + 1) * sizeof *w->ids);
    w->n_strings = 1;
    w->message = NULL;
    w->cap_message = w->n_block = 0;
    if (!w->numbers || !w->in_order || !w->ids) {
        err_nomem(err);
        goto out;
    }
    w->in_order[0] = 0;
    encode_ids(p, w->ids);
    if (label_order_init(&w->order, p, err) == 0 && reserve_message(w, 16 * PROTOBUF_FIELD_SIZE) == 0 &&
        number_strings(w) == 0)
        rc = write_all(w);
out:
    label_order_release(&w->order);
    free(w->numbers);
    free(w->in_order);
    free(w->ids);
    free(w->message);
    free(w);
    return rc;
}

int profile_write_gzip(const struct profile *p, profile_sink_fn *sink, void *ctx, struct err *err)
{
    struct gzip_writer *gzip = gzip_writer_new(sink, ctx, err);
    int rc = gzip ? profile_write(p, gzip_writer_add, gzip, err) : -1;
    if (rc == 0)
        rc = gzip_writer_end(gzip, err);
    gzip_writer_free(gzip);
    return rc;
}
