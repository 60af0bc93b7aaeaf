/* Reading and writing profiles: compared with protobuf-c in both directions on all fields; unusual but
 * valid encodings; errors with google/pprof's messages; cut and flipped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <zlib.h>

#include "proto/profile.pb-c.h"
#include "tests/unit/profile_make.h"
#include "tests/unit/damage.h"
#include "base/banned.h"

#define MAX_BYTES ((uint64_t)1 << 30)

typedef Perftools__Profiles__Profile pb_profile;

static struct buf write_profile(const struct profile *p)
{
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT((size_t)64 << 20);
    assert_int_equal(profile_write(p, add_bytes, &b, &err), 0);
    assert_int_equal(buf_check(&b, "it", &err), 0);
    return b;
}

static struct profile *parse_profile(const void *p, size_t n)
{
    struct err err = ERR_INIT;
    struct profile *ret = NULL;
    if (profile_parse(p, n, MAX_BYTES, &ret, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(profile_check(ret, &err), 0);
    return ret;
}

/* ---- protobuf-c -------------------------------------------------------------------------------------- */

static void assert_same_string(const struct profile *p, uint32_t index, const pb_profile *pb, int64_t number)
{
    assert_in_range(number, 0, pb->n_string_table - 1);
    struct str s = profile_str(p, index);
    assert_int_equal(strlen(pb->string_table[number]), s.n);
    assert_memory_equal(pb->string_table[number], s.p, s.n);
}

static void assert_same_labels(const struct profile *p, const struct profile_sample *s, const pb_profile *pb,
                               const Perftools__Profiles__Sample *x)
{
    struct err err = ERR_INIT;
    struct label_order order;
    const struct profile_label *labels = NULL;
    assert_int_equal(s->n_labels, x->n_label);
    assert_int_equal(label_order_init(&order, p, &err), 0);
    assert_int_equal(label_order_sort(&order, p->labels + s->label_at, s->n_labels, &labels, &err), 0);
    for (size_t i = 0; i < s->n_labels; i++) {
        assert_same_string(p, labels[i].key, pb, x->label[i]->key);
        assert_same_string(p, labels[i].str, pb, x->label[i]->str);
        assert_same_string(p, labels[i].unit, pb, x->label[i]->num_unit);
        assert_int_equal(labels[i].num, x->label[i]->num);
        assert_int_equal(labels[i].is_number, x->label[i]->str == 0);
    }
    label_order_release(&order);
}

static void assert_same_samples(const struct profile *p, const pb_profile *pb)
{
    assert_int_equal(p->n_samples, pb->n_sample);
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        const Perftools__Profiles__Sample *x = pb->sample[i];
        assert_int_equal(s->depth, x->n_location_id);
        for (size_t k = 0; k < s->depth; k++)
            assert_int_equal(p->locations[profile_frame(p, s, k)].id, x->location_id[k]);
        assert_int_equal(p->n_sample_types, x->n_value);
        for (size_t k = 0; k < x->n_value; k++)
            assert_int_equal(p->values[i * p->n_sample_types + k], x->value[k]);
        assert_same_labels(p, s, pb, x);
    }
}

static void assert_same_locations(const struct profile *p, const pb_profile *pb)
{
    assert_int_equal(p->n_locations, pb->n_location);
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        const Perftools__Profiles__Location *x = pb->location[i];
        assert_int_equal(l->id, x->id);
        assert_int_equal(l->mapping == PROFILE_NONE ? 0 : p->mappings[l->mapping].id, x->mapping_id);
        assert_int_equal(l->address, x->address);
        assert_int_equal(l->folded, x->is_folded);
        assert_int_equal(l->n_lines, x->n_line);
        for (size_t k = 0; k < l->n_lines; k++) {
            const struct profile_line *line = &p->lines[l->line_at + k];
            assert_int_equal(p->functions[line->function].id, x->line[k]->function_id);
            assert_int_equal(line->line, x->line[k]->line);
            assert_int_equal(line->column, x->line[k]->column);
        }
    }
}

static void assert_same_parts(const struct profile *p, const pb_profile *pb)
{
    assert_int_equal(p->n_mappings, pb->n_mapping);
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        const Perftools__Profiles__Mapping *x = pb->mapping[i];
        assert_true(m->id == x->id && m->start == x->memory_start && m->limit == x->memory_limit);
        assert_int_equal(m->offset, x->file_offset);
        assert_true(m->has_functions == x->has_functions && m->has_filenames == x->has_filenames);
        assert_true(m->has_line_numbers == x->has_line_numbers);
        assert_int_equal(m->has_inline_frames, x->has_inline_frames);
        assert_same_string(p, m->file, pb, x->filename);
        assert_same_string(p, m->build_id, pb, x->build_id);
    }
    assert_int_equal(p->n_functions, pb->n_function);
    for (size_t i = 0; i < p->n_functions; i++) {
        const struct profile_function *f = &p->functions[i];
        const Perftools__Profiles__Function *x = pb->function[i];
        assert_true(f->id == x->id && f->start_line == x->start_line);
        assert_same_string(p, f->name, pb, x->name);
        assert_same_string(p, f->system_name, pb, x->system_name);
        assert_same_string(p, f->filename, pb, x->filename);
    }
}

static void assert_same_profile(const struct profile *p, const pb_profile *pb)
{
    assert_int_equal(p->n_sample_types, pb->n_sample_type);
    for (size_t i = 0; i < p->n_sample_types; i++) {
        assert_same_string(p, p->sample_types[i].type, pb, pb->sample_type[i]->type);
        assert_same_string(p, p->sample_types[i].unit, pb, pb->sample_type[i]->unit);
    }
    assert_same_samples(p, pb);
    assert_same_locations(p, pb);
    assert_same_parts(p, pb);
    assert_int_equal(p->n_comments, pb->n_comment);
    for (size_t i = 0; i < p->n_comments; i++)
        assert_same_string(p, p->comments[i], pb, pb->comment[i]);
    assert_same_string(p, p->drop_frames, pb, pb->drop_frames);
    assert_same_string(p, p->keep_frames, pb, pb->keep_frames);
    assert_same_string(p, p->default_sample_type, pb, pb->default_sample_type);
    assert_same_string(p, p->doc_url, pb, pb->doc_url);
    assert_same_string(p, p->period_type.type, pb, pb->period_type ? pb->period_type->type : 0);
    assert_same_string(p, p->period_type.unit, pb, pb->period_type ? pb->period_type->unit : 0);
    assert_true(p->period == pb->period && p->time_ns == pb->time_nanos);
    assert_int_equal(p->duration_ns, pb->duration_nanos);
}

static void matches_protobuf_c(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct profile *p = random_profile(seed);
        struct buf b = write_profile(p);
        pb_profile *pb = perftools__profiles__profile__unpack(NULL, b.len, (const uint8_t *)b.data);
        assert_non_null(pb);
        assert_same_profile(p, pb);

        /* protobuf-c packs every list, even a short one. */
        size_t n = perftools__profiles__profile__get_packed_size(pb);
        uint8_t *bytes = malloc(n + 1);
        assert_non_null(bytes);
        perftools__profiles__profile__pack(pb, bytes);
        struct profile *again = parse_profile(bytes, n);
        assert_same_profile(again, pb);

        /* A profile that was read is written unchanged. */
        struct buf rewritten = write_profile(again);
        assert_int_equal(b.len, rewritten.len);
        assert_memory_equal(b.data, rewritten.data, b.len);
        free(bytes);
        buf_release(&rewritten);
        buf_release(&b);
        perftools__profiles__profile__free_unpacked(pb, NULL);
        profile_free(again);
        profile_free(p);
    }
}

/* ---- encodings --------------------------------------------------------------------------------------- */

/* Encodes a profile with one sample of main.f, whose value is 7. `order` gives the order of the parts:
 * s(amples), t(ypes), l(ocations), f(unctions), n(ames). */
static struct buf encode_profile(const char *order)
{
    static const char *const strings[] = {"", "samples", "count", "main.f", "f.go", NULL};
    struct buf b = BUF_INIT(10000);
    for (; *order; order++)
        switch (*order) {
        case 's':
            ENCODE(&b, 2, 1, 9, 2, 7);
            break;
        case 't':
            ENCODE(&b, 1, 1, 1, 2, 2);
            break;
        case 'l':
            encode_bytes(&b, 4, "\x08\x09\x18\x0a\x22\x04\x08\x05\x10\x21", 10);
            break;
        case 'f':
            ENCODE(&b, 5, 1, 5, 2, 3, 3, 3, 4, 4);
            break;
        default:
            encode_strings(&b, strings);
            break;
        }
    return b;
}

static void fields_may_have_any_order(void **state)
{
    (void)state;
    static const char *const orders[] = {"tslfn", "nflst", "stlfn", "lntfs", "fsnlt"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct buf b = encode_profile(orders[i]), expected = encode_profile("tslfn");
        struct profile *p = parse_profile(b.data, b.len);
        encode_number(&expected, 14, 0);
        struct buf again = write_profile(p);
        assert_int_equal(again.len, expected.len);
        assert_memory_equal(again.data, expected.data, expected.len);
        assert_int_equal(p->values[0], 7);
        assert_int_equal(p->locations[profile_frame(p, p->samples, 0)].address, 10);
        assert_int_equal(p->lines[0].line, 33);
        profile_free(p);
        buf_release(&again);
        buf_release(&expected);
        buf_release(&b);
    }
}

/* Lists packed, unpacked, and both in one sample; unknown fields of each type; IDs of 64 bits. */
static void unusual_encodings_are_read(void **state)
{
    (void)state;
    static const char *const strings[] = {"", "a", "b", NULL};
    struct buf b = BUF_INIT(1000), sample = BUF_INIT(1000);
    ENCODE(&b, 1, 1, 1);
    ENCODE(&b, 1, 1, 2);
    encode_number(&sample, 1, UINT64_MAX);
    encode_bytes(&sample, 1, "\x03\x80\x80\x80\x80\x10", 6);
    encode_number(&sample, 2, 5);
    encode_bytes(&sample, 2, "\x06", 1);
    encode_bytes(&sample, 77, "whatever", 8);
    encode_bytes(&b, 2, sample.data, sample.len);
    ENCODE(&b, 4, 1, UINT64_MAX);
    ENCODE(&b, 4, 1, (uint64_t)1 << 32);
    ENCODE(&b, 4, 1, 3);
    buf_add(&b, "\x99\x06zzzzzzzz\x9d\x06zzzz\x98\x06\x01", 19);
    encode_strings(&b, strings);
    struct profile *p = parse_profile(b.data, b.len);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->samples[0].depth, 3);
    assert_int_equal(p->locations[profile_frame(p, p->samples, 0)].id, UINT64_MAX);
    assert_int_equal(p->locations[profile_frame(p, p->samples, 1)].id, 3);
    assert_int_equal(p->locations[profile_frame(p, p->samples, 2)].id, (uint64_t)1 << 32);
    assert_int_equal(p->values[0], 5);
    assert_int_equal(p->values[1], 6);
    profile_free(p);
    buf_release(&sample);
    buf_release(&b);
}

/* Equal strings are one; a text label's number is dropped; a label without a value is dropped. */
static void equal_strings_are_one_and_empty_labels_are_dropped(void **state)
{
    (void)state;
    static const char *const strings[] = {"", "k", "v", "k", "", NULL};
    struct buf b = BUF_INIT(1000), sample = BUF_INIT(1000);
    ENCODE(&b, 1, 1, 1);
    encode_number(&sample, 2, 1);
    ENCODE(&sample, 3, 1, 3, 2, 2, 3, 8, 4, 1);
    ENCODE(&sample, 3, 1, 1);
    ENCODE(&sample, 3, 1, 1, 2, 4);
    ENCODE(&sample, 3, 1, 1, 4, 2);
    encode_bytes(&b, 2, sample.data, sample.len);
    encode_strings(&b, strings);
    struct profile *p = parse_profile(b.data, b.len);
    assert_int_equal(profile_n_strings(p), 3);
    assert_int_equal(p->samples[0].n_labels, 3);
    const struct profile_label *l = p->labels;
    assert_true(l[0].key == l[1].key && l[1].key == l[2].key);
    assert_true(!l[0].is_number && l[0].num == 0 && l[0].unit == 0);
    assert_true(!l[1].is_number && l[1].str == 0);
    assert_true(l[2].is_number && l[2].num == 0 && str_is(profile_str(p, l[2].unit), "v"));
    profile_free(p);
    buf_release(&sample);
    buf_release(&b);
}

/* ---- errors ------------------------------------------------------------------------------------------ */

static void assert_profile_refused(struct buf *b, const char *msg)
{
    struct err err = ERR_INIT;
    struct profile *p = (struct profile *)8;
    assert_int_equal(profile_parse(b->len ? b->data : "", b->len, MAX_BYTES, &p, &err), -1);
    assert_string_equal(err.msg, msg);
    assert_int_equal(err.kind, strstr(msg, "unrecognized") ? ERR_UNRECOGNIZED : ERR_FAILED);
    assert_ptr_equal(p, (struct profile *)8);
    buf_clear(b);
}

static void invalid_profiles_are_refused(void **state)
{
    (void)state;
    static const char *const strings[] = {"", "a", NULL}, *const no_empty[] = {"a", NULL};
    static const char unrecognized[] = "parsing profile: unrecognized profile format";
    struct buf b = BUF_INIT(1000);
    assert_profile_refused(&b, "parsing profile: empty input file");
    ENCODE(&b, 2, 2, 1);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: missing sample type information");
    ENCODE(&b, 1, 1, 1);
    ENCODE(&b, 2, 2, 1, 2, 2);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: mismatch: sample has 2 values vs. 1 types");
    ENCODE(&b, 1, 1, 1);
    ENCODE(&b, 2, 2, 1, 1, 8);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: sample has nil location");
    ENCODE(&b, 4, 3, 1);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: found location with reserved id=0");
    ENCODE(&b, 5, 2, 0);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: found function with reserved ID=0");
    ENCODE(&b, 3, 1, 7);
    ENCODE(&b, 3, 1, 7);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: multiple mappings with same id: 7");
    ENCODE(&b, 4, 1, UINT64_MAX);
    ENCODE(&b, 4, 1, UINT64_MAX);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: multiple locations with same id: 18446744073709551615");
    encode_bytes(&b, 4, "\x08\x09\x22\x02\x08\x05", 6);
    encode_strings(&b, strings);
    assert_profile_refused(&b, "malformed profile: location id: 9 has a line with nil function");
    encode_number(&b, 9, 1);
    encode_number(&b, 9, 1);
    assert_profile_refused(&b, "parsing profile: concatenated profiles detected");
    ENCODE(&b, 1, 1, 2);
    encode_strings(&b, strings);
    assert_profile_refused(&b, unrecognized);
    encode_strings(&b, no_empty);
    assert_profile_refused(&b, unrecognized);
    encode_number(&b, 4, 1);
    assert_profile_refused(&b, unrecognized);
    ENCODE(&b, 1, 1, 0);
    assert_profile_refused(&b, unrecognized);
    buf_adds(&b, "no profile at all\n");
    assert_profile_refused(&b, unrecognized);
    buf_release(&b);
}

/* A million samples of a million types would have 8 TB of values, so the samples of a small file lack values.
 */
static void samples_need_a_value_for_each_type(void **state)
{
    (void)state;
    struct buf b = BUF_INIT((size_t)1 << 24);
    for (size_t i = 0; i < 1000000; i++)
        buf_add(&b, "\x0a\x00\x12\x00", 4);
    buf_add(&b, "\x32\x00", 2);
    assert_profile_refused(&b, "malformed profile: mismatch: sample has 0 values vs. 1000000 types");
    buf_release(&b);
}

/* ---- gzip -------------------------------------------------------------------------------------------- */

static void add_member(struct buf *to, const void *p, size_t n)
{
    unsigned char out[20000];
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)p, .avail_in = (uInt)n};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = out;
    z.avail_out = sizeof out;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_add(to, out, sizeof out - z.avail_out);
    deflateEnd(&z);
}

static void gzip_is_read(void **state)
{
    (void)state;
    static const char damaged[] = "decompressing profile: the gzip data are damaged or cut short";
    struct buf plain = encode_profile("tslfn"), gz = BUF_INIT(20000);
    add_member(&gz, plain.data, 10);
    add_member(&gz, plain.data + 10, plain.len - 10);
    struct profile *p = parse_profile(gz.data, gz.len);
    assert_int_equal(p->n_samples, 1);
    profile_free(p);
    buf_adds(&gz, "trailing");
    assert_profile_refused(&gz, damaged);
    add_member(&gz, plain.data, plain.len);
    gz.len -= 3;
    assert_profile_refused(&gz, damaged);
    add_member(&gz, plain.data, plain.len);
    /* The trailer claims 4 GB. */
    memset(gz.data + gz.len - 4, 0xff, 4);
    assert_profile_refused(&gz, damaged);
    buf_release(&gz);
    buf_release(&plain);
}

static void profiles_that_inflate_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    size_t n = (size_t)8 << 20;
    struct buf gz = BUF_INIT(20000);
    char *zeros = calloc(1, n);
    assert_non_null(zeros);
    add_member(&gz, zeros, n);
    assert_int_equal(profile_parse(gz.data, gz.len, 1 << 20, &p, &err), -1);
    assert_string_equal(err.msg, "larger than 1048576 bytes when inflated");
    assert_int_equal(profile_parse(zeros, n, 1 << 20, &p, &err), -1);
    assert_string_equal(err.msg, "larger than 1048576 bytes");
    free(zeros);
    buf_release(&gz);
}

static void inflation_beyond_real_profiles_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    size_t n = (size_t)30 << 20;
    struct buf gz = BUF_INIT(200000);
    char *zeros = calloc(1, n);
    assert_non_null(zeros);
    unsigned char *out = malloc(200000);
    assert_non_null(out);
    z_stream z = {
        .next_in = (unsigned char *)zeros, .avail_in = (uInt)n, .next_out = out, .avail_out = 200000};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_add(&gz, out, z.total_out);
    deflateEnd(&z);
    assert_int_equal(profile_parse(gz.data, gz.len, MAX_BYTES, &p, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_non_null(strstr(err.msg, "bytes when inflated"));
    assert_non_null(strstr(err.hint, "an ordinary profile of its size"));
    free(out);
    free(zeros);
    buf_release(&gz);
}

/* Merging profiles takes time for each pair of their types. */
static void more_than_1000_sample_types_are_refused(void **state)
{
    (void)state;
    for (size_t n = 1000; n <= 1001; n++) {
        struct err err = ERR_INIT;
        struct profile *p = NULL;
        struct buf b = BUF_INIT(65536);
        for (size_t i = 0; i < n; i++)
            ENCODE(&b, 1, 1, 0);
        encode_bytes(&b, 6, "", 0);
        int rc = profile_parse(b.data, b.len, MAX_BYTES, &p, &err);
        assert_int_equal(rc, n <= 1000 ? 0 : -1);
        if (rc < 0)
            assert_string_equal(err.msg, "parsing profile: it has more than 1000 sample types");
        profile_free(p);
        buf_release(&b);
    }
}

/* Each row is a message of a few bytes, which takes at least ten times as many bytes of memory. */
static void profiles_that_need_too_much_memory_are_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned outer; /* the field of the message that contains them all; 0: the profile itself */
        const char *bytes;
        size_t n;
    } rows[] = {
        {0, "\x12\x00", 2}, {0, "\x1a\x00", 2}, {0, "\x22\x00", 2},
        {0, "\x2a\x00", 2}, {4, "\x22\x00", 2}, {2, "\x1a\x02\x18\x01", 4},
    };
    size_t n = (size_t)12 << 20;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = ERR_INIT;
        struct profile *p = NULL;
        struct buf many = BUF_INIT(n), b = BUF_INIT(2 * n);
        while (many.len + rows[i].n <= n)
            buf_add(&many, rows[i].bytes, rows[i].n);
        ENCODE(&b, 1, 1, 0);
        encode_bytes(&b, 6, "", 0);
        if (rows[i].outer)
            encode_bytes(&b, rows[i].outer, many.data, many.len);
        else
            buf_add(&b, many.data, many.len);
        assert_int_equal(profile_parse(b.data, b.len, MAX_BYTES, &p, &err), -1);
        if (err.kind != ERR_LIMIT)
            fail_msg("row %zu: %s", i, err.msg);
        assert_string_equal(
            err.msg, "parsing profile: it would take more memory than an ordinary profile of its size");
        buf_release(&b);
        buf_release(&many);
    }
}

static void written_gzip_has_no_time_name_or_system(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = random_profile(7);
    struct buf plain = write_profile(p), gz = BUF_INIT(100000);
    assert_int_equal(profile_write_gzip(p, add_bytes, &gz, &err), 0);
    /* No time, no name, no system. */
    assert_memory_equal(gz.data, "\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
    assert_int_equal((unsigned char)gz.data[9], 0xff);
    struct profile *again = parse_profile(gz.data, gz.len);
    struct buf b = write_profile(again);
    assert_int_equal(b.len, plain.len);
    assert_memory_equal(b.data, plain.data, b.len);
    buf_release(&b);
    buf_release(&gz);
    buf_release(&plain);
    profile_free(again);
    profile_free(p);
}

/* ---- damaged ----------------------------------------------------------------------------------------- */

static void read_damaged(void *ctx, const struct damaged *s)
{
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    size_t *n_accepted = ctx;
    if (profile_parse(s->p, s->n, 1 << 20, &p, &err) < 0) {
        assert_true((err.kind == ERR_FAILED || err.kind == ERR_UNRECOGNIZED) && *err.msg);
        return;
    }
    ++*n_accepted;
    assert_int_equal(profile_check(p, &err), 0);
    struct buf b = write_profile(p);
    buf_release(&b);
    profile_free(p);
}

static void damaged_profiles_are_safe(void **state)
{
    (void)state;
    size_t n_accepted = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct profile *p = random_profile(seed);
        struct buf b = write_profile(p), gz = BUF_INIT(20000);
        damage_everywhere(b.data, b.len, read_damaged, &n_accepted);
        if (seed == 1) {
            add_member(&gz, b.data, b.len);
            damage_everywhere(gz.data, gz.len, read_damaged, &n_accepted);
        }
        buf_release(&gz);
        buf_release(&b);
        profile_free(p);
    }
    assert_true(n_accepted > 0);
}

/* Adds a string of this many bytes to the string table. */
static void encode_long_string(struct buf *b, size_t bytes)
{
    char *s = malloc(bytes);
    assert_non_null(s);
    memset(s, 'a', bytes);
    encode_bytes(b, 6, s, bytes);
    free(s);
}

static void encode_head(struct buf *b)
{
    static const char *const strings[] = {"", "cpu", "count", NULL};
    encode_strings(b, strings);
    ENCODE(b, 1, 1, 1, 2, 2);
}

/* Many functions of one long name. */
static void encode_one_long_name(struct buf *b, unsigned n)
{
    encode_head(b);
    encode_long_string(b, 100000);
    for (unsigned i = 1; i <= n; i++) {
        ENCODE(b, 5, 1, i, 2, 3);
        struct buf location = BUF_INIT(100);
        encode_number(&location, 1, i);
        ENCODE(&location, 4, 1, i, 2, 1);
        encode_bytes(b, 4, buf_str(&location), location.len);
        buf_release(&location);
    }
}

/* Many samples of one location with many lines. */
static void encode_many_lines(struct buf *b, unsigned n)
{
    encode_head(b);
    ENCODE(b, 5, 1, 1, 2, 1);
    struct buf location = BUF_INIT(1u << 20);
    encode_number(&location, 1, 1);
    for (unsigned i = 0; i < 4000; i++)
        ENCODE(&location, 4, 1, 1, 2, 1);
    encode_bytes(b, 4, buf_str(&location), location.len);
    buf_release(&location);
    for (unsigned i = 0; i < n; i++)
        ENCODE(b, 2, 1, 1, 2, 1);
}

/* Many labels of one long text. */
static void encode_one_long_label(struct buf *b, unsigned n)
{
    encode_head(b);
    encode_long_string(b, 100000);
    ENCODE(b, 4, 1, 1);
    for (unsigned i = 0; i < n; i++) {
        struct buf sample = BUF_INIT(100);
        encode_number(&sample, 1, 1);
        encode_number(&sample, 2, 1);
        ENCODE(&sample, 3, 1, 1, 2, 3);
        encode_bytes(b, 2, buf_str(&sample), sample.len);
        buf_release(&sample);
    }
}

static void encode_long_comments(struct buf *b, unsigned n)
{
    encode_head(b);
    encode_long_string(b, 100000);
    for (unsigned i = 0; i < n; i++)
        encode_number(b, 13, 3);
}

/* A small profile that refers to too much text is refused. A profile with fewer references is accepted. */
static void profiles_that_repeat_too_much_text_are_refused(void **state)
{
    static const struct {
        void (*encode)(struct buf *b, unsigned n);
        unsigned accepted_n, refused_n;
        const char *msg;
    } cases[] = {
        {encode_one_long_name, 330, 3300,
         "parsing profile: its functions expand to 330.1 MB of text; the limit for a profile of its size is "
         "36.9 MB"},
        {encode_many_lines, 900, 2000,
         "parsing profile: its stacks expand to 280.1 MB of text; the limit for a profile of its size is "
         "138.3 MB"},
        {encode_one_long_label, 330, 3300,
         "parsing profile: its labels expand to 330.0 MB of text; the limit for a profile of its size is "
         "36.9 MB"},
        {encode_long_comments, 330, 3300,
         "parsing profile: its mappings and comments expand to 330.0 MB of text; the limit for a profile of "
         "its size is "
         "36.9 MB"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf accepted = BUF_INIT(4u << 20), refused = BUF_INIT(4u << 20);
        struct profile *p = NULL;
        struct err err = ERR_INIT;
        cases[i].encode(&accepted, cases[i].accepted_n);
        profile_free(parse_profile(buf_str(&accepted), accepted.len));
        cases[i].encode(&refused, cases[i].refused_n);
        assert_int_equal(profile_parse(buf_str(&refused), refused.len, MAX_BYTES, &p, &err), -1);
        assert_string_equal(err.msg, cases[i].msg);
        buf_release(&accepted);
        buf_release(&refused);
    }
}

static int refuse_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx;
    (void)p;
    (void)n;
    return err_set(err, ERR_CANCELLED, "enough");
}

static void an_error_of_the_sink_ends_the_writing(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = random_profile(3);
    assert_int_equal(profile_write(p, refuse_bytes, NULL, &err), -1);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(profile_write_gzip(p, refuse_bytes, NULL, &err), -1);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_protobuf_c),
        cmocka_unit_test(fields_may_have_any_order),
        cmocka_unit_test(unusual_encodings_are_read),
        cmocka_unit_test(equal_strings_are_one_and_empty_labels_are_dropped),
        cmocka_unit_test(invalid_profiles_are_refused),
        cmocka_unit_test(samples_need_a_value_for_each_type),
        cmocka_unit_test(gzip_is_read),
        cmocka_unit_test(profiles_that_inflate_beyond_the_limit_are_refused),
        cmocka_unit_test(inflation_beyond_real_profiles_is_refused),
        cmocka_unit_test(profiles_that_need_too_much_memory_are_refused),
        cmocka_unit_test(more_than_1000_sample_types_are_refused),
        cmocka_unit_test(written_gzip_has_no_time_name_or_system),
        cmocka_unit_test(damaged_profiles_are_safe),
        cmocka_unit_test(an_error_of_the_sink_ends_the_writing),
        cmocka_unit_test(profiles_that_repeat_too_much_text_are_refused),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
