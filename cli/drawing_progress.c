/* Which file a copy of this process was reading when a limit ended it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/input/confined.h"
#include "cli/drawing_inside.h"
#include "cli/term/talk.h"

#include "base/banned.h"

int drawing_progress_new(struct drawing_progress **ret, struct err *err)
{
    void *p =
        mmap(NULL, sizeof **ret, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* all zeros */
    if (p == MAP_FAILED)
        return err_nomem(err);
    *ret = p;
    return 0;
}

void drawing_progress_free(struct drawing_progress *p)
{
    if (p)
        munmap(p, sizeof *p);
}

/* Only a regular file can be written again. */
static bool is_cut(int fd, off_t begin)
{
    return fd < 0 || (begin >= 0 && ftruncate(fd, begin) == 0 && lseek(fd, begin, SEEK_SET) == begin);
}

/* Whether a copy that failed for `why` is run once more, without the file that it was reading. */
static bool leaves_out(struct drawing_progress *p, const struct err *why)
{
    char file[sizeof p->file];
    uint32_t at = p->at;
    if (why->kind != ERR_LIMIT || at == 0)
        return false;
    p->without = at;
    p->at = p->left_out = 0;
    text_printable(file, sizeof file, p->file, strnlen(p->file, sizeof p->file));
    talk("%s; going on without %s", why->msg, file);
    return true;
}

int drawing_attempt(const struct drawing_attempts *a, proc_confined_fn *body, void *ctx, struct buf *ret,
                    struct err *err)
{
    struct drawing_progress *p = a->progress;
    struct proc_confines limits = a->limits;
    struct err why = ERR_INIT;
    off_t begin = a->fd < 0 ? 0 : lseek(a->fd, 0, SEEK_CUR);
    limits.cpu_ms /= 2;
    /* The other half is for what is drawn of the files together. */
    p->share_ms = limits.cpu_ms / 2;
    int rc = confined_run(a->name, &limits, body, ctx, ret, &why);
    if (rc < 0 && is_cut(a->fd, begin) && leaves_out(p, &why)) {
        if (ret)
            buf_clear(ret);
        why = (struct err)ERR_INIT;
        rc = confined_run(a->name, &limits, body, ctx, ret, &why);
    }
    if (rc < 0 && err)
        *err = why;
    uint32_t left_out = p->left_out;
    if (rc == 0 && left_out > 0)
        talk("%s: %" PRIu32 " files are left out: reading the files before them took %" PRId64
             " s of processor time",
             a->name, left_out, p->share_ms / 1000);
    return rc;
}

bool drawing_progress_is_over(struct drawing_progress *p)
{
    if (!p || p->share_ms == 0 || proc_cpu_ms() <= p->share_ms)
        return false;
    p->left_out++;
    return true;
}

void drawing_progress_at(struct drawing *d, const struct drawing_file *f)
{
    struct drawing_progress *p = d->progress;
    if (!p)
        return;
    p->at = 0;
    if (!f)
        return;
    snprintf(p->file, sizeof p->file, "%s", f->entry.file);
    p->at = (uint32_t)(f - d->files) + 1;
}

void drawing_progress_apply(struct drawing *d, struct drawing_progress *p)
{
    d->progress = p;
    if (!p || p->without == 0 || p->without > d->n)
        return;
    struct drawing_file *f = &d->files[p->without - 1];
    f->how = 0;
    f->why = "reading it takes more memory or time than a file of its size may";
}
