/*
 * Reads and writes protobuf's wire format in memory.
 *
 * Source: protobuf.dev, "Encoding". Groups (wire types 3 and 4) are refused, as in google/pprof.
 */
#ifndef PROTO_PROTOBUF_H
#define PROTO_PROTOBUF_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

enum { PROTOBUF_NUMBER = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_LENGTH = 2, PROTOBUF_FIXED32 = 5 };

/* The part of a message that is not read yet. */
struct protobuf {
    const unsigned char *p, *end;
};

/* A field: its number, and its value (PROTOBUF_NUMBER) or its bytes (any other type). */
struct protobuf_field {
    unsigned number;
    unsigned type;
    uint64_t value;
    const unsigned char *p;
    size_t n;
};

static inline struct protobuf protobuf_of(const void *p, size_t n)
{
    const unsigned char *bytes = p;
    return (struct protobuf){bytes, bytes + n};
}

static inline struct protobuf protobuf_of_field(const struct protobuf_field *f)
{
    return (struct protobuf){f->p, f->p + f->n};
}

/* Reads a number of at most ten bytes. Drops the bits of the tenth byte that do not fit into 64 bits. */
bool protobuf_read_long_number(struct protobuf *w, uint64_t *ret);

static inline bool protobuf_read_number(struct protobuf *w, uint64_t *ret)
{
    const unsigned char *p = w->p;
    if (w->end - p >= 1 && p[0] < 0x80) {
        *ret = p[0];
        w->p = p + 1;
        return true;
    }
    if (w->end - p >= 2 && p[1] < 0x80) {
        *ret = (p[0] & 0x7fU) | (unsigned)p[1] << 7;
        w->p = p + 2;
        return true;
    }
    return protobuf_read_long_number(w, ret);
}

/*
 * Reads a number of up to three bytes without a branch: four bytes must be readable. Returns its size, or 0
 * if it is longer.
 */
static inline size_t protobuf_read_short_number(const unsigned char *p, uint64_t *ret)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    v = le32toh(v);
    uint32_t ends = ~v & 0x808080;
    v &= ends ^ (ends - 1);
    *ret = (v & 0x7f) | (v >> 1 & 0x3f80) | (v >> 2 & 0x1fc000);
    return ends ? (unsigned)__builtin_ctz(ends) / 8 + 1 : 0;
}

/* Works like protobuf_read_short_number for up to eight bytes: eight bytes must be readable. */
static inline size_t protobuf_read_medium_number(const unsigned char *p, uint64_t *ret)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    v = le64toh(v);
    uint64_t ends = ~v & UINT64_C(0x8080808080808080);
    v &= (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    *ret = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
    return ends ? (unsigned)__builtin_ctzll(ends) / 8 + 1 : 0;
}

bool protobuf_read_long_field(struct protobuf *w, struct protobuf_field *ret);

/* Reads the next field of w, which is not at its end. Returns false if the bytes are malformed. */
static inline bool protobuf_read_field(struct protobuf *w, struct protobuf_field *ret)
{
    const unsigned char *p = w->p;
    if (w->end - p >= 2 && (p[0] & 0x87) == PROTOBUF_LENGTH && p[1] < 0x80 && p[1] <= w->end - p - 2) {
        *ret = (struct protobuf_field){.number = p[0] >> 3, .type = PROTOBUF_LENGTH, .p = p + 2, .n = p[1]};
        w->p = p + 2 + p[1];
        return true;
    }
    uint64_t value = 0;
    size_t size = 0;
    if (w->end - p >= 2 && (p[0] & 0x87) == PROTOBUF_NUMBER) {
        value = p[1];
        size = p[1] < 0x80 ? 1 : w->end - p > 8 ? protobuf_read_medium_number(p + 1, &value) : 0;
    }
    if (size == 0)
        return protobuf_read_long_field(w, ret);
    *ret = (struct protobuf_field){.number = p[0] >> 3, .type = PROTOBUF_NUMBER, .value = value};
    w->p = p + 1 + size;
    return true;
}

void protobuf_append_number(struct buf *b, uint64_t v);

/* The largest number of bytes of a number, and of a field that contains a number. */
#define PROTOBUF_NUMBER_SIZE 10
#define PROTOBUF_FIELD_SIZE 16

/* These functions write to memory with enough room, and return the end of the written bytes. */
static inline unsigned char *protobuf_write_number(unsigned char *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *to++ = (unsigned char)(v | 0x80);
    *to++ = (unsigned char)v;
    return to;
}

static inline unsigned char *protobuf_write_tag_and_length(unsigned char *to, unsigned number, uint64_t n)
{
    to = protobuf_write_number(to, (uint64_t)number << 3 | PROTOBUF_LENGTH);
    return protobuf_write_number(to, n);
}

/* Writes the tag and the length of a field in front of its n bytes, which begin at `to`. Returns the start of
 * the field. */
static inline unsigned char *protobuf_prepend_tag_and_length(unsigned char *to, unsigned number, uint64_t n)
{
    unsigned char head[PROTOBUF_FIELD_SIZE];
    size_t size = (size_t)(protobuf_write_tag_and_length(head, number, n) - head);
    return (unsigned char *)memcpy(to - size, head, size);
}

static inline unsigned char *protobuf_write_field(unsigned char *to, unsigned number, uint64_t v)
{
    to = protobuf_write_number(to, (uint64_t)number << 3);
    return protobuf_write_number(to, v);
}

/* Returns the size of a number in bytes. */
static inline size_t protobuf_number_size(uint64_t v)
{
    return (size_t)(70 - __builtin_clzll(v | 1)) / 7;
}

#endif
