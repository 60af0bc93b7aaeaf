/* Records which file a child was reading when a limit ended the child, and starts a second child without that
 * file, or without comparisons and findings if the child had read all files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "page/builder.h"

#include "base/banned.h"

#define NOTE_SIZE 8192

int page_progress_new(struct page_progress **ret, struct err *err)
{
    void *p =
        mmap(NULL, sizeof **ret, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* all zeros */
    if (p == MAP_FAILED)
        return err_nomem(err);
    *ret = p;
    return 0;
}

void page_progress_free(struct page_progress *progress)
{
    if (progress)
        munmap(progress, sizeof *progress);
}

/* Truncates the output for the second child. Returns false if the output is not a regular file. */
static bool truncate_output(int fd, off_t begin)
{
    return fd < 0 || (begin >= 0 && ftruncate(fd, begin) == 0 && lseek(fd, begin, SEEK_SET) == begin);
}

static void send_note(const struct page_notes *to, const char *line)
{
    if (to)
        to->note(to->ctx, line);
}

/* After the failure `why`, excludes the file that the first child was reading, or comparisons and findings if
 * it had read all files. Returns false if a second child would not help. */
static bool exclude_cause(struct page_progress *progress, const struct page_notes *notes,
                          const struct err *why)
{
    char file[sizeof progress->file];
    uint32_t at = progress->at;
    if (why->kind != ERR_LIMIT || (at == 0 && !progress->at_end))
        return false;
    progress->without = at;
    progress->without_end = at == 0;
    progress->at = progress->left_out = 0;
    progress->at_end = false;
    char line[NOTE_SIZE];
    text_printable(file, sizeof file, progress->file, strnlen(progress->file, sizeof progress->file));
    snprintf(line, sizeof line, "%s; going on without %s", why->msg,
             progress->without_end ? "comparisons and findings" : file);
    send_note(notes, line);
    return true;
}

int page_attempt(const struct page_attempts *attempts, proc_confined_fn *body, void *ctx, struct buf *ret,
                 struct err *err)
{
    struct page_progress *p = attempts->progress;
    const struct confined_work work = {attempts->name, body, ctx};
    struct proc_fork_limits limits = attempts->limits;
    struct err why = ERR_INIT;
    off_t begin = attempts->fd < 0 ? 0 : lseek(attempts->fd, 0, SEEK_CUR);
    /* Each of the two children gets half of the processor time. It reads files for half of its own time, and
     * draws comparisons in the rest. */
    limits.cpu_ms /= 2;
    p->reading_ms = limits.cpu_ms / 2;
    int rc = confined_run(&work, &limits, ret, &why);
    if (rc < 0 && truncate_output(attempts->fd, begin) && exclude_cause(p, attempts->notes, &why)) {
        if (ret)
            buf_clear(ret);
        why = (struct err)ERR_INIT;
        rc = confined_run(&work, &limits, ret, &why);
    }
    if (rc < 0 && err)
        *err = why;
    uint32_t left_out = p->left_out;
    if (rc == 0 && left_out > 0) {
        char line[NOTE_SIZE];
        snprintf(line, sizeof line,
                 "%s: %" PRIu32 " files are left out: reading the files before them took %" PRId64
                 " s of processor time",
                 attempts->name, left_out, p->reading_ms / 1000);
        send_note(attempts->notes, line);
    }
    return rc;
}

bool page_progress_leaves_out_next(struct page_progress *progress)
{
    if (!progress || progress->reading_ms == 0 || proc_cpu_ms() <= progress->reading_ms)
        return false;
    progress->left_out++;
    return true;
}

void page_builder_record_progress(struct page_builder *builder, const struct page_file *file)
{
    struct page_progress *p = builder->progress;
    if (!p)
        return;
    p->at = 0;
    if (!file)
        return;
    snprintf(p->file, sizeof p->file, "%s", file->entry.file);
    p->at = (uint32_t)(file - builder->files) + 1;
}

void page_builder_record_end(struct page_builder *builder)
{
    page_builder_record_progress(builder, NULL);
    if (builder->progress)
        builder->progress->at_end = true;
}

static void leave_out_end(struct page_builder *builder)
{
    builder->without_end = true;
    builder->makes_findings = false;
    for (size_t i = 0; i < builder->n; i++)
        builder->files[i].comparison = builder->files[i].process = builder->files[i].fleet = 0;
}

void page_builder_apply_progress(struct page_builder *builder, struct page_progress *progress)
{
    builder->progress = progress;
    if (progress && progress->without_end)
        leave_out_end(builder);
    if (!progress || progress->without == 0 || progress->without > builder->n)
        return;
    struct page_file *f = &builder->files[progress->without - 1];
    f->draw_as = 0;
    f->why = "reading it exceeds the limit of memory or time";
}
