#include "bundle/writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/gzpack.h"
#include "bundle/path.h"
#include "base/banned.h"

struct writer {
    struct archive *tar;
    /* Compresses libarchive's output, because libarchive's own filter would compress profiles again. */
    struct gzpack *gzip;
    char *top, *shown;
    size_t path_bytes; /* of all members so far */
    bool finished;
    struct err sink_err; /* the error of gzip or the sink, which libarchive's callback cannot return */
};

/* Sets the error of a failed write: that of the sink, else that of libarchive. */
static int set_write_error(const struct writer *w, struct err *err)
{
    if (w->sink_err.kind != ERR_NONE) {
        if (err)
            *err = w->sink_err;
        return err_wrap(err, "%s", w->shown);
    }
    const char *words = archive_error_string(w->tar);
    return err_set(err, ERR_LOCAL_IO, "cannot write %s: %s", w->shown, words ? words : "unknown");
}

static la_ssize_t on_write(struct archive *tar, void *ctx, const void *p, size_t n)
{
    struct writer *w = ctx;
    if (w->sink_err.kind == ERR_NONE && gzpack_add(w->gzip, p, n, &w->sink_err) == 0)
        return (la_ssize_t)n;
    archive_set_error(tar, EIO, "%s", w->sink_err.msg);
    return -1;
}

int writer_open(const struct writer_output *to, struct writer **ret, struct err *err)
{
    struct writer *w = calloc(1, sizeof *w);
    if (!w)
        return err_nomem(err);
    *w = (struct writer){.tar = archive_write_new(), .top = strdup(to->top), .shown = strdup(to->shown)};
    if (!w->tar || !w->top || !w->shown || gzpack_new(to->sink, to->ctx, &w->gzip, err) < 0) {
        writer_free(w);
        return err_nomem(err);
    }
    if (archive_write_set_format_pax_restricted(w->tar) != ARCHIVE_OK ||
        archive_write_set_bytes_per_block(w->tar, 0) != ARCHIVE_OK ||
        archive_write_open(w->tar, w, NULL, on_write, NULL) != ARCHIVE_OK) {
        set_write_error(w, err);
        writer_free(w);
        return -1;
    }
    *ret = w;
    return 0;
}

void writer_free(struct writer *w)
{
    if (!w)
        return;
    /* Makes on_write fail, because libarchive would fill the unfinished member with zeros. archive_write_fail
     * would prevent that too, but leaks the filter. */
    if (!w->finished && w->sink_err.kind == ERR_NONE)
        err_set(&w->sink_err, ERR_CANCELLED, "given up");
    archive_write_free(w->tar);
    gzpack_free(w->gzip);
    free(w->top);
    free(w->shown);
    free(w);
}

struct header {
    unsigned type; /* AE_IFDIR or AE_IFREG */
    uint64_t size;
    int64_t mtime;
};

static int write_header(struct writer *w, const char *path, const struct header *h, struct err *err)
{
    struct archive_entry *e = archive_entry_new();
    char *full = *path ? file_join(w->top, path) : strdup(w->top);
    int rc = 0;
    if (!e || !full) {
        rc = err_nomem(err);
        goto out;
    }
    if (path_add_length(&w->path_bytes, path, err) < 0) {
        rc = err_wrap(err, "%s", w->shown);
        goto out;
    }
    archive_entry_set_pathname(e, full);
    archive_entry_set_filetype(e, h->type);
    archive_entry_set_perm(e, h->type == AE_IFDIR ? 0700 : 0600);
    archive_entry_set_size(e, (la_int64_t)h->size);
    archive_entry_set_mtime(e, h->mtime, 0);
    if (archive_write_header(w->tar, e) != ARCHIVE_OK)
        rc = set_write_error(w, err);
out:
    archive_entry_free(e);
    free(full);
    return rc;
}

int writer_dir(struct writer *w, const char *path, int64_t mtime, struct err *err)
{
    return write_header(w, path, &(struct header){AE_IFDIR, 0, mtime}, err);
}

int writer_file(struct writer *w, const char *path, uint64_t size, int64_t mtime, struct err *err)
{
    return write_header(w, path, &(struct header){AE_IFREG, size, mtime}, err);
}

int writer_data(struct writer *w, const void *p, size_t n, struct err *err)
{
    return archive_write_data(w->tar, p, n) == (la_ssize_t)n ? 0 : set_write_error(w, err);
}

int writer_finish(struct writer *w, struct err *err)
{
    w->finished = true;
    if (archive_write_close(w->tar) == ARCHIVE_OK && gzpack_finish(w->gzip, &w->sink_err) == 0)
        return 0;
    return set_write_error(w, err);
}
