#include "seal/age_reader.h"

#include <stdlib.h>
#include <string.h>

#include "seal/age_armor.h"
#include "seal/age_stream.h"
#include "base/banned.h"

struct age_reader {
    struct age_input *in;
    struct buf header_bytes;
    struct age_header header;
    struct age_stream *stream;
    bool has_last_chunk; /* the last chunk was decrypted */
    bool ended;          /* the file's end was checked */
    bool failed;         /* every later call returns `why` */
    struct err why;
    size_t at, n; /* the unread part of the chunk */
    unsigned char chunk[AGE_CHUNK], sealed[AGE_SEALED];
};

void age_reader_free(struct age_reader *r)
{
    if (!r)
        return;
    age_stream_free(r->stream);
    age_header_release(&r->header);
    buf_release(&r->header_bytes);
    age_input_free(r->in);
    explicit_bzero(r->chunk, sizeof r->chunk);
    free(r);
}

/* ---- the header ---- */

/* Reads one line with its line end, or the rest of the file. */
static int read_line(struct age_reader *r, struct err *err)
{
    size_t n = 1;
    char c = '\0';
    while (c != '\n') {
        if (age_input_read(r->in, &c, 1, &n, err) < 0)
            return -1;
        if (n == 0)
            return 0;
        buf_addc(&r->header_bytes, c);
        if (r->header_bytes.failed)
            return buf_check(&r->header_bytes, "the header", err);
    }
    return 0;
}

/* Reads up to the end of the header's last line or of the file. Refuses a file of another format by its first
 * bytes. */
static int read_header(struct age_reader *r, struct err *err)
{
    static const char version[] = "age-encryption.org/";
    char first[sizeof version - 1];
    size_t n = 0;
    if (age_input_read(r->in, first, sizeof first, &n, err) < 0)
        return -1;
    if (n < sizeof first || memcmp(first, version, n) != 0)
        return err_set(err, ERR_FAILED, "it is not in the age format");
    buf_add(&r->header_bytes, first, n);
    for (size_t line_at = 0, len_before = 0;; line_at = r->header_bytes.len) {
        if (read_line(r, err) < 0)
            return -1;
        const char *line = buf_str(&r->header_bytes) + line_at;
        if (r->header_bytes.len == len_before || strncmp(line, "---", 3) == 0)
            return 0;
        len_before = r->header_bytes.len;
    }
}

int age_reader_read_header(int fd, int cancel_fd, struct age_reader **ret, struct err *err)
{
    struct age_reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    buf_init(&r->header_bytes, AGE_HEADER_MAX);
    if (age_input_new(fd, cancel_fd, &r->in, err) < 0 || read_header(r, err) < 0 ||
        age_header_parse(buf_str(&r->header_bytes), r->header_bytes.len, &r->header, err) < 0) {
        age_reader_free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

const struct age_header *age_reader_header(const struct age_reader *r)
{
    return &r->header;
}

int age_reader_unlock(struct age_reader *r, const unsigned char file_key[AGE_FILE_KEY], struct err *err)
{
    unsigned char nonce[AGE_NONCE];
    size_t n = 0;
    if (age_header_check(&r->header, buf_str(&r->header_bytes), file_key, err) < 0 ||
        age_input_read(r->in, nonce, sizeof nonce, &n, err) < 0)
        return -1;
    if (n < sizeof nonce)
        return err_set(err, ERR_FAILED, "the header is damaged: it is cut after its MAC");
    return age_stream_new(file_key, nonce, &r->stream, err);
}

int age_reader_hash_header(const struct age_reader *r, char ret[SHA256_HEX], struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    if (hash)
        sha256_add(hash, r->header_bytes.data, r->header_bytes.len);
    int rc = hash ? sha256_hex(hash, ret, err) : -1;
    sha256_free(hash);
    return rc;
}

/* ---- the chunks ---- */

/* No bytes may follow the last chunk. */
static int expect_end(struct age_reader *r, struct err *err)
{
    char c;
    size_t n = 0;
    if (age_input_read(r->in, &c, 1, &n, err) < 0)
        return -1;
    if (n > 0)
        return err_set(err, ERR_FAILED, "it was changed: there is data after its end");
    r->ended = true;
    return 0;
}

/* Decrypts the next chunk into `to`; *ret_n is 0 only at the end. */
static int next_chunk(struct age_reader *r, unsigned char *to, size_t *ret_n, struct err *err)
{
    size_t n = 0;
    *ret_n = 0;
    if (r->has_last_chunk)
        return r->ended ? 0 : expect_end(r, err);
    if (age_input_read(r->in, r->sealed, sizeof r->sealed, &n, err) < 0)
        return -1;
    if (age_stream_open(r->stream, (struct age_bytes){r->sealed, n}, to, &r->has_last_chunk, err) < 0)
        return -1;
    *ret_n = n - AGE_TAG;
    return r->has_last_chunk && *ret_n == 0 ? expect_end(r, err) : 0;
}

static int store_failure(struct age_reader *r, const struct err *why, struct err *err)
{
    r->failed = true;
    r->why = *why;
    if (err)
        *err = *why;
    return -1;
}

ssize_t age_reader_read(struct age_reader *r, void *p, size_t n, struct err *err)
{
    struct err why = ERR_INIT;
    if (r->failed)
        return store_failure(r, &r->why, err);
    /* If the caller's memory has room for a whole chunk, decrypt into it. */
    if (r->at == r->n && n >= AGE_CHUNK) {
        size_t got = 0;
        return next_chunk(r, p, &got, &why) < 0 ? store_failure(r, &why, err) : (ssize_t)got;
    }
    if (r->at == r->n) {
        r->at = 0;
        if (next_chunk(r, r->chunk, &r->n, &why) < 0) {
            r->n = 0;
            return store_failure(r, &why, err);
        }
    }
    size_t left = r->n - r->at;
    n = n < left ? n : left;
    memcpy(p, r->chunk + r->at, n);
    r->at += n;
    return (ssize_t)n;
}
