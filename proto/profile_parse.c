/* Parses a profile of any form: profile.proto (profile_decode.c) or text (profile_text.c), plain or gzip. */
#include "proto/profile_store.h"
#include "base/banned.h"

/* Decodes a region as profile.proto or a text form. Takes ownership of the region. */
static int decode_region(struct region *bytes, size_t file_bytes, struct profile **ret, struct err *err)
{
    bool other = false;
    int rc = profile_decode(bytes, ret, &other, err);
    if (rc < 0 && other) {
        *err = (struct err)ERR_INIT;
        rc = profile_parse_text(bytes->p, bytes->n, ret, err);
    }
    region_release(bytes);
    if (rc == 0)
        (*ret)->file_bytes = file_bytes;
    return rc;
}

int profile_parse(const void *p, size_t n, uint64_t max_bytes, struct profile **ret, struct err *err)
{
    struct region bytes = {0};
    return region_inflate(p, n, max_bytes, &bytes, err) < 0 ? -1 : decode_region(&bytes, n, ret, err);
}

int profile_parse_buf(struct buf *from, uint64_t max_bytes, struct profile **ret, struct err *err)
{
    struct region bytes = {0};
    size_t n = from->len;
    int rc = region_inflate(buf_str(from), n, max_bytes, &bytes, err);
    buf_release(from);
    return rc < 0 ? -1 : decode_region(&bytes, n, ret, err);
}
