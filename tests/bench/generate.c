/*
 * Writes a made-up profile to stdout: profile.proto, gzip'ed. It resembles a busy Go service, at any size: a
 * call tree whose branches are chosen unevenly, stacks of 5 to 60 locations, a few call sites for each
 * function, every fifth location with inlined calls.
 *
 *   generate KIND SAMPLES [SEED [FUNCTIONS]]
 *
 * KIND: cpu, heap, or labels (cpu with a trace_id on a quarter of the samples). The default of FUNCTIONS
 * grows with SAMPLES as in real programs.
 *
 * The same arguments write the same bytes. A sample takes about 100 bytes before compression.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "proto/protobuf.h"
#include "base/banned.h"

/* SITES: the call sites of each function; BRANCHES: the functions that each function calls. */
enum { MIN_DEPTH = 5, MAX_DEPTH = 60, SITES = 4, BRANCHES = 12, MAX_FUNCTIONS = 30000 };

struct maker {
    uint64_t seed;
    uint64_t n_functions;
    bool heap, labels; /* the kind; cpu: neither */
    gzFile out;
    struct buf profile;     /* encoded bytes that are not yet written */
    struct buf part, inner; /* a message of the profile, and a message of that part */
};

static uint64_t mix_bits(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t next_random(struct maker *m)
{
    return m->seed = mix_bits(m->seed);
}

/* Adds a field; 0 needs none. */
static void put_number(struct buf *b, unsigned field, uint64_t number)
{
    if (number == 0)
        return;
    protobuf_append_number(b, (uint64_t)field << 3);
    protobuf_append_number(b, number);
}

static void put_bytes(struct buf *b, unsigned field, const char *p, size_t n)
{
    protobuf_append_number(b, (uint64_t)field << 3 | PROTOBUF_LENGTH);
    protobuf_append_number(b, n);
    buf_add(b, p, n);
}

static void put_message(struct buf *b, unsigned field, const struct buf *message)
{
    put_bytes(b, field, buf_str(message), message->len);
}

static void write_out(struct maker *m)
{
    struct err err = ERR_INIT;
    if (buf_check(&m->profile, "the profile", &err) < 0 ||
        gzwrite(m->out, m->profile.data, (unsigned)m->profile.len) != (int)m->profile.len) {
        fprintf(stderr, "generate: %s\n", err.kind ? err.msg : "cannot write");
        exit(1);
    }
    buf_clear(&m->profile);
}

/* ---- the tables ---------------------------------------------------------------------------------------- */

/* Strings: 0 empty, then these, then a name and a file for each function, then the trace_ids. */
enum {
    S_EMPTY,
    S_TYPE0,
    S_UNIT0,
    S_TYPE1,
    S_UNIT1,
    S_TYPE2,
    S_TYPE3,
    S_BINARY,
    S_BUILD_ID,
    S_TRACE_ID,
    S_FIXED
};

static void add_string(struct maker *m, const char *s)
{
    put_bytes(&m->profile, 6, s, strlen(s));
}

static void add_strings(struct maker *m, uint64_t trace_ids)
{
    char text[200];
    const char *const cpu[] = {"", "samples",          "count",    "cpu",     "nanoseconds", "",
                               "", "/usr/bin/service", "0123abcd", "trace_id"};
    const char *const heap[] = {"",         "alloc_objects", "count",       "alloc_space",
                                "bytes",    "inuse_objects", "inuse_space", "/usr/bin/service",
                                "0123abcd", "trace_id"};
    for (size_t i = 0; i < S_FIXED; i++)
        add_string(m, (m->heap ? heap : cpu)[i]);
    for (uint64_t f = 0; f < m->n_functions; f++) {
        uint64_t package = f / 17;
        snprintf(text, sizeof text, "github.com/example/service/internal/package%llu.(*Type%llu).Method%llu",
                 (unsigned long long)package, (unsigned long long)(f / 5), (unsigned long long)f);
        add_string(m, text);
        snprintf(text, sizeof text, "/build/service/internal/package%llu/file%llu.go",
                 (unsigned long long)package, (unsigned long long)(f / 5));
        add_string(m, text);
        if (m->profile.len > 60000)
            write_out(m);
    }
    for (uint64_t i = 0; i < trace_ids; i++) {
        snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)mix_bits(i),
                 (unsigned long long)mix_bits(~i));
        add_string(m, text);
        if (m->profile.len > 60000)
            write_out(m);
    }
    write_out(m);
}

static void add_locations(struct maker *m)
{
    for (uint64_t id = 1; id <= m->n_functions * SITES; id++) {
        uint64_t function = (id - 1) / SITES, r = mix_bits(id);
        buf_clear(&m->part);
        put_number(&m->part, 1, id);
        put_number(&m->part, 2, 1);
        put_number(&m->part, 3, 0x400000 + id * 37);
        uint64_t inlined = r % 5 == 0 ? 1 + r / 5 % 2 : 0;
        for (uint64_t i = 0; i <= inlined; i++) {
            buf_clear(&m->inner);
            put_number(&m->inner, 1, 1 + (i < inlined ? mix_bits(r + i) % m->n_functions : function));
            put_number(&m->inner, 2, 10 + mix_bits(r ^ i) % 900);
            put_message(&m->part, 4, &m->inner);
        }
        put_message(&m->profile, 4, &m->part);
        if (m->profile.len > 60000)
            write_out(m);
    }
    for (uint64_t f = 0; f < m->n_functions; f++) {
        buf_clear(&m->part);
        put_number(&m->part, 1, f + 1);
        put_number(&m->part, 2, S_FIXED + 2 * f);
        put_number(&m->part, 3, S_FIXED + 2 * f);
        put_number(&m->part, 4, S_FIXED + 2 * f + 1);
        put_message(&m->profile, 5, &m->part);
        if (m->profile.len > 60000)
            write_out(m);
    }
    write_out(m);
}

/* ---- samples ------------------------------------------------------------------------------------------- */

/* Returns a number below n. Small numbers are much likelier, because real stacks often contain the same few
 * functions, such as those of allocation, locks and maps. */
static uint64_t uneven_random(uint64_t r, uint64_t n)
{
    double u = (double)(r >> 11) * 0x1p-53;
    return (uint64_t)(u * u * u * (double)n);
}

/* Adds a random path from the root. Each function calls some of its BRANCHES functions much more often than
 * others. In the file, the leaf is first. */
static void add_stack(struct maker *m)
{
    uint64_t ids[MAX_DEPTH], function = 0;
    size_t depth = MIN_DEPTH + next_random(m) % (MAX_DEPTH - MIN_DEPTH + 1);
    for (size_t i = 0; i < depth; i++) {
        uint64_t branch = uneven_random(next_random(m), BRANCHES);
        ids[i] = 1 + function * SITES + branch % SITES;
        function = uneven_random(mix_bits(function * BRANCHES + branch), m->n_functions);
    }
    buf_clear(&m->inner);
    while (depth-- > 0)
        protobuf_append_number(&m->inner, ids[depth]);
    put_message(&m->part, 1, &m->inner);
}

static void add_samples(struct maker *m, uint64_t samples)
{
    uint64_t trace = 0;
    for (uint64_t i = 0; i < samples; i++) {
        uint64_t count = 1 + next_random(m) % 20;
        buf_clear(&m->part);
        add_stack(m);
        buf_clear(&m->inner);
        protobuf_append_number(&m->inner, count);
        protobuf_append_number(&m->inner, m->heap ? count * 512 : count * 10000000);
        if (m->heap) {
            protobuf_append_number(&m->inner, count / 2);
            protobuf_append_number(&m->inner, count / 2 * 512);
        }
        put_message(&m->part, 2, &m->inner);
        if (m->labels && i % 4 == 0) {
            buf_clear(&m->inner);
            put_number(&m->inner, 1, S_TRACE_ID);
            put_number(&m->inner, 2, S_FIXED + 2 * m->n_functions + trace++);
            put_message(&m->part, 3, &m->inner);
        }
        put_message(&m->profile, 2, &m->part);
        if (m->profile.len > 60000)
            write_out(m);
    }
    write_out(m);
}

static void add_value_type(struct maker *m, unsigned field, uint64_t type, uint64_t unit)
{
    buf_clear(&m->inner);
    put_number(&m->inner, 1, type);
    put_number(&m->inner, 2, unit);
    put_message(&m->profile, field, &m->inner);
}

static void add_header(struct maker *m)
{
    add_value_type(m, 1, S_TYPE0, S_UNIT0);
    add_value_type(m, 1, S_TYPE1, S_UNIT1);
    if (m->heap) {
        add_value_type(m, 1, S_TYPE2, S_UNIT0);
        add_value_type(m, 1, S_TYPE3, S_UNIT1);
    }
}

static void add_mapping_and_times(struct maker *m)
{
    buf_clear(&m->part);
    put_number(&m->part, 1, 1);
    put_number(&m->part, 2, 0x400000);
    put_number(&m->part, 3, 0x40000000);
    put_number(&m->part, 5, S_BINARY);
    put_number(&m->part, 6, S_BUILD_ID);
    put_number(&m->part, 7, 1);
    put_number(&m->part, 8, 1);
    put_number(&m->part, 9, 1);
    put_number(&m->part, 10, 1);
    put_message(&m->profile, 3, &m->part);
    put_number(&m->profile, 9, UINT64_C(1700000000000000000));
    put_number(&m->profile, 10, UINT64_C(30000000000));
    add_value_type(m, 11, S_TYPE1, S_UNIT1);
    put_number(&m->profile, 12, m->heap ? 524288 : 10000000);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: generate cpu|heap|labels SAMPLES [SEED [FUNCTIONS]]\n", stderr);
        return 2;
    }
    uint64_t samples = strtoull(argv[2], NULL, 10), functions = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    struct maker m = {.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
                      .n_functions = functions ? functions : 200 + samples / 20,
                      .heap = strcmp(argv[1], "heap") == 0,
                      .labels = strcmp(argv[1], "labels") == 0,
                      .out = gzdopen(1, "wb6"),
                      .profile = BUF_INIT(1 << 20),
                      .part = BUF_INIT(1 << 16),
                      .inner = BUF_INIT(1 << 16)};
    if (m.n_functions > MAX_FUNCTIONS)
        m.n_functions = MAX_FUNCTIONS;
    add_header(&m);
    add_samples(&m, samples);
    add_mapping_and_times(&m);
    add_locations(&m);
    add_strings(&m, m.labels ? (samples + 3) / 4 : 0);
    buf_release(&m.profile);
    buf_release(&m.part);
    buf_release(&m.inner);
    return gzclose(m.out) == Z_OK ? 0 : 1;
}
