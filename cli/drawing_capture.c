/* The page of a capture, in its work directory. */
#include <stdlib.h>

#include "cli/drawing_inside.h"
#include "cli/signals.h"
#include "cli/talk.h"

#include "base/banned.h"

/* Where report.html goes. */
struct output {
    int fd;
    uint64_t bytes;
    struct sha256 *hash;
};

static int to_output(void *ctx, const void *p, size_t n, struct err *err)
{
    struct output *o = ctx;
    sha256_add(o->hash, p, n);
    o->bytes += n;
    return fd_write_all(o->fd, p, n, err);
}

static int draw_from(struct drawing *d, struct drawing_file *f, const struct beneath *files, struct err *err)
{
    struct buf bytes = BUF_INIT(d->limits->profile);
    struct err why = ERR_INIT;
    int rc = beneath_read(files, f->entry.file, &bytes, &why);
    f->met = true;
    if (rc == 0)
        rc = drawing_draw(d, f, &bytes, err);
    else if (bytes.failed && !bytes.starved)
        rc = page_add_nothing(d->page, &f->entry, d->limits->too_large, err);
    else
        rc = drawing_give_up(d, f, &bytes, &why, err);
    buf_release(&bytes);
    return rc;
}

/* Ctrl-C ends it, unless that was what ended the capture. */
static int draw_directory(struct drawing *d, const struct beneath *files, struct err *err)
{
    bool interrupted = fd_cancelled(signals_cancel_fd());
    struct page_bundle b = {0};
    for (size_t i = 0; i < d->n; i++) {
        if (!interrupted && fd_cancelled(signals_cancel_fd()))
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (d->files[i].how && draw_from(d, &d->files[i], files, err) < 0)
            return -1;
    }
    if (drawing_compare_finish(d, err) < 0 || drawing_add_rest(d, err) < 0)
        return -1;
    return drawing_finish(d, &b, err);
}

static int set_summary(struct manifest *m, const struct words *words, struct err *err)
{
    struct manifest_sentence sentences[WORDS_MAX];
    for (size_t i = 0; i < words->n; i++) {
        const struct words_item *w = &words->items[i];
        sentences[i] = (struct manifest_sentence){w->rule, w->text, w->file, w->look};
    }
    return manifest_set_summary(m, sentences, words->n, err);
}

static int draw_into(struct manifest *m, const struct workdir *w, struct output *o, struct err *err)
{
    struct drawing d = {0};
    struct buf manifest = BUF_INIT(BUNDLE_MAX_MANIFEST);
    char hex[SHA256_HEX];
    int rc = manifest_print(m, &manifest, err);
    if (rc == 0)
        rc = drawing_init(&d, &drawing_at_capture, (struct str){buf_str(&manifest), manifest.len}, to_output,
                          o, err);
    if (rc == 0)
        rc = draw_directory(&d, workdir_files(w), err);
    if (rc == 0)
        rc = sha256_hex(o->hash, hex, err);
    if (rc == 0 && (set_summary(m, &d.words, err) < 0 || manifest_set_report(m, o->bytes, hex, err) < 0))
        rc = -1;
    drawing_release(&d);
    buf_release(&manifest);
    return rc;
}

int drawing_workdir(struct manifest *m, const struct workdir *w, struct err *err)
{
    struct output o = {.fd = -1, .hash = sha256_new(err)};
    const struct beneath *files = workdir_files(w);
    int rc = -1;
    if (o.hash && (o.fd = beneath_create(files, BUNDLE_REPORT, err)) >= 0 &&
        (rc = draw_into(m, w, &o, err)) < 0)
        beneath_remove(files, BUNDLE_REPORT, NULL);
    fd_close(&o.fd);
    sha256_free(o.hash);
    return rc;
}

void drawing_or_talk(struct manifest *m, const struct workdir *w)
{
    struct err err = ERR_INIT;
    if (drawing_workdir(m, w, &err) < 0)
        talk(BUNDLE_REPORT " could not be made, and the bundle goes without it: %s", err.msg);
}
