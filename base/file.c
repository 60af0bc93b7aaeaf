#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/banned.h"

int file_open(const char *path, struct err *err)
{
    /* O_NONBLOCK: opening a named pipe must not wait for a writer that never comes. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        enum err_kind kind = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_LOCAL_IO;
        err_sys(err, "cannot open %s", path);
        if (err)
            err->kind = kind;
        return -1;
    }
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        fd_close(&fd);
        return err_set(err, ERR_FAILED, "%s is not a regular file", path);
    }
    return fd;
}

/* What cannot fit is not read to see that. */
static bool is_larger(int fd, size_t max)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_size > 0 && (uintmax_t)st.st_size > max;
}

int file_read(const char *path, struct buf *ret, struct err *err)
{
    int fd = file_open(path, err);
    if (fd < 0)
        return -1;
    ret->failed = ret->failed || is_larger(fd, ret->max);
    int rc = !ret->failed && fd_read_all(fd, ret) < 0 ? err_sys(err, "cannot read %s", path)
                                                      : buf_check(ret, path, err);
    fd_close(&fd);
    return rc;
}

static int sys_or_exists(struct err *err, const char *verb, const char *path)
{
    enum err_kind kind = errno == EEXIST ? ERR_EXISTS : ERR_LOCAL_IO;
    err_sys(err, "cannot %s %s", verb, path);
    if (err)
        err->kind = kind;
    return -1;
}

/* Mode 0600 whatever the umask says. Returns fd, or closes it and returns -1. */
static int make_private(int fd, const char *path, struct err *err)
{
    if (fchmod(fd, 0600) == 0)
        return fd;
    err_sys(err, "cannot set the mode of %s", path);
    fd_close(&fd);
    return -1;
}

int file_create(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? sys_or_exists(err, "create", path) : make_private(fd, path, err);
}

int file_create_temporary(const char *path, char **ret_name, struct err *err)
{
    char *name = NULL;
    if (asprintf(&name, "%s.tmp-XXXXXX", path) < 0)
        return err_nomem(err);
    /* O_EXCL, which mkostemp adds, follows no link. */
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        err_sys(err, "cannot create a file beside %s", path);
    else if ((fd = make_private(fd, name, err)) < 0)
        unlink(name);
    if (fd < 0)
        free(name);
    else
        *ret_name = name;
    return fd;
}

/* Where there is no O_TMPFILE it has a name for a moment. */
int file_create_nameless(const char *path, struct err *err)
{
    char *name = NULL;
#ifdef O_TMPFILE
    char *dir = file_dir(path);
    if (!dir)
        return err_nomem(err);
    int direct = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    free(dir);
    if (direct >= 0)
        return make_private(direct, path, err);
#endif
    int fd = file_create_temporary(path, &name, err);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

static void own_link(int fd, char dst[64])
{
    snprintf(dst, 64, "/proc/self/fd/%d", fd);
}

/* One that had a name has lost it for good. */
bool file_can_be_named(int fd)
{
#ifdef O_TMPFILE
    char link[64];
    int flags = fcntl(fd, F_GETFL);
    own_link(fd, link);
    return flags >= 0 && (flags & O_TMPFILE) == O_TMPFILE && access(link, F_OK) == 0;
#else
    (void)fd;
    return false;
#endif
}

int file_name_nameless(int fd, const char *path, struct err *err)
{
    char link[64];
    if (!file_can_be_named(fd))
        return err_set(err, ERR_UNSUPPORTED, "cannot create %s: a file without a name cannot get one here",
                       path);
    own_link(fd, link);
    return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? sys_or_exists(err, "create", path)
                                                                         : 0;
}

int file_write(const char *path, const void *p, size_t n, struct err *err)
{
    int rc = -1;
    char *temporary = NULL;
    int fd = file_create_temporary(path, &temporary, err);
    if (fd < 0)
        return -1;
    if (fd_write_all(fd, p, n, err) < 0) {
        err_wrap(err, "%s", path);
        goto out;
    }
    if (fsync(fd) < 0) {
        err_sys(err, "cannot write %s to disk", path);
        goto out;
    }
    if (rename(temporary, path) < 0) {
        err_sys(err, "cannot rename %s to %s", temporary, path);
        goto out;
    }
    rc = file_sync_parent(path, err);
out:
    if (rc < 0)
        unlink(temporary);
    fd_close(&fd);
    free(temporary);
    return rc;
}

int file_rename_new(const char *from, const char *to, struct err *err)
{
    /* link(2) refuses an existing name in one step, on every POSIX system. */
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return sys_or_exists(err, "create", to);
    /* A file system without hard links: reserve the name, then replace the reservation. */
    int fd = file_create(to, err);
    if (fd < 0)
        return -1;
    fd_close(&fd);
    if (rename(from, to) == 0)
        return 0;
    err_sys(err, "cannot rename %s to %s", from, to);
    unlink(to);
    return -1;
}

int file_sync_parent(const char *path, struct err *err)
{
    char *dir = file_dir(path);
    if (!dir)
        return err_nomem(err);
    int rc = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        rc = err_sys(err, "cannot write the directory %s to disk", dir);
    fd_close(&fd);
    free(dir);
    return rc;
}

int file_mkdir(const char *path, struct err *err)
{
    if (mkdir(path, 0700) < 0)
        return sys_or_exists(err, "create the directory", path);
    if (chmod(path, 0700) < 0)
        return err_sys(err, "cannot set the mode of %s", path);
    return 0;
}

int file_mkdirs(const char *base, const char *path, struct err *err)
{
    char *full = file_join(base, path);
    if (!full)
        return err_nomem(err);
    int rc = 0;
    for (char *p = full + strlen(base) + 1; rc == 0; p++) {
        p += strcspn(p, "/");
        char end = *p;
        *p = '\0';
        struct err why = ERR_INIT;
        if (file_mkdir(full, &why) < 0 && why.kind != ERR_EXISTS) {
            if (err)
                *err = why;
            rc = -1;
        }
        *p = end;
        if (!end)
            break;
    }
    free(full);
    return rc;
}

int file_remove(const char *path, struct err *err)
{
    char *roots[] = {(char *)(uintptr_t)path, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!fts)
        return err_sys(err, "cannot remove %s", path);
    int rc = 0;
    for (FTSENT *e; (errno = 0, e = fts_read(fts));) {
        if (e->fts_info == FTS_D)
            continue;
        int failed = e->fts_info == FTS_DP ? rmdir(e->fts_accpath) : unlink(e->fts_accpath);
        if (failed && errno != ENOENT && rc == 0)
            rc = err_sys(err, "cannot remove %s", e->fts_path);
    }
    if (errno && rc == 0)
        rc = err_sys(err, "cannot remove %s", path);
    fts_close(fts);
    return rc;
}

bool file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

char *file_join(const char *dir, const char *name)
{
    if (!dir || name[0] == '/')
        return strdup(name);
    char *path = NULL;
    size_t n = strlen(dir);
    return asprintf(&path, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name) < 0 ? NULL : path;
}

const char *file_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *file_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static char *home(void)
{
    const char *set = getenv("HOME");
    if (set && *set)
        return strdup(set);
    char text[4096];
    struct passwd pw, *found = NULL;
    if (getpwuid_r(getuid(), &pw, text, sizeof text, &found) != 0 || !found)
        return NULL;
    return strdup(pw.pw_dir);
}

char *file_expand_home(const char *path)
{
    if (path[0] != '~' || (path[1] && path[1] != '/'))
        return strdup(path);
    char *dir = home();
    if (!dir || !path[1])
        return dir;
    char *full = file_join(dir, path + 1 + strspn(path + 1, "/"));
    free(dir);
    return full;
}
