#include "seal/age_armor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/banned.h"

enum { COLUMNS = 64, LINE_BYTES = COLUMNS / 4 * 3, RAW_SIZE = 65536, BLANKS_MAX = 1024 };

static const char first_line[] = "-----BEGIN AGE ENCRYPTED FILE-----";
static const char last_line[] = "-----END AGE ENCRYPTED FILE-----";

struct age_input {
    int fd;
    int cancel_fd;
    bool armored;
    bool at_eof;                     /* end-of-file was reached */
    bool has_last_line;              /* the armor's last line was read */
    size_t line;                     /* number of the armor's current line */
    unsigned char raw[RAW_SIZE];     /* bytes from the descriptor */
    size_t at, n;                    /* start and end of the unread bytes in `raw` */
    unsigned char bytes[LINE_BYTES]; /* decoded bytes of the armor's current line */
    size_t bytes_at, n_bytes;
};

/* ---- raw bytes ---- */

/* Reads once. The writer of a pipe may take any time, so this also waits for the cancel descriptor. */
static int read_or_cancel(const struct age_input *in, void *p, size_t n, size_t *ret_n, struct err *err)
{
    ssize_t got;
    do {
        if (fd_wait(in->fd, POLLIN, CLOCK_NEVER, in->cancel_fd, err) < 0)
            return -1;
        got = read(in->fd, p, n);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
        return err_sys(err, "cannot read");
    *ret_n = (size_t)got;
    return 0;
}

/* Reads until `raw` has at least n bytes (n <= RAW_SIZE) or the file ends. */
static int fill_raw(struct age_input *in, size_t n, struct err *err)
{
    if (in->n - in->at >= n)
        return 0;
    memmove(in->raw, in->raw + in->at, in->n - in->at);
    in->n -= in->at;
    in->at = 0;
    while (in->n < n && !in->at_eof) {
        size_t got = 0;
        if (read_or_cancel(in, in->raw + in->n, RAW_SIZE - in->n, &got, err) < 0)
            return -1;
        in->n += got;
        in->at_eof = got == 0;
    }
    return 0;
}

static size_t consume_raw(struct age_input *in, void *p, size_t n)
{
    size_t left = in->n - in->at;
    n = n < left ? n : left;
    memcpy(p, in->raw + in->at, n);
    in->at += n;
    return n;
}

/* Reads large pieces directly into the caller's memory. */
static int read_plain(struct age_input *in, unsigned char *p, size_t n, size_t *ret_n, struct err *err)
{
    size_t have = consume_raw(in, p, n);
    while (have < n && !in->at_eof) {
        size_t got = 0;
        if (n - have >= RAW_SIZE / 2) {
            if (read_or_cancel(in, p + have, n - have, &got, err) < 0)
                return -1;
            in->at_eof = got == 0;
        } else {
            if (fill_raw(in, 1, err) < 0)
                return -1;
            got = consume_raw(in, p + have, n - have);
        }
        have += got;
    }
    *ret_n = have;
    return 0;
}

/* ---- armor ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool age_armor_begins(const char *p, size_t n)
{
    while (n > 0 && is_blank(*p)) {
        p++;
        n--;
    }
    return n >= sizeof first_line - 1 && memcmp(p, first_line, sizeof first_line - 1) == 0;
}

static int refuse_line(const struct age_input *in, const char *what, struct err *err)
{
    return err_set(err, ERR_FAILED, "the armor is damaged in line %zu: %s", in->line, what);
}

/* Returns the next line without its end, "\n" or "\r\n"; valid until the next call. */
static int next_line(struct age_input *in, const char **ret, size_t *ret_n, struct err *err)
{
    in->line++;
    if (fill_raw(in, COLUMNS + 2, err) < 0)
        return -1;
    const char *p = (const char *)in->raw + in->at;
    size_t have = in->n - in->at;
    size_t limit = have < COLUMNS + 2 ? have : COLUMNS + 2;
    const char *end = memchr(p, '\n', limit);
    if (have == 0)
        return refuse_line(in, "its last line is missing", err);
    if (!end && have > COLUMNS)
        return refuse_line(in, "it is too long", err);
    size_t n = end ? (size_t)(end - p) : have;
    in->at += n + (end ? 1 : 0);
    if (end && n > 0 && p[n - 1] == '\r')
        n--;
    *ret = p;
    *ret_n = n;
    return 0;
}

/* Reads to the end of the file. At most BLANKS_MAX bytes of white space may follow the last line. */
static int expect_end(struct age_input *in, struct err *err)
{
    in->has_last_line = true;
    in->line++;
    if (fill_raw(in, BLANKS_MAX + 1, err) < 0)
        return -1;
    size_t blanks = 0;
    for (; in->at < in->n; in->at++)
        if (!is_blank((char)in->raw[in->at]) || ++blanks > BLANKS_MAX)
            return refuse_line(in, "there is text after its end", err);
    return 0;
}

static int decode_line(struct age_input *in, struct err *err)
{
    const char *p = NULL;
    size_t n = 0;
    bool short_before = in->n_bytes < LINE_BYTES;
    if (next_line(in, &p, &n, err) < 0)
        return -1;
    in->bytes_at = in->n_bytes = 0;
    if (n == sizeof last_line - 1 && memcmp(p, last_line, n) == 0)
        return expect_end(in, err);
    if (short_before)
        return refuse_line(in, "the line before it is too short", err);
    if (n == 0 || n > COLUMNS ||
        base64_decode(BASE64_PADDED, (struct str){p, n}, in->bytes, sizeof in->bytes, &in->n_bytes) < 0 ||
        in->n_bytes == 0)
        return refuse_line(in, "it is not base64", err);
    return 0;
}

static int read_armored(struct age_input *in, unsigned char *p, size_t n, size_t *ret_n, struct err *err)
{
    size_t have = 0;
    while (have < n) {
        if (in->bytes_at == in->n_bytes) {
            if (in->has_last_line)
                break;
            if (decode_line(in, err) < 0)
                return -1;
            continue;
        }
        size_t left = in->n_bytes - in->bytes_at, piece = n - have < left ? n - have : left;
        memcpy(p + have, in->bytes + in->bytes_at, piece);
        in->bytes_at += piece;
        have += piece;
    }
    *ret_n = have;
    return 0;
}

/* ---- both forms ---- */

/* Detects armor by the first bytes, and skips its first line. */
static int detect_armor(struct age_input *in, struct err *err)
{
    const char *p = NULL;
    size_t n = 0;
    if (fill_raw(in, BLANKS_MAX + sizeof first_line, err) < 0)
        return -1;
    in->armored = age_armor_begins((const char *)in->raw, in->n);
    if (!in->armored)
        return 0;
    for (; is_blank((char)in->raw[in->at]); in->at++)
        in->line += in->raw[in->at] == '\n';
    if (in->at > BLANKS_MAX)
        return refuse_line(in, "there is too much white space before it", err);
    if (next_line(in, &p, &n, err) < 0)
        return -1;
    /* Set the state after a full line, because decode_line refuses a line after a short one. */
    in->n_bytes = LINE_BYTES;
    in->bytes_at = LINE_BYTES;
    return n == sizeof first_line - 1 ? 0 : refuse_line(in, "there is text after its first line", err);
}

int age_input_new(int fd, int cancel_fd, struct age_input **ret, struct err *err)
{
    struct age_input *in = calloc(1, sizeof *in);
    if (!in)
        return err_nomem(err);
    in->fd = fd;
    in->cancel_fd = cancel_fd;
    if (detect_armor(in, err) < 0) {
        age_input_free(in);
        return -1;
    }
    *ret = in;
    return 0;
}

void age_input_free(struct age_input *in)
{
    free(in);
}

int age_input_read(struct age_input *in, void *p, size_t n, size_t *ret_n, struct err *err)
{
    return in->armored ? read_armored(in, p, n, ret_n, err) : read_plain(in, p, n, ret_n, err);
}

/* ---- writing ---- */

void age_output_init(struct age_output *out, int fd, bool armor)
{
    *out = (struct age_output){.fd = fd, .cancel_fd = -1, .armor = armor, .text = {.max = 1u << 20}};
    if (armor) {
        buf_adds(&out->text, first_line);
        buf_addc(&out->text, '\n');
    }
}

void age_output_release(struct age_output *out)
{
    buf_release(&out->text);
}

static void add_line(struct buf *b, const unsigned char *p, size_t n)
{
    unsigned char text[COLUMNS + 1];
    int len = EVP_EncodeBlock(text, p, (int)n);
    text[len] = '\n';
    buf_add(b, text, (size_t)len + 1);
}

static int flush_text(struct age_output *out, struct err *err)
{
    if (buf_check(&out->text, "armor", err) < 0 ||
        fd_write_or_cancel(out->fd, buf_str(&out->text), out->text.len, out->cancel_fd, err) < 0)
        return -1;
    buf_clear(&out->text);
    return 0;
}

int age_output_write(struct age_output *out, const void *p, size_t n, struct err *err)
{
    const unsigned char *bytes = p;
    if (!out->armor)
        return fd_write_or_cancel(out->fd, p, n, out->cancel_fd, err);
    while (n > 0) {
        size_t piece = sizeof out->rest - out->n_rest;
        piece = n < piece ? n : piece;
        memcpy(out->rest + out->n_rest, bytes, piece);
        out->n_rest += piece;
        bytes += piece;
        n -= piece;
        if (out->n_rest < sizeof out->rest)
            break;
        add_line(&out->text, out->rest, sizeof out->rest);
        out->n_rest = 0;
        if (out->text.len >= RAW_SIZE && flush_text(out, err) < 0)
            return -1;
    }
    return 0;
}

int age_output_finish(struct age_output *out, struct err *err)
{
    if (!out->armor)
        return 0;
    if (out->n_rest > 0)
        add_line(&out->text, out->rest, out->n_rest);
    buf_adds(&out->text, last_line);
    buf_addc(&out->text, '\n');
    return flush_text(out, err);
}
