/* The file to hand off. This module opens the file once, hashes it and gives it a name that reveals
 * nothing. */
#ifndef HANDOFF_ATTACHMENT_H
#define HANDOFF_ATTACHMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct attachment {
    int fd;
    uint64_t size;
    char sha256[SHA256_HEX];
    /* profgrab-UTC-DIGEST.EXTENSION. The bundle's own name contains the host's name, and outsiders may be
     * able to read the list of packages or attachments. */
    char name[128];
    char stem[96]; /* the same without `profgrab-` and extension */
};

/* Opens and hashes the file at `path`. Refuses an empty file, and with `encrypted` a file that
 * is not in the age format. ERR_CANCELLED once cancel_fd (or -1) is readable. */
int attachment_open(const char *path, bool encrypted, int cancel_fd, struct attachment *ret, struct err *err);
void attachment_close(struct attachment *c);

/* Compares the file that the tracker stores with the sent one, during its download. */
struct receipt {
    struct sha256 *hash;
    uint64_t bytes;
};
int receipt_begin(struct receipt *r, struct err *err);
/* Receives a piece of the download, as http_request.body. ctx: the receipt. */
int receipt_add(void *ctx, const void *p, size_t n, struct err *err);
/* Ends the comparison. ERR_FAILED, with the difference, if the files differ. */
int receipt_compare(struct receipt *r, const struct attachment *c, struct err *err);
void receipt_release(struct receipt *r);

#endif
