#include "bundle/newfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum { MAX_TRIES = 1000 };

int newfile_open(const char *stem, const char *ending, bool numbered, struct newfile *ret, struct err *err)
{
    struct newfile f = {.fd = -1, .numbered = numbered, .stem = strdup(stem), .ending = strdup(ending)};
    if (asprintf(&f.temporary, "%s%s.tmp-%ld", stem, ending, (long)getpid()) < 0)
        f.temporary = NULL;
    if (!f.stem || !f.ending || !f.temporary) {
        newfile_release(&f);
        return err_nomem(err);
    }
    /* One with our number was left behind by a process that died. */
    unlink(f.temporary);
    f.fd = file_create(f.temporary, err);
    if (f.fd < 0) {
        newfile_release(&f);
        return -1;
    }
    *ret = f;
    return 0;
}

/* The first name that is free. */
static int give_name(const struct newfile *f, char **ret, struct err *err)
{
    for (int i = 1;; i++) {
        char *path = NULL;
        struct err why = ERR_INIT;
        int n = i == 1 ? asprintf(&path, "%s%s", f->stem, f->ending)
                       : asprintf(&path, "%s-%d%s", f->stem, i, f->ending);
        if (n < 0)
            return err_nomem(err);
        if (file_rename_new(f->temporary, path, &why) == 0) {
            *ret = path;
            return 0;
        }
        free(path);
        if (why.kind != ERR_EXISTS || !f->numbered || i > MAX_TRIES) {
            if (err)
                *err = why;
            return -1;
        }
    }
}

int newfile_commit(struct newfile *f, char **ret_path, struct err *err)
{
    char *path = NULL;
    if (fsync(f->fd) < 0)
        return err_sys(err, "cannot write %s%s to disk", f->stem, f->ending);
    if (give_name(f, &path, err) < 0)
        return -1;
    free(f->temporary);
    f->temporary = NULL;
    if (file_sync_parent(path, err) < 0) {
        unlink(path);
        free(path);
        return -1;
    }
    *ret_path = path;
    return 0;
}

void newfile_release(struct newfile *f)
{
    if (f->temporary && f->fd >= 0)
        unlink(f->temporary);
    fd_close(&f->fd);
    free(f->stem);
    free(f->ending);
    free(f->temporary);
    *f = (struct newfile)NEWFILE_INIT;
}
