/* A small capture to pack, and checks of the functions that read its bundle. */
#ifndef TESTS_UNIT_CAPTURE_H
#define TESTS_UNIT_CAPTURE_H

#include "bundle/bundle.h"
#include "tests/unit/unit.h"

/* The start of the capture, in milliseconds since 1970. */
#define WHEN INT64_C(1795247280000)
/* The files of the capture, and the bytes of two of them; the third is empty. */
#define HEAP "file-03/gitaly/heap.pb.gz"
#define TEXT "file-03/gitaly/goroutines.txt"
#define LOCAL "local/a b.prof"
#define HEAP_BYTES "\x1f\x8b not really gzip'ed \x00\xff"
#define TEXT_BYTES "goroutine 1 [running]:\nmain.main()\n"

static inline void assert_starts_with(const char *s, const char *start)
{
    if (strncmp(s, start, strlen(start)) != 0)
        fail_msg("\"%s\" does not start with \"%s\"", s, start);
}

struct capture {
    struct workdir *w;
    struct manifest *m;
};

static inline void hash_hex(const void *p, size_t n, char ret[SHA256_HEX])
{
    struct sha256 *h = sha256_new(NULL);
    assert_non_null(h);
    sha256_add(h, p, n);
    assert_int_equal(sha256_hex(h, ret, NULL), 0);
    sha256_free(h);
}

/* Adds a file to the work directory and its item to the manifest. */
static inline void add_file_and_item(struct capture *c, const char *service, const char *file, const void *p,
                                     size_t n)
{
    char hex[SHA256_HEX];
    hash_hex(p, n, hex);
    char *dir = file_dir(file);
    assert_true(strcmp(dir, ".") == 0 || dir_mkdirs(workdir_files(c->w), dir, NULL) == 0);
    free(dir);
    free(scratch_file(workdir_path(c->w), file, p, n));
    struct manifest_item item = {.host = service ? "file-03" : NULL,
                                 .service = service,
                                 .kind = "x",
                                 .file = file,
                                 .bytes = n,
                                 .sha256 = hex};
    struct err err = ERR_INIT;
    assert_ok(manifest_add_item(c->m, &item, &err), &err);
}

static inline void capture_init(struct capture *c, const char *output)
{
    struct err err = ERR_INIT;
    assert_ok(workdir_new(output, "file-03", WHEN, &c->w, &err), &err);
    struct manifest_info info = {.name = workdir_name(c->w), .version = "0", .started = WHEN};
    struct manifest_host host = {.name = "file-03", .route = "direct"};
    struct manifest_service service = {.host = "file-03", .name = "gitaly"};
    struct manifest_item failed = {.host = "file-03",
                                   .service = "gitaly",
                                   .kind = "mutex",
                                   .status = MANIFEST_FAILED,
                                   .error = "HTTP 404"};
    assert_ok(manifest_new(&info, &c->m, &err), &err);
    assert_ok(manifest_add_host(c->m, &host, &err), &err);
    assert_ok(manifest_add_service(c->m, &service, &err), &err);
    assert_ok(manifest_add_item(c->m, &failed, &err), &err);
    add_file_and_item(c, "gitaly", HEAP, HEAP_BYTES, sizeof HEAP_BYTES - 1);
    add_file_and_item(c, "gitaly", TEXT, TEXT_BYTES, sizeof TEXT_BYTES - 1);
    add_file_and_item(c, NULL, LOCAL, "", 0);
    assert_ok(manifest_finish(c->m, WHEN + 1000, false, true, &err), &err);
}

static inline void capture_release(struct capture *c)
{
    workdir_free(c->w);
    manifest_free(c->m);
}

/* Packs the capture as b.tar.gz below `dir`; returns the bundle's path. */
static inline char *pack_capture(const char *dir)
{
    struct capture c;
    struct err err = ERR_INIT;
    char *path = NULL, *output = file_join(dir, "b.tar.gz");
    capture_init(&c, output);
    assert_ok(bundle_pack(c.w, c.m, -1, &path, &err), &err);
    assert_string_equal(path, output);
    capture_release(&c);
    free(output);
    return path;
}

/* Adds the member's path to a struct buf: a visitor for bundle_list. */
static inline int add_path(void *ctx, const struct bundle_member *m, struct err *err)
{
    (void)err;
    buf_addf(ctx, "%s\n", m->path);
    return 0;
}

static inline void add_file_result(void *ctx, const struct bundle_file_result *f)
{
    static const char *const states[] = {"intact", "changed", "missing", "unknown"};
    buf_addf(ctx, "%s %s %llu\n", states[f->state], f->path, (unsigned long long)f->size);
}

/* `expected` has a line "STATE PATH SIZE" for each file of the bundle. */
static inline void assert_verify_reports(const char *path, const char *expected)
{
    struct buf text = BUF_INIT(65536);
    struct bundle_summary sum;
    struct err err = ERR_INIT;
    struct bundle_verify_options check = {.on_file = add_file_result, .ctx = &text, .cancel_fd = -1};
    assert_ok(bundle_verify(path, &check, &sum, &err), &err);
    assert_string_equal(buf_str(&text), expected);
    buf_release(&text);
}

/* Asserts the bytes of the file `name` below `top`, and that only its owner can open it. */
static inline void assert_file_equal(const char *top, const char *name, const void *p, size_t n)
{
    char *path = file_join(top, name);
    struct buf got = scratch_read(path);
    assert_int_equal(got.len, n);
    if (n)
        assert_memory_equal(got.data, p, n);
    assert_int_equal(scratch_mode(path), 0600);
    buf_release(&got);
    free(path);
}

#endif
