#include <limits.h>
#include <stdlib.h>

#include "proto/gzip.h"

/* Level 1 compresses about as well as Go's default, in a fifth of the time. */
#define LEVEL 1

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>

#include "base/banned.h"

struct gzip {
    struct libdeflate_decompressor *d;
};

struct gzip *gzip_new(struct err *err)
{
    struct gzip *g = malloc(sizeof *g);
    if (g)
        g->d = libdeflate_alloc_decompressor();
    if (g && g->d)
        return g;
    free(g);
    err_nomem(err);
    return NULL;
}

void gzip_free(struct gzip *g)
{
    if (g)
        libdeflate_free_decompressor(g->d);
    free(g);
}

enum gzip_result gzip_inflate(struct gzip *g, struct gzip_member *m)
{
    switch (libdeflate_gzip_decompress_ex(g->d, m->p, m->n, m->to, m->room, &m->n_read, &m->n_written)) {
    case LIBDEFLATE_SUCCESS:
        return GZIP_DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return GZIP_NO_ROOM;
    case LIBDEFLATE_SHORT_OUTPUT:
    case LIBDEFLATE_BAD_DATA:
    default:
        return GZIP_DAMAGED;
    }
}

int gzip_compress(const void *p, size_t n, void **ret, size_t *ret_n, struct err *err)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
    if (!c)
        return err_nomem(err);
    size_t room = libdeflate_gzip_compress_bound(c, n);
    void *to = malloc(room);
    size_t made = to ? libdeflate_gzip_compress(c, p, n, to, room) : 0;
    libdeflate_free_compressor(c);
    if (made == 0) {
        free(to);
        return err_nomem(err);
    }
    *ret = to;
    *ret_n = made;
    return 0;
}

#else
#include <zlib.h>

#include "base/banned.h"

/* 15: the largest window; 16: gzip. MEMORY_LEVEL is zlib's default. */
enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8 };

struct gzip {
    z_stream z;
};

struct gzip *gzip_new(struct err *err)
{
    struct gzip *g = calloc(1, sizeof *g);
    if (g && inflateInit2(&g->z, WINDOW_GZIP) == Z_OK)
        return g;
    free(g);
    err_nomem(err);
    return NULL;
}

void gzip_free(struct gzip *g)
{
    if (g)
        inflateEnd(&g->z);
    free(g);
}

/* zlib counts in unsigned int, so larger input is split. */
static uInt piece_size(size_t n)
{
    return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

enum gzip_result gzip_inflate(struct gzip *g, struct gzip_member *m)
{
    z_stream *z = &g->z;
    size_t in = 0, out = 0;
    int rc = inflateReset(z);
    while (rc == Z_OK) {
        uInt fed = piece_size(m->n - in), free_now = piece_size(m->room - out);
        z->next_in = (unsigned char *)(uintptr_t)m->p + in;
        z->avail_in = fed;
        z->next_out = (unsigned char *)m->to + out;
        z->avail_out = free_now;
        rc = inflate(z, Z_NO_FLUSH);
        in += fed - z->avail_in;
        out += free_now - z->avail_out;
    }
    m->n_read = in;
    m->n_written = out;
    if (rc == Z_STREAM_END)
        return GZIP_DONE;
    return rc == Z_BUF_ERROR && out == m->room ? GZIP_NO_ROOM : GZIP_DAMAGED;
}

static int deflate_all(z_stream *z, const void *p, size_t n, unsigned char *to, size_t room)
{
    size_t in = 0, out = 0;
    int rc = Z_OK;
    while (rc == Z_OK) {
        uInt fed = piece_size(n - in), free_now = piece_size(room - out);
        z->next_in = (unsigned char *)(uintptr_t)p + in;
        z->avail_in = fed;
        z->next_out = to + out;
        z->avail_out = free_now;
        rc = deflate(z, in + fed == n ? Z_FINISH : Z_NO_FLUSH);
        in += fed - z->avail_in;
        out += free_now - z->avail_out;
    }
    return rc;
}

int gzip_compress(const void *p, size_t n, void **ret, size_t *ret_n, struct err *err)
{
    z_stream z = {0};
    gz_header header = {.os = 255};
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_nomem(err);
    deflateSetHeader(&z, &header);
    size_t room = deflateBound(&z, n);
    unsigned char *to = malloc(room);
    bool done = to && deflate_all(&z, p, n, to, room) == Z_STREAM_END;
    *ret_n = done ? z.total_out : *ret_n;
    deflateEnd(&z);
    if (!done) {
        free(to);
        return err_nomem(err);
    }
    *ret = to;
    return 0;
}
#endif
