/*
 * zlib inflates (its gzip mode reads headers, CRCs and lengths). This file starts each further member,
 * accepts zeros after the last member (tapes and some servers add them), and enforces the size limit.
 */
#include "proto/proto.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/banned.h"

#define OUT_SIZE 65536

enum position {
    START,           /* nothing read yet */
    MEMBER,          /* inside a member */
    BETWEEN_MEMBERS, /* a member ended; another may start */
    PADDING,         /* zeros after the last member */
};

struct gunzip {
    gunzip_sink_fn *sink;
    void *ctx;
    z_stream stream;
    enum position position;
    uint64_t bytes_in;  /* compressed bytes, over all members */
    uint64_t bytes_out; /* inflated bytes, over all members */
    uint64_t max_bytes;
    unsigned members;
    bool failed;
    struct err why; /* every later call returns it */
    unsigned char out[OUT_SIZE];
};

struct gunzip *gunzip_new(gunzip_sink_fn *sink, void *ctx, uint64_t max_bytes, struct err *err)
{
    struct gunzip *z = calloc(1, sizeof *z);
    if (!z) {
        err_nomem(err);
        return NULL;
    }
    z->sink = sink;
    z->ctx = ctx;
    z->max_bytes = max_bytes;
    /* 15: the largest window; 16: accept only gzip. */
    if (inflateInit2(&z->stream, 15 + 16) != Z_OK) {
        free(z);
        err_nomem(err);
        return NULL;
    }
    return z;
}

void gunzip_free(struct gunzip *z)
{
    if (!z)
        return;
    inflateEnd(&z->stream);
    free(z);
}

/* Passes the first n bytes of `out` to the sink. */
static int flush_output(struct gunzip *z, size_t n, struct err *err)
{
    if (n == 0)
        return 0;
    if (n > z->max_bytes - z->bytes_out)
        return err_set(err, ERR_FAILED, "inflates to more than %llu bytes", (unsigned long long)z->max_bytes);
    z->bytes_out += n;
    return z->sink(z->ctx, z->out, n, err);
}

static int set_inflate_error(const struct gunzip *z, int rc, struct err *err)
{
    if (rc == Z_MEM_ERROR)
        return err_nomem(err);
    return err_set(err, ERR_FAILED, "at byte %llu: the gzip data is broken: %s",
                   (unsigned long long)z->bytes_in, z->stream.msg ? z->stream.msg : "no reason given");
}

/* Inflates to the end of the member or of the n bytes. */
static int feed_member(struct gunzip *z, const unsigned char *p, size_t n, size_t *ret_used, struct err *err)
{
    z->members += z->stream.total_in == 0;
    uInt piece = n > UINT_MAX ? UINT_MAX : (uInt)n;
    int rc = Z_OK;
    z->stream.next_in = (unsigned char *)p;
    z->stream.avail_in = piece;
    do {
        uInt before = z->stream.avail_in;
        z->stream.next_out = z->out;
        z->stream.avail_out = OUT_SIZE;
        rc = inflate(&z->stream, Z_NO_FLUSH);
        z->bytes_in += before - z->stream.avail_in;
        /* Z_BUF_ERROR only means that there was no input or no room for output. */
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return set_inflate_error(z, rc, err);
        if (flush_output(z, OUT_SIZE - z->stream.avail_out, err))
            return -1;
    } while (rc != Z_STREAM_END && (z->stream.avail_in > 0 || z->stream.avail_out == 0));
    if (rc == Z_STREAM_END)
        z->position = BETWEEN_MEMBERS;
    *ret_used = piece - z->stream.avail_in;
    return 0;
}

/* Accepts only zeros. */
static int feed_padding(struct gunzip *z, const unsigned char *p, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return err_set(err, ERR_FAILED, "at byte %llu: extra bytes after the end of the gzip data",
                           (unsigned long long)(z->bytes_in + i));
    z->bytes_in += n;
    return 0;
}

static int feed_bytes(struct gunzip *z, const unsigned char *p, size_t n, struct err *err)
{
    while (n > 0) {
        if (z->position == BETWEEN_MEMBERS && *p == 0x1f && inflateReset(&z->stream) == Z_OK)
            z->position = MEMBER;
        else if (z->position == BETWEEN_MEMBERS)
            z->position = PADDING;
        else if (z->position == START)
            z->position = MEMBER;
        if (z->position == PADDING)
            return feed_padding(z, p, n, err);
        size_t used = 0;
        if (feed_member(z, p, n, &used, err))
            return -1;
        p += used;
        n -= used;
    }
    return 0;
}

int gunzip_feed(struct gunzip *z, const void *p, size_t n, struct err *err)
{
    if (!z->failed && feed_bytes(z, p, n, &z->why))
        z->failed = true;
    if (z->failed && err)
        *err = z->why;
    return z->failed ? -1 : 0;
}

unsigned gunzip_members(const struct gunzip *z)
{
    return z->members;
}

int gunzip_finish(struct gunzip *z, struct err *err)
{
    if (gunzip_feed(z, "", 0, err))
        return -1;
    if (z->position == START)
        return err_set(err, ERR_FAILED, "the body is empty: no gzip data");
    if (z->position == MEMBER)
        return err_set(err, ERR_FAILED, "cut off inside gzip data after %llu bytes",
                       (unsigned long long)z->bytes_in);
    return 0;
}
