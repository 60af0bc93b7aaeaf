#include "httpd/body.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/banned.h"

#define PIECE ((size_t)65536)
/* Compresses 100 MB a second, to a size within 10 % of the default level's. */
#define GZIP_LEVEL 3

struct body {
    struct httpd_request *request;
    struct body_source source;
    struct evbuffer *piece;
    z_stream z;
    bool compresses; /* z is initialised */
};

void body_free(struct body *b)
{
    if (!b)
        return;
    if (b->compresses)
        deflateEnd(&b->z);
    if (b->piece)
        evbuffer_free(b->piece);
    fd_close(&b->source.fd);
    free(b->source.data);
    free(b);
}

/* Reads the next bytes of the source. Returns their number, or 0 if the file ends too early. */
static size_t read_source(struct body *b, const char **ret, char buffer[PIECE])
{
    struct body_source *s = &b->source;
    size_t n = s->n < PIECE ? (size_t)s->n : PIECE;
    ssize_t got = (ssize_t)n;
    if (s->fd >= 0)
        got = pread(s->fd, buffer, n, (off_t)s->at);
    *ret = s->fd >= 0 ? buffer : s->data + s->at;
    n = got > 0 ? (size_t)got : 0;
    s->at += n;
    s->n -= n;
    return n;
}

/* Compresses n bytes into the piece; ends the stream after the last ones. */
static int compress_piece(struct body *b, const char *p, size_t n)
{
    unsigned char out[16384];
    b->z.next_in = (unsigned char *)(uintptr_t)p;
    b->z.avail_in = (uInt)n;
    do {
        b->z.next_out = out;
        b->z.avail_out = sizeof out;
        if (deflate(&b->z, b->source.n ? Z_NO_FLUSH : Z_FINISH) == Z_STREAM_ERROR ||
            evbuffer_add(b->piece, out, sizeof out - b->z.avail_out) < 0)
            return -1;
    } while (b->z.avail_out == 0);
    return 0;
}

/* Adds the next bytes of the body to the piece. */
static int fill_piece(struct body *b)
{
    char buffer[PIECE];
    const char *p;
    while (b->source.n > 0 && evbuffer_get_length(b->piece) < PIECE / 2) {
        size_t n = read_source(b, &p, buffer);
        if (n == 0 || (b->source.gzip ? compress_piece(b, p, n) : evbuffer_add(b->piece, p, n)) < 0)
            return -1;
    }
    return 0;
}

static void send_next(struct evhttp_connection *evcon, void *ctx)
{
    struct body *b = ctx;
    struct httpd_request *r = b->request;
    if (fill_piece(b) < 0) {
        /* The headers are sent, so only the closed connection can tell the client. */
        evhttp_connection_free(evcon);
        return;
    }
    if (evbuffer_get_length(b->piece) > 0)
        evhttp_send_reply_chunk_with_cb(r->ev, b->piece, send_next, b);
    else
        evhttp_send_reply_end(r->ev);
}

static struct body *body_new(struct httpd_request *r, const struct body_source *source)
{
    struct body *b = calloc(1, sizeof *b);
    struct body_source owned = *source;
    if (b) {
        b->request = r;
        b->source = owned;
        b->piece = evbuffer_new();
        b->compresses =
            owned.gzip && deflateInit2(&b->z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        if (b->piece && b->compresses == owned.gzip)
            return b;
        body_free(b);
        return NULL;
    }
    fd_close(&owned.fd);
    free(owned.data);
    return NULL;
}

void body_send(struct httpd_request *r, int status, const struct body_source *source)
{
    struct evhttp_connection *evcon = evhttp_request_get_connection(r->ev);
    r->body = body_new(r, source);
    if (!r->body) {
        evhttp_connection_free(evcon);
        return;
    }
    evhttp_send_reply_start(r->ev, status, NULL);
    send_next(evcon, r->body);
}
