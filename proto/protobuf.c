#include <limits.h>

#include "proto/protobuf.h"
#include "base/banned.h"

bool protobuf_read_long_number(struct protobuf *w, uint64_t *ret)
{
    uint64_t v = 0;
    const unsigned char *p = w->p;
    for (unsigned shift = 0; p < w->end && shift < 70; shift += 7) {
        unsigned char c = *p++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            w->p = p;
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool read_bytes(struct protobuf *w, uint64_t n, struct protobuf_field *ret)
{
    if (n > (uint64_t)(w->end - w->p))
        return false;
    ret->p = w->p;
    ret->n = (size_t)n;
    w->p += n;
    return true;
}

bool protobuf_read_long_field(struct protobuf *w, struct protobuf_field *ret)
{
    uint64_t tag = 0, n = 0;
    if (!protobuf_read_number(w, &tag))
        return false;
    ret->number = tag >> 3 < UINT_MAX ? (unsigned)(tag >> 3) : UINT_MAX;
    ret->type = (unsigned)(tag & 7);
    switch (ret->type) {
    case PROTOBUF_NUMBER:
        return protobuf_read_number(w, &ret->value);
    case PROTOBUF_LENGTH:
        return protobuf_read_number(w, &n) && read_bytes(w, n, ret);
    case PROTOBUF_FIXED64:
        return read_bytes(w, 8, ret);
    case PROTOBUF_FIXED32:
        return read_bytes(w, 4, ret);
    default:
        return false;
    }
}

void protobuf_append_number(struct buf *b, uint64_t v)
{
    unsigned char bytes[PROTOBUF_NUMBER_SIZE];
    buf_add(b, bytes, (size_t)(protobuf_write_number(bytes, v) - bytes));
}
