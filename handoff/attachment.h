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
    /* profgrab-UTC-DIGEST.EXTENSION. It replaces the bundle's name, which contains the host's name, because
     * outsiders may be able to list packages or attachments. */
    char name[128];
    char stem[96]; /* UTC-DIGEST */
};

/* Opens and hashes the file at `path`. Refuses an empty file, and with `encrypted` a file that
 * is not in the age format. ERR_CANCELLED once cancel_fd (or -1) is readable. */
int attachment_open(const char *path, bool encrypted, int cancel_fd, struct attachment *ret, struct err *err);
void attachment_close(struct attachment *a);

/* Compares the stored file with the sent one while it is downloaded from the tracker. */
struct downloaded_file {
    struct sha256 *hash;
    uint64_t bytes;
};
int downloaded_file_begin(struct downloaded_file *r, struct err *err);
/* Adds a piece of the download. A callback for http_request.body; `ctx` is the struct downloaded_file. */
int downloaded_file_add(void *ctx, const void *p, size_t n, struct err *err);
/* Ends the comparison. ERR_FAILED, with the difference, if the files differ. */
int downloaded_file_compare(struct downloaded_file *r, const struct attachment *a, struct err *err);
void downloaded_file_release(struct downloaded_file *r);

#endif
