/* The page of a capture, in its work directory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/builder.h"

#include "base/banned.h"

/* What the copy tells of the page: at most FINDINGS_MAX sentences. */
#define RESULT_MAX ((size_t)1 << 20)

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

static int draw_from(struct page_builder *d, struct page_file *f, const struct beneath *files,
                     struct err *err)
{
    struct buf bytes = BUF_INIT(d->limits->profile);
    struct err why = ERR_INIT;
    int rc = beneath_read(files, f->entry.file, &bytes, &why);
    f->met = true;
    if (rc == 0)
        rc = page_builder_draw(d, f, &bytes, err);
    else if (bytes.failed && !bytes.starved)
        rc = page_writer_add_nothing(d->page, &f->entry, d->limits->too_large, err);
    else
        rc = page_builder_give_up(d, f, &bytes, &why, err);
    buf_release(&bytes);
    return rc;
}

static int draw_directory(struct page_builder *d, const struct beneath *files, struct err *err)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->files[i].how && draw_from(d, &d->files[i], files, err) < 0)
            return -1;
    return page_builder_finish_bundle(d, err);
}

/* ---- in the copy -----------------------------------------------------------------------------------------
 */

struct drawn {
    const struct manifest *manifest;
    const struct workdir *w;
    struct output output;
};

/* A text that may be missing: `+TEXT` or `-`, and a NUL. */
static void put_text(struct buf *to, const char *text)
{
    buf_addf(to, "%c%s", text ? '+' : '-', text ? text : "");
    buf_addc(to, '\0');
}

/* The size and hash of the page, then the sentences. */
static int put_result(const struct page_builder *d, const struct output *o, struct buf *ret, struct err *err)
{
    char hex[SHA256_HEX], bytes[32];
    if (sha256_hex(o->hash, hex, err) < 0)
        return -1;
    snprintf(bytes, sizeof bytes, "%" PRIu64, o->bytes);
    put_text(ret, bytes);
    put_text(ret, hex);
    for (size_t i = 0; i < d->findings.n; i++) {
        const struct finding *w = &d->findings.items[i];
        put_text(ret, w->rule->id);
        put_text(ret, w->text);
        put_text(ret, w->file);
        put_text(ret, w->look);
    }
    return 0;
}

static int draw_in_copy(void *ctx, struct buf *ret, struct err *err)
{
    struct drawn *k = ctx;
    struct page_builder d = {0};
    struct buf manifest = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int rc = manifest_print(k->manifest, &manifest, err);
    if (rc == 0)
        rc = page_builder_init(&d, &page_limits_capture, (struct str){buf_str(&manifest), manifest.len},
                               to_output, &k->output, err);
    if (rc == 0)
        rc = draw_directory(&d, workdir_files(k->w), err);
    if (rc == 0)
        rc = put_result(&d, &k->output, ret, err);
    page_builder_release(&d);
    buf_release(&manifest);
    return rc;
}

/* ---- its result ------------------------------------------------------------------------------------------
 */

/* The next text of what put_text wrote, without changing it. False if there is no whole one. */
static bool take_text(struct str *rest, const char **ret)
{
    const char *end = rest->n ? memchr(rest->p, '\0', rest->n) : NULL;
    if (!end || (rest->p[0] != '+' && rest->p[0] != '-'))
        return false;
    *ret = rest->p[0] == '+' ? rest->p + 1 : NULL;
    rest->n -= (size_t)(end + 1 - rest->p);
    rest->p = end + 1;
    return true;
}

static bool take_page(struct str *rest, uint64_t *ret_bytes, const char **ret_hex)
{
    const char *bytes;
    return take_text(rest, &bytes) && bytes && text_to_uint(bytes, INT64_MAX, ret_bytes) == 0 &&
           take_text(rest, ret_hex) && *ret_hex && strlen(*ret_hex) == SHA256_HEX - 1 &&
           strspn(*ret_hex, "0123456789abcdef") == SHA256_HEX - 1;
}

static bool take_sentence(struct str *rest, struct manifest_sentence *ret)
{
    return take_text(rest, &ret->rule) && take_text(rest, &ret->text) && take_text(rest, &ret->file) &&
           take_text(rest, &ret->look) && ret->rule && ret->text;
}

/* The copy read what a stranger wrote: its result is checked like any other input. */
static int take_result(struct manifest *m, const struct buf *result, struct err *err)
{
    struct manifest_sentence sentences[FINDINGS_MAX];
    struct str rest = {buf_str(result), result->len};
    const char *hex;
    uint64_t bytes;
    size_t n = 0;
    bool fine = take_page(&rest, &bytes, &hex);
    while (fine && rest.n > 0)
        fine = n < FINDINGS_MAX && take_sentence(&rest, &sentences[n++]);
    if (!fine)
        return err_set(err, ERR_FAILED, "the process that made it gave no proper result");
    return manifest_set_summary(m, sentences, n, err) < 0 ? -1 : manifest_set_report(m, bytes, hex, err);
}

/* The copy has the manifest of this process in memory as well: that counts. A small part is always left. */
static uint64_t memory_left(uint64_t most)
{
    uint64_t in_use = proc_memory_in_use(), least = CONFINED_MEMORY / 4;
    return in_use + least < most ? most - in_use : least;
}

static int draw_into(struct manifest *m, const struct workdir *w, const struct output *o, int cancel_fd,
                     struct err *err)
{
    struct drawn k = {.manifest = m, .w = w, .output = *o};
    struct proc_confines limits = confined_limits(manifest_n_bytes(m), cancel_fd);
    struct buf result = BUF_INIT(0);
    bool interrupted = fd_cancelled(cancel_fd);
    limits.memory = memory_left(limits.memory);
    limits.wall_ms = interrupted ? PAGE_AFTER_SIGNAL_MS : limits.cpu_ms;
    if (interrupted)
        limits.cancel_fd = -1;
    limits.kept[0] = o->fd;
    limits.kept[1] = workdir_files(w)->fd;
    limits.max_result = RESULT_MAX;
    int rc = proc_run_confined(draw_in_copy, &k, &limits, &result, err);
    if (rc == 0)
        rc = take_result(m, &result, err);
    buf_release(&result);
    return rc;
}

int page_build_workdir(struct manifest *m, const struct workdir *w, int cancel_fd, struct err *err)
{
    struct output o = {.fd = -1, .hash = sha256_new(err)};
    const struct beneath *files = workdir_files(w);
    int rc = -1;
    if (o.hash && (o.fd = beneath_create(files, BUNDLE_REPORT, err)) >= 0 &&
        (rc = draw_into(m, w, &o, cancel_fd, err)) < 0)
        beneath_remove(files, BUNDLE_REPORT, NULL);
    fd_close(&o.fd);
    sha256_free(o.hash);
    return rc;
}
