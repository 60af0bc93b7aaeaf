/* Hostile files in place of a bundle, for each function that reads bundles. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/bundle.h"
#include "bundle/writer.h"
#include "tests/unit/capture.h"
#include "tests/unit/tarball.h"
#include "base/banned.h"

/* Asserts that the reading functions refuse the file with a message that contains `why`, and extract nothing.
 * bundle_read_manifest stops early: it must refuse the file only if `manifest_refused`. */
static void assert_readers_refuse(const char *dir, const char *path, bool manifest_refused, const char *why)
{
    struct err errs[4] = {ERR_INIT, ERR_INIT, ERR_INIT, ERR_INIT};
    struct bundle_summary sum;
    struct buf text = BUF_INIT(65536);
    char *ret = NULL, *below = file_join(dir, "below");
    assert_int_equal(file_mkdir(below, NULL), 0);
    size_t before = scratch_count(dir);
    assert_int_equal(bundle_list(path, NULL, add_path, &text, &errs[0]), -1);
    assert_int_equal(bundle_verify(path, NULL, &sum, &errs[1]), -1);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, below, NULL, 1 << 20}, &ret, &errs[2]),
        -1);
    int rc = bundle_read_manifest(path, NULL, &ret, &errs[3]);
    assert_int_equal(scratch_count(below), 0);
    assert_int_equal(scratch_count(dir), before);
    if (manifest_refused)
        assert_int_equal(rc, -1);
    for (int i = 0; i < (manifest_refused ? 4 : 3); i++)
        if (!strstr(errs[i].msg, why))
            fail_msg("\"%s\" does not say \"%s\"", errs[i].msg, why);
    assert_int_equal(rmdir(below), 0);
    buf_release(&text);
    free(below);
    if (rc == 0)
        free(ret);
}

#define MANIFEST "{\"format\": \"profgrab-bundle\", \"version\": 1}"
#define FIRST                                                                                                \
    {                                                                                                        \
        .path = "b/manifest.json", .text = MANIFEST                                                          \
    }

static void unsafe_members_are_refused(void **state)
{
    const char *dir = *state;
    static const struct {
        struct tarball_member members[4];
        const char *why;
        bool manifest_refused; /* by bundle_read_manifest, which stops early */
    } cases[] = {
        {{FIRST, {.path = "/b/x", .text = "x"}}, "the path \"/b/x\" is not safe: it has a slash at", false},
        {{FIRST, {.path = "/tmp/x", .text = "x"}}, "the path \"/tmp/x\" is not safe", false},
        {{FIRST, {.path = "b/../../x", .text = "x"}}, "is not safe: it has a component \"..\"", false},
        {{FIRST, {.path = "../x", .text = "x"}}, "is not safe: it has a component \"..\"", false},
        {{FIRST, {.path = "b/..", .type = AE_IFDIR}}, "is not safe: it has a component \"..\"", false},
        {{FIRST, {.path = "b//x", .text = "x"}}, "is not safe: it has an empty component", false},
        {{FIRST, {.path = "b/./x", .text = "x"}}, "is not safe: it has a component \".\"", false},
        {{FIRST, {.path = "b/a\\x", .text = "x"}}, "is not safe: it has a character", false},
        {{FIRST, {.path = "b/a\nx", .text = "x"}},
         "the path \"b/a x\" is not safe: it has a character",
         false},
        {{FIRST, {.path = "b/\x1b[31m", .text = "x"}}, "the path \"b/?[31m\" is not safe: it has a", false},
        {{FIRST, {.path = "b/x", .type = AE_IFLNK, .link = "/etc/passwd"}}, "b/x in it is a link", false},
        {{FIRST, {.path = "b/x", .link = "b/manifest.json", .hard = true}}, "b/x in it is a link", false},
        {{FIRST, {.path = "b/x", .link = "/etc/passwd", .hard = true}}, "b/x in it is a link", false},
        {{FIRST, {.path = "b/x", .type = AE_IFCHR}}, "b/x in it is neither a file nor a directory", false},
        {{FIRST, {.path = "b/x", .type = AE_IFBLK}}, "b/x in it is neither a file nor a directory", false},
        {{FIRST, {.path = "b/x", .type = AE_IFIFO}}, "b/x in it is neither a file nor a directory", false},
        {{FIRST, {.path = "c/x", .text = "x"}}, "c/x is outside of its directory b", false},
        {{FIRST, {.path = "bb/x", .text = "x"}}, "bb/x is outside of its directory b", false},
        {{{.path = "bb/manifest.json", .text = MANIFEST}, {.path = "b/x", .text = "x"}},
         "b/x is outside of its directory bb",
         false},
        {{FIRST, {.path = "x", .text = "x"}}, "x in it is in no directory", false},
        {{FIRST, {.path = "b", .text = "x"}}, "b in it is in no directory", false},
        {{FIRST, {.path = "c", .type = AE_IFDIR}}, "c is outside of its directory b", false},
        {{FIRST, {.path = "b/x", .text = "x"}, {.path = "b/x", .text = "y"}}, "b/x is in it twice", false},
        {{FIRST, FIRST}, "b/manifest.json is in it twice", false},
        {{FIRST, {.path = "b/x", .text = "x"}, {.path = "b/x", .type = AE_IFDIR}},
         "b/x is in it twice",
         false},
        {{{.path = "b/x", .text = "x"}, FIRST}, "its first file is not manifest.json", true},
        {{{.path = "b/c/manifest.json", .text = MANIFEST}}, "its first file is not manifest.json", true},
        {{{.path = "b", .type = AE_IFDIR}}, "it has no manifest.json", true},
        {{{.path = "manifest.json", .text = MANIFEST}}, "manifest.json in it is in no directory", true},
        {{{.path = ".b/manifest.json", .text = MANIFEST}}, "its directory is called \".b\"", true},
        {{{.path = "a b/manifest.json", .text = MANIFEST}}, "its directory is called \"a b\"", true},
        {{{.path = "b/manifest.json", .type = AE_IFLNK, .link = "x"}},
         "b/manifest.json in it is a link",
         true},
    };
    char *path = file_join(dir, "x.tar.gz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        while (n < 4 && cases[i].members[n].path)
            n++;
        tarball_write(path, cases[i].members, n);
        assert_readers_refuse(dir, path, cases[i].manifest_refused, cases[i].why);
    }
    free(path);
}

/* The file has a size of one terabyte, and four bytes of data. */
static void sparse_files_are_refused(void **state)
{
    const char *dir = *state;
    static const struct tarball_member first = FIRST;
    char *path = file_join(dir, "x.tar.gz");
    struct archive *a = tarball_new(path);
    struct archive_entry *e = archive_entry_new();
    assert_non_null(e);
    tarball_put(a, &first, MANIFEST, strlen(MANIFEST));
    archive_entry_set_pathname(e, "b/x");
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, INT64_C(1) << 40);
    archive_entry_sparse_add_entry(e, 0, 512);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, "some", 4), 4);
    archive_entry_free(e);
    tarball_end(a);
    assert_readers_refuse(dir, path, false, "b/x in it is a file with holes");
    free(path);
}

static void a_file_below_a_file_is_refused_but_an_unlisted_directory_is_not(void **state)
{
    const char *dir = *state;
    static const struct tarball_member file_below_file[] = {
        FIRST, {.path = "b/x", .text = "x"}, {.path = "b/x/y", .text = "y"}};
    static const struct tarball_member directory_listed_late[] = {
        FIRST, {.path = "b/x/y", .text = "y"}, {.path = "b/x", .type = AE_IFDIR}};
    char *path = file_join(dir, "x.tar.gz"), *top = NULL;
    struct err err = ERR_INIT;
    tarball_write(path, file_below_file, 3);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, dir, NULL, 1 << 20}, &top, &err), -1);
    assert_int_equal(scratch_count(dir), 1);
    tarball_write(path, directory_listed_late, 3);
    assert_ok(bundle_extract(&(struct bundle_extract_options){path, NULL, dir, NULL, 1 << 20}, &top, &err),
              &err);
    assert_file_equal(top, "x/y", "y", 1);
    free(top);
    free(path);
}

static void invalid_manifests_are_refused(void **state)
{
    const char *dir = *state;
    static const char *const cases[][2] = {
        {"", "is malformed: line 1: '[' or '{' expected near end of file"},
        {"{\"format\": \"other\"}", "manifest.json does not belong to a profgrab bundle"},
        {"{\"format\": \"profgrab-bundle\", \"version\": 1, \"files\": [{\"file\": \"../x\"}]}",
         "manifest.json: the path \"../x\" is not safe"},
    };
    char *path = file_join(dir, "x.tar.gz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tarball_member m = {.path = "b/manifest.json", .text = cases[i][0]};
        struct bundle_summary sum;
        struct err err = ERR_INIT;
        tarball_write(path, &m, 1);
        assert_int_equal(bundle_verify(path, NULL, &sum, &err), -1);
        assert_starts_with(err.msg, path);
        assert_null(strstr(err.msg + 1, path));
        if (!strstr(err.msg, cases[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", err.msg, cases[i][1]);
    }
    free(path);
}

/* Writes the gzip file z.tar.gz with these bytes. Returns its path, a new string. */
static char *write_gzip(const char *dir, const void *p, size_t n)
{
    char *path = file_join(dir, "z.tar.gz");
    gzFile z = gzopen(path, "wb0");
    assert_non_null(z);
    assert_int_equal(gzwrite(z, p, (unsigned)n), n);
    assert_int_equal(gzclose(z), Z_OK);
    return path;
}

static void files_that_are_no_bundles_are_refused(void **state)
{
    const char *dir = *state;
    char *path = scratch_file(dir, "x.tar.gz", "", 0);
    assert_readers_refuse(dir, path, true, "x.tar.gz is not a bundle: it is empty");
    free(path);
    path = scratch_file(dir, "x.tar.gz", "some text", 9);
    assert_readers_refuse(dir, path, true, "x.tar.gz is not a bundle: it is not gzip'ed");
    free(path);
    path = write_gzip(dir, "some text", 9);
    assert_readers_refuse(dir, path, true,
                          "z.tar.gz is not a bundle: its inflated data is not a tar archive, or cut");
    free(path);
    path = write_gzip(dir, "", 0);
    assert_readers_refuse(dir, path, true,
                          "z.tar.gz is not a bundle: its inflated data is not a tar archive, or cut");
    free(path);
    assert_readers_refuse(dir, dir, true, "is not a regular file");
    struct err err = ERR_INIT;
    assert_int_equal(bundle_list("/nowhere/x.tar.gz", NULL, add_path, NULL, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_string_equal(err.msg, "cannot open /nowhere/x.tar.gz: No such file or directory");
}

/* Reads the tar inside a bundle. Returns its number of bytes. */
static size_t inflate_all(const char *path, char *ret, size_t cap)
{
    gzFile z = gzopen(path, "rb");
    assert_non_null(z);
    int n = gzread(z, ret, (unsigned)cap);
    assert_true(n > 4096 && (size_t)n < cap);
    assert_int_equal(gzclose(z), Z_OK);
    return (size_t)n;
}

static void a_bundle_cut_at_any_byte_is_refused(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *cut = file_join(dir, "cut.tar.gz");
    struct buf whole = scratch_read(path);
    for (size_t i = 1; i < whole.len; i++) {
        free(scratch_file(dir, "cut.tar.gz", whole.data, i));
        assert_readers_refuse(dir, cut, false, " is cut: it ends in the middle of its data");
    }
    /* Bytes after the end, here zeros. */
    buf_add(&whole, "\0\0\0", 3);
    free(scratch_file(dir, "cut.tar.gz", whole.data, whole.len));
    assert_readers_refuse(dir, cut, false, " is damaged: incorrect header check");
    buf_release(&whole);
    free(cut);
    free(path);
}

static void a_cut_tar_in_intact_gzip_is_refused(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir);
    char tar[65536];
    size_t n = inflate_all(path, tar, sizeof tar);
    free(path);
    for (size_t i = 0; i + 1024 < n; i += 64) {
        path = write_gzip(dir, tar, i);
        struct bundle_summary sum = {0};
        struct err err = ERR_INIT;
        /* A tar ends in many zeros, so the last cuts are harmless. */
        if (bundle_verify(path, NULL, &sum, &err) == 0)
            assert_int_equal(sum.intact, 3);
        else if (!strstr(err.msg, "cut"))
            fail_msg("%zu: %s", i, err.msg);
        free(path);
    }
    path = write_gzip(dir, tar, 4096);
    assert_readers_refuse(dir, path, false, "cut");
    free(path);
}

/* A flip may stay undetected only if the same tar results: some bytes of the gzip header have no effect, and
 * in a run of equal bytes any match distance gives the same bytes. */
static void each_flipped_bit_is_detected(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *flipped = file_join(dir, "flipped.tar.gz"), *top = NULL;
    char tar[65536], other[65536];
    size_t n = inflate_all(path, tar, sizeof tar);
    struct buf whole = scratch_read(path);
    for (size_t i = 0; i < whole.len; i++) {
        struct bundle_summary sum = {0};
        char *below = file_join(dir, "below");
        assert_int_equal(file_mkdir(below, NULL), 0);
        whole.data[i] ^= (char)(1 << i % 8);
        free(scratch_file(dir, "flipped.tar.gz", whole.data, whole.len));
        int rc = bundle_verify(flipped, NULL, &sum, NULL);
        if (rc == 0) {
            assert_int_equal(inflate_all(flipped, other, sizeof other), n);
            assert_memory_equal(other, tar, n);
        }
        assert_int_equal(sum.intact, rc == 0 ? 3 : 0);
        assert_int_equal(
            bundle_extract(&(struct bundle_extract_options){flipped, NULL, below, NULL, 1 << 20}, &top, NULL),
            rc);
        assert_int_equal(scratch_count(below), rc == 0 ? 1 : 0);
        if (rc == 0)
            free(top);
        whole.data[i] ^= (char)(1 << i % 8);
        assert_int_equal(file_remove(below, NULL), 0);
        assert_int_equal(scratch_count(dir), 2);
        free(below);
    }
    buf_release(&whole);
    free(flipped);
    free(path);
}

/* libarchive reads the flipped tar, because the gzip around it is valid. Only every seventh flip is
 * extracted, because extraction is slow. */
static void a_flipped_tar_in_intact_gzip_extracts_nothing_or_one_directory(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *top = NULL;
    char tar[65536];
    size_t size = inflate_all(path, tar, sizeof tar);
    size_t n = size;
    free(path);
    while (n > 0 && tar[n - 1] == 0) /* the padding at the end is not flipped */
        n--;
    for (size_t i = 0; i < n; i++) {
        struct bundle_summary sum;
        tar[i] ^= (char)(1 << i % 8);
        path = write_gzip(dir, tar, size);
        bundle_verify(path, NULL, &sum, NULL);
        if (i % 7 == 0 && bundle_extract(&(struct bundle_extract_options){path, NULL, dir, NULL, 1 << 20},
                                         &top, NULL) == 0) {
            assert_int_equal(scratch_count(dir), 3);
            assert_int_equal(file_remove(top, NULL), 0);
            free(top);
        }
        assert_int_equal(scratch_count(dir), 2);
        tar[i] ^= (char)(1 << i % 8);
        free(path);
    }
}

/* ---- limits ------------------------------------------------------------------------------------------ */

/* Makes a bundle with a manifest and `mib` MiB of zeros, each MiB a gzip member of its own. Returns its path.
 */
static char *bundle_with_zeros(const char *dir, unsigned mib)
{
    enum { MIB = 1 << 20 };
    static const struct tarball_member first = FIRST;
    static char zeros[MIB];
    char *path = file_join(dir, "x.tar.gz"), *one = file_join(dir, "one.gz");
    tarball_write(path, &first, 1);
    gzFile z = gzopen(one, "wb9");
    assert_non_null(z);
    assert_int_equal(gzwrite(z, zeros, MIB), MIB);
    assert_int_equal(gzclose(z), Z_OK);
    struct buf whole = scratch_read(path), member = scratch_read(one);
    for (unsigned i = 0; i < mib; i++)
        buf_add(&whole, member.data, member.len);
    free(path);
    path = scratch_file(dir, "x.tar.gz", whole.data, whole.len);
    assert_int_equal(unlink(one), 0);
    buf_release(&member);
    buf_release(&whole);
    free(one);
    return path;
}

static void a_bundle_that_inflates_too_much_is_refused(void **state)
{
    const char *dir = *state;
    struct bundle_summary sum = {0};
    struct err err = ERR_INIT;
    char *path = bundle_with_zeros(dir, 255);
    assert_ok(bundle_verify(path, NULL, &sum, &err), &err);
    bundle_summary_release(&sum);
    free(path);
    path = bundle_with_zeros(dir, 300);
    assert_readers_refuse(dir, path, false, " kB and inflates to more than 28");
    assert_int_equal(bundle_verify(path, NULL, &sum, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    free(path);
}

static void too_many_members_are_refused(void **state)
{
    const char *dir = *state;
    static const struct tarball_member first = FIRST;
    char *path = file_join(dir, "x.tar.gz");
    struct archive *a = tarball_new(path);
    tarball_put(a, &first, MANIFEST, strlen(MANIFEST));
    for (int i = 1; i <= BUNDLE_MAX_MEMBERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "b/%d", i);
        struct tarball_member m = {.path = name};
        tarball_put(a, &m, NULL, 0);
    }
    tarball_end(a);
    struct bundle_summary sum;
    struct err err = ERR_INIT;
    assert_int_equal(bundle_verify(path, NULL, &sum, &err), -1);
    assert_non_null(strstr(err.msg, "has more than 50000 members"));
    free(path);
}

/* Writes the header's checksum into the header. */
static void write_tar_checksum(char header[512])
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int k = 0; k < 512; k++)
        sum += (unsigned char)header[k];
    snprintf(header + 148, 8, "%06o", sum);
}

/* Writes a header; `magic` has 8 bytes. */
static void write_tar_header(char header[512], const char *name, char type, unsigned size, const char *magic)
{
    memcpy(header, name, strlen(name));
    snprintf(header + 100, 8, "0000600");
    snprintf(header + 124, 12, "%011o", size);
    header[156] = type;
    memcpy(header + 257, magic, 8);
    write_tar_checksum(header);
}

/* Each member takes few bytes of the bundle and requires a dozen directories of its own. */
static void too_many_directories_are_refused(void **state)
{
    const char *dir = *state;
    static const struct tarball_member first = FIRST;
    char *path = file_join(dir, "x.tar.gz");
    struct archive *a = tarball_new(path);
    tarball_put(a, &first, MANIFEST, strlen(MANIFEST));
    for (int i = 0; i <= BUNDLE_MAX_DIRECTORIES / 12; i++) {
        char name[80];
        snprintf(name, sizeof name, "b/%d/a/a/a/a/a/a/a/a/a/a/a/a", i);
        const struct tarball_member member = {.path = name, .type = AE_IFDIR};
        tarball_put(a, &member, "", 0);
    }
    tarball_end(a);
    struct bundle_summary sum;
    struct err err = ERR_INIT;
    assert_int_equal(bundle_verify(path, NULL, &sum, &err), -1);
    assert_non_null(strstr(err.msg, "has more than 50000 directories"));
    free(path);
}

/* Writes a bundle of n empty files whose paths have 1000 bytes each, and a manifest with a path of 13. */
static char *bundle_with_long_paths(const char *dir, int n)
{
    static const struct tarball_member first = FIRST;
    char *path = file_join(dir, "x.tar.gz");
    struct archive *a = tarball_new(path);
    tarball_put(a, &first, MANIFEST, strlen(MANIFEST));
    for (int i = 0; i < n; i++) {
        char name[1003];
        snprintf(name, sizeof name, "b/%0250d/%0250d/%0250d/%0247d", 0, 0, 0, i);
        tarball_put(a, &(struct tarball_member){.path = name}, "", 0);
    }
    tarball_end(a);
    return path;
}

static int discard(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static void assert_too_long_paths_are_not_written(void)
{
    struct writer *w = NULL;
    struct err err = ERR_INIT;
    char path[1001];
    assert_ok(writer_open(&(struct writer_output){"b", "b.tar.gz", discard, NULL}, &w, &err), &err);
    for (int i = 0; i < BUNDLE_MAX_PATHS / 1000; i++) {
        snprintf(path, sizeof path, "%0250d/%0250d/%0250d/%0247d", 0, 0, 0, i);
        assert_ok(writer_file(w, path, 0, 0, &err), &err);
    }
    assert_int_equal(writer_dir(w, path, 0, &err), -1);
    assert_string_equal(err.msg, "b.tar.gz: the paths of all members have more than 4194304 bytes");
    writer_free(w);
}

static void too_long_paths_are_refused(void **state)
{
    const int most = (BUNDLE_MAX_PATHS - 13) / 1000;
    struct err err = ERR_INIT;
    struct bundle_summary sum = {0};
    char *path = bundle_with_long_paths(*state, most);
    assert_ok(bundle_verify(path, NULL, &sum, &err), &err);
    bundle_summary_release(&sum);
    free(path);
    path = bundle_with_long_paths(*state, most + 1);
    assert_readers_refuse(*state, path, false,
                          "x.tar.gz: the paths of all members have more than 4194304 bytes");
    free(path);
    assert_too_long_paths_are_not_written();
}

/* A run that collects one profile from each of very many hosts makes two directories for each file. */
static void a_host_and_a_service_for_each_of_many_members_are_accepted(void **state)
{
    static const struct tarball_member first = FIRST;
    struct buf paths = BUF_INIT(4 << 20);
    struct err err = ERR_INIT;
    char *path = file_join(*state, "x.tar.gz");
    struct archive *a = tarball_new(path);
    tarball_put(a, &first, MANIFEST, strlen(MANIFEST));
    for (int i = 1; i < BUNDLE_MAX_DIRECTORIES / 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "b/host-%d/s/heap", i);
        const struct tarball_member member = {.path = name};
        tarball_put(a, &member, NULL, 0);
    }
    tarball_end(a);
    assert_ok(bundle_list(path, NULL, add_path, &paths, &err), &err);
    assert_non_null(strstr(buf_str(&paths), "host-24999/s/heap"));
    buf_release(&paths);
    free(path);
}

/* A GNU sparse map places a file's only byte after a hole of eight gigabytes. The stated size is one byte,
 * so libarchive does not report the map. */
static void holes_beyond_the_stated_size_are_refused(void **state)
{
    const char *dir = *state;
    enum { MANIFEST_AT = 512, FILE_AT = 1024, DATA_AT = 1536, SIZE = 4096 };
    char *tar = calloc(1, SIZE);
    assert_non_null(tar);
    write_tar_header(tar, "b/manifest.json", '0', (unsigned)strlen(MANIFEST), "ustar  ");
    memcpy(tar + MANIFEST_AT, MANIFEST, strlen(MANIFEST));
    write_tar_header(tar + FILE_AT, "b/x", '0', 1, "ustar  ");
    snprintf(tar + FILE_AT + 386, 12, "%011o", 0xffffffffu);
    snprintf(tar + FILE_AT + 398, 12, "%011o", 1u);
    write_tar_checksum(tar + FILE_AT);
    tar[DATA_AT] = 'x';
    char *path = write_gzip(dir, tar, SIZE);
    assert_readers_refuse(dir, path, false, "b/x in it is a file with holes");
    free(path);
    free(tar);
}

/* A tar header that needs more and more bytes: a GNU sparse map (format 1.0) that announces ten million
 * holes. */
static void oversized_headers_are_refused(void **state)
{
    const char *dir = *state;
    static const char record[] = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n";
    static const char ustar[8] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};
    enum { MAP = 8 << 20 };
    char *tar = calloc(1, 3 * 512 + MAP);
    assert_non_null(tar);
    write_tar_header(tar, "PaxHeader/x", 'x', sizeof record - 1, ustar);
    write_tar_header(tar + 1024, "b/manifest.json", '0', MAP, ustar);
    memcpy(tar + 512, record, sizeof record - 1);
    memset(tar + 1536, '\n', MAP);
    memcpy(tar + 1536, "9999999\n", 8);
    for (size_t i = 8; i + 1 < MAP; i += 2)
        tar[1536 + i] = '0';
    char *path = write_gzip(dir, tar, 3 * 512 + MAP);
    assert_readers_refuse(dir, path, true, "z.tar.gz is not a bundle: a header in it is too large");
    free(path);
    free(tar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(unsafe_members_are_refused),
        SCRATCH(sparse_files_are_refused),
        SCRATCH(holes_beyond_the_stated_size_are_refused),
        SCRATCH(too_many_directories_are_refused),
        SCRATCH(too_long_paths_are_refused),
        SCRATCH(a_host_and_a_service_for_each_of_many_members_are_accepted),
        SCRATCH(a_file_below_a_file_is_refused_but_an_unlisted_directory_is_not),
        SCRATCH(invalid_manifests_are_refused),
        SCRATCH(files_that_are_no_bundles_are_refused),
        SCRATCH(a_bundle_cut_at_any_byte_is_refused),
        SCRATCH(a_cut_tar_in_intact_gzip_is_refused),
        SCRATCH(each_flipped_bit_is_detected),
        SCRATCH(a_flipped_tar_in_intact_gzip_extracts_nothing_or_one_directory),
        SCRATCH(a_bundle_that_inflates_too_much_is_refused),
        SCRATCH(too_many_members_are_refused),
        SCRATCH(oversized_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
