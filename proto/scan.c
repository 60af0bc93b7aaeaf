/*
 * A push parser. Between two pieces it keeps only its position: the incomplete number, the open messages (at
 * most three levels), and the current string. Positions are offsets from the start of the profile, so one
 * comparison finds the end of a message.
 *
 * A field is a tag, then a number, or a length and a region: a message (opened), a string, packed numbers or
 * bytes to skip. One table has the role of each field.
 *
 * The names in the summary are indices into the string table, which is usually last. The scan stores a string
 * if a name already refers to it. An encoder may write the table first, so the scan always stores the first
 * HEAD_SIZE bytes of the table.
 */
#include "proto/proto.h"

#include <stdlib.h>
#include <string.h>

#include "proto/protobuf.h"
#include "base/banned.h"

#define HEAD_SIZE 65536 /* stored bytes of the start of the string table */
#define TEXT_SIZE 127   /* stored bytes of a string, so that it fits into profile_summary.build_id */
#define MAX_NAMES (2 * PROFILE_MAX_SAMPLE_TYPES + 1)
#define MAX_FIELD 16
#define VARINT_MAX_SHIFT 70 /* 10 bytes of 7 bits */
#define LENGTH_MAX_SHIFT 35 /* 5 bytes of 7 bits, for lengths and tags */

enum message_kind {
    PROFILE,
    SAMPLE_TYPE,
    PERIOD_TYPE,
    SAMPLE,
    LABEL,
    MAPPING,
    LOCATION,
    LINE,
    FUNCTION,
    KINDS,
};

static const char *const kind_names[] = {
    [PROFILE] = "the profile",
    [SAMPLE_TYPE] = "a sample type",
    [PERIOD_TYPE] = "the period type",
    [SAMPLE] = "a sample",
    [LABEL] = "a label",
    [MAPPING] = "a mapping",
    [LOCATION] = "a location",
    [LINE] = "a line",
    [FUNCTION] = "a function",
};

/* The role of a field. wire_type_fits and read_length depend on the order. */
enum role {
    UNKNOWN, /* any wire type, skipped */
    NUMBER,  /* this role and those up to PERIOD: one number */
    INDEX,   /* the index of a string */
    TYPE_INDEX,
    UNIT_INDEX,
    BUILD_ID_INDEX,
    TIME,
    DURATION,
    PERIOD,
    NUMBERS, /* this role and those up to VALUES: a list of numbers, packed or not */
    INDEXES,
    VALUES,
    STRING,
    MESSAGE, /* MESSAGE + KIND is the role of a message of that kind */
};

static const unsigned char fields[KINDS][MAX_FIELD] = {
    [PROFILE] = {[1] = MESSAGE + SAMPLE_TYPE,
                 [2] = MESSAGE + SAMPLE,
                 [3] = MESSAGE + MAPPING,
                 [4] = MESSAGE + LOCATION,
                 [5] = MESSAGE + FUNCTION,
                 [6] = STRING,
                 [7] = INDEX,
                 [8] = INDEX,
                 [9] = TIME,
                 [10] = DURATION,
                 [11] = MESSAGE + PERIOD_TYPE,
                 [12] = PERIOD,
                 [13] = INDEXES,
                 [14] = INDEX,
                 [15] = INDEX},
    [SAMPLE_TYPE] = {[1] = TYPE_INDEX, [2] = UNIT_INDEX},
    [PERIOD_TYPE] = {[1] = INDEX, [2] = INDEX},
    [SAMPLE] = {[1] = NUMBERS, [2] = VALUES, [3] = MESSAGE + LABEL},
    [LABEL] = {[1] = INDEX, [2] = INDEX, [3] = NUMBER, [4] = INDEX},
    [MAPPING] = {[1] = NUMBER,
                 [2] = NUMBER,
                 [3] = NUMBER,
                 [4] = NUMBER,
                 [5] = INDEX,
                 [6] = BUILD_ID_INDEX,
                 [7] = NUMBER,
                 [8] = NUMBER,
                 [9] = NUMBER,
                 [10] = NUMBER},
    [LOCATION] = {[1] = NUMBER, [2] = NUMBER, [3] = NUMBER, [4] = MESSAGE + LINE, [5] = NUMBER},
    [LINE] = {[1] = NUMBER, [2] = NUMBER, [3] = NUMBER},
    [FUNCTION] = {[1] = NUMBER, [2] = INDEX, [3] = INDEX, [4] = INDEX, [5] = NUMBER},
};

enum state {
    AT_TAG,
    AT_NUMBER,
    AT_LENGTH,
    IN_PACKED,
    IN_STRING,
    IN_SKIPPED,
};

/* A string of the summary. */
struct name {
    uint64_t index;
    bool found;
    size_t len;
    char text[TEXT_SIZE];
};

struct profile_scan {
    /* the piece being read, and the offset of its next byte */
    const unsigned char *p;
    const unsigned char *end;
    uint64_t at;

    enum state state;
    unsigned role;     /* role of the current field */
    uint64_t field_at; /* offset of that field */
    uint64_t number;   /* the number in progress: its low `shift` bits are known */
    unsigned shift;
    uint64_t region_end; /* in the IN_ states */
    struct {
        enum message_kind kind;
        uint64_t end;
    } open[3]; /* profile, sample or location, label or line */
    unsigned depth;

    struct profile_summary summary;
    int64_t totals[PROFILE_MAX_SAMPLE_TYPES];
    struct {
        uint64_t at; /* offset */
        uint64_t n_values;
        uint64_t depth;
    } sample, first_sample,
        wrong_sample; /* the current sample, the first one, and the first one with another number of values */

    uint64_t strings;
    uint64_t index_max;           /* the highest string index that was read */
    uint64_t index_max_at;        /* offset of its field */
    struct name names[MAX_NAMES]; /* type and unit of each sample type, the build id */
    char text[TEXT_SIZE];         /* start of the current string */
    size_t text_len;
    unsigned char head[HEAD_SIZE]; /* the first strings: a byte with the length, then the text */
    size_t head_len;
    uint64_t head_strings;

    bool has_whole_type; /* a sample type was read to its end */
    bool failed;
    struct err why; /* every later call returns it */
};

#define BUILD_ID_NAME (MAX_NAMES - 1)

struct profile_scan *profile_scan_new(struct err *err)
{
    struct profile_scan *s = calloc(1, sizeof *s);
    if (!s) {
        err_nomem(err);
        return NULL;
    }
    s->open[0].kind = PROFILE;
    s->open[0].end = UINT64_MAX;
    return s;
}

void profile_scan_free(struct profile_scan *s)
{
    free(s);
}

#define AT "at byte %llu: "

static unsigned long long field_at(const struct profile_scan *s)
{
    return s->field_at;
}

/* ---- strings and names ---- */

static void add_string_text(struct profile_scan *s, const void *p, size_t n)
{
    size_t room = TEXT_SIZE - s->text_len;
    if (n > room)
        n = room;
    memcpy(s->text + s->text_len, p, n);
    s->text_len += n;
}

/* Stores the complete string in the head if there is room, else in each name with its index. */
static void end_string(struct profile_scan *s)
{
    uint64_t index = s->strings++;
    if (!s->summary.go_version[0])
        go_version_of_path(s->text, s->text_len, s->summary.go_version, sizeof s->summary.go_version);
    if (s->head_strings == index && s->text_len + 1 <= HEAD_SIZE - s->head_len) {
        s->head[s->head_len++] = (unsigned char)s->text_len;
        memcpy(s->head + s->head_len, s->text, s->text_len);
        s->head_len += s->text_len;
        s->head_strings++;
        return;
    }
    for (size_t i = 0; i < MAX_NAMES; i++)
        if (s->names[i].index == index) {
            s->names[i].found = true;
            s->names[i].len = s->text_len;
            memcpy(s->names[i].text, s->text, s->text_len);
        }
}

/* Copies a name to dst: "?" if its string arrived before the name's index was known and is not in the head.
 */
static void write_name(const struct profile_scan *s, size_t i, char *dst, size_t cap)
{
    const struct name *name = &s->names[i];
    const char *text = name->found ? name->text : "?";
    size_t len = name->found ? name->len : 1;
    if (name->index < s->head_strings) {
        const unsigned char *head = s->head;
        for (uint64_t k = 0; k < name->index; k++)
            head += 1 + *head;
        text = (const char *)head + 1;
        len = *head;
    }
    text_printable(dst, cap, text, len);
}

/* ---- fields ---- */

static int check_index(struct profile_scan *s, uint64_t index, struct err *err)
{
    if (index > INT64_MAX)
        return err_set(err, ERR_FAILED, AT "%s has the string index %lld", field_at(s),
                       kind_names[s->open[s->depth].kind], (long long)index);
    if (index > s->index_max) {
        s->index_max = index;
        s->index_max_at = s->field_at;
    }
    return 0;
}

static void record_value(struct profile_scan *s, int64_t value)
{
    uint64_t i = s->sample.n_values++;
    if (i >= PROFILE_MAX_SAMPLE_TYPES)
        return;
    if (__builtin_add_overflow(s->totals[i], value, &s->totals[i]))
        s->totals[i] = value < 0 ? INT64_MIN : INT64_MAX;
}

static int handle_number(struct profile_scan *s, uint64_t number, struct err *err)
{
    switch (s->role) {
    case NUMBERS:
        s->sample.depth++;
        return 0;
    case VALUES:
        record_value(s, (int64_t)number);
        return 0;
    case TIME:
        s->summary.time_ns = (int64_t)number;
        return 0;
    case DURATION:
        s->summary.duration_ns = (int64_t)number;
        return 0;
    case PERIOD:
        s->summary.period = (int64_t)number;
        return 0;
    case TYPE_INDEX:
        s->names[2 * s->summary.n_types - 2].index = number;
        return check_index(s, number, err);
    case UNIT_INDEX:
        s->names[2 * s->summary.n_types - 1].index = number;
        return check_index(s, number, err);
    case BUILD_ID_INDEX:
        if (s->summary.mappings == 1)
            s->names[BUILD_ID_NAME].index = number;
        return check_index(s, number, err);
    case INDEX:
    case INDEXES:
        return check_index(s, number, err);
    default:
        return 0;
    }
}

static int begin_message(struct profile_scan *s, enum message_kind kind, struct err *err)
{
    switch (kind) {
    case SAMPLE_TYPE:
        if (s->summary.n_types == PROFILE_MAX_SAMPLE_TYPES)
            return err_set(err, ERR_FAILED, AT "more than %d sample types", field_at(s),
                           PROFILE_MAX_SAMPLE_TYPES);
        s->summary.n_types++;
        break;
    case SAMPLE:
        s->summary.samples++;
        s->sample.at = s->field_at;
        s->sample.n_values = s->sample.depth = 0;
        break;
    case MAPPING:
        s->summary.mappings++;
        break;
    case LOCATION:
        s->summary.locations++;
        break;
    case FUNCTION:
        s->summary.functions++;
        break;
    default:
        break;
    }
    return 0;
}

/* Records the depth and the number of values of a sample. check_values compares the number at the end,
 * because sample types may follow the samples. */
static void end_message(struct profile_scan *s, enum message_kind kind)
{
    s->has_whole_type = s->has_whole_type || kind == SAMPLE_TYPE;
    if (kind != SAMPLE)
        return;
    if (s->sample.depth > s->summary.max_depth) {
        s->summary.max_depth = s->sample.depth;
        s->summary.samples_at_max = 0;
    }
    s->summary.samples_at_max += s->sample.depth == s->summary.max_depth;
    if (s->summary.samples == 1)
        s->first_sample = s->sample;
    else if (s->sample.n_values != s->first_sample.n_values && s->wrong_sample.at == 0)
        s->wrong_sample = s->sample;
}

/* ---- wire types and lengths ---- */

/* Returns the number of unread bytes of the piece before the offset `limit`. */
static inline size_t piece_left(const struct profile_scan *s, uint64_t limit)
{
    size_t n = (size_t)(s->end - s->p);
    return n > limit - s->at ? (size_t)(limit - s->at) : n;
}

static int set_long_number_error(const struct profile_scan *s, struct err *err)
{
    return err_set(err, ERR_FAILED, AT "a number of more than 10 bytes", field_at(s));
}

static int set_cut_number_error(const struct profile_scan *s, struct err *err)
{
    return err_set(err, ERR_FAILED, AT "a number continues after the end of %s", field_at(s),
                   kind_names[s->open[s->depth].kind]);
}

/* Continues the number in progress, which must end before `limit`. If *ret_done, s->number is complete. */
static inline int read_varint(struct profile_scan *s, uint64_t limit, bool *ret_done, struct err *err)
{
    const unsigned char *p = s->p;
    size_t n = piece_left(s, limit);
    if (n > 0 && s->shift == 0 && *p < 0x80) { /* most numbers have one byte */
        s->number = *p;
        s->shift = 7;
        s->p++;
        s->at++;
        *ret_done = true;
        return 0;
    }
    uint64_t number = s->number;
    unsigned shift = s->shift;
    bool done = false;
    for (size_t i = 0; i < n && !done && shift < VARINT_MAX_SHIFT; i++) {
        number |= (uint64_t)(*p & 0x7f) << shift;
        shift += 7;
        done = *p++ < 0x80;
    }
    s->at += (uint64_t)(p - s->p);
    s->p = p;
    s->number = number;
    s->shift = shift;
    *ret_done = done;
    if (!done && shift >= VARINT_MAX_SHIFT)
        return set_long_number_error(s, err);
    if (!done && s->at == limit)
        return set_cut_number_error(s, err);
    return 0;
}

/* Clears the number; the next state is `state`. */
static void end_number(struct profile_scan *s, enum state state)
{
    s->number = 0;
    s->shift = 0;
    s->state = state;
}

static int begin_region(struct profile_scan *s, enum state state, uint64_t n, struct err *err)
{
    uint64_t left = s->open[s->depth].end - s->at;
    if (n > left)
        return err_set(err, ERR_FAILED, AT "a field of %llu bytes where %s has %llu left", field_at(s),
                       (unsigned long long)n, kind_names[s->open[s->depth].kind], (unsigned long long)left);
    s->region_end = s->at + n;
    end_number(s, state);
    return 0;
}

static bool wire_type_fits(unsigned role, unsigned wire_type)
{
    switch (wire_type) {
    case PROTOBUF_NUMBER:
        return role < STRING;
    case PROTOBUF_LENGTH:
        return role == UNKNOWN || role >= NUMBERS;
    case PROTOBUF_FIXED32:
    case PROTOBUF_FIXED64:
        return role == UNKNOWN;
    default:
        return false; /* groups, and two types that do not exist */
    }
}

static int read_tag(struct profile_scan *s, struct err *err)
{
    bool done = false;
    if (s->shift == 0)
        s->field_at = s->at;
    if (read_varint(s, s->open[s->depth].end, &done, err))
        return -1;
    if (!done)
        return 0;
    uint64_t field = s->number >> 3;
    unsigned wire_type = s->number & 7;
    enum message_kind kind = s->open[s->depth].kind;
    if (s->number > UINT32_MAX || s->shift > LENGTH_MAX_SHIFT || field == 0)
        return err_set(err, ERR_FAILED, AT "%s has a field with a bad number", field_at(s), kind_names[kind]);
    s->role = field < MAX_FIELD ? fields[kind][field] : UNKNOWN;
    s->summary.unknown += s->role == UNKNOWN;
    if (!wire_type_fits(s->role, wire_type))
        return err_set(err, ERR_FAILED, AT "field %u of %s has wire type %u", field_at(s), (unsigned)field,
                       kind_names[kind], wire_type);
    if (wire_type == PROTOBUF_FIXED32 || wire_type == PROTOBUF_FIXED64)
        return begin_region(s, IN_SKIPPED, wire_type == PROTOBUF_FIXED32 ? 4 : 8, err);
    end_number(s, wire_type == PROTOBUF_NUMBER ? AT_NUMBER : AT_LENGTH);
    return 0;
}

static int read_number(struct profile_scan *s, struct err *err)
{
    bool done = false;
    if (read_varint(s, s->open[s->depth].end, &done, err))
        return -1;
    if (!done)
        return 0;
    if (handle_number(s, s->number, err))
        return -1;
    end_number(s, AT_TAG);
    return 0;
}

/* Counts packed numbers and checks their lengths. Most packed numbers are stacks, whose values the summary
 * does not need. */
static int skip_packed(struct profile_scan *s, struct err *err)
{
    size_t n = piece_left(s, s->region_end);
    const unsigned char *p = s->p, *end = p + n;
    unsigned shift = s->shift;
    uint64_t ended = 0;
    for (; p < end && shift < VARINT_MAX_SHIFT; p++) {
        shift = (shift + 7) & (0u - (*p >> 7)); /* 0 at the last byte of a number. No branch: the processor
                                                   could not predict it. */
        ended += 1u - (*p >> 7);
    }
    s->shift = shift;
    s->sample.depth += ended;
    s->at += (uint64_t)(p - s->p);
    s->p = p;
    if (shift >= VARINT_MAX_SHIFT)
        return set_long_number_error(s, err);
    if (shift > 0 && s->at == s->region_end)
        return set_cut_number_error(s, err);
    return 0;
}

static int read_packed(struct profile_scan *s, struct err *err)
{
    if (s->role == NUMBERS)
        return skip_packed(s, err);
    while (piece_left(s, s->region_end) > 0) {
        bool done = false;
        if (read_varint(s, s->region_end, &done, err))
            return -1;
        if (done && handle_number(s, s->number, err))
            return -1;
        if (done)
            end_number(s, IN_PACKED);
    }
    return 0;
}

static int open_message(struct profile_scan *s, enum message_kind kind, uint64_t n, struct err *err)
{
    if (begin_message(s, kind, err) || begin_region(s, AT_TAG, n, err))
        return -1;
    s->depth++;
    s->open[s->depth].kind = kind;
    s->open[s->depth].end = s->region_end;
    return 0;
}

static int read_length(struct profile_scan *s, struct err *err)
{
    bool done = false;
    if (read_varint(s, s->open[s->depth].end, &done, err))
        return -1;
    if (!done)
        return 0;
    uint64_t n = s->number;
    if (s->shift > LENGTH_MAX_SHIFT || n > INT32_MAX - 5)
        return err_set(err, ERR_FAILED, AT "a field of more than 2 GiB", field_at(s));
    if (s->role >= MESSAGE)
        return open_message(s, (enum message_kind)(s->role - MESSAGE), n, err);
    if (s->role == UNKNOWN)
        return begin_region(s, IN_SKIPPED, n, err);
    if (s->role != STRING)
        return begin_region(s, IN_PACKED, n, err);
    if (s->strings == 0 && n > 0)
        return err_set(err, ERR_FAILED, AT "the first string is not empty", field_at(s));
    s->text_len = 0;
    return begin_region(s, IN_STRING, n, err);
}

/* Consumes the available part of a string or a skipped region. */
static void read_region(struct profile_scan *s)
{
    size_t n = piece_left(s, s->region_end);
    if (s->state == IN_STRING)
        add_string_text(s, s->p, n);
    s->p += n;
    s->at += n;
}

/* Closes the region and the messages that end at this offset. */
static void close_ended(struct profile_scan *s)
{
    if (s->state >= IN_PACKED && s->at == s->region_end) {
        if (s->state == IN_STRING)
            end_string(s);
        s->state = AT_TAG;
    }
    while (s->state == AT_TAG && s->shift == 0 && s->at == s->open[s->depth].end) {
        end_message(s, s->open[s->depth].kind);
        s->depth--;
    }
}

static int read_next(struct profile_scan *s, struct err *err)
{
    switch (s->state) {
    case AT_TAG:
        return read_tag(s, err);
    case AT_NUMBER:
        return read_number(s, err);
    case AT_LENGTH:
        return read_length(s, err);
    case IN_PACKED:
        return read_packed(s, err);
    default:
        read_region(s);
        return 0;
    }
}

int profile_scan_feed(struct profile_scan *s, const void *p, size_t n, struct err *err)
{
    s->p = p;
    s->end = s->p + n;
    while (!s->failed && s->p < s->end) {
        if (read_next(s, &s->why))
            s->failed = true;
        else
            close_ended(s);
    }
    if (s->failed && err)
        *err = s->why;
    return s->failed ? -1 : 0;
}

/* ---- the end ---- */

static int check_values(const struct profile_scan *s, struct err *err)
{
    uint64_t at = s->first_sample.at, n_values = s->first_sample.n_values;
    if (s->summary.samples == 0)
        return 0;
    if (n_values == s->summary.n_types) {
        if (s->wrong_sample.at == 0)
            return 0;
        at = s->wrong_sample.at;
        n_values = s->wrong_sample.n_values;
    }
    return err_set(err, ERR_FAILED, AT "a sample has %llu values, the profile has %zu sample types",
                   (unsigned long long)at, (unsigned long long)n_values, s->summary.n_types);
}

static int check_complete(const struct profile_scan *s, struct err *err)
{
    if (s->state != AT_TAG || s->shift > 0 || s->depth > 0)
        return err_set(err, ERR_FAILED, "cut off inside %s after %llu bytes",
                       kind_names[s->open[s->depth].kind], (unsigned long long)s->at);
    if (s->summary.n_types == 0)
        return err_set(err, ERR_FAILED, "the profile has no sample types");
    if (s->strings == 0)
        return err_set(err, ERR_FAILED, "it has no strings");
    if (s->index_max >= s->strings)
        return err_set(err, ERR_FAILED, AT "string %llu is referenced, but the profile has %llu strings",
                       (unsigned long long)s->index_max_at, (unsigned long long)s->index_max,
                       (unsigned long long)s->strings);
    return check_values(s, err);
}

bool profile_scan_has_type(const struct profile_scan *s)
{
    return s->has_whole_type;
}

bool profile_scan_has_data(const struct profile_scan *s)
{
    return s->summary.samples > 0 || s->strings > 0;
}

int profile_scan_finish(struct profile_scan *s, struct profile_summary *ret, struct err *err)
{
    if (profile_scan_feed(s, "", 0, err) || check_complete(s, err))
        return -1;
    *ret = s->summary;
    for (size_t i = 0; i < ret->n_types; i++) {
        struct profile_sample_type *type = &ret->types[i];
        write_name(s, 2 * i, type->type, sizeof type->type);
        write_name(s, 2 * i + 1, type->unit, sizeof type->unit);
        type->total = s->totals[i];
    }
    write_name(s, BUILD_ID_NAME, ret->build_id, sizeof ret->build_id);
    return 0;
}
