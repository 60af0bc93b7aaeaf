/* The file to hand off: opens and hashes it, and gives it a neutral name. */
#ifndef HANDOFF_ATTACHMENT_H
#define HANDOFF_ATTACHMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct attachment {
    int fd;
    uint64_t size;
    char sha256[SHA256_HEX];
    /* profgrab-UTC-DIGEST.EXTENSION. Outsiders may be able to list packages or attachments, so this name
     * replaces the bundle's own name, which contains the host's name. */
    char name[128];
    char stem[96]; /* UTC-DIGEST */
};

/* Opens and hashes the file at `path`. Refuses an empty file. If `encrypted` is set, refuses a
 * file that is not in the age format. ERR_CANCELLED when cancel_fd (-1: none) becomes readable. */
int attachment_open(const char *path, bool encrypted, int cancel_fd, struct attachment *ret, struct err *err);
void attachment_close(struct attachment *a);

/* The tracker's stored file while it is downloaded, to compare it with the sent one. */
struct downloaded_file {
    struct sha256 *hash;
    uint64_t bytes;
};
int downloaded_file_begin(struct downloaded_file *file, struct err *err);
/* Adds a piece of the download. A callback for http_request.body; `ctx` is the struct downloaded_file. */
int downloaded_file_add(void *ctx, const void *p, size_t n, struct err *err);
/* Ends the comparison. ERR_FAILED, with the difference, if the files differ. */
int downloaded_file_compare(struct downloaded_file *file, const struct attachment *a, struct err *err);
void downloaded_file_release(struct downloaded_file *file);

#endif
