#include <limits.h>

#include "proto/wire.h"
#include "base/banned.h"

bool wire_read_long_number(struct wire *w, uint64_t *ret)
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

static bool read_bytes(struct wire *w, uint64_t n, struct wire_field *ret)
{
    if (n > (uint64_t)(w->end - w->p))
        return false;
    ret->p = w->p;
    ret->n = (size_t)n;
    w->p += n;
    return true;
}

bool wire_read_long_field(struct wire *w, struct wire_field *ret)
{
    uint64_t tag = 0, n = 0;
    if (!wire_read_number(w, &tag))
        return false;
    ret->number = tag >> 3 < UINT_MAX ? (unsigned)(tag >> 3) : UINT_MAX;
    ret->type = (unsigned)(tag & 7);
    switch (ret->type) {
    case WIRE_NUMBER:
        return wire_read_number(w, &ret->value);
    case WIRE_LENGTH:
        return wire_read_number(w, &n) && read_bytes(w, n, ret);
    case WIRE_FIXED64:
        return read_bytes(w, 8, ret);
    case WIRE_FIXED32:
        return read_bytes(w, 4, ret);
    default:
        return false;
    }
}

void wire_append_number(struct buf *b, uint64_t v)
{
    unsigned char bytes[WIRE_NUMBER_SIZE];
    buf_add(b, bytes, (size_t)(wire_write_number(bytes, v) - bytes));
}
