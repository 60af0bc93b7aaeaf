/* The file that is handed over: opened once, hashed, and given a name that tells nothing. */
#ifndef HANDOFF_ATTACHMENT_H
#define HANDOFF_ATTACHMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct attachment {
    int fd;
    uint64_t size;
    char sha256[SHA256_HEX];
    /* profgrab-UTC-DIGEST.EXTENSION: a bundle's own name says which host it is of, and where a package or an
     * attachment is listed, outsiders may read that. */
    char name[128];
    char stem[96]; /* the same without `profgrab-` and extension */
};

/* Opens and hashes the file at `path`. Refuses a file that is empty, and one that is to be `encrypted` and is
 * not in the age format. ERR_CANCELLED once cancel_fd (or -1) is readable. */
int attachment_open(const char *path, bool encrypted, int cancel_fd, struct attachment *ret, struct err *err);
void attachment_close(struct attachment *c);

/* What comes back of it, against what was sent. */
struct receipt {
    struct sha256 *hash;
    uint64_t bytes;
};
int receipt_begin(struct receipt *r, struct err *err);
/* For http_request.body; ctx: the receipt. */
int receipt_take(void *ctx, const void *p, size_t n, struct err *err);
/* Ends it: ERR_FAILED with what differs. */
int receipt_judge(struct receipt *r, const struct attachment *c, struct err *err);
void receipt_release(struct receipt *r);

#endif
