/* Decodes all fields of profile.proto except samples: the tables that samples refer to, and the header. */
#include "proto/profile_decode.h"
#include "base/banned.h"

static bool read_flag(const struct protobuf_field *f, bool *ret)
{
    uint64_t v = 0;
    if (!decode_number(f, &v))
        return false;
    *ret = v != 0;
    return true;
}

static bool read_value_type(struct protobuf w, struct profile_value_type *to)
{
    struct protobuf_field f;
    while (w.p < w.end) {
        bool fine = protobuf_read_field(&w, &f) && (f.number == 1   ? decode_string_index(&f, &to->type)
                                                    : f.number == 2 ? decode_string_index(&f, &to->unit)
                                                                    : true);
        if (!fine)
            return false;
    }
    return true;
}

static bool read_mapping_field(const struct protobuf_field *f, struct profile_mapping *to)
{
    switch (f->number) {
    case 1:
        return decode_number(f, &to->id);
    case 2:
        return decode_number(f, &to->start);
    case 3:
        return decode_number(f, &to->limit);
    case 4:
        return decode_number(f, &to->offset);
    case 5:
        return decode_string_index(f, &to->file);
    case 6:
        return decode_string_index(f, &to->build_id);
    case 7:
        return read_flag(f, &to->has_functions);
    case 8:
        return read_flag(f, &to->has_filenames);
    case 9:
        return read_flag(f, &to->has_line_numbers);
    case 10:
        return read_flag(f, &to->has_inline_frames);
    default:
        return true;
    }
}

static bool read_mapping(struct decoder *d, struct protobuf w)
{
    struct profile_mapping to = {0};
    struct protobuf_field f;
    while (w.p < w.end)
        if (!protobuf_read_field(&w, &f) || !read_mapping_field(&f, &to))
            return false;
    return profile_add_mapping(d->p, &to, d->err) == 0;
}

static bool read_function(struct decoder *d, struct protobuf w)
{
    struct profile_function to = {0};
    struct protobuf_field f;
    while (w.p < w.end) {
        bool fine = protobuf_read_field(&w, &f) && (f.number == 1   ? decode_number(&f, &to.id)
                                                    : f.number == 2 ? decode_string_index(&f, &to.name)
                                                    : f.number == 3 ? decode_string_index(&f, &to.system_name)
                                                    : f.number == 4 ? decode_string_index(&f, &to.filename)
                                                    : f.number == 5 ? decode_signed(&f, &to.start_line)
                                                                    : true);
        if (!fine)
            return false;
    }
    return profile_add_function(d->p, &to, d->err) == 0;
}

static bool read_line(struct decoder *d, const struct protobuf_field *field)
{
    struct profile *p = d->p;
    struct profile_line to = {.function = PROFILE_NONE};
    uint64_t id = 0;
    struct protobuf_field f;
    struct protobuf w;
    if (!decode_message(field, &w))
        return false;
    if (p->n_lines >= UINT32_MAX)
        return decode_fail(d, "too many lines of locations");
    if (!decode_charge(&d->room, 1, sizeof to + sizeof id, d->err))
        return false;
    while (w.p < w.end) {
        bool fine = protobuf_read_field(&w, &f) && (f.number == 1   ? decode_number(&f, &id)
                                                    : f.number == 2 ? decode_signed(&f, &to.line)
                                                    : f.number == 3 ? decode_signed(&f, &to.column)
                                                                    : true);
        if (!fine)
            return false;
    }
    if (array_reserve((void **)&p->lines, &p->store->cap_lines, p->n_lines + 1, sizeof to, d->err) < 0 ||
        array_reserve((void **)&d->line_functions, &d->cap_line_functions, p->n_lines + 1, sizeof id,
                      d->err) < 0)
        return false;
    p->lines[p->n_lines] = to;
    d->line_functions[p->n_lines++] = id;
    return true;
}

static bool read_location(struct decoder *d, struct protobuf w)
{
    struct profile *p = d->p;
    struct profile_location to = {.mapping = PROFILE_NONE, .line_at = (uint32_t)p->n_lines};
    uint64_t mapping_id = 0;
    struct protobuf_field f;
    while (w.p < w.end) {
        bool fine = protobuf_read_field(&w, &f) && (f.number == 1   ? decode_number(&f, &to.id)
                                                    : f.number == 2 ? decode_number(&f, &mapping_id)
                                                    : f.number == 3 ? decode_number(&f, &to.address)
                                                    : f.number == 4 ? read_line(d, &f)
                                                    : f.number == 5 ? read_flag(&f, &to.folded)
                                                                    : true);
        if (!fine)
            return false;
    }
    to.n_lines = (uint32_t)p->n_lines - to.line_at;
    d->location_mappings[p->n_locations] = mapping_id;
    p->locations[p->n_locations++] = to;
    return true;
}

/* ---- the header ---- */

static bool read_comments(struct decoder *d, const struct protobuf_field *f)
{
    uint32_t index = 0;
    if (f->type != PROTOBUF_LENGTH)
        return decode_string_index(f, &index) && profile_add_comment(d->p, index, d->err) == 0;
    for (struct protobuf w = protobuf_of_field(f); w.p < w.end;) {
        struct protobuf_field one = {.type = PROTOBUF_NUMBER};
        if (!protobuf_read_number(&w, &one.value) || !decode_string_index(&one, &index) ||
            profile_add_comment(d->p, index, d->err) < 0)
            return false;
    }
    return true;
}

/* A second value belongs to a second, concatenated profile. */
static bool read_time(struct decoder *d, const struct protobuf_field *f)
{
    d->concatenated = d->concatenated || d->p->time_ns != 0;
    return d->concatenated ? decode_fail(d, "concatenated profiles detected")
                           : decode_signed(f, &d->p->time_ns);
}

static bool read_header_field(struct decoder *d, const struct protobuf_field *f)
{
    struct profile *p = d->p;
    struct protobuf w;
    switch (f->number) {
    case PROFILE_DROP_FRAMES:
        return decode_string_index(f, &p->drop_frames);
    case PROFILE_KEEP_FRAMES:
        return decode_string_index(f, &p->keep_frames);
    case PROFILE_TIME:
        return read_time(d, f);
    case PROFILE_DURATION:
        return decode_signed(f, &p->duration_ns);
    case PROFILE_PERIOD_TYPE:
        p->period_type = (struct profile_value_type){0};
        return decode_message(f, &w) && read_value_type(w, &p->period_type);
    case PROFILE_PERIOD:
        return decode_signed(f, &p->period);
    case PROFILE_COMMENT:
        return read_comments(d, f);
    case PROFILE_DEFAULT_SAMPLE_TYPE:
        return decode_string_index(f, &p->default_sample_type);
    case PROFILE_DOC_URL:
        return decode_string_index(f, &p->doc_url);
    default:
        return true;
    }
}

static bool read_string(struct decoder *d, struct protobuf w)
{
    struct str s = {(const char *)w.p, (size_t)(w.end - w.p)};
    if (d->n_strings == 0 && s.n)
        return decode_fail(d, "string_table[0] must be ''");
    return strtab_refer(&d->p->store->strings, s, &d->strings[d->n_strings++], d->err) == 0;
}

static bool read_sample_type(struct decoder *d, struct protobuf w)
{
    struct profile_value_type type = {0};
    return read_value_type(w, &type) && profile_add_sample_type(d->p, type, d->err) == 0;
}

bool decode_table(struct decoder *d, const struct protobuf_field *f)
{
    static bool (*const messages[])(struct decoder *, struct protobuf) = {
        [PROFILE_SAMPLE_TYPE] = read_sample_type, [PROFILE_MAPPING] = read_mapping,
        [PROFILE_LOCATION] = read_location,       [PROFILE_FUNCTION] = read_function,
        [PROFILE_STRING] = read_string,
    };
    struct protobuf w;
    if (f->number == 0 || f->number > PROFILE_STRING)
        return read_header_field(d, f);
    return decode_message(f, &w) && messages[f->number](d, w);
}
