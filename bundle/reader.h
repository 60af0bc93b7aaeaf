/*
 * Reading a bundle that may come from anybody: the one door list, verify and extract go through.
 *
 * Only gzip'ed tar; only regular files and directories, below one top directory whose name satisfies
 * text_is_name; paths as path_check has them; no path twice; manifest.json is the first file; at most
 * BUNDLE_MAX_MEMBERS members; no more bytes than gzfile_most allows. Memory is bounded whatever the archive
 * says.
 */
#ifndef BUNDLE_READER_H
#define BUNDLE_READER_H

#include <jansson.h>

#include "bundle/bundle.h"
#include "bundle/stop.h"

struct reader;

struct reader_member {
    const char *path; /* below the top directory, "" for itself; valid until the next call */
    bool is_dir;
    uint64_t size;
    int64_t mtime; /* seconds */
};

/* `by` reads it where it is encrypted (NULL: nobody). What ends reading by them ends it here. */
int reader_open(const char *path, struct age_identities *by, struct reader **ret, struct err *err);
void reader_free(struct reader *r);

/* From then on reading and passing over bytes end by `stop`, which is copied. */
void reader_stop_by(struct reader *r, const struct stop *stop);

/* The next member, NULL at the end of a whole archive: one that is cut or damaged anywhere is an error. */
int reader_next(struct reader *r, const struct reader_member **ret, struct err *err);

/* Like reader_next, for files only. */
int reader_next_file(struct reader *r, const struct reader_member **ret, struct err *err);

/* Reads from the member; *ret_n is 0 at its end. */
int reader_read(struct reader *r, void *p, size_t cap, size_t *ret_n, struct err *err);

/* Reads the rest of the member into an initialised buffer. The caller checks that (buf_check). */
int reader_read_all(struct reader *r, struct buf *ret, struct err *err);

/* Goes on to manifest.json, and reads it (at most BUNDLE_MAX_MANIFEST bytes) into an initialised buffer. */
int reader_manifest(struct reader *r, struct buf *ret, struct err *err);

/* The name of the top directory; NULL before the first member. */
const char *reader_top(const struct reader *r);

#endif
