#include "base/atomic_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/data/hash_index.h"
#include "base/banned.h"

enum { MAX_TRIES = 1000 };

struct atomic_file {
    struct dir directory;
    char *directory_name; /* directory.name, for free(3) */
    int fd;
    char *path;      /* the path that the caller gave */
    char *temporary; /* the file's temporary name in the directory; NULL: it has no name or its final one */
};

/* Creates the file in file->directory. */
static int create_file(struct atomic_file *file, struct err *err)
{
    file->fd = dir_create_nameless(&file->directory, err);
    if (file->fd < 0 || dir_can_name_file(file->fd))
        return file->fd < 0 ? -1 : 0;
    fd_close(&file->fd);
    file->fd = dir_create_temporary(&file->directory, file_base(file->path), &file->temporary, err);
    return file->fd < 0 ? -1 : 0;
}

/* Takes ownership of directory_fd, and of directory_name, which messages show (NULL: none). */
static int create_atomic_file(int directory_fd, char *directory_name, const char *path,
                              struct atomic_file **ret, struct err *err)
{
    struct atomic_file *file = calloc(1, sizeof *file);
    if (!file) {
        fd_close(&directory_fd);
        free(directory_name);
        return err_nomem(err);
    }
    file->fd = -1;
    file->directory = (struct dir){.fd = directory_fd, .name = directory_name};
    file->directory_name = directory_name;
    file->path = strdup(path);
    int rc = file->path ? create_file(file, err) : err_nomem(err);
    if (rc < 0)
        atomic_file_free(file);
    else
        *ret = file;
    return rc;
}

int atomic_file_new(const char *path, struct atomic_file **ret, struct err *err)
{
    char *dir = file_dir(path);
    int fd = dir ? dir_open_user_path(dir, err) : err_nomem(err);
    if (fd < 0) {
        free(dir);
        return -1;
    }
    if (file_base(path) == path) {
        free(dir);
        dir = NULL;
    }
    return create_atomic_file(fd, dir, path, ret, err);
}

int atomic_file_new_in(const struct dir *directory, const char *path, struct atomic_file **ret,
                       struct err *err)
{
    char *name = directory->name ? strdup(directory->name) : NULL;
    if (directory->name && !name)
        return err_nomem(err);
    int fd = fcntl(directory->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        free(name);
        return err_sys(err, "cannot use the directory of %s", path);
    }
    return create_atomic_file(fd, name, path, ret, err);
}

int atomic_file_fd(const struct atomic_file *file)
{
    return file->fd;
}

int atomic_file_sync(struct atomic_file *file, struct err *err)
{
    return fsync(file->fd) < 0 ? err_sys(err, "cannot write %s to disk", file->path) : 0;
}

int atomic_file_give_name(struct atomic_file *file, const char *path, struct err *err)
{
    const char *name = file_base(path);
    if (file->temporary ? dir_rename_new(&file->directory, file->temporary, name, err) < 0
                        : dir_give_name(&file->directory, file->fd, name, err) < 0)
        return -1;
    free(file->temporary);
    file->temporary = NULL;
    if (dir_sync_parent(&file->directory, name, err) == 0)
        return 0;
    /* The caller sees a failure, so the file must not exist. */
    dir_remove(&file->directory, name, NULL);
    return -1;
}

int atomic_file_give_unused_name(struct atomic_file *file, const char *path, const char *ending,
                                 char **ret_path, struct err *err)
{
    int stem_length = (int)(strlen(path) - strlen(ending));
    for (int i = 1;; i++) {
        char *name = NULL;
        struct err why = ERR_INIT;
        int n =
            i == 1 ? asprintf(&name, "%s", path) : asprintf(&name, "%.*s-%d%s", stem_length, path, i, ending);
        if (n < 0)
            return err_nomem(err);
        if (atomic_file_give_name(file, name, &why) == 0) {
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

/* Replacing needs rename(2), so a nameless file first gets a temporary name. */
static int name_temporarily(struct atomic_file *file, const char *name, struct err *err)
{
    for (int i = 0;; i++) {
        char *temporary = NULL;
        struct err why = ERR_INIT;
        if (asprintf(&temporary, "%s.tmp-%016" PRIx64, name, hash_index_random()) < 0)
            return err_nomem(err);
        if (dir_give_name(&file->directory, file->fd, temporary, &why) == 0) {
            file->temporary = temporary;
            return 0;
        }
        free(temporary);
        if (why.kind != ERR_EXISTS || i > MAX_TRIES) {
            if (err)
                *err = why;
            return -1;
        }
    }
}

int atomic_file_replace(struct atomic_file *file, const char *path, struct err *err)
{
    const char *name = file_base(path);
    if ((!file->temporary && name_temporarily(file, name, err) < 0) ||
        dir_rename(&file->directory, file->temporary, name, err) < 0)
        return -1;
    free(file->temporary);
    file->temporary = NULL;
    return dir_sync_parent(&file->directory, name, err);
}

void atomic_file_free(struct atomic_file *file)
{
    if (!file)
        return;
    if (file->temporary)
        dir_remove(&file->directory, file->temporary, NULL);
    fd_close(&file->fd);
    fd_close(&file->directory.fd);
    free(file->directory_name);
    free(file->temporary);
    free(file->path);
    free(file);
}
