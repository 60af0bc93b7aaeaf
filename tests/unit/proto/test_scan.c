/* The profile scanner compared with protobuf-c: each accepted profile is unpacked by protobuf-c too, with
 * the same summary, for any encoding and any split into pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/profile.pb-c.h"
#include "proto/proto.h"
#include "tests/unit/damage.h"

#include "base/banned.h"

typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__ValueType pb_value_type;
typedef Perftools__Profiles__Label pb_label;
typedef Perftools__Profiles__Mapping pb_mapping;
typedef Perftools__Profiles__Location pb_location;
typedef Perftools__Profiles__Line pb_line;
typedef Perftools__Profiles__Function pb_function;

/* ---- random profiles --------------------------------------------------------------------------------- */

/* The arena of a random profile's messages. */
struct arena {
    char *data;
    size_t len, cap;
    uint64_t seed;
};

static void arena_init(struct arena *a, uint64_t seed)
{
    *a = (struct arena){.cap = 8 << 20, .seed = seed * 2654435761u + 1};
    a->data = calloc(1, a->cap);
    assert_non_null(a->data);
}

static void *take_memory(struct arena *a, size_t n)
{
    assert_true(n <= a->cap - a->len - 16);
    void *p = a->data + a->len;
    a->len += (n + 15) / 16 * 16;
    return p;
}

static uint64_t random_number(struct arena *a)
{
    a->seed ^= a->seed << 13;
    a->seed ^= a->seed >> 7;
    a->seed ^= a->seed << 17;
    return a->seed;
}

static size_t random_below(struct arena *a, size_t n)
{
    return (size_t)(random_number(a) >> 11) % n;
}

/* A random number of any magnitude, so that varints of all lengths occur. */
static uint64_t any_number(struct arena *a)
{
    uint64_t n = random_number(a);
    return n >> random_below(a, 64);
}

static char *any_string(struct arena *a)
{
    static const char *const pieces[] = {"runtime.", "main", "é", "\x1b[31m",
                                         " ",        "\xff", "/", "0123456789abcdef"};
    size_t n = random_below(a, 14);
    char *s = take_memory(a, 256);
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(s + len, 256 - len, "%s", pieces[random_below(a, 8)]);
    return s;
}

/* An array of n new messages, as protobuf-c needs it. */
static void *new_messages(struct arena *a, size_t n, size_t size, void (*init)(void *))
{
    void **items = take_memory(a, n * sizeof *items);
    for (size_t i = 0; i < n; i++) {
        items[i] = take_memory(a, size);
        init(items[i]);
    }
    return items;
}
#define NEW_MESSAGES(arena, n, name) new_messages(arena, n, sizeof(pb_##name), init_##name)
#define INIT(name, init)                                                                                     \
    static void init_##name(void *p)                                                                         \
    {                                                                                                        \
        init(p);                                                                                             \
    }
INIT(profile, perftools__profiles__profile__init)
INIT(sample, perftools__profiles__sample__init)
INIT(value_type, perftools__profiles__value_type__init)
INIT(label, perftools__profiles__label__init)
INIT(mapping, perftools__profiles__mapping__init)
INIT(location, perftools__profiles__location__init)
INIT(line, perftools__profiles__line__init)
INIT(function, perftools__profiles__function__init)

static int64_t any_index(struct arena *a, const pb_profile *p)
{
    return (int64_t)random_below(a, p->n_string_table);
}

static void fill_samples(struct arena *a, pb_profile *p)
{
    for (size_t i = 0; i < p->n_sample; i++) {
        pb_sample *s = p->sample[i];
        s->n_location_id = random_below(a, 40);
        s->location_id = take_memory(a, s->n_location_id * sizeof *s->location_id);
        for (size_t k = 0; k < s->n_location_id; k++)
            s->location_id[k] = any_number(a);
        s->n_value = p->n_sample_type;
        s->value = take_memory(a, s->n_value * sizeof *s->value);
        for (size_t k = 0; k < s->n_value; k++)
            s->value[k] = (int64_t)any_number(a);
        s->n_label = random_below(a, 3);
        s->label = NEW_MESSAGES(a, s->n_label, label);
        for (size_t k = 0; k < s->n_label; k++) {
            s->label[k]->key = any_index(a, p);
            s->label[k]->str = any_index(a, p);
            s->label[k]->num = (int64_t)any_number(a);
        }
    }
}

static void fill_locations(struct arena *a, pb_profile *p)
{
    for (size_t i = 0; i < p->n_location; i++) {
        pb_location *l = p->location[i];
        l->id = i + 1;
        l->address = any_number(a);
        l->is_folded = (int)random_below(a, 2);
        l->n_line = random_below(a, 4);
        l->line = NEW_MESSAGES(a, l->n_line, line);
        for (size_t k = 0; k < l->n_line; k++) {
            l->line[k]->function_id = any_number(a);
            l->line[k]->line = (int64_t)any_number(a);
        }
    }
    for (size_t i = 0; i < p->n_function; i++) {
        p->function[i]->id = i + 1;
        p->function[i]->name = any_index(a, p);
        p->function[i]->filename = any_index(a, p);
    }
    for (size_t i = 0; i < p->n_mapping; i++) {
        p->mapping[i]->id = i + 1;
        p->mapping[i]->memory_limit = any_number(a);
        p->mapping[i]->has_functions = 1;
        p->mapping[i]->build_id = any_index(a, p);
    }
}

static pb_profile *any_profile(struct arena *a, size_t size)
{
    pb_profile *p = take_memory(a, sizeof *p);
    init_profile(p);
    p->n_string_table = 1 + random_below(a, 2 * size);
    p->string_table = take_memory(a, p->n_string_table * sizeof *p->string_table);
    p->string_table[0] = take_memory(a, 1);
    for (size_t i = 1; i < p->n_string_table; i++)
        p->string_table[i] = any_string(a);
    p->n_sample_type =
        random_below(a, 8) ? 1 + random_below(a, 4) : 1 + random_below(a, PROFILE_MAX_SAMPLE_TYPES);
    p->sample_type = NEW_MESSAGES(a, p->n_sample_type, value_type);
    for (size_t i = 0; i < p->n_sample_type; i++) {
        p->sample_type[i]->type = any_index(a, p);
        p->sample_type[i]->unit = any_index(a, p);
    }
    p->period_type = *(pb_value_type **)NEW_MESSAGES(a, 1, value_type);
    p->period_type->unit = any_index(a, p);
    p->n_sample = random_below(a, size);
    p->sample = NEW_MESSAGES(a, p->n_sample, sample);
    p->n_location = random_below(a, size);
    p->location = NEW_MESSAGES(a, p->n_location, location);
    p->n_function = random_below(a, size);
    p->function = NEW_MESSAGES(a, p->n_function, function);
    p->n_mapping = random_below(a, 4);
    p->mapping = NEW_MESSAGES(a, p->n_mapping, mapping);
    fill_samples(a, p);
    fill_locations(a, p);
    p->time_nanos = (int64_t)any_number(a);
    p->duration_nanos = (int64_t)any_number(a);
    p->period = (int64_t)any_number(a);
    p->n_comment = random_below(a, 3);
    p->comment = take_memory(a, p->n_comment * sizeof *p->comment);
    for (size_t i = 0; i < p->n_comment; i++)
        p->comment[i] = any_index(a, p);
    p->default_sample_type = any_index(a, p);
    p->doc_url = any_index(a, p);
    return p;
}

/* ---- a second encoder, for encodings that protobuf-c does not write ---------------------------------- */

static void put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_addc(b, (char)(v | 0x80));
    buf_addc(b, (char)v);
}

static void put_number(struct buf *b, unsigned field, uint64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    buf_add(b, p, n);
}

static void put_message(struct buf *b, unsigned field, const void *message)
{
    size_t n = protobuf_c_message_get_packed_size(message);
    uint8_t *p = malloc(n + 1);
    assert_non_null(p);
    protobuf_c_message_pack(message, p);
    put_bytes(b, field, p, n);
    free(p);
}

static void pack_profile(struct buf *b, const pb_profile *p)
{
    size_t n = perftools__profiles__profile__get_packed_size(p);
    uint8_t *bytes = malloc(n + 1);
    assert_non_null(bytes);
    perftools__profiles__profile__pack(p, bytes);
    buf_add(b, bytes, n);
    free(bytes);
    assert_int_equal(buf_check(b, "the test's profile", NULL), 0);
}

/* Flags of an encoding. */
enum { UNPACKED = 1, STRINGS_FIRST = 2, TYPES_LAST = 4, UNKNOWN_FIELDS = 8, N_ENCODINGS = 16 };

/* Adds fields that no profile has, of every wire type except groups. */
static void put_unknown_fields(struct buf *b)
{
    put_number(b, 16, UINT64_MAX);
    put_bytes(b, 2047, "\x0a\xff\xff", 3);
    put_bytes(b, 17, "", 0);
    buf_add(b, "\x91\x01\xff\xff\xff\xff\xff\xff\xff\xff", 10); /* 18, eight bytes */
    buf_add(b, "\x9d\x01\xff\xff\xff\xff", 6);                  /* 19, four bytes */
}

static void put_sample(struct buf *b, const pb_sample *s, unsigned encoding)
{
    struct buf sample = BUF_INIT(1 << 20);
    for (size_t i = 0; i < s->n_label; i++)
        put_message(&sample, 3, s->label[i]);
    for (size_t i = 0; i < s->n_value; i++) {
        struct buf value = BUF_INIT(16);
        put_varint(&value, (uint64_t)s->value[i]);
        if (encoding & UNPACKED && i % 2 == 0)
            put_number(&sample, 2, (uint64_t)s->value[i]);
        else
            put_bytes(&sample, 2, buf_str(&value), value.len);
        buf_release(&value);
    }
    if (encoding & UNKNOWN_FIELDS)
        put_unknown_fields(&sample);
    for (size_t i = 0; i < s->n_location_id; i++)
        put_number(&sample, 1, s->location_id[i]);
    put_bytes(b, 2, buf_str(&sample), sample.len);
    buf_release(&sample);
}

static void put_strings(struct buf *b, const pb_profile *p)
{
    for (size_t i = 0; i < p->n_string_table; i++)
        put_bytes(b, 6, p->string_table[i], strlen(p->string_table[i]));
}

static void put_types(struct buf *b, const pb_profile *p)
{
    for (size_t i = 0; i < p->n_sample_type; i++)
        put_message(b, 1, p->sample_type[i]);
}

static void encode_profile(struct buf *b, const pb_profile *p, unsigned encoding)
{
    if (encoding & STRINGS_FIRST)
        put_strings(b, p);
    if (!(encoding & TYPES_LAST))
        put_types(b, p);
    put_number(b, 9, (uint64_t)p->time_nanos + 1); /* the last one counts */
    put_number(b, 9, (uint64_t)p->time_nanos);
    put_number(b, 10, (uint64_t)p->duration_nanos);
    for (size_t i = 0; i < p->n_sample; i++)
        put_sample(b, p->sample[i], encoding);
    if (encoding & UNKNOWN_FIELDS)
        put_unknown_fields(b);
    for (size_t i = 0; i < p->n_mapping; i++)
        put_message(b, 3, p->mapping[i]);
    for (size_t i = 0; i < p->n_location; i++)
        put_message(b, 4, p->location[i]);
    for (size_t i = 0; i < p->n_function; i++)
        put_message(b, 5, p->function[i]);
    for (size_t i = 0; i < p->n_comment; i++)
        put_number(b, 13, (uint64_t)p->comment[i]);
    put_number(b, 12, (uint64_t)p->period);
    if (!(encoding & STRINGS_FIRST))
        put_strings(b, p);
    if (encoding & TYPES_LAST)
        put_types(b, p);
}

/* ---- expectations ------------------------------------------------------------------------------------ */

/* Scans n bytes in random pieces of 1 to max_piece bytes; SIZE_MAX: in one piece. */
static int scan_in_pieces(const void *p, size_t n, size_t max_piece, struct profile_summary *ret,
                          struct err *err)
{
    static uint64_t const seed = 88172645463325252u;
    struct arena dice = {.seed = seed + n};
    const char *bytes = p;
    int rc = 0;
    struct profile_scan *s = profile_scan_new(err);
    assert_non_null(s);
    for (size_t i = 0; i < n && !rc;) {
        size_t piece = max_piece == 1 ? 1 : 1 + random_below(&dice, max_piece);
        if (piece > n - i || max_piece == SIZE_MAX)
            piece = n - i;
        /* A copy, so that a sanitizer reports reading beyond the piece. */
        char *copy = malloc(piece);
        assert_non_null(copy);
        memcpy(copy, bytes + i, piece);
        rc = profile_scan_feed(s, copy, piece, err);
        free(copy);
        i += piece;
    }
    if (!rc)
        rc = profile_scan_finish(s, ret, err);
    profile_scan_free(s);
    return rc;
}

static int64_t saturated_sum(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

static void expect_name(const pb_profile *p, int64_t index, const char *name, size_t cap)
{
    char expected[128];
    assert_in_range(index, 0, p->n_string_table - 1);
    text_printable(expected, cap, p->string_table[index], strnlen(p->string_table[index], 127));
    assert_string_equal(name, expected);
}

static void expect_names(const pb_profile *p, const struct profile_summary *sum)
{
    for (size_t i = 0; i < p->n_sample_type; i++) {
        expect_name(p, p->sample_type[i]->type, sum->types[i].type, sizeof sum->types[i].type);
        expect_name(p, p->sample_type[i]->unit, sum->types[i].unit, sizeof sum->types[i].unit);
    }
    if (p->n_mapping)
        expect_name(p, p->mapping[0]->build_id, sum->build_id, sizeof sum->build_id);
    else
        assert_string_equal(sum->build_id, "");
}

static void expect_depths(const pb_profile *p, const struct profile_summary *sum)
{
    uint64_t deepest = 0, as_deep = 0;
    for (size_t i = 0; i < p->n_sample; i++)
        deepest = p->sample[i]->n_location_id > deepest ? p->sample[i]->n_location_id : deepest;
    for (size_t i = 0; i < p->n_sample; i++)
        as_deep += p->sample[i]->n_location_id == deepest;
    assert_int_equal(sum->max_depth, deepest);
    assert_int_equal(sum->samples_at_max, as_deep);
}

static void expect_numbers(const pb_profile *p, const struct profile_summary *sum)
{
    expect_depths(p, sum);
    assert_int_equal(sum->samples, p->n_sample);
    assert_int_equal(sum->locations, p->n_location);
    assert_int_equal(sum->functions, p->n_function);
    assert_int_equal(sum->mappings, p->n_mapping);
    assert_int_equal(sum->time_ns, p->time_nanos);
    assert_int_equal(sum->duration_ns, p->duration_nanos);
    assert_int_equal(sum->period, p->period);
    assert_int_equal(sum->n_types, p->n_sample_type);
    for (size_t i = 0; i < p->n_sample_type; i++) {
        int64_t total = 0;
        for (size_t k = 0; k < p->n_sample; k++) {
            assert_int_equal(p->sample[k]->n_value, p->n_sample_type);
            total = saturated_sum(total, p->sample[k]->value[i]);
        }
        assert_int_equal(sum->types[i].total, total);
    }
}

/* Returns whether the scanner accepts these bytes. If it does, protobuf-c must accept them with the same
 * content. */
static bool expect_agreement(const void *bytes, size_t n, size_t max_piece)
{
    struct profile_summary sum = {0};
    struct err err = ERR_INIT;
    if (scan_in_pieces(bytes, n, max_piece, &sum, &err)) {
        assert_int_equal(err.kind, ERR_FAILED);
        assert_true(err.msg[0]);
        assert_int_equal(sum.n_types, 0); /* untouched */
        return false;
    }
    pb_profile *p = perftools__profiles__profile__unpack(NULL, n, bytes);
    assert_non_null(p);
    expect_numbers(p, &sum);
    perftools__profiles__profile__free_unpacked(p, NULL);
    return true;
}

static void assert_good(const struct buf *b)
{
    static const size_t max_piece[] = {1, 3, 20, 5000, SIZE_MAX};
    pb_profile *p = perftools__profiles__profile__unpack(NULL, b->len, (const uint8_t *)b->data);
    assert_non_null(p);
    for (size_t i = 0; i < sizeof max_piece / sizeof *max_piece; i++) {
        struct profile_summary sum = {0};
        struct err err = ERR_INIT;
        if (scan_in_pieces(b->data, b->len, max_piece[i], &sum, &err))
            fail_msg("%s", err.msg);
        expect_numbers(p, &sum);
        expect_names(p, &sum);
    }
    perftools__profiles__profile__free_unpacked(p, NULL);
}

static void assert_bad(const struct buf *b, const char *msg)
{
    static const size_t max_piece[] = {1, 3, SIZE_MAX};
    for (size_t i = 0; i < sizeof max_piece / sizeof *max_piece; i++) {
        struct profile_summary sum = {0};
        struct err err = ERR_INIT;
        assert_int_equal(scan_in_pieces(b->data, b->len, max_piece[i], &sum, &err), -1);
        assert_string_equal(err.msg, msg);
        assert_int_equal(err.kind, ERR_FAILED);
    }
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static void random_profiles_give_the_result_of_protobuf_c(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct arena a;
        struct buf b = BUF_INIT(8 << 20);
        arena_init(&a, seed);
        const pb_profile *p = any_profile(&a, 2 + seed % 50);
        pack_profile(&b, p);
        assert_good(&b);
        buf_clear(&b);
        encode_profile(&b, p, seed % N_ENCODINGS);
        assert_good(&b);
        buf_release(&b);
        free(a.data);
    }
}

/* A profile with every field, small enough to be damaged everywhere. */
static void small_profile(struct buf *b, unsigned encoding)
{
    struct arena a;
    uint64_t seed = 1;
    const pb_profile *p = NULL;
    for (;; free(a.data)) {
        arena_init(&a, seed++);
        p = any_profile(&a, 6);
        if (p->n_sample > 3 && p->n_location > 2 && p->n_mapping > 1 && p->n_function > 1 &&
            p->n_comment > 1 && p->n_string_table > 6 && p->n_sample_type == 2)
            break;
    }
    if (encoding)
        encode_profile(b, p, encoding);
    else
        pack_profile(b, p);
    free(a.data);
}

static void cut_profiles_give_the_result_of_protobuf_c(void **state)
{
    (void)state;
    for (unsigned encoding = 0; encoding < N_ENCODINGS; encoding++) {
        struct buf b = BUF_INIT(1 << 20);
        small_profile(&b, encoding);
        assert_good(&b);
        for (size_t n = 0; n < b.len; n++)
            expect_agreement(b.data, n, 50);
        buf_release(&b);
    }
}

static void flipped_profiles_give_the_result_of_protobuf_c(void **state)
{
    (void)state;
    size_t accepted = 0, refused = 0;
    for (unsigned encoding = 0; encoding < N_ENCODINGS; encoding += 3) {
        struct buf b = BUF_INIT(1 << 20);
        small_profile(&b, encoding);
        for (size_t bit = 0; bit < b.len * 8; bit++) {
            if (!damage_flips(bit / 8, bit % 8))
                continue;
            b.data[bit / 8] ^= (char)(1 << bit % 8);
            bool good = expect_agreement(b.data, b.len, bit / 16 % 2 ? 1 : 50);
            *(good ? &accepted : &refused) += 1;
            b.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        buf_release(&b);
    }
    assert_true(accepted > 1000);
    assert_true(refused > 1000);
}

/* Every byte in turn becomes the beginning of a number of 4 to 11 bytes, also where a tag or a length is
 * expected. */
static void overlong_numbers_give_the_result_of_protobuf_c(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(1 << 20);
    small_profile(&b, UNKNOWN_FIELDS);
    for (size_t at = 0; at + 11 < b.len; at++) {
        char saved[11];
        memcpy(saved, b.data + at, sizeof saved);
        for (size_t n = 4; n <= sizeof saved; n++) {
            memset(b.data + at, 0xff, n);
            expect_agreement(b.data, b.len, 50);
            memcpy(b.data + at, saved, sizeof saved);
        }
    }
    buf_release(&b);
}

/* A profile of 26 bytes: the type cpu in ns, and one sample of 5. */
static void put_tiny(struct buf *b)
{
    buf_add(b, "\x0a\x04\x08\x01\x10\x02", 6);
    put_bytes(b, 2, "\x0a\x02\x01\x02\x12\x01\x05", 7);
    put_bytes(b, 6, "", 0);
    put_bytes(b, 6, "cpu", 3);
    put_bytes(b, 6, "ns", 2);
}

static void a_small_profile_is_summarized(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(4096);
    struct profile_summary sum = {0};
    put_tiny(&b);
    assert_int_equal(b.len, 26);
    assert_int_equal(scan_in_pieces(b.data, b.len, 1, &sum, NULL), 0);
    assert_string_equal(sum.types[0].type, "cpu");
    assert_string_equal(sum.types[0].unit, "ns");
    assert_int_equal(sum.types[0].total, 5);
    assert_int_equal(sum.samples, 1);
    buf_release(&b);
}

static void invalid_fields_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *msg;
    } cases[] = {
        {"\x0d\x01\x01\x01\x01", 5, "at byte 26: field 1 of the profile has wire type 5"},
        {"\x4a\x01\x01", 3, "at byte 26: field 9 of the profile has wire type 2"},
        {"\x30\x01", 2, "at byte 26: field 6 of the profile has wire type 0"},
        {"\x12\x02\x19\x00", 4, "at byte 28: field 3 of a sample has wire type 1"},
        {"\x83\x01", 2, "at byte 26: field 16 of the profile has wire type 3"},
        {"\x84\x01", 2, "at byte 26: field 16 of the profile has wire type 4"},
        {"\x86\x01", 2, "at byte 26: field 16 of the profile has wire type 6"},
        {"\x02\x00", 2, "at byte 26: the profile has a field with a bad number"},
        {"\x80\x80\x80\x80\x10", 5, "at byte 26: the profile has a field with a bad number"},
        {"\x88\x80\x80\x80\x80\x00", 6, "at byte 26: the profile has a field with a bad number"},
        {"\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12,
         "at byte 26: a number of more than 10 bytes"},
        {"\x12\x05\x0a\x04\x01\x01\x01", 7, "at byte 28: a field of 4 bytes where a sample has 3 left"},
        {"\x22\x04\x22\x02\x08", 5, "cut off inside a line after 31 bytes"},
        {"\x22\x03\x22\x01\x08\x00", 6, "at byte 30: a number continues after the end of a line"},
        {"\x12\x03\x12\x01\x80\x01", 6, "at byte 28: a number continues after the end of a sample"},
        {"\x12\x01\x92\x01", 4, "at byte 28: a number continues after the end of a sample"},
        {"\x82\x01\xff\xff\xff\xff\x07", 7, "at byte 26: a field of more than 2 GiB"},
        {"\x82\x01\x80\x80\x80\x80\x80\x00", 8, "at byte 26: a field of more than 2 GiB"},
        {"\x82\x01\x05qq", 5, "cut off inside the profile after 31 bytes"},
        {"\x48", 1, "cut off inside the profile after 27 bytes"},
        {"\x48\x80", 2, "cut off inside the profile after 28 bytes"},
        {"\x12\x05\x12", 3, "cut off inside a sample after 29 bytes"},
        {"\x12\x00", 2, "at byte 26: a sample has 0 values, the profile has 1 sample types"},
        {"\x12\x04\x12\x02\x01\x01", 6, "at byte 26: a sample has 2 values, the profile has 1 sample types"},
        {"\x12\x02\x10\x01\x12\x00\x12\x00", 8,
         "at byte 30: a sample has 0 values, the profile has 1 sample types"},
        {"\x0a\x00", 2, "at byte 6: a sample has 1 values, the profile has 2 sample types"},
        {"\x70\x03", 2, "at byte 26: string 3 is referenced, but the profile has 3 strings"},
        {"\x2a\x02\x10\x64", 4, "at byte 28: string 100 is referenced, but the profile has 3 strings"},
        {"\x70\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
         "at byte 26: the profile has the string index -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        put_tiny(&b);
        buf_add(&b, cases[i].bytes, cases[i].n);
        assert_bad(&b, cases[i].msg);
        buf_release(&b);
    }
}

static void profiles_without_types_are_refused(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(4096);
    assert_bad(&b, "the profile has no sample types");
    put_bytes(&b, 6, "", 0);
    assert_bad(&b, "the profile has no sample types");
    buf_clear(&b);
    put_bytes(&b, 1, "", 0);
    assert_bad(&b, "it has no strings");
    put_bytes(&b, 6, "x", 1);
    assert_bad(&b, "at byte 2: the first string is not empty");
    buf_clear(&b);
    for (size_t i = 0; i < PROFILE_MAX_SAMPLE_TYPES; i++)
        put_bytes(&b, 1, "", 0);
    put_bytes(&b, 6, "", 0);
    assert_good(&b);
    put_bytes(&b, 1, "", 0);
    assert_bad(&b, "at byte 34: more than 16 sample types");
    buf_release(&b);
}

/* After a failure every call returns the same error. */
static void an_error_is_returned_by_each_later_call(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(4096);
    struct err err = ERR_INIT;
    struct profile_summary sum = {0};
    put_tiny(&b);
    struct profile_scan *s = profile_scan_new(&err);
    assert_non_null(s);
    assert_int_equal(profile_scan_feed(s, "\x0d", 1, NULL), -1);
    assert_int_equal(profile_scan_feed(s, b.data, b.len, &err), -1);
    assert_string_equal(err.msg, "at byte 0: field 1 of the profile has wire type 5");
    err = (struct err)ERR_INIT;
    assert_int_equal(profile_scan_finish(s, &sum, &err), -1);
    assert_string_equal(err.msg, "at byte 0: field 1 of the profile has wire type 5");
    profile_scan_free(s);
    profile_scan_free(NULL);
    buf_release(&b);
}

static void sums_saturate_at_the_limits_of_int64(void **state)
{
    (void)state;
    static const int64_t values[] = {INT64_MAX, 1, 7, INT64_MIN, INT64_MIN, -1};
    static const int64_t totals[] = {INT64_MAX, INT64_MAX, INT64_MAX, -1, INT64_MIN, INT64_MIN};
    for (size_t n = 1; n <= sizeof values / sizeof *values; n++) {
        struct buf b = BUF_INIT(4096);
        struct profile_summary sum = {0};
        put_bytes(&b, 1, "", 0);
        put_bytes(&b, 6, "", 0);
        for (size_t i = 0; i < n; i++) {
            struct buf sample = BUF_INIT(64);
            put_number(&sample, 2, (uint64_t)values[i]);
            put_bytes(&b, 2, sample.data, sample.len);
            buf_release(&sample);
        }
        assert_int_equal(scan_in_pieces(b.data, b.len, SIZE_MAX, &sum, NULL), 0);
        assert_int_equal(sum.types[0].total, totals[n - 1]);
        buf_release(&b);
    }
}

/* Adds 2,000 strings of about 80 bytes, which are more than the scanner keeps. Only strings 3 and 1,999 are
 * short. */
static void put_many_strings(struct buf *b)
{
    put_bytes(b, 6, "", 0);
    for (unsigned i = 1; i < 2000; i++) {
        char text[100];
        int n = snprintf(text, sizeof text, "string %u %070u", i, i);
        put_bytes(b, 6, text, i == 3 || i == 1999 ? strcspn(text + 7, " ") + 7 : (size_t)n);
    }
}

static void expect_type(const struct buf *b, const char *type, const char *unit)
{
    static const size_t max_piece[] = {1, 100, SIZE_MAX};
    for (size_t i = 0; i < sizeof max_piece / sizeof *max_piece; i++) {
        struct profile_summary sum = {0};
        assert_int_equal(scan_in_pieces(b->data, b->len, max_piece[i], &sum, NULL), 0);
        assert_string_equal(sum.types[0].type, type);
        assert_string_equal(sum.types[0].unit, unit);
    }
}

static void names_of_types_are_found_in_any_order(void **state)
{
    (void)state;
    static const char type[] = "\x08\xcf\x0f\x10\x03"; /* 1999, 3 */
    struct buf b = BUF_INIT(1 << 20);
    put_bytes(&b, 1, type, 5);
    put_many_strings(&b);
    expect_type(&b, "string 1999", "string 3");
    buf_clear(&b);
    put_many_strings(&b);
    put_bytes(&b, 1, type, 5);
    expect_type(&b, "?", "string 3");
    /* If a field is repeated, its last index counts. */
    buf_clear(&b);
    put_bytes(&b, 1, "\x08\xcf\x0f\x08\x03\x10\xcf\x0f\x10\xce\x0f\x10\xcf\x0f", 14);
    put_many_strings(&b);
    expect_type(&b, "string 3", "string 1999");
    buf_release(&b);
}

/* Only the build ID of the first mapping counts, even if it is empty. */
static void the_first_mappings_build_id_is_returned(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(4096);
    struct profile_summary sum = {0};
    put_tiny(&b);
    put_bytes(&b, 3, "\x30\x02", 2);
    put_bytes(&b, 3, "\x30\x01", 2);
    assert_int_equal(scan_in_pieces(b.data, b.len, 1, &sum, NULL), 0);
    assert_string_equal(sum.build_id, "ns");
    b.len -= 8;
    put_bytes(&b, 3, "", 0);
    put_bytes(&b, 3, "\x30\x01", 2);
    assert_int_equal(scan_in_pieces(b.data, b.len, 1, &sum, NULL), 0);
    assert_string_equal(sum.build_id, "");
    assert_int_equal(sum.mappings, 2);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_profile_is_summarized),
        cmocka_unit_test(random_profiles_give_the_result_of_protobuf_c),
        cmocka_unit_test(cut_profiles_give_the_result_of_protobuf_c),
        cmocka_unit_test(flipped_profiles_give_the_result_of_protobuf_c),
        cmocka_unit_test(overlong_numbers_give_the_result_of_protobuf_c),
        cmocka_unit_test(invalid_fields_are_refused),
        cmocka_unit_test(profiles_without_types_are_refused),
        cmocka_unit_test(an_error_is_returned_by_each_later_call),
        cmocka_unit_test(sums_saturate_at_the_limits_of_int64),
        cmocka_unit_test(names_of_types_are_found_in_any_order),
        cmocka_unit_test(the_first_mappings_build_id_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
