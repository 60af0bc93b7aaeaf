/*
 * Reads an untrusted bundle. All code reads bundles through this reader.
 *
 * Accepts only a gzip'ed tar with regular files and directories, below one top directory whose name satisfies
 * text_is_name; unique paths as in path_check; manifest.json as the first file; at most BUNDLE_MAX_MEMBERS
 * members; at most gzfile_max_inflated bytes. Memory is bounded for every archive.
 */
#ifndef BUNDLE_READER_H
#define BUNDLE_READER_H

#include "bundle/bundle.h"

struct reader;

struct reader_member {
    const char *path; /* below the top directory, "" for that directory; valid until the next call */
    bool is_dir;
    uint64_t size;
    int64_t mtime; /* seconds */
};

/* Opens a bundle. `identities` can decrypt an encrypted bundle (NULL: none). The cancel descriptor of
 * `identities` ends later reads, also of a bundle that is not encrypted. */
int reader_open(const char *path, struct age_identities *identities, struct reader **ret, struct err *err);
void reader_free(struct reader *r);

/* Sets the condition that ends later reads. Copies `stop`. */
void reader_set_stop(struct reader *r, const struct stop *stop);

/* Reads the next member. *ret is NULL at the end of a complete archive. A cut or damaged archive is an
 * error. */
int reader_next(struct reader *r, const struct reader_member **ret, struct err *err);

/* Works like reader_next, for files only. */
int reader_next_file(struct reader *r, const struct reader_member **ret, struct err *err);

/* Reads at most `cap` bytes of the current member; *ret_n is 0 at the member's end. */
int reader_read(struct reader *r, void *p, size_t cap, size_t *ret_n, struct err *err);

/* Reads the rest of the current member into an initialised buffer. The caller calls buf_check. */
int reader_read_all(struct reader *r, struct buf *ret, struct err *err);

/* Advances to manifest.json and reads it (at most BUNDLE_MAX_MANIFEST bytes) into an initialised buffer. */
int reader_manifest(struct reader *r, struct buf *ret, struct err *err);

/* Returns the name of the top directory; NULL before the first member. */
const char *reader_top(const struct reader *r);

#endif
