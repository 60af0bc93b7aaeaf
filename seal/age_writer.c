#include <stdlib.h>
#include <string.h>

#include "seal/age.h"
#include "seal/age_armor.h"
#include "seal/age_header.h"
#include "seal/age_recipient.h"
#include "seal/age_stream.h"
#include "base/banned.h"

struct age_writer {
    struct age_output out;
    struct buf begin; /* the header and the chunks' nonce, until written */
    struct age_stream *stream;
    size_t n; /* bytes of the current chunk; a full chunk is kept, because it may be the last */
    unsigned char chunk[AGE_CHUNK], sealed[AGE_SEALED];
};

static int build_header(struct age_writer *w, const struct age_recipients *recipients,
                        const unsigned char file_key[AGE_FILE_KEY], struct err *err)
{
    unsigned char nonce[AGE_NONCE];
    buf_adds(&w->begin, AGE_VERSION_LINE);
    int rc = age_recipients_wrap(recipients, file_key, &w->begin, err);
    if (rc == 0)
        rc = age_header_finish(&w->begin, file_key, err);
    if (rc == 0)
        rc = age_random(nonce, sizeof nonce, err);
    if (rc == 0)
        rc = age_stream_new(file_key, nonce, &w->stream, err);
    if (rc < 0)
        return -1;
    buf_add(&w->begin, nonce, sizeof nonce);
    return buf_check(&w->begin, "the header", err);
}

int age_writer_open(int fd, const struct age_recipients *recipients, bool armor, struct age_writer **ret,
                    struct err *err)
{
    unsigned char file_key[AGE_FILE_KEY];
    struct age_writer *w = calloc(1, sizeof *w);
    if (!w)
        return err_nomem(err);
    age_output_init(&w->out, fd, armor);
    buf_init(&w->begin, AGE_HEADER_MAX + AGE_NONCE);
    int rc = age_random(file_key, sizeof file_key, err);
    if (rc == 0)
        rc = build_header(w, recipients, file_key, err);
    explicit_bzero(file_key, sizeof file_key);
    if (rc < 0)
        age_writer_free(w);
    else
        *ret = w;
    return rc;
}

void age_writer_set_cancel_fd(struct age_writer *w, int cancel_fd)
{
    w->out.cancel_fd = cancel_fd;
}

static int write_chunk(struct age_writer *w, const void *p, size_t n, bool last, struct err *err)
{
    if (w->begin.len && age_output_write(&w->out, w->begin.data, w->begin.len, err) < 0)
        return -1;
    buf_clear(&w->begin);
    if (age_stream_seal(w->stream, (struct age_bytes){p, n}, last, w->sealed, err) < 0)
        return -1;
    return age_output_write(&w->out, w->sealed, n + AGE_TAG, err);
}

/* Encrypts a whole chunk directly from the caller's memory if more bytes follow it. */
int age_writer_write(struct age_writer *w, const void *p, size_t n, struct err *err)
{
    const unsigned char *bytes = p;
    while (n > 0) {
        if (w->n == AGE_CHUNK) {
            if (write_chunk(w, w->chunk, AGE_CHUNK, false, err) < 0)
                return -1;
            w->n = 0;
        }
        for (; w->n == 0 && n > AGE_CHUNK; bytes += AGE_CHUNK, n -= AGE_CHUNK)
            if (write_chunk(w, bytes, AGE_CHUNK, false, err) < 0)
                return -1;
        size_t piece = AGE_CHUNK - w->n < n ? AGE_CHUNK - w->n : n;
        memcpy(w->chunk + w->n, bytes, piece);
        w->n += piece;
        bytes += piece;
        n -= piece;
    }
    return 0;
}

int age_writer_finish(struct age_writer *w, struct err *err)
{
    return write_chunk(w, w->chunk, w->n, true, err) < 0 ? -1 : age_output_finish(&w->out, err);
}

void age_writer_free(struct age_writer *w)
{
    if (!w)
        return;
    age_stream_free(w->stream);
    age_output_release(&w->out);
    buf_release(&w->begin);
    explicit_bzero(w->chunk, sizeof w->chunk);
    free(w);
}
