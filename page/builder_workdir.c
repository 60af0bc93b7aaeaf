/* Writes the page of a capture into its work directory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/builder.h"

#include "base/banned.h"

/* The most bytes of the child's result, which has at most FINDINGS_MAX sentences. */
#define RESULT_MAX ((size_t)1 << 20)

/* The file report.html, and the size and hash of its bytes so far. This process starts the hash before the
 * fork, because another thread may hold the locks that OpenSSL takes for that. */
struct output {
    int fd;
    uint64_t bytes;
    struct sha256 *hash;
};

static int write_output(void *ctx, const void *p, size_t n, struct err *err)
{
    struct output *o = ctx;
    sha256_add(o->hash, p, n);
    o->bytes += n;
    return fd_write_all(o->fd, p, n, err);
}

static int draw_file(struct page_builder *builder, struct page_file *file, const struct dir *files,
                     struct err *err)
{
    struct buf bytes = BUF_INIT(builder->limits->profile);
    struct err why = ERR_INIT;
    int rc = dir_read(files, file->entry.file, &bytes, &why);
    file->was_read = true;
    if (rc == 0)
        rc = page_builder_draw(builder, file, &bytes, err);
    else if (bytes.failed && !bytes.out_of_memory)
        rc = page_writer_add_undrawn(builder->page, &file->entry, builder->limits->too_large, err);
    else
        rc = page_builder_add_failed(builder, file, &bytes, &why, err);
    buf_release(&bytes);
    return rc;
}

static int draw_directory(struct page_builder *builder, const struct dir *files, struct err *err)
{
    for (size_t i = 0; i < builder->n; i++)
        if (builder->files[i].draw_as && draw_file(builder, &builder->files[i], files, err) < 0)
            return -1;
    return page_builder_finish_bundle(builder, err);
}

/* ---- in the child -------------------------------------------------------------------------------------- */

struct child_input {
    const struct manifest *manifest;
    const struct workdir *workdir;
    struct output output;
};

/* Appends `+TEXT`, or `-` for NULL, and a NUL. */
static void put_text(struct buf *to, const char *text)
{
    buf_addf(to, "%c%s", text ? '+' : '-', text ? text : "");
    buf_addc(to, '\0');
}

/* Appends the size and hash of the page, then the sentences. */
static int put_result(const struct page_builder *builder, const struct output *o, struct buf *ret,
                      struct err *err)
{
    char hex[SHA256_HEX], bytes[32];
    if (sha256_hex(o->hash, hex, err) < 0)
        return -1;
    snprintf(bytes, sizeof bytes, "%" PRIu64, o->bytes);
    put_text(ret, bytes);
    put_text(ret, hex);
    for (size_t i = 0; i < builder->findings.n; i++) {
        const struct finding *finding = &builder->findings.items[i];
        put_text(ret, finding->rule->id);
        put_text(ret, finding->text);
        put_text(ret, finding->file);
        put_text(ret, finding->look_at);
    }
    return 0;
}

static int draw_in_child(void *ctx, struct buf *ret, struct err *err)
{
    struct child_input *input = ctx;
    struct page_builder builder = {0};
    int rc = page_builder_init(&builder, &page_limits_capture, input->manifest,
                               &(struct page_output){.sink = write_output, .ctx = &input->output}, err);
    if (rc == 0)
        rc = draw_directory(&builder, workdir_files(input->workdir), err);
    if (rc == 0)
        rc = put_result(&builder, &input->output, ret, err);
    page_builder_release(&builder);
    return rc;
}

/* ---- its result ---------------------------------------------------------------------------------------- */

/* Reads the next text that put_text wrote, without a copy. Returns false if none is complete. */
static bool read_text(struct str *rest, const char **ret)
{
    const char *end = rest->n ? memchr(rest->p, '\0', rest->n) : NULL;
    if (!end || (rest->p[0] != '+' && rest->p[0] != '-'))
        return false;
    *ret = rest->p[0] == '+' ? rest->p + 1 : NULL;
    rest->n -= (size_t)(end + 1 - rest->p);
    rest->p = end + 1;
    return true;
}

static bool read_page(struct str *rest, uint64_t *ret_bytes, const char **ret_hex)
{
    const char *bytes;
    return read_text(rest, &bytes) && bytes && text_to_uint(bytes, INT64_MAX, ret_bytes) == 0 &&
           read_text(rest, ret_hex) && *ret_hex && strlen(*ret_hex) == SHA256_HEX - 1 &&
           strspn(*ret_hex, "0123456789abcdef") == SHA256_HEX - 1;
}

static bool read_sentence(struct str *rest, struct manifest_sentence *ret)
{
    return read_text(rest, &ret->rule) && read_text(rest, &ret->text) && read_text(rest, &ret->file) &&
           read_text(rest, &ret->look_at) && ret->rule && ret->text;
}

/* Checks the result like any other input, because the child has read untrusted bytes. */
static int read_result(struct manifest *manifest, const struct buf *result, struct err *err)
{
    struct manifest_sentence sentences[FINDINGS_MAX];
    struct str rest = {buf_str(result), result->len};
    const char *hex;
    uint64_t bytes;
    size_t n = 0;
    bool is_valid = read_page(&rest, &bytes, &hex);
    while (is_valid && rest.n > 0)
        is_valid = n < FINDINGS_MAX && read_sentence(&rest, &sentences[n++]);
    if (!is_valid)
        return err_set(err, ERR_FAILED, "the process that made the page returned an invalid result");
    return manifest_set_summary(manifest, sentences, n, err) < 0
               ? -1
               : manifest_set_report(manifest, bytes, hex, err);
}

/* Returns `most` bytes minus the memory of this process, which the child inherits; at least a quarter of
 * CONFINED_MEMORY. */
static uint64_t child_memory(uint64_t most)
{
    uint64_t in_use = proc_memory_in_use(), least = CONFINED_MEMORY / 4;
    return in_use + least < most ? most - in_use : least;
}

/* Starts the child with the rest of the budget, and adds its result to the manifest. */
static int draw_page(struct manifest *manifest, struct child_input *input, struct confined_budget *budget,
                     int cancel_fd, struct err *err)
{
    struct proc_fork_limits limits = confined_budget_remaining(budget, cancel_fd);
    struct buf result = BUF_INIT(0);
    bool interrupted = fd_cancelled(cancel_fd);
    limits.memory = child_memory(limits.memory);
    limits.wall_ms = interrupted ? PAGE_AFTER_SIGNAL_MS : limits.cpu_ms;
    if (interrupted && budget->bytes > PAGE_AFTER_SIGNAL_BYTES)
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (interrupted)
        limits.cancel_fd = -1;
    limits.kept[0] = input->output.fd;
    limits.kept[1] = workdir_files(input->workdir)->fd;
    limits.max_result = RESULT_MAX;
    int rc = proc_run_confined(draw_in_child, input, &limits, &result, err);
    if (rc == 0)
        rc = read_result(manifest, &result, err);
    buf_release(&result);
    return rc;
}

int page_build_workdir(struct manifest *manifest, const struct workdir *workdir,
                       struct confined_budget *budget, int cancel_fd, struct err *err)
{
    struct child_input input = {
        .manifest = manifest, .workdir = workdir, .output = {.fd = -1, .hash = sha256_new(err)}};
    struct output *o = &input.output;
    const struct dir *files = workdir_files(workdir);
    int rc = -1;
    if (o->hash && (o->fd = dir_create(files, BUNDLE_REPORT, err)) >= 0 &&
        (rc = draw_page(manifest, &input, budget, cancel_fd, err)) < 0)
        dir_remove(files, BUNDLE_REPORT, NULL);
    fd_close(&o->fd);
    sha256_free(o->hash);
    return rc;
}
