/* Which file a copy of this process was reading when a limit ended it. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/drawing_inside.h"
#include "cli/talk.h"

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

/* Only a regular file can be written anew. */
static bool is_emptied(int fd)
{
    return fd < 0 || (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
}

bool drawing_leave_out(struct drawing_progress *p, int fd, const struct err *why)
{
    char file[sizeof p->file];
    uint32_t at = p->at;
    if (why->kind != ERR_LIMIT || at == 0 || p->without != 0 || !is_emptied(fd))
        return false;
    p->without = at;
    p->at = 0;
    text_printable(file, sizeof file, p->file, strnlen(p->file, sizeof p->file));
    talk("%s; going on without %s", why->msg, file);
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
