#include "base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/banned.h"

struct sha256 {
    EVP_MD_CTX *ctx;
    bool failed;
};

struct sha256 *sha256_new(struct err *err)
{
    struct sha256 *h = calloc(1, sizeof *h);
    if (!h) {
        err_nomem(err);
        return NULL;
    }
    h->ctx = EVP_MD_CTX_new();
    if (!h->ctx || EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1) {
        sha256_free(h);
        err_set(err, ERR_FAILED, "SHA-256 is not available in OpenSSL");
        return NULL;
    }
    return h;
}

void sha256_free(struct sha256 *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->ctx);
    free(h);
}

void sha256_add(struct sha256 *h, const void *p, size_t n)
{
    if (EVP_DigestUpdate(h->ctx, p, n) != 1)
        h->failed = true;
}

int sha256_hex(struct sha256 *h, char ret[SHA256_HEX], struct err *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (h->failed || EVP_DigestFinal_ex(h->ctx, digest, &n) != 1 || n != SHA256_HEX / 2)
        return err_set(err, ERR_FAILED, "OpenSSL failed to compute a SHA-256");
    for (size_t i = 0; i < n; i++)
        snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

int sha256_file(int fd, off_t begin, int cancel_fd, struct sha256_file *ret, struct err *err)
{
    char chunk[65536];
    struct sha256_file found;
    off_t at = begin;
    ssize_t n = 0;
    struct sha256 *h = sha256_new(err);
    int rc = h ? 0 : -1;
    while (rc == 0 && (n = pread(fd, chunk, sizeof chunk, at)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = err_sys(err, "cannot read");
        } else if (fd_cancelled(cancel_fd)) {
            rc = err_set(err, ERR_CANCELLED, "interrupted");
        } else {
            sha256_add(h, chunk, (size_t)n);
            at += n;
        }
    }
    if (rc == 0)
        rc = sha256_hex(h, found.hex, err);
    found.bytes = (uint64_t)(at - begin);
    if (rc == 0)
        *ret = found;
    sha256_free(h);
    return rc;
}
