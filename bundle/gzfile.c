#include "bundle/gzfile.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/workdir.h"
#include "base/banned.h"

struct gzfile {
    char *path;
    int fd;
    uint64_t size, inflated; /* bytes */
    struct age_reader *age;  /* NULL: not encrypted */
    z_stream z;
    bool inflating;       /* z needs inflateEnd */
    bool between_members; /* one gzip member has ended, and no other has begun */
    unsigned char in[32768];
};

uint64_t gzfile_max_inflated(uint64_t size)
{
    enum { RATIO = 64 };
    const uint64_t base = UINT64_C(256) << 20;
    return size > (UINT64_MAX - base) / RATIO ? UINT64_MAX : base + size * RATIO;
}

static int set_size_error(const struct gzfile *g, struct err *err)
{
    char size[32], most[32];
    err_set(err, ERR_LIMIT, "%s has %s and inflates to more than %s", g->path,
            text_bytes(size, sizeof size, g->size),
            text_bytes(most, sizeof most, gzfile_max_inflated(g->size)));
    return err_hint(err,
                    "no bundle of this size inflates that far; if you trust the file, unpack it with tar");
}

static ssize_t read_some(struct gzfile *g, struct err *err)
{
    ssize_t n;
    if (g->age)
        return (n = age_reader_read(g->age, g->in, sizeof g->in, err)) < 0 ? err_wrap(err, "%s", g->path) : n;
    do
        n = read(g->fd, g->in, sizeof g->in);
    while (n < 0 && errno == EINTR);
    return n < 0 ? err_sys(err, "cannot read %s", g->path) : n;
}

static int fill_input(struct gzfile *g, struct err *err)
{
    ssize_t n = read_some(g, err);
    if (n < 0)
        return -1;
    g->z.next_in = g->in;
    g->z.avail_in = (unsigned)n;
    return 0;
}

/* Checks the first bytes, so that most files that are not bundles get a clear message. */
static int check_magic(const struct gzfile *g, struct err *err)
{
    static const unsigned char magic[2] = {0x1f, 0x8b};
    if (g->z.avail_in == 0)
        return err_set(err, ERR_FAILED, "%s is not a bundle: it is empty", g->path);
    if (memcmp(g->in, magic, g->z.avail_in < 2 ? 1 : 2) != 0)
        return err_set(err, ERR_FAILED, "%s is not a bundle: it is not gzip'ed", g->path);
    return 0;
}

/* If the first bytes show an encrypted file, opens the decryption and reads the first decrypted bytes. */
static int open_encrypted(struct gzfile *g, struct age_identities *identities, struct err *err)
{
    if (!age_is_encrypted(g->in, g->z.avail_in))
        return 0;
    if (lseek(g->fd, 0, SEEK_SET) != 0)
        return err_sys(err, "cannot read %s", g->path);
    return age_reader_open(g->fd, identities, &g->age, err) < 0 ? err_wrap(err, "%s", g->path)
                                                                : fill_input(g, err);
}

int gzfile_open(const char *path, struct age_identities *identities, struct gzfile **ret, struct err *err)
{
    struct gzfile *g = calloc(1, sizeof *g);
    if (!g)
        return err_nomem(err);
    g->fd = file_open(path, err);
    if (g->fd < 0) {
        workdir_hint_directory(path, err);
        goto out;
    }
    g->path = strdup(path);
    /* With 16 added, zlib accepts only gzip. */
    g->inflating = g->path && inflateInit2(&g->z, 16 + MAX_WBITS) == Z_OK;
    if (!g->inflating) {
        err_nomem(err);
        goto out;
    }
    g->size = fd_bytes_on_disk(g->fd);
    if (fill_input(g, err) < 0 || open_encrypted(g, identities, err) < 0 || check_magic(g, err) < 0)
        goto out;
    *ret = g;
    return 0;
out:
    gzfile_free(g);
    return -1;
}

void gzfile_free(struct gzfile *g)
{
    if (!g)
        return;
    if (g->inflating)
        inflateEnd(&g->z);
    age_reader_free(g->age);
    fd_close(&g->fd);
    free(g->path);
    free(g);
}

/* Inflates the available input once. *ret_end: the file ended at the end of a gzip member. */
static int inflate_once(struct gzfile *g, bool *ret_end, struct err *err)
{
    if (g->z.avail_in == 0 && fill_input(g, err) < 0)
        return -1;
    if (g->z.avail_in == 0 && !g->between_members)
        return err_set(err, ERR_FAILED, "%s is cut: it ends in the middle of its data", g->path);
    if (g->z.avail_in == 0) {
        *ret_end = true;
        return 0;
    }
    if (g->between_members && inflateReset(&g->z) != Z_OK)
        return err_nomem(err);
    g->between_members = false;
    int rc = inflate(&g->z, Z_NO_FLUSH);
    if (rc == Z_MEM_ERROR)
        return err_nomem(err);
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return err_set(err, ERR_FAILED, "%s is damaged: %s", g->path, g->z.msg ? g->z.msg : "not gzip");
    g->between_members = rc == Z_STREAM_END;
    return 0;
}

int gzfile_read(struct gzfile *g, void *p, size_t cap, size_t *ret_n, struct err *err)
{
    unsigned room = cap < UINT_MAX ? (unsigned)cap : UINT_MAX;
    bool end = false;
    g->z.next_out = p;
    g->z.avail_out = room;
    while (g->z.avail_out == room && !end)
        if (inflate_once(g, &end, err) < 0)
            return -1;
    g->inflated += room - g->z.avail_out;
    if (g->inflated > gzfile_max_inflated(g->size))
        return set_size_error(g, err);
    *ret_n = room - g->z.avail_out;
    return 0;
}
