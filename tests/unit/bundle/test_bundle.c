/* Bundles: packed, listed, verified, extracted; packing that fails; changed files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/capture.h"
#include "tests/unit/tarball.h"
#include "base/banned.h"

/* ---- success ----------------------------------------------------------------------------------------- */

static int fail_at_member(void *ctx, const struct bundle_member *m, struct err *err)
{
    (void)ctx;
    return err_set(err, ERR_FAILED, "stopped at %s", m->path);
}

static void assert_round_trip(const char *dir)
{
    char *path = pack_capture(dir);
    struct err err = ERR_INIT;
    assert_int_equal(scratch_count(dir), 1);
    assert_int_equal(scratch_mode(path), 0600);

    struct buf list = BUF_INIT(65536);
    assert_ok(bundle_list(path, NULL, add_path, &list, &err), &err);
    assert_string_equal(buf_str(&list), "manifest.json\nREADME.md\n" HEAP "\n" TEXT "\n" LOCAL "\n");
    buf_release(&list);
    assert_int_equal(bundle_list(path, NULL, fail_at_member, NULL, &err), -1);
    assert_string_equal(err.msg, "stopped at manifest.json");

    assert_verify_reports(path, "intact " HEAP " 24\nintact " TEXT " 35\nintact " LOCAL " 0\n");
    struct bundle_summary sum;
    assert_ok(bundle_verify(path, NULL, &sum, &err), &err);
    assert_int_equal(sum.intact, 3);
    assert_int_equal(sum.changed + sum.missing + sum.unknown, 0);
    assert_true(sum.complete);
    assert_false(sum.interrupted);

    char *top = NULL, *manifest = NULL;
    assert_ok(bundle_extract(&(struct bundle_extract_options){path, NULL, dir, NULL, 1 << 20}, &top, &err),
              &err);
    assert_int_equal(scratch_mode(top), 0700);
    assert_file_equal(top, HEAP, HEAP_BYTES, sizeof HEAP_BYTES - 1);
    assert_file_equal(top, TEXT, TEXT_BYTES, sizeof TEXT_BYTES - 1);
    assert_file_equal(top, LOCAL, "", 0);
    char *inner = file_join(top, "file-03/gitaly");
    assert_int_equal(scratch_mode(inner), 0700);
    assert_ok(bundle_read_manifest(path, NULL, &manifest, &err), &err);
    assert_file_equal(top, "manifest.json", manifest, strlen(manifest));
    assert_starts_with(manifest, "{\n  \"format\": \"profgrab-bundle\",\n");
    free(inner);
    free(manifest);
    free(top);
    free(path);
}

static void a_bundle_is_packed_verified_and_extracted(void **state)
{
    assert_round_trip(*state);
}

static void a_bundle_is_private_under_an_open_umask(void **state)
{
    mode_t before = umask(0);
    assert_round_trip(*state);
    umask(before);
}

static void a_bundle_is_readable_by_its_owner_under_a_closed_umask(void **state)
{
    mode_t before = umask(0777);
    assert_round_trip(*state);
    umask(before);
}

/* The tar headers name no owner, and the gzip header has no time. */
static void archive_headers_name_no_user(void **state)
{
    char *path = pack_capture(*state);
    struct archive *a = archive_read_new();
    struct archive_entry *e = NULL;
    archive_read_support_format_tar(a);
    archive_read_support_filter_gzip(a);
    assert_int_equal(archive_read_open_filename(a, path, 10240), ARCHIVE_OK);
    size_t n = 0;
    while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
        bool dir = archive_entry_filetype(e) == AE_IFDIR;
        assert_int_equal(archive_entry_perm(e), dir ? 0700 : 0600);
        assert_int_equal(archive_entry_uid(e), 0);
        assert_int_equal(archive_entry_gid(e), 0);
        assert_string_equal(archive_entry_uname(e), "");
        assert_string_equal(archive_entry_gname(e), "");
        if (n++ == 0)
            assert_string_equal(archive_entry_pathname(e), "b/");
    }
    assert_int_equal(n, 9);
    archive_read_free(a);
    struct buf b = scratch_read(path);
    assert_memory_equal(b.data + 4, "\0\0\0", 4);
    buf_release(&b);
    free(path);
}

static void only_the_named_members_are_extracted(void **state)
{
    const char *dir = *state;
    static const struct {
        const char *wanted;     /* patterns, separated by commas */
        bool heap, text, local; /* the files that are extracted */
    } cases[] = {{HEAP, true, false, false},
                 {"*.txt", false, true, false},
                 {"file-03", true, true, false},
                 {"file-03/gitaly,local/a*", true, true, true},
                 {"local/a b.prof", false, false, true}};
    char *path = pack_capture(dir), *top = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strlist wanted = {0};
        struct err err = ERR_INIT;
        assert_ok(strlist_split(&wanted, cases[i].wanted, &err), &err);
        assert_ok(
            bundle_extract(&(struct bundle_extract_options){path, NULL, dir, &wanted, 1 << 20}, &top, &err),
            &err);
        char *heap = file_join(top, HEAP), *text = file_join(top, TEXT), *local = file_join(top, LOCAL);
        assert_int_equal(file_exists(heap), cases[i].heap);
        assert_int_equal(file_exists(text), cases[i].text);
        assert_int_equal(file_exists(local), cases[i].local);
        assert_int_equal(scratch_count(top), (cases[i].heap || cases[i].text) + cases[i].local);
        free(heap);
        free(text);
        free(local);
        strlist_release(&wanted);
        assert_int_equal(file_remove(top, NULL), 0);
        free(top);
    }
    struct strlist wanted = {0};
    struct err err = ERR_INIT;
    assert_ok(strlist_split(&wanted, "*.txt,../x", &err), &err);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, dir, &wanted, 1 << 20}, &top, &err), -1);
    assert_string_equal(err.msg, "no file in the bundle matches \"../x\"");
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_int_equal(scratch_count(dir), 1);
    strlist_release(&wanted);
    free(path);
}

static void extraction_beyond_the_size_limit_is_refused(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *top = NULL;
    struct strlist wanted = {0};
    struct err err = ERR_INIT;
    assert_ok(strlist_add(&wanted, "file-03", &err), &err);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, dir, &wanted, 58}, &top, &err), -1);
    assert_string_equal(err.msg, "the bundle unpacks to more than 58 bytes");
    assert_int_equal(scratch_count(dir), 1);
    assert_ok(bundle_extract(&(struct bundle_extract_options){path, NULL, dir, &wanted, 59}, &top, &err),
              &err);
    strlist_release(&wanted);
    free(top);
    free(path);
}

static void extraction_overwrites_nothing(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *top = NULL, *existing = file_join(dir, "b");
    struct err err = ERR_INIT;
    assert_int_equal(file_mkdir(existing, NULL), 0);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, dir, NULL, 1 << 20}, &top, &err), -1);
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_int_equal(scratch_count(existing), 0);
    assert_int_equal(rmdir(existing), 0);
    /* An existing link of this name is not followed either. */
    assert_int_equal(symlink("/nowhere", existing), 0);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, dir, NULL, 1 << 20}, &top, &err), -1);
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, path, NULL, 1 << 20}, &top, &err), -1);
    assert_int_equal(
        bundle_extract(&(struct bundle_extract_options){path, NULL, "/nowhere", NULL, 1 << 20}, &top, &err),
        -1);
    assert_string_equal(err.msg, "cannot use the directory /nowhere: No such file or directory");
    assert_null(top);
    free(existing);
    free(path);
}

/* ---- packing that fails ------------------------------------------------------------------------------ */

/* Packing fails, leaves no temporary file, and keeps every collected item. */
static void assert_pack_fails(struct capture *c, const char *dir, enum err_kind kind, const char *msg)
{
    struct err err = ERR_INIT;
    char *path = NULL;
    size_t before = scratch_count(dir);
    assert_int_equal(bundle_pack(c->w, c->m, -1, &path, &err), -1);
    assert_null(path);
    assert_int_equal(err.kind, kind);
    if (msg)
        assert_string_equal(err.msg, msg);
    assert_starts_with(err.hint, "everything collected is kept in ");
    assert_string_equal(err.hint + strlen("everything collected is kept in "), workdir_path(c->w));
    assert_int_equal(scratch_count(dir), before);
    char *heap = file_join(workdir_path(c->w), HEAP),
         *manifest = file_join(workdir_path(c->w), "manifest.json");
    assert_true(file_exists(heap));
    assert_true(file_exists(manifest));
    free(heap);
    free(manifest);
}

static void packing_on_a_full_disk_keeps_every_item(void **state)
{
    const char *dir = *state;
    struct capture c;
    char *output = file_join(dir, "b.tar.gz"), *msg = NULL;
    char noise[200000];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((x = x * 1103515245 + 12345) >> 16);
    assert_true(asprintf(&msg, "%s: cannot write: File too large", output) >= 0);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    capture_init(&c, output);
    manifest_free(c.m);
    struct manifest_info info = {.name = "b"};
    assert_int_equal(manifest_new(&info, &c.m, NULL), 0);
    add_file_and_item(&c, NULL, "noise", noise, sizeof noise);
    small = before;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_pack_fails(&c, dir, ERR_LOCAL_IO, msg);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    /* With enough space the same capture packs. */
    char *path = NULL;
    struct err err = ERR_INIT;
    assert_ok(bundle_pack(c.w, c.m, -1, &path, &err), &err);
    assert_int_equal(scratch_count(dir), 1);
    assert_verify_reports(path, "intact noise 200000\n");
    capture_release(&c);
    free(path);
    free(msg);
    free(output);
}

static void an_existing_bundle_is_never_overwritten(void **state)
{
    const char *dir = *state;
    struct capture c;
    char *output = file_join(dir, "b.tar.gz");
    capture_init(&c, output);
    free(scratch_file(dir, "b.tar.gz", "theirs", 6));
    assert_pack_fails(&c, dir, ERR_EXISTS, NULL);
    struct buf theirs = scratch_read(output);
    assert_string_equal(buf_str(&theirs), "theirs");
    buf_release(&theirs);
    capture_release(&c);
    free(output);
}

static void a_default_name_taken_during_the_run_gets_a_number(void **state)
{
    const char *dir = *state;
    struct capture c;
    struct err err = ERR_INIT;
    char *path = NULL, *expected = file_join(dir, "profgrab-file-03-2026-11-21T07-48-00Z-2.tar.gz");
    capture_init(&c, dir);
    free(scratch_file(dir, "profgrab-file-03-2026-11-21T07-48-00Z.tar.gz", "theirs", 6));
    assert_ok(bundle_pack(c.w, c.m, -1, &path, &err), &err);
    assert_string_equal(path, expected);
    assert_int_equal(scratch_count(dir), 2);
    capture_release(&c);
    free(path);
    free(expected);
}

static void packing_fails_if_a_file_differs_from_the_manifest(void **state)
{
    const char *dir = *state;
    struct capture c;
    capture_init(&c, dir);
    free(scratch_file(workdir_path(c.w), TEXT, "goroutine 2 [running]:\nmain.main()\n", 35));
    assert_pack_fails(&c, dir, ERR_FAILED, TEXT " is not the file the manifest describes: it has changed");
    free(scratch_file(workdir_path(c.w), TEXT, TEXT_BYTES "more", sizeof TEXT_BYTES + 3));
    assert_pack_fails(&c, dir, ERR_FAILED, TEXT " is not the file the manifest describes: it has changed");
    char *text = file_join(workdir_path(c.w), TEXT);
    assert_int_equal(file_remove(text, NULL), 0);
    assert_pack_fails(&c, dir, ERR_NOT_FOUND, NULL);
    free(text);
    capture_release(&c);
}

/* A link replaces a host's directory after the work directory was opened: no file behind the link is read,
 * even an identical one. */
static void a_link_in_place_of_a_file_is_not_packed(void **state)
{
    const char *dir = *state;
    struct capture c;
    struct err err = ERR_INIT;
    char *outside = file_join(dir, "outside");
    capture_init(&c, dir);
    char *host = file_join(workdir_path(c.w), "file-03"), *path = NULL;
    assert_int_equal(rename(host, outside), 0);
    assert_int_equal(symlink(outside, host), 0);
    assert_int_equal(bundle_pack(c.w, c.m, -1, &path, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_non_null(
        strstr(err.msg, "file-03 is a symbolic link, and profgrab follows no links in this directory"));
    assert_null(path);
    capture_release(&c);
    free(host);
    free(outside);
}

struct shrinker {
    const char *file;
    bool truncated;
};

/* Returns whether this process has an open file, other than `packed`, of more than `min_bytes` bytes. During
 * packing that is the bundle. */
static bool packing_has_written(const char *packed, off_t min_bytes)
{
    struct stat file, st;
    assert_int_equal(stat(packed, &file), 0);
    for (int fd = 3; fd < 100; fd++)
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino != file.st_ino && st.st_size > min_bytes)
            return true;
    return false;
}

/* Truncates the file after its packing has begun. */
static void *shrink_file(void *ctx)
{
    struct shrinker *s = ctx;
    for (int i = 0; i < 20000 && !s->truncated; i++) {
        if (packing_has_written(s->file, 20000))
            s->truncated = truncate(s->file, 0) == 0;
        poll(NULL, 0, 1);
    }
    return NULL;
}

static void a_file_that_shrinks_during_packing_is_an_error(void **state)
{
    enum { SIZE = 512 << 20 };
    const char *dir = *state;
    struct capture c;
    struct shrinker s = {0};
    char *output = file_join(dir, "b.tar.gz");
    capture_init(&c, output);
    char *file = scratch_file(workdir_path(c.w), "huge", "", 0);
    assert_int_equal(truncate(file, SIZE), 0);
    char any_hash[SHA256_HEX];
    hash_hex("", 0, any_hash);
    struct manifest_item item = {.kind = "x", .file = "huge", .bytes = SIZE, .sha256 = any_hash};
    assert_int_equal(manifest_add_item(c.m, &item, NULL), 0);
    s.file = file;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, shrink_file, &s), 0);
    assert_pack_fails(&c, dir, ERR_FAILED, "huge became shorter while it was packed");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(s.truncated);
    free(file);
    free(output);
    capture_release(&c);
}

/* ---- changed bundles --------------------------------------------------------------------------------- */

/* Changes `bytes`, the `n` bytes of the member `path`. Returns the new number of bytes, or -1 to drop the
 * member. After the last member, repack_bundle calls the function with a NULL `path`; in that call the
 * function may add members to the archive `to`. */
typedef long edit_fn(struct archive *to, const char *path, char *bytes, long n);

static void repack_bundle(const char *from, const char *to, edit_fn *edit)
{
    struct archive *in = archive_read_new(), *out = tarball_new(to);
    struct archive_entry *e = NULL;
    char bytes[65536];
    archive_read_support_format_tar(in);
    archive_read_support_filter_gzip(in);
    assert_int_equal(archive_read_open_filename(in, from, 10240), ARCHIVE_OK);
    while (archive_read_next_header(in, &e) == ARCHIVE_OK) {
        long n = archive_read_data(in, bytes, sizeof bytes);
        assert_true(n >= 0);
        n = edit(out, archive_entry_pathname(e), bytes, n);
        struct tarball_member m = {.path = archive_entry_pathname(e), .type = archive_entry_filetype(e)};
        if (n >= 0)
            tarball_put(out, &m, bytes, (size_t)n);
    }
    edit(out, NULL, bytes, 0);
    tarball_end(out);
    archive_read_free(in);
}

static long tamper_member(struct archive *to, const char *path, char *bytes, long n)
{
    static const struct tarball_member extra = {.path = "b/file-03/extra"};
    if (!path)
        tarball_put(to, &extra, "more", 4);
    else if (strcmp(path, "b/" HEAP) == 0)
        bytes[5] ^= 1;
    else if (strcmp(path, "b/" TEXT) == 0)
        return n - 1;
    else if (strcmp(path, "b/" LOCAL) == 0)
        return -1;
    return n;
}

static void changed_added_and_removed_members_are_detected(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *other = file_join(dir, "other.tar.gz");
    repack_bundle(path, other, tamper_member);
    assert_verify_reports(other, "changed " HEAP " 24\nchanged " TEXT
                                 " 34\nunknown file-03/extra 4\nmissing " LOCAL " 0\n");
    struct bundle_summary sum;
    assert_int_equal(bundle_verify(other, NULL, &sum, NULL), 0);
    assert_int_equal(sum.intact, 0);
    assert_int_equal(sum.changed, 2);
    assert_int_equal(sum.unknown, 1);
    assert_int_equal(sum.missing, 1);
    free(other);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_bundle_is_packed_verified_and_extracted),
        SCRATCH(a_bundle_is_private_under_an_open_umask),
        SCRATCH(a_bundle_is_readable_by_its_owner_under_a_closed_umask),
        SCRATCH(archive_headers_name_no_user),
        SCRATCH(only_the_named_members_are_extracted),
        SCRATCH(extraction_beyond_the_size_limit_is_refused),
        SCRATCH(extraction_overwrites_nothing),
        SCRATCH(packing_on_a_full_disk_keeps_every_item),
        SCRATCH(an_existing_bundle_is_never_overwritten),
        SCRATCH(a_default_name_taken_during_the_run_gets_a_number),
        SCRATCH(packing_fails_if_a_file_differs_from_the_manifest),
        SCRATCH(a_link_in_place_of_a_file_is_not_packed),
        SCRATCH(a_file_that_shrinks_during_packing_is_an_error),
        SCRATCH(changed_added_and_removed_members_are_detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
