#include "handoff/attachment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/banned.h"

/* Checks the first bytes for the age format, binary or armored. */
static bool is_age(const char *p, size_t n)
{
    static const char *const prefixes[] = {"age-encryption.org/v1\n", "-----BEGIN AGE ENCRYPTED FILE-----"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (n >= strlen(prefixes[i]) && memcmp(p, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static int check_and_hash_file(struct attachment *a, bool encrypted, int cancel_fd, struct err *err)
{
    char begin[64];
    struct sha256_file result;
    ssize_t n = pread(a->fd, begin, sizeof begin, 0);
    if (n < 0)
        return err_sys(err, "cannot read it");
    if (n == 0)
        return err_set(err, ERR_USAGE, "it is empty");
    if (encrypted && !is_age(begin, (size_t)n))
        return err_set(err, ERR_USAGE, "it is not encrypted in the age format");
    if (sha256_file(a->fd, 0, cancel_fd, &result, err) < 0)
        return -1;
    a->size = result.bytes;
    memcpy(a->sha256, result.hex, sizeof result.hex);
    return 0;
}

static void name_attachment(struct attachment *a, bool encrypted)
{
    char utc[32];
    clock_format_for_file_name(utc, sizeof utc, clock_utc());
    snprintf(a->stem, sizeof a->stem, "%s-%.12s", utc, a->sha256);
    snprintf(a->name, sizeof a->name, "profgrab-%s.tar.gz%s", a->stem, encrypted ? ".age" : "");
}

int attachment_open(const char *path, bool encrypted, int cancel_fd, struct attachment *ret, struct err *err)
{
    struct attachment a = {.fd = file_open(path, err)};
    if (a.fd < 0)
        return -1;
    if (check_and_hash_file(&a, encrypted, cancel_fd, err) < 0) {
        fd_close(&a.fd);
        return err_wrap(err, "%s", path);
    }
    name_attachment(&a, encrypted);
    *ret = a;
    return 0;
}

void attachment_close(struct attachment *a)
{
    fd_close(&a->fd);
}

int downloaded_file_begin(struct downloaded_file *file, struct err *err)
{
    *file = (struct downloaded_file){.hash = sha256_new(err)};
    return file->hash ? 0 : -1;
}

int downloaded_file_add(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    struct downloaded_file *file = ctx;
    sha256_add(file->hash, p, n);
    file->bytes += n;
    return 0;
}

int downloaded_file_compare(struct downloaded_file *file, const struct attachment *a, struct err *err)
{
    char hex[SHA256_HEX];
    if (file->bytes != a->size)
        return err_set(err, ERR_FAILED, "the tracker stored %llu of %llu bytes",
                       (unsigned long long)file->bytes, (unsigned long long)a->size);
    if (sha256_hex(file->hash, hex, err) < 0)
        return -1;
    return strcmp(hex, a->sha256) == 0
               ? 0
               : err_set(err, ERR_FAILED, "the tracker stored other bytes: SHA-256 %s, not %s", hex,
                         a->sha256);
}

void downloaded_file_release(struct downloaded_file *file)
{
    sha256_free(file->hash);
    file->hash = NULL;
}
