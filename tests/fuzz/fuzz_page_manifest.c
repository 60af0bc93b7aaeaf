/*
 * The page of a hostile manifest. The input is the manifest, a line `---`, and the bytes of every file that
 * the manifest names. A drawn page has no markup from the input, and the same input gives the same page. A
 * refusal has a reason.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "page/builder.h"
#include "base/banned.h"

enum { FILES_MAX = 50 };

static const struct page_limits limits = {1 << 18, 1 << 20, "too large"};

static int append_page(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the page", err);
}

static int draw_files(struct page_builder *d, const struct buf *bytes, struct err *err)
{
    /* Every eighth file is missing in the bundle. */
    for (size_t i = 0; i < d->n && i < FILES_MAX; i++) {
        if (!d->files[i].draw_as || i % 8 == 7)
            continue;
        d->files[i].was_read = true;
        if (page_builder_draw(d, &d->files[i], bytes, err) < 0)
            return -1;
    }
    return page_builder_compare_finish(d, err) < 0 ? -1 : page_builder_add_rest(d, err);
}

/* Returns 0 and the page, or -1. */
static int draw_page(struct str manifest, struct str file, struct buf *page)
{
    struct page_builder d = {0};
    struct page_bundle b = {0};
    struct manifest *m = NULL;
    struct buf bytes = BUF_INIT(file.n + 1);
    struct err err = ERR_INIT;
    buf_add(&bytes, file.p, file.n);
    int rc = manifest_read(manifest.p, manifest.n, &m, &err);
    if (rc == 0)
        rc = page_builder_init(&d, &limits, m, &(struct page_output){.sink = append_page, .ctx = page}, &err);
    if (rc == 0)
        rc = draw_files(&d, &bytes, &err);
    if (rc == 0)
        rc = page_builder_finish(&d, &b, &err);
    if (rc < 0)
        fuzz_expect_err(&err);
    page_builder_release(&d);
    manifest_free(m);
    buf_release(&bytes);
    return rc;
}

static size_t count_text(const struct buf *page, const char *what)
{
    size_t found = 0, n = strlen(what);
    const char *at = page->data, *end = page->data + page->len;
    while ((at = memmem(at, (size_t)(end - at), what, n)) != NULL) {
        found++;
        at += n;
    }
    return found;
}

/* An empty manifest's page has the template alone; each element of data adds its two tags. */
static void expect_no_markup(const struct buf *page)
{
    struct buf empty = BUF_INIT(16 << 20);
    assert(draw_page(STR("{\"format\":\"profgrab-bundle\",\"version\":1}"), STR(""), &empty) == 0);
    size_t scripts = count_text(page, "<script"), usual = count_text(&empty, "<script");
    assert(scripts == count_text(page, "</script>") && scripts >= usual);
    assert(count_text(page, "<") == count_text(&empty, "<") + 2 * (scripts - usual));
    buf_release(&empty);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char mark[] = "\n---\n";
    const char *text = (const char *)p, *split = n ? memmem(text, n, mark, sizeof mark - 1) : NULL;
    struct str manifest = {text, split ? (size_t)(split - text) : n}, file = STR("");
    struct buf page = BUF_INIT(16 << 20), again = BUF_INIT(16 << 20);
    if (split)
        file = (struct str){split + sizeof mark - 1, n - manifest.n - (sizeof mark - 1)};
    if (manifest.n > 0 && draw_page(manifest, file, &page) == 0) {
        expect_no_markup(&page);
        assert(draw_page(manifest, file, &again) == 0);
        assert(page.len == again.len && memcmp(page.data, again.data, page.len) == 0);
    }
    buf_release(&page);
    buf_release(&again);
    return 0;
}
