/*
 * gzfile inflates and checks, libarchive parses the tar, and `accept_entry` checks every entry before a
 * caller sees it. libarchive keeps extended headers and sparse maps in memory, so it receives at most
 * HEADER_MAX bytes for one header.
 */
#include "bundle/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/gzfile.h"
#include "bundle/path.h"
#include "base/banned.h"

enum { HEADER_MAX = 4 << 20, CHUNK = 32768, TAR_END_SIZE = 2 * 512 };

struct reader {
    char *file;
    struct gzfile *gz;
    struct archive *tar;
    struct err gz_err;   /* the error of gzfile, which libarchive's callback cannot return */
    size_t header_bytes; /* inflated for the current header */
    size_t zeros;        /* zero bytes at the end of the inflated data */
    bool ended;          /* gz is at its end */
    char *top;           /* the top directory of all members */
    char *path;          /* of the current member */
    size_t directories;  /* the number of directories in the members' paths; a directory counts again after
                            members of another one */
    size_t path_bytes;   /* of all members so far */
    bool has_manifest;   /* manifest.json was the first file */
    struct stop stop;
    struct name_map seen; /* the paths so far */
    struct reader_member member;
    const char *block; /* bytes of the member in libarchive's memory, valid until its next call */
    size_t block_n;    /* bytes of `block` that reader_read has not returned */
    uint64_t offset;   /* the end of the block in the current member */
    char in[CHUNK], scratch[CHUNK];
};

/* Returns the number of zero bytes at the end of a stream, at most TAR_END_SIZE, after n more bytes at p.
 * `before` is the number without these bytes. */
static size_t count_zeros(size_t before, const char *p, size_t n)
{
    size_t zeros = 0;
    while (zeros < n && p[n - 1 - zeros] == '\0')
        zeros++;
    if (zeros == n)
        zeros += before;
    return zeros < TAR_END_SIZE ? zeros : TAR_END_SIZE;
}

static int inflate_chunk(struct reader *r, size_t *ret_n, struct err *err)
{
    if (stop_check(&r->stop, err) < 0)
        return -1;
    if (gzfile_read(r->gz, r->in, sizeof r->in, ret_n, err) < 0)
        return -1;
    r->ended = *ret_n == 0;
    r->zeros = count_zeros(r->zeros, r->in, *ret_n);
    return 0;
}

static la_ssize_t feed_tar(struct archive *tar, void *ctx, const void **ret)
{
    struct reader *r = ctx;
    size_t n = 0;
    if (r->header_bytes > HEADER_MAX)
        err_set(&r->gz_err, ERR_FAILED, "%s is not a bundle: a header in it is too large", r->file);
    else if (inflate_chunk(r, &n, &r->gz_err) == 0) {
        r->header_bytes += n;
        *ret = r->in;
        return (la_ssize_t)n;
    }
    archive_set_error(tar, EIO, "%s", r->gz_err.msg);
    return -1;
}

/* Sets the error of a failed call of libarchive. */
static int set_archive_error(const struct reader *r, struct err *err)
{
    if (r->gz_err.kind != ERR_NONE) {
        if (err)
            *err = r->gz_err;
        return -1;
    }
    if (!r->path)
        return err_set(err, ERR_FAILED, "%s is not a bundle: its inflated data is not a tar archive, or cut",
                       r->file);
    const char *why = archive_error_string(r->tar);
    char shown[200];
    text_printable(shown, sizeof shown, why ? why : "unknown", strlen(why ? why : "unknown"));
    return err_set(err, ERR_FAILED, "%s is not a bundle, or cut or damaged: %s", r->file, shown);
}

int reader_open(const char *path, struct age_identities *identities, struct reader **ret, struct err *err)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    r->stop = stop_begin(age_identities_cancel_fd(identities), 0);
    if (gzfile_open(path, identities, &r->gz, err) < 0)
        goto out;
    r->file = strdup(path);
    r->seen.copies_names = true;
    r->tar = archive_read_new();
    if (!r->file || !r->tar) {
        err_nomem(err);
        goto out;
    }
    archive_read_support_format_tar(r->tar);
    /* Without this option libarchive treats `._x` as an attribute of `x`. Not every build of libarchive has
     * the option, so a failure is ignored. */
    archive_read_set_format_option(r->tar, "tar", "mac-ext", NULL);
    archive_clear_error(r->tar);
    if (archive_read_open(r->tar, r, NULL, feed_tar, NULL) != ARCHIVE_OK) {
        set_archive_error(r, err);
        goto out;
    }
    *ret = r;
    return 0;
out:
    reader_free(r);
    return -1;
}

void reader_set_stop(struct reader *r, const struct stop *stop)
{
    r->stop = *stop;
}

void reader_free(struct reader *r)
{
    if (!r)
        return;
    archive_read_free(r->tar);
    gzfile_free(r->gz);
    name_map_release(&r->seen);
    free(r->file);
    free(r->top);
    free(r->path);
    free(r);
}

/* Returns why no bundle has such an entry, or NULL if a bundle may have it. */
static const char *find_entry_fault(struct archive_entry *e)
{
    if (archive_entry_hardlink(e) || archive_entry_symlink(e))
        return "a link";
    if (archive_entry_filetype(e) != AE_IFREG && archive_entry_filetype(e) != AE_IFDIR)
        return "neither a file nor a directory";
    if (archive_entry_sparse_count(e) > 0)
        return "a file with holes";
    if (archive_entry_size(e) < 0 || (archive_entry_filetype(e) == AE_IFDIR && archive_entry_size(e) > 0))
        return "a member of impossible size";
    return NULL;
}

/* Copies the entry's path into r->path, without a directory's trailing slash, and checks it. */
static int set_path(struct reader *r, struct archive_entry *e, struct err *err)
{
    const char *path = archive_entry_pathname(e);
    if (!path)
        return err_set(err, ERR_FAILED, "%s is not safe: a path in it is not ASCII", r->file);
    size_t n = strlen(path);
    if (n > 1 && path[n - 1] == '/' && archive_entry_filetype(e) == AE_IFDIR)
        n--;
    char *copy = strndup(path, n);
    if (!copy)
        return err_nomem(err);
    r->directories += path_count_new_directories(r->path, copy);
    free(r->path);
    r->path = copy;
    return path_check(r->path, err) < 0 ? err_wrap(err, "%s", r->file) : 0;
}

/* Checks that the member is below the top directory. The first member sets r->top. */
static int check_top(struct reader *r, bool is_dir, struct err *err)
{
    size_t n = strcspn(r->path, "/");
    if (!r->path[n] && !is_dir)
        return err_set(err, ERR_FAILED, "%s is not a bundle: %s in it is in no directory", r->file, r->path);
    if (!r->top) {
        r->top = strndup(r->path, n);
        if (!r->top)
            return err_nomem(err);
        if (!text_is_name(r->top))
            return err_set(err, ERR_FAILED, "%s is not a bundle: its directory is called \"%s\"", r->file,
                           r->top);
    }
    if (strlen(r->top) != n || strncmp(r->path, r->top, n) != 0)
        return err_set(err, ERR_FAILED, "%s is not a bundle: %s is outside of its directory %s", r->file,
                       r->path, r->top);
    return 0;
}

/* Checks that the path is new, that manifest.json is the first file, and the limits on members, directories
 * and paths. Records the path. */
static int check_order_and_limits(struct reader *r, struct err *err)
{
    const struct reader_member *m = &r->member;
    if (name_map_has(&r->seen, r->path))
        return err_set(err, ERR_FAILED, "%s is not a bundle: %s is in it twice", r->file, r->path);
    if (r->seen.n >= BUNDLE_MAX_MEMBERS)
        return err_set(err, ERR_FAILED, "%s has more than %d members", r->file, BUNDLE_MAX_MEMBERS);
    if (r->directories > BUNDLE_MAX_DIRECTORIES)
        return err_set(err, ERR_FAILED, "%s has more than %d directories", r->file, BUNDLE_MAX_DIRECTORIES);
    if (path_add_length(&r->path_bytes, m->path, err) < 0)
        return err_wrap(err, "%s", r->file);
    if (name_map_add(&r->seen, r->path, NULL, err) < 0)
        return -1;
    if (m->is_dir || r->has_manifest)
        return 0;
    if (strcmp(m->path, PATH_MANIFEST) != 0)
        return err_set(err, ERR_FAILED, "%s is not a bundle: its first file is not %s", r->file,
                       PATH_MANIFEST);
    r->has_manifest = true;
    return 0;
}

/* Checks an entry, and makes it the current member. */
static int accept_entry(struct reader *r, struct archive_entry *e, struct err *err)
{
    if (set_path(r, e, err) < 0)
        return -1;
    const char *why = find_entry_fault(e);
    if (why)
        return err_set(err, ERR_FAILED, "%s is not a bundle: %s in it is %s", r->file, r->path, why);
    bool is_dir = archive_entry_filetype(e) == AE_IFDIR;
    if (check_top(r, is_dir, err) < 0)
        return -1;
    size_t top = strlen(r->top);
    r->member = (struct reader_member){.path = r->path + top + (r->path[top] == '/'),
                                       .is_dir = is_dir,
                                       .size = (uint64_t)archive_entry_size(e),
                                       .mtime = archive_entry_mtime(e)};
    return check_order_and_limits(r, err);
}

/* Reads the member's next block. Returns 1 at the member's end. Refuses holes, which are gaps between two
 * blocks or before the end: a few bytes of a header can describe a hole of terabytes. */
static int next_block(struct reader *r, struct err *err)
{
    const void *p = NULL;
    size_t n = 0;
    la_int64_t at = (la_int64_t)r->offset;
    int rc = archive_read_data_block(r->tar, &p, &n, &at);
    r->header_bytes = 0;
    if (rc != ARCHIVE_OK && rc != ARCHIVE_EOF)
        return set_archive_error(r, err);
    if (rc == ARCHIVE_EOF)
        n = 0;
    bool ends_early = rc == ARCHIVE_EOF && r->offset < r->member.size;
    if (ends_early || (n > 0 && (at < 0 || (uint64_t)at != r->offset)))
        return err_set(err, ERR_FAILED, "%s is not a bundle: %s in it is a file with holes", r->file,
                       r->path);
    r->block = p;
    r->block_n = n;
    r->offset += n;
    return rc == ARCHIVE_EOF ? 1 : 0;
}

int reader_read(struct reader *r, void *p, size_t cap, size_t *ret_n, struct err *err)
{
    int rc = 0;
    while (rc == 0 && r->block_n == 0)
        rc = next_block(r, err);
    if (rc < 0)
        return -1;
    size_t n = r->block_n < cap ? r->block_n : cap;
    if (n > 0) {
        memcpy(p, r->block, n);
        r->block += n;
        r->block_n -= n;
    }
    *ret_n = n;
    return 0;
}

int reader_read_all(struct reader *r, struct buf *ret, struct err *err)
{
    char block[65536];
    size_t n = 0;
    int rc;
    while ((rc = reader_read(r, block, sizeof block, &n, err)) == 0 && n > 0 && !ret->failed)
        buf_add(ret, block, n);
    return rc;
}

/* Reads the rest of the current member. If libarchive skipped the member, `feed_tar` would count its bytes as
 * those of a header. */
static int skip_rest(struct reader *r, struct err *err)
{
    for (size_t n = 1; r->path && n > 0;)
        if (reader_read(r, r->scratch, sizeof r->scratch, &n, err) < 0)
            return -1;
    return 0;
}

/* Reads to the end of the gzip stream after the end of the tar, so that gzfile checks the last CRC. */
static int finish_stream(struct reader *r, struct err *err)
{
    while (!r->ended) {
        size_t n = 0;
        if (inflate_chunk(r, &n, err) < 0)
            return -1;
    }
    if (r->zeros < TAR_END_SIZE)
        return err_set(err, ERR_FAILED, "%s is cut: the end of its tar is missing", r->file);
    if (!r->has_manifest)
        return err_set(err, ERR_FAILED, "%s is not a bundle: it has no %s", r->file, PATH_MANIFEST);
    return 0;
}

int reader_next(struct reader *r, const struct reader_member **ret, struct err *err)
{
    if (skip_rest(r, err) < 0)
        return -1;
    r->header_bytes = 0;
    r->block_n = 0;
    r->offset = 0;
    struct archive_entry *e = NULL;
    int rc = archive_read_next_header(r->tar, &e);
    if (rc == ARCHIVE_EOF) {
        if (finish_stream(r, err) < 0)
            return -1;
        *ret = NULL;
        return 0;
    }
    /* Accept warnings. They concern unused owners and attributes, and paths, which set_path checks. */
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return set_archive_error(r, err);
    if (accept_entry(r, e, err) < 0)
        return -1;
    *ret = &r->member;
    return 0;
}

int reader_next_file(struct reader *r, const struct reader_member **ret, struct err *err)
{
    const struct reader_member *m = NULL;
    do {
        if (reader_next(r, &m, err) < 0)
            return -1;
    } while (m && m->is_dir);
    *ret = m;
    return 0;
}

int reader_manifest(struct reader *r, struct buf *ret, struct err *err)
{
    const struct reader_member *m = NULL;
    if (reader_next_file(r, &m, err) < 0)
        return -1;
    for (size_t n = 1; n > 0;) {
        if (reader_read(r, r->scratch, sizeof r->scratch, &n, err) < 0)
            return -1;
        buf_add(ret, r->scratch, n);
        if (buf_check(ret, PATH_MANIFEST, err) < 0)
            return err_wrap(err, "%s", r->file);
    }
    return 0;
}

const char *reader_top(const struct reader *r)
{
    return r->top;
}
