/* Writes the page of a bundle or of a copy, or only makes the summary. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page/builder.h"

#include "base/banned.h"

static struct page_file *find_file(struct page_builder *builder, const char *path)
{
    const struct page_file *f = name_map_get(&builder->by_path, path);
    return f && f->draw_as ? &builder->files[f - builder->files] : NULL;
}

static bool wants_member(void *ctx, const struct bundle_member *member)
{
    struct page_builder *builder = ctx;
    struct page_file *f = find_file(builder, member->path);
    if (f && member->size > builder->limits->profile) {
        f->draw_as = 0;
        f->why = builder->limits->too_large;
    }
    if (!f || !f->draw_as)
        return false;
    if (page_progress_leaves_out_next(builder->progress)) {
        f->draw_as = 0;
        f->why = "the files before it used up the processor time for reading";
        return false;
    }
    page_builder_record_progress(builder, f);
    return true;
}

static int draw_member(void *ctx, const struct bundle_member *member, struct buf *bytes, struct err *err)
{
    struct page_builder *builder = ctx;
    struct page_file *f = find_file(builder, member->path);
    f->was_read = true;
    int rc = page_builder_draw(builder, f, bytes, err);
    /* Keep the record after a failure, because this file caused it. */
    if (rc == 0)
        page_builder_record_progress(builder, NULL);
    return rc;
}

static int read_manifest(const char *path, struct age_identities *identities, struct manifest **ret,
                         struct err *err)
{
    char *text = NULL;
    if (bundle_read_manifest(path, identities, &text, err) < 0)
        return -1;
    int rc = manifest_read(text, strlen(text), ret, err);
    free(text);
    return rc;
}

int page_build_bundle(const char *path, struct age_identities *identities, const struct page_output *to,
                      struct err *err)
{
    struct page_builder builder = {0};
    struct manifest *manifest = NULL;
    if (read_manifest(path, identities, &manifest, err) < 0)
        return -1;
    int rc = page_builder_init(&builder, &page_limits_on_request, manifest, to, err);
    page_builder_apply_progress(&builder, to->progress);
    if (rc == 0)
        rc = bundle_visit(path, identities, &(struct bundle_visitor){wants_member, draw_member, &builder},
                          err);
    if (rc == 0)
        rc = page_builder_finish_bundle(&builder, err);
    page_builder_release(&builder);
    manifest_free(manifest);
    return rc;
}

/* ---- the page of a copy -------------------------------------------------------------------------------- */

/* The input of the child. */
struct copy_input {
    const struct bundle_preview *bundle;
    int fd;
    struct page_progress *progress;
};

static int write_to_file(void *ctx, const void *p, size_t n, struct err *err)
{
    return fd_write_all(*(int *)ctx, p, n, err);
}

static int draw_copy(void *ctx, struct buf *ret, struct err *err)
{
    struct copy_input *c = ctx;
    struct page_builder builder = {0};
    (void)ret;
    int rc = page_builder_init(&builder, &page_limits_capture, c->bundle->manifest,
                               &(struct page_output){.sink = write_to_file, .ctx = &c->fd}, err);
    page_builder_apply_progress(&builder, c->progress);
    if (rc == 0)
        rc = c->bundle->visit(c->bundle, &(struct bundle_visitor){wants_member, draw_member, &builder}, err);
    if (rc == 0)
        rc = page_builder_finish_bundle(&builder, err);
    page_builder_release(&builder);
    return rc;
}

int page_build_copy(const struct bundle_preview *bundle, int fd, struct err *err)
{
    struct copy_input c = {bundle, fd, NULL};
    struct proc_fork_limits limits = confined_limits(bundle->bytes, bundle->cancel_fd);
    limits.wall_ms = limits.cpu_ms;
    if (bundle->cpu_ms > 0)
        limits.cpu_ms = clock_min(limits.cpu_ms, bundle->cpu_ms);
    limits.kept[0] = fd;
    limits.kept[1] = bundle->fd;
    if (page_progress_new(&c.progress, err) < 0)
        return -1;
    const struct page_attempts attempts = {BUNDLE_REPORT, limits, c.progress, fd, bundle->ctx};
    int rc = page_attempt(&attempts, draw_copy, &c, NULL, err);
    page_progress_free(c.progress);
    return rc;
}

/* ---- the summary alone --------------------------------------------------------------------------------- */

static int discard_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static int set_summary(struct manifest *manifest, const struct findings *findings, struct err *err)
{
    struct manifest_sentence sentences[FINDINGS_MAX];
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->items[i];
        sentences[i] = (struct manifest_sentence){.rule = finding->rule->id,
                                                  .text = finding->text,
                                                  .file = finding->file,
                                                  .look_at = finding->look_at};
    }
    return manifest_set_summary(manifest, sentences, findings->n, err);
}

static int make_summary(const char *path, struct age_identities *identities, struct page_progress *progress,
                        struct manifest *manifest, struct err *err)
{
    struct page_builder builder = {0};
    int rc = page_builder_init(&builder, &page_limits_on_request, manifest,
                               &(struct page_output){.sink = discard_bytes, .ctx = NULL}, err);
    page_builder_apply_progress(&builder, progress);
    if (rc == 0)
        rc = bundle_visit(path, identities, &(struct bundle_visitor){wants_member, draw_member, &builder},
                          err);
    if (rc == 0)
        rc = page_builder_compare_finish(&builder, err);
    if (rc == 0 && builder.makes_findings)
        rc = findings_finish(&builder.findings, err);
    if (rc == 0)
        rc = set_summary(manifest, &builder.findings, err);
    page_builder_release(&builder);
    return rc;
}

int page_read_manifest(const char *path, struct age_identities *identities, struct page_progress *progress,
                       char **ret, struct err *err)
{
    struct manifest *manifest = NULL;
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    if (read_manifest(path, identities, &manifest, err) < 0)
        return -1;
    int rc = manifest->n_summary > 0 ? 0 : make_summary(path, identities, progress, manifest, err);
    if (rc == 0)
        rc = manifest_print(manifest, &text, err);
    if (rc == 0)
        *ret = buf_detach(&text);
    buf_release(&text);
    manifest_free(manifest);
    return rc;
}
