/*
 * zlib writes the whole member. Level 0 makes stored blocks, which stay in zlib's window but not in its hash
 * table: a later deflated block can refer to the deflated bytes before them.
 */
#include "bundle/gzpack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bundle/gzfile.h"
#include "base/banned.h"

/*
 * The level of `tar czf`, so that a bundle is never much larger. Measured on 20 profiles of 100 kB and 10 MB
 * of goroutine text: level 3 takes 105 ms (3.05 MB), 6 takes 170 ms (2.91 MB).
 */
#define LEVEL 6
/*
 * The smallest piece that is stored. Smaller profiles are deflated, because zlib's window has several of
 * them, and finds matches between similar ones. Measured on 1,800 heap and goroutine profiles of one
 * service, 2 to 12 kB:
 *
 *   minimum      larger than with `tar czf`    times as fast
 *   1 kB         5.5 %                         3.1
 *   8 kB         2.0 %                         1.6
 *   12 kB        0.2 %                         1.1
 *
 * At level 1 instead of LEVEL, the smaller pieces take as long.
 */
#define STORED_MIN 8192
/* The smallest piece that is stored directly after another one, as the rest of a file. */
#define STORED_REST_MIN 1024
/* The largest window, in a gzip member. */
#define WINDOW_GZIP (MAX_WBITS + 16)
#define OUT_SIZE (128u << 10)

struct gzpack {
    gzpack_sink_fn *sink;
    void *ctx;
    z_stream z;
    bool deflating;                  /* z needs deflateEnd */
    int level;                       /* of z: LEVEL, or Z_NO_COMPRESSION for stored blocks */
    uint64_t read_bytes, sent_bytes; /* bytes of input, bytes passed to the sink */
    size_t out_n;
    unsigned char out[OUT_SIZE];
};

/* ---- output -------------------------------------------------------------------------------------------- */

static int send_out(struct gzpack *g, struct err *err)
{
    size_t n = g->out_n;
    g->out_n = 0;
    g->sent_bytes += n;
    return n > 0 ? g->sink(g->ctx, g->out, n, err) : 0;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Runs zlib until it has consumed its input and, for a flush, has written everything. */
static int run_zlib(struct gzpack *g, int flush, struct err *err)
{
    do {
        g->z.next_out = g->out + g->out_n;
        g->z.avail_out = (unsigned)(OUT_SIZE - g->out_n);
        if (deflate(&g->z, flush) == Z_STREAM_ERROR)
            return err_set(err, ERR_FAILED, "zlib cannot compress the data");
        g->out_n = OUT_SIZE - g->z.avail_out;
        if (g->out_n == OUT_SIZE && send_out(g, err) < 0)
            return -1;
    } while (g->z.avail_in > 0 || g->z.avail_out == 0);
    return 0;
}

/* Ends the block of the other level first, so that deflateParams writes nothing. */
static int set_level(struct gzpack *g, int level, struct err *err)
{
    if (g->level == level)
        return 0;
    if (run_zlib(g, Z_BLOCK, err) < 0)
        return -1;
    if (deflateParams(&g->z, level, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(err, ERR_FAILED, "zlib cannot change the level");
    g->level = level;
    return 0;
}

/*
 * Returns whether deflating would save less than 2 %: whether the collision entropy of the bytes is at least
 * 7.85 of 8 bits. The collision entropy is a lower bound of Shannon's entropy, so no Huffman code saves more.
 * Matches could save more, but repetitive data seldom has evenly distributed bytes. `sum - n` counts the
 * pairs of equal bytes without each byte's pair with itself; n² / 231 is that number at 7.85 bits.
 */
static bool is_dense(const unsigned char *p, size_t n)
{
    uint32_t counts[2][256] = {{0}};
    uint64_t sum = 0;
    if (n > UINT32_MAX)
        return false;
    for (size_t i = 0; i + 1 < n; i += 2) {
        counts[0][p[i]]++;
        counts[1][p[i + 1]]++;
    }
    n &= ~(size_t)1;
    for (size_t i = 0; i < 256; i++) {
        uint64_t count = counts[0][i] + counts[1][i];
        sum += count * count;
    }
    return sum - n <= (uint64_t)n * n / 231;
}

/* Returns whether the member would exceed the limit of readers (gzfile_max_inflated) if these n bytes were
 * deflated to no bytes. */
static bool would_exceed_limit(const struct gzpack *g, size_t n)
{
    return g->read_bytes + n > gzfile_max_inflated(g->sent_bytes + g->out_n);
}

/* ---- the member ---------------------------------------------------------------------------------------- */

int gzpack_new(gzpack_sink_fn *sink, void *ctx, struct gzpack **ret, struct err *err)
{
    struct gzpack *g = calloc(1, sizeof *g);
    if (!g)
        return err_nomem(err);
    g->sink = sink;
    g->ctx = ctx;
    g->level = LEVEL;
    g->deflating =
        deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!g->deflating) {
        gzpack_free(g);
        return err_nomem(err);
    }
    *ret = g;
    return 0;
}

void gzpack_free(struct gzpack *g)
{
    if (!g)
        return;
    if (g->deflating)
        deflateEnd(&g->z);
    free(g);
}

int gzpack_add(struct gzpack *g, const void *p, size_t n, struct err *err)
{
    size_t stored_min = g->level == Z_NO_COMPRESSION ? STORED_REST_MIN : STORED_MIN;
    bool stored = (n >= stored_min && is_dense(p, n)) || would_exceed_limit(g, n);
    g->read_bytes += n;
    if (set_level(g, stored ? Z_NO_COMPRESSION : LEVEL, err) < 0)
        return -1;
    for (const unsigned char *at = p; n > 0;) {
        unsigned some = n < INT_MAX ? (unsigned)n : INT_MAX;
        g->z.next_in = (unsigned char *)(uintptr_t)at;
        g->z.avail_in = some;
        if (run_zlib(g, Z_NO_FLUSH, err) < 0)
            return -1;
        at += some;
        n -= some;
    }
    return 0;
}

int gzpack_finish(struct gzpack *g, struct err *err)
{
    return run_zlib(g, Z_FINISH, err) < 0 ? -1 : send_out(g, err);
}
