/* An untrusted manifest: its files stay below the bundle, its README has no control characters, and the page
 * can have it as JSON. */
#include "tests/fuzz/fuzz.h"

#include "bundle/manifest_json.h"
#include "bundle/path.h"
#include "bundle/readme.h"
#include "base/banned.h"

static int check_file(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    (void)ctx, (void)item, (void)err;
    assert(fuzz_stays_below(file->path));
    assert(strcmp(file->path, PATH_MANIFEST) != 0 && strcmp(file->path, PATH_README) != 0);
    assert(strlen(file->sha256) == 64 && strspn(file->sha256, "0123456789abcdef") == 64);
    assert(file->bytes <= INT64_MAX);
    return 0;
}

/* The page has the manifest as valid JSON, which is read and printed again without a change. */
static void check_print_for_page(const struct manifest *m)
{
    struct buf text = BUF_INIT(64 << 20), again = BUF_INIT(64 << 20);
    struct manifest *reread = NULL;
    assert(manifest_print_for_page(m, &text, NULL) == 0);
    if (manifest_read(buf_str(&text), text.len, &reread, NULL) == 0) {
        assert(manifest_print_for_page(reread, &again, NULL) == 0);
        assert(strcmp(buf_str(&again), buf_str(&text)) == 0);
    }
    buf_release(&again);
    buf_release(&text);
    manifest_free(reread);
}

static void check_read(json_t *root)
{
    struct buf text = BUF_INIT(64 << 20);
    struct manifest *m = NULL;
    if (manifest_read_json(root, &m, NULL) == 0) {
        (void)readme_write(m, &text, NULL);
        check_print_for_page(m);
    }
    manifest_free(m);
    assert(!text.failed && strlen(buf_str(&text)) == text.len);
    assert(fuzz_has_no_controls(buf_str(&text), true));
    json_t *valid = json_stringn(buf_str(&text), text.len);
    assert(valid);
    json_decref(valid);
    buf_release(&text);
}

/* The text is as jansson prints it. */
static void check_print(const struct buf *text)
{
    json_t *root = NULL;
    struct buf again = BUF_INIT(64 << 20);
    assert(manifest_json_parse(buf_str(text), text->len, &root, NULL) == 0);
    assert(manifest_json_print(root, &again, NULL) == 0);
    assert(strcmp(buf_str(&again), buf_str(text)) == 0);
    buf_release(&again);
    json_decref(root);
}

/* A manifest to resume: the names of its requested targets have no slash, and it can be written again. */
static void check_load(const uint8_t *p, size_t n)
{
    struct manifest *m = NULL, *again = NULL;
    struct buf text = BUF_INIT(64 << 20), once_more = BUF_INIT(64 << 20);
    struct err err = ERR_INIT;
    if (manifest_read_for_resume((const char *)p, n, &m, &err) < 0) {
        fuzz_expect_err(&err);
        return;
    }
    if (manifest_check_request(m, &err) == 0)
        for (size_t i = 0; i < m->request.n_targets; i++)
            assert(!strchr(m->request.targets[i].host, '/') && !strchr(m->request.targets[i].service, '/'));
    assert(manifest_print(m, &text, NULL) == 0);
    check_print(&text);
    assert(manifest_read_for_resume(buf_str(&text), text.len, &again, NULL) == 0);
    assert(manifest_count_files(m) == manifest_count_files(again));
    assert(manifest_print(again, &once_more, NULL) == 0);
    assert(strcmp(buf_str(&once_more), buf_str(&text)) == 0);
    buf_release(&once_more);
    manifest_free(m);
    manifest_free(again);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    check_load(p, n);
    json_t *root = NULL;
    struct err err = ERR_INIT;
    if (manifest_json_parse((const char *)p, n, &root, &err) == 0) {
        assert(json_is_object(root));
        check_read(root);
        struct file_entry readme;
        if (manifest_json_visit_items(root, check_file, NULL, &err) < 0 ||
            manifest_json_read_readme(root, &readme, &err) < 0)
            fuzz_expect_err(&err);
    } else {
        assert(!root);
        fuzz_expect_err(&err);
    }
    json_decref(root);
    return 0;
}
