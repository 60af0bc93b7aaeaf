/* Archives and gzip: members of every kind, and bytes that inflate to a thousand times their number. */
#include "tests/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/bundle.h"
#include "fetch/body/check.h"
#include "proto/proto.h"

#include "base/banned.h"

/* ---- archives ------------------------------------------------------------------------------------------ */

/* Appends the header of a member (ustar). */
static void add_header(struct buf *to, const char *name, char kind, size_t size)
{
    char header[512] = {0};
    unsigned sum = 0;
    snprintf(header, 100, "%s", name);
    memcpy(header + 100,
           "0000600\0"
           "0000000\0"
           "0000000\0",
           24);
    snprintf(header + 124, 12, "%011zo", size);
    memcpy(header + 136, "00000000000", 11);
    memset(header + 148, ' ', 8);
    header[156] = kind;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < sizeof header; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 7, "%06o", sum);
    buf_add(to, header, sizeof header);
}

static void begin_archive(struct buf *to)
{
    static const char manifest[] = "{\"format\":\"profgrab-bundle\",\"version\":1,\"name\":\"b\","
                                   "\"tool\":{\"name\":\"a\",\"version\":\"1\"},"
                                   "\"hosts\":[],\"files\":[]}";
    char block[512] = {0};
    memcpy(block, manifest, sizeof manifest - 1);
    add_header(to, "b/", '5', 0);
    add_header(to, "b/manifest.json", '0', sizeof manifest - 1);
    buf_add(to, block, sizeof block);
}

static void make_members(struct buf *to, size_t n)
{
    char name[64];
    begin_archive(to);
    for (unsigned i = 0; to->len + 1536 < n; i++) {
        snprintf(name, sizeof name, "b/%x", i);
        add_header(to, name, '0', 0);
    }
    for (int i = 0; i < 2; i++)
        buf_add(to, (char[512]){0}, 512);
}

static void make_equal_members(struct buf *to, size_t n)
{
    begin_archive(to);
    while (to->len + 1536 < n)
        add_header(to, "b/a", '0', 0);
    for (int i = 0; i < 2; i++)
        buf_add(to, (char[512]){0}, 512);
}

static void make_long_names(struct buf *to, size_t n)
{
    char name[512];
    begin_archive(to);
    memset(name, 'a', sizeof name);
    while (to->len + 1536 < n) {
        add_header(to, "././@LongLink", 'L', sizeof name);
        buf_add(to, name, sizeof name);
    }
    for (int i = 0; i < 2; i++)
        buf_add(to, (char[512]){0}, 512);
}

/* Each member is in a directory of its own at the end of a deep path. */
static void make_deep_directories(struct buf *to, size_t n)
{
    char name[100];
    begin_archive(to);
    for (unsigned i = 0; to->len + 1536 < n; i++) {
        snprintf(name, sizeof name, "b/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/%x/a/f", i);
        add_header(to, name, '0', 0);
    }
    for (int i = 0; i < 2; i++)
        buf_add(to, (char[512]){0}, 512);
}

static const struct cost_grammar archives[] = {
    {"members", NULL, NULL, NULL, make_members, 0},
    {"deep directories", NULL, NULL, NULL, make_deep_directories, 0},
    {"members of one name", NULL, NULL, NULL, make_equal_members, 0},
    {"long names", NULL, NULL, NULL, make_long_names, 0},
    {0},
};

static int add_member_size(void *ctx, const struct bundle_member *m, struct err *err)
{
    (void)err;
    *(uint64_t *)ctx += m->size;
    return 0;
}

static void count_file(void *ctx, const struct bundle_file_result *f)
{
    (void)f;
    ++*(size_t *)ctx;
}

static void read_bundle(int fd)
{
    char path[40];
    uint64_t total = 0;
    size_t files = 0;
    char *manifest = NULL;
    struct bundle_summary sum;
    struct bundle_verify_options options = {.on_file = count_file, .ctx = &files, .cancel_fd = -1};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)bundle_list(path, NULL, add_member_size, &total, NULL);
    if (bundle_verify(path, &options, &sum, NULL) == 0)
        bundle_summary_release(&sum);
    if (bundle_read_manifest(path, NULL, &manifest, NULL) == 0)
        free(manifest);
}

/* Wraps the tar of n bytes in gzip without compression, and returns it as a file in memory. The file is thus
 * about as large as the tar. */
static int make_stored_gzip(const char *p, size_t n)
{
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    gzFile z = gzdopen(dup(fd), "w0");
    bool written = z && gzwrite(z, p, (unsigned)n) == (int)n;
    if (gzclose(z) != Z_OK || !written)
        abort();
    return fd;
}

static void read_archive(const char *p, size_t n)
{
    int fd = make_stored_gzip(p, n);
    read_bundle(fd);
    close(fd);
}

static void extract_archive(const char *p, size_t n)
{
    char path[40], below[] = "/dev/shm/profgrab-cost-XXXXXX", *extracted = NULL;
    int fd = make_stored_gzip(p, n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!mkdtemp(below))
        abort();
    (void)bundle_extract(&(struct bundle_extract_options){path, NULL, below, NULL, (uint64_t)1 << 30},
                         &extracted, NULL);
    (void)file_remove(below, NULL);
    free(extracted);
    close(fd);
}

/* ---- gzip ---------------------------------------------------------------------------------------------- */

/* Deflates the n bytes at p and appends the result. The calls between begin_gzip and deflateEnd make one gzip
 * member. */
static void deflate_to(z_stream *z, const void *p, size_t n, int flush, struct buf *to)
{
    unsigned char out[65536];
    z->next_in = (unsigned char *)(uintptr_t)p;
    z->avail_in = (uInt)n;
    do {
        z->next_out = out;
        z->avail_out = sizeof out;
        deflate(z, flush);
        buf_add(to, out, sizeof out - z->avail_out);
    } while (z->avail_out == 0);
}

static void begin_gzip(z_stream *z)
{
    *z = (z_stream){0};
    if (deflateInit2(z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
}

/* Empty members of gzip, each with its own header and CRC. */
static void make_empty_members(struct buf *to, size_t n)
{
    z_stream z;
    struct buf one = BUF_INIT(1000);
    begin_gzip(&z);
    deflate_to(&z, "", 0, Z_FINISH, &one);
    deflateEnd(&z);
    while (to->len + one.len < n)
        buf_add(to, one.data, one.len);
    buf_release(&one);
}

static void make_empty_blocks(struct buf *to, size_t n)
{
    z_stream z;
    begin_gzip(&z);
    deflate_to(&z, "", 0, Z_FULL_FLUSH, to);
    while (to->len + 16 < n)
        buf_add(to, "\0\0\0\377\377", 5);
    deflate_to(&z, "", 0, Z_FINISH, to);
    deflateEnd(&z);
}

/* A gzip header of n bytes: its comment (RFC 1952, 2.3.1) never ends. */
static void make_long_comment(struct buf *to, size_t n)
{
    buf_add(to, "\037\213\b\020\0\0\0\0\0\377", 10);
    while (to->len < n)
        buf_addc(to, 'c');
}

static void make_padding(struct buf *to, size_t n)
{
    make_empty_members(to, 24);
    while (to->len < n)
        buf_addc(to, '\0');
}

/* Adds zeros until the member has about n bytes, and ends it. It inflates to about a thousand times as many
 * bytes. */
static void add_zeros(z_stream *z, struct buf *to, size_t n)
{
    static const char zeros[65536];
    while (to->len + 100 < n)
        deflate_to(z, zeros, sizeof zeros, Z_PARTIAL_FLUSH, to);
    deflate_to(z, "", 0, Z_FINISH, to);
    deflateEnd(z);
}

static void make_bomb(struct buf *to, size_t n)
{
    z_stream z;
    begin_gzip(&z);
    add_zeros(&z, to, n);
}

/* A bundle whose one member besides the manifest is a bomb. */
static void make_bundle_bomb(struct buf *to, size_t n)
{
    struct buf tar = BUF_INIT(10000);
    z_stream z;
    begin_archive(&tar);
    add_header(&tar, "b/a", '0', n * 1000);
    begin_gzip(&z);
    deflate_to(&z, tar.data, tar.len, Z_NO_FLUSH, to);
    add_zeros(&z, to, n);
    buf_release(&tar);
}

static const struct cost_grammar gzip_inputs[] = {
    {"empty members", NULL, NULL, NULL, make_empty_members, 0},
    {"empty blocks", NULL, NULL, NULL, make_empty_blocks, 0},
    {"a long comment", NULL, NULL, NULL, make_long_comment, 0},
    {"padding", NULL, NULL, NULL, make_padding, 0},
    {0},
};

static const struct cost_grammar bombs[] = {
    {"one bomb", NULL, NULL, NULL, make_bomb, 0},
    {"a bomb in a bundle", NULL, NULL, NULL, make_bundle_bomb, 0},
    {0},
};

static int discard_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static void inflate_all(const char *p, size_t n)
{
    struct gunzip *z = gunzip_new(discard_bytes, NULL, (uint64_t)8 << 30, NULL);
    if (z && gunzip_feed(z, p, n, NULL) == 0)
        (void)gunzip_finish(z, NULL);
    gunzip_free(z);
}

static void check_gzip(const char *p, size_t n)
{
    struct check_result result;
    struct check *c = check_new(BODY_PPROF, NULL);
    if (c && check_feed(c, p, n, NULL) == 0)
        (void)check_finish(c, &result, NULL);
    check_free(c);
}

static void parse_gzip(const char *p, size_t n)
{
    struct profile *profile = NULL;
    struct err err = ERR_INIT;
    if (profile_parse(p, n, (uint64_t)8 << 30, &profile, &err) == 0)
        profile_free(profile);
}

static void read_gzip_bundle(const char *p, size_t n)
{
    int fd = memfd_create("bundle", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, p, n, NULL) < 0)
        abort();
    read_bundle(fd);
    close(fd);
}

/* Inputs that inflate to a thousand times their size stay small. */
#define MAX_BOMB ((size_t)128 << 10)

const struct cost_parser cost_archive_parsers[] = {
    {"bundle_list, bundle_verify", read_archive, archives, 2, 0},
    {"bundle_extract", extract_archive, archives, 2, 1u << 20},
    {"gunzip_feed", inflate_all, gzip_inputs, 2, 0},
    {"gunzip_feed of bombs", inflate_all, bombs, 2, MAX_BOMB},
    {"check_feed of gzip", check_gzip, gzip_inputs, 2, 0},
    {"check_feed of bombs", check_gzip, bombs, 2, MAX_BOMB},
    {"profile_parse of gzip", parse_gzip, gzip_inputs, 2, 0},
    /* profile_parse inflates up to 24 MiB and 16 times the input. */
    {"profile_parse of bombs", parse_gzip, bombs, 220, MAX_BOMB},
    {"bundle_list, bundle_verify of gzip", read_gzip_bundle, gzip_inputs, 2, 0},
    {"bundle_list, bundle_verify of bombs", read_gzip_bundle, bombs, 2, MAX_BOMB},
    {0},
};
