/*
 * An untrusted bundle, read by every reader. If the first byte is `z`, the rest of the input is the file
 * itself. After any other byte, the rest is a tar. This target corrects the checksums of the tar, because
 * wrong checksums would stop every reader, and compresses it. After `x`, the target also extracts the bundle.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/bundle.h"
#include "base/banned.h"

enum { BLOCK = 512, TAR_MAX = 1 << 16 };

/* The checksum is the sum of the header's bytes, with blanks in place of its own field (POSIX pax, ustar). */
static void correct_checksums(unsigned char *tar, size_t n)
{
    for (size_t at = 0; at + BLOCK <= n; at += BLOCK) {
        unsigned char *header = tar + at;
        unsigned sum = 0;
        char text[8];
        if (memcmp(header + 257, "ustar", 5) != 0)
            continue;
        memset(header + 148, ' ', 8);
        for (size_t i = 0; i < BLOCK; i++)
            sum += header[i];
        snprintf(text, sizeof text, "%06o", sum);
        memcpy(header + 148, text, 7);
    }
}

static size_t gzip_input(const uint8_t *p, size_t n, unsigned char *ret, size_t cap)
{
    static unsigned char tar[TAR_MAX];
    if (n > sizeof tar)
        n = sizeof tar;
    memcpy(tar, p, n);
    correct_checksums(tar, n);
    z_stream z = {.next_in = tar, .avail_in = (uInt)n, .next_out = ret, .avail_out = (uInt)cap};
    /* Stored with the smallest tables, for speed. */
    assert(deflateInit2(&z, 0, Z_DEFLATED, 9 + 16, 1, Z_DEFAULT_STRATEGY) == Z_OK);
    assert(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

static int check_member(void *ctx, const struct bundle_member *m, struct err *err)
{
    (void)err;
    assert(fuzz_stays_below(m->path));
    ++*(size_t *)ctx;
    return 0;
}

static void check_file_result(void *ctx, const struct bundle_file_result *f)
{
    assert(fuzz_stays_below(f->path));
    ++*(size_t *)ctx;
}

static void run_readers(const char *path)
{
    size_t members = 0, results = 0;
    struct bundle_summary sum;
    struct err err = ERR_INIT;
    char *manifest = NULL;
    int listed = bundle_list(path, NULL, check_member, &members, &err);
    if (listed < 0)
        fuzz_expect_err(&err);
    struct bundle_verify_options options = {.on_file = check_file_result, .ctx = &results, .cancel_fd = -1};
    if (bundle_verify(path, &options, &sum, &err) == 0) {
        assert(listed == 0 && results == sum.intact + sum.changed + sum.missing + sum.unknown);
        assert(sum.intact + sum.changed + sum.unknown + 2 >= members);
    } else {
        fuzz_expect_err(&err);
    }
    if (bundle_read_manifest(path, NULL, &manifest, &err) < 0)
        fuzz_expect_err(&err);
    free(manifest);
}

/* Extracts into `below`. Nothing else may appear in its parent directory. */
static void extract_bundle(const char *path)
{
    char parent[] = "/dev/shm/profgrab-fuzz-XXXXXX", *below = NULL, *extracted = NULL;
    struct stat st;
    struct err err = ERR_INIT;
    assert(mkdtemp(parent));
    below = file_join(parent, "below");
    assert(below && mkdir(below, 0700) == 0);
    if (bundle_extract(&(struct bundle_extract_options){path, NULL, below, NULL, 1 << 20}, &extracted,
                       &err) == 0) {
        assert(strncmp(extracted, below, strlen(below)) == 0 && text_is_name(file_base(extracted)));
        assert(file_remove(extracted, NULL) == 0);
    } else {
        fuzz_expect_err(&err);
    }
    /* The only directory was removed, so the parent is empty. */
    assert(rmdir(below) == 0 && lstat(parent, &st) == 0 && st.st_nlink == 2 && rmdir(parent) == 0);
    free(extracted);
    free(below);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static unsigned char gz[TAR_MAX * 2];
    char path[40];
    if (n == 0)
        return 0;
    const void *bytes = p + 1;
    size_t size = n - 1;
    if (p[0] != 'z') {
        size = gzip_input(p + 1, n - 1, gz, sizeof gz);
        bytes = gz;
    }
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    run_readers(path);
    if (p[0] == 'x')
        extract_bundle(path);
    close(fd);
    return 0;
}
