#include "base/draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/banned.h"

enum { MAX_TRIES = 1000 };

struct draft {
    int fd;
    char *path;      /* as it was to be called, for messages */
    char *temporary; /* NULL: it has none, or its own */
};

int draft_new(const char *path, struct draft **ret, struct err *err)
{
    struct draft *d = calloc(1, sizeof *d);
    if (!d || !(d->path = strdup(path))) {
        free(d);
        return err_nomem(err);
    }
    d->fd = file_create_nameless(path, err);
    if (d->fd >= 0 && !file_can_be_named(d->fd)) {
        fd_close(&d->fd);
        d->fd = file_create_temporary(path, &d->temporary, err);
    }
    if (d->fd < 0) {
        draft_free(d);
        return -1;
    }
    *ret = d;
    return 0;
}

int draft_fd(const struct draft *d)
{
    return d->fd;
}

int draft_sync(struct draft *d, struct err *err)
{
    return fsync(d->fd) < 0 ? err_sys(err, "cannot write %s to disk", d->path) : 0;
}

int draft_name(struct draft *d, const char *path, struct err *err)
{
    if (d->temporary ? file_rename_new(d->temporary, path, err) < 0
                     : file_name_nameless(d->fd, path, err) < 0)
        return -1;
    free(d->temporary);
    d->temporary = NULL;
    if (file_sync_parent(path, err) == 0)
        return 0;
    /* Whoever made it takes it for not made, so that it must not be there. */
    unlink(path);
    return -1;
}

int draft_name_free(struct draft *d, const char *path, const char *ending, char **ret_path, struct err *err)
{
    int stem = (int)(strlen(path) - strlen(ending));
    for (int i = 1;; i++) {
        char *name = NULL;
        struct err why = ERR_INIT;
        int n = i == 1 ? asprintf(&name, "%s", path) : asprintf(&name, "%.*s-%d%s", stem, path, i, ending);
        if (n < 0)
            return err_nomem(err);
        if (draft_name(d, name, &why) == 0) {
            *ret_path = name;
            return 0;
        }
        free(name);
        if (why.kind != ERR_EXISTS || i > MAX_TRIES) {
            if (err)
                *err = why;
            return -1;
        }
    }
}

void draft_free(struct draft *d)
{
    if (!d)
        return;
    if (d->temporary)
        unlink(d->temporary);
    fd_close(&d->fd);
    free(d->temporary);
    free(d->path);
    free(d);
}
