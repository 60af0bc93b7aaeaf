/* Profiles for tests, encoded byte by byte or made at random. */
#ifndef TESTS_UNIT_PROFILE_MAKE_H
#define TESTS_UNIT_PROFILE_MAKE_H

#include "proto/proto.h"
#include "proto/protobuf.h"

static inline int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static inline void encode_number(struct buf *b, unsigned field, uint64_t v)
{
    protobuf_append_number(b, (uint64_t)field << 3);
    protobuf_append_number(b, v);
}

static inline void encode_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
    protobuf_append_number(b, (uint64_t)field << 3 | PROTOBUF_LENGTH);
    protobuf_append_number(b, n);
    buf_add(b, p, n);
}

/* Encodes a message of numbers; `pairs` is field, value, field, value, …, 0. */
static inline void encode_message(struct buf *b, unsigned field, const uint64_t *pairs)
{
    struct buf inner = BUF_INIT(1000);
    for (; pairs[0]; pairs += 2)
        encode_number(&inner, (unsigned)pairs[0], pairs[1]);
    encode_bytes(b, field, buf_str(&inner), inner.len);
    buf_release(&inner);
}
#define ENCODE(b, field, ...) encode_message(b, field, (const uint64_t[]){__VA_ARGS__, 0})

static inline void encode_strings(struct buf *b, const char *const *strings)
{
    for (; *strings; strings++)
        encode_bytes(b, 6, *strings, strlen(*strings));
}

static inline uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static inline size_t random_below(uint64_t *seed, size_t n)
{
    return (size_t)(random_next(seed) >> 11) % n;
}

/* A random number of any magnitude. */
static inline uint64_t random_number(uint64_t *seed)
{
    uint64_t v = random_next(seed);
    return v >> random_below(seed, 64);
}

static inline uint32_t random_string(struct profile *p, uint64_t *seed)
{
    static const char *const strings[] = {
        "",  "cpu", "nanoseconds", "main.f", "/src/f.go", "a key", "\xff", "long long long long long long",
        "b", "c"};
    struct err err = ERR_INIT;
    const char *s = strings[random_below(seed, sizeof strings / sizeof *strings)];
    uint32_t ret = 0;
    assert_int_equal(profile_intern(p, s, strlen(s), &ret, &err), 0);
    return ret;
}

static inline void add_random_tables(struct profile *p, uint64_t *seed)
{
    struct err err = ERR_INIT;
    for (size_t i = random_below(seed, 4); i > 0; i--) {
        struct profile_mapping m = {.id = i * 3,
                                    .start = random_number(seed),
                                    .limit = random_number(seed),
                                    .offset = random_number(seed),
                                    .file = random_string(p, seed),
                                    .build_id = random_string(p, seed),
                                    .has_functions = random_below(seed, 2),
                                    .has_filenames = random_below(seed, 2),
                                    .has_line_numbers = random_below(seed, 2),
                                    .has_inline_frames = random_below(seed, 2)};
        assert_int_equal(profile_add_mapping(p, &m, &err), 0);
    }
    for (size_t i = 1 + random_below(seed, 6); i > 0; i--) {
        struct profile_function f = {.id = i << random_below(seed, 2) * 40,
                                     .name = random_string(p, seed),
                                     .system_name = random_string(p, seed),
                                     .filename = random_string(p, seed),
                                     .start_line = (int64_t)random_number(seed)};
        assert_int_equal(profile_add_function(p, &f, &err), 0);
    }
    for (size_t i = 1 + random_below(seed, 9); i > 0; i--) {
        struct profile_line lines[4];
        struct profile_location l = {.id = i << random_below(seed, 3) * 20,
                                     .address = random_number(seed),
                                     .mapping = PROFILE_NONE,
                                     .n_lines = (uint32_t)random_below(seed, 4),
                                     .folded = random_below(seed, 2)};
        if (p->n_mappings && random_below(seed, 3))
            l.mapping = (uint32_t)random_below(seed, p->n_mappings);
        for (size_t k = 0; k < l.n_lines; k++)
            lines[k] = (struct profile_line){(uint32_t)random_below(seed, p->n_functions),
                                             (int64_t)random_number(seed), (int64_t)random_number(seed)};
        assert_int_equal(profile_add_location(p, &l, lines, &err), 0);
    }
}

/* The label's value is neither 0 nor empty, because an encoded label has no field for such a value. */
static inline struct profile_label random_label(struct profile *p, uint64_t *seed)
{
    struct profile_label l = {.key = random_string(p, seed), .is_number = random_below(seed, 2)};
    if (l.is_number) {
        l.num = (int64_t)random_number(seed) | 1;
        l.unit = random_string(p, seed);
    } else {
        while (l.str == 0)
            l.str = random_string(p, seed);
    }
    return l;
}

static inline void add_random_sample(struct profile *p, uint64_t *seed)
{
    struct err err = ERR_INIT;
    uint32_t stack[6];
    int64_t values[4];
    struct profile_label labels[4];
    size_t depth = random_below(seed, 7), n_labels = random_below(seed, 5);
    for (size_t i = 0; i < depth; i++)
        stack[i] = (uint32_t)random_below(seed, p->n_locations);
    for (size_t i = 0; i < p->n_sample_types; i++)
        values[i] = random_below(seed, 3) ? (int64_t)random_number(seed) : 0;
    for (size_t i = 0; i < n_labels; i++)
        labels[i] = random_label(p, seed);
    assert_int_equal(
        profile_add_sample(p, &(struct profile_new_sample){stack, depth, values, labels, n_labels}, &err), 0);
}

/* A profile with every kind of content. */
static inline struct profile *random_profile(uint64_t seed)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    seed = seed * 2654435761u + 1;
    random_number(&seed);
    for (size_t i = 1 + random_below(&seed, 4); i > 0; i--) {
        struct profile_value_type t = {random_string(p, &seed), random_string(p, &seed)};
        assert_int_equal(profile_add_sample_type(p, t, &err), 0);
    }
    add_random_tables(p, &seed);
    for (size_t i = random_below(&seed, 12); i > 0; i--)
        add_random_sample(p, &seed);
    for (size_t i = random_below(&seed, 5); i > 0; i--)
        assert_int_equal(profile_add_comment(p, random_string(p, &seed), &err), 0);
    p->drop_frames = random_string(p, &seed);
    p->keep_frames = random_string(p, &seed);
    p->default_sample_type = random_string(p, &seed);
    p->doc_url = random_string(p, &seed);
    p->period_type = (struct profile_value_type){random_string(p, &seed), random_string(p, &seed)};
    p->period = (int64_t)random_number(&seed);
    p->time_ns = (int64_t)random_number(&seed);
    p->duration_ns = (int64_t)random_number(&seed);
    return p;
}

#endif
