#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fd.h"
#include "base/banned.h"

int file_open(const char *path, struct err *err)
{
    struct stat st;
    /* Opening and closing a FIFO would end its writer with SIGPIPE. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_FAILED, "%s is not a regular file", path);
    /* O_NONBLOCK: if a FIFO has replaced the file, do not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        enum err_kind kind = errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_LOCAL_IO;
        err_sys(err, "cannot open %s", path);
        if (err)
            err->kind = kind;
        return -1;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        fd_close(&fd);
        return err_set(err, ERR_FAILED, "%s is not a regular file", path);
    }
    return fd;
}

uint64_t file_bytes_on_disk(const char *path)
{
    int fd = file_open(path, NULL);
    uint64_t bytes = fd < 0 ? 0 : fd_bytes_on_disk(fd);
    fd_close(&fd);
    return bytes;
}

static bool exceeds_limit(int fd, size_t max)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_size > 0 && (uintmax_t)st.st_size > max;
}

int file_read(const char *path, struct buf *ret, struct err *err)
{
    int fd = file_open(path, err);
    if (fd < 0)
        return -1;
    ret->failed = ret->failed || exceeds_limit(fd, ret->max);
    int rc = !ret->failed && fd_read_all(fd, ret) < 0 ? err_sys(err, "cannot read %s", path)
                                                      : buf_check(ret, path, err);
    fd_close(&fd);
    return rc;
}

static int set_create_error(struct err *err, const char *verb, const char *path)
{
    enum err_kind kind = errno == EEXIST ? ERR_EXISTS : ERR_LOCAL_IO;
    err_sys(err, "cannot %s %s", verb, path);
    if (err)
        err->kind = kind;
    return -1;
}

/* Sets mode 0600 whatever the umask is. Returns fd, or closes it and returns -1. */
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
    return fd < 0 ? set_create_error(err, "create", path) : make_private(fd, path, err);
}

/* Opens the directory of a path. The caller frees *ret_dir and closes ret->fd. */
static int open_parent(const char *path, struct dir *ret, char **ret_dir, struct err *err)
{
    char *dir = file_dir(path);
    int fd = dir ? dir_open_user_path(dir, err) : err_nomem(err);
    if (fd < 0) {
        free(dir);
        return -1;
    }
    *ret = (struct dir){.fd = fd, .name = file_base(path) == path ? NULL : dir};
    *ret_dir = dir;
    return 0;
}

int file_create_nameless(const char *path, struct err *err)
{
    struct dir parent;
    char *dir = NULL;
    if (open_parent(path, &parent, &dir, err) < 0)
        return -1;
    int fd = dir_create_nameless(&parent, err);
    fd_close(&parent.fd);
    free(dir);
    return fd;
}

int file_create_temporary(const char *prefix, const char *ending, const char *preferred, char **ret_path,
                          struct err *err)
{
    const char *directories[] = {getenv("XDG_RUNTIME_DIR"), preferred, getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        char *path = NULL;
        if (!directories[i] || directories[i][0] != '/')
            continue;
        if (asprintf(&path, "%s/%s-XXXXXX%s", directories[i], prefix, ending) < 0)
            return err_nomem(err);
        int fd = mkostemps(path, (int)strlen(ending), O_CLOEXEC);
        if (fd >= 0) {
            *ret_path = path;
            return fd;
        }
        free(path);
    }
    return err_sys(err, "cannot make a file under XDG_RUNTIME_DIR, TMPDIR or /tmp");
}

int file_create_in_memory(struct err *err)
{
#ifdef __linux__
    int fd = memfd_create("profgrab", MFD_CLOEXEC);
    if (fd >= 0 || errno != ENOSYS)
        return fd < 0 ? err_sys(err, "cannot make a file in memory") : fd;
#endif
    return err_set(err, ERR_UNSUPPORTED, "this system has no files in memory");
}

int file_create_scratch(struct err *err)
{
    struct err why = ERR_INIT;
    int fd = file_create_in_memory(&why);
    if (fd < 0 && why.kind == ERR_UNSUPPORTED) {
        const char *dir = getenv("TMPDIR");
        char *path = file_join(dir && *dir ? dir : "/tmp", "profgrab");
        fd = path ? file_create_nameless(path, &why) : err_nomem(&why);
        free(path);
    }
    if (fd < 0 && err)
        *err = why;
    return fd;
}

int file_write(const char *path, const void *p, size_t n, struct err *err)
{
    struct dir parent;
    char *dir = NULL;
    if (open_parent(path, &parent, &dir, err) < 0)
        return -1;
    int rc = dir_write(&parent, file_base(path), p, n, err);
    fd_close(&parent.fd);
    free(dir);
    return rc;
}

int file_mkdir(const char *path, struct err *err)
{
    struct dir parent;
    char *dir = NULL;
    if (open_parent(path, &parent, &dir, err) < 0)
        return -1;
    int rc = dir_mkdir(&parent, file_base(path), err);
    fd_close(&parent.fd);
    free(dir);
    return rc;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Creates a directory if it is missing, and adds it to the list. */
static int make_missing(const char *path, struct strlist *created, struct err *err)
{
    struct err why = ERR_INIT;
    if (is_directory(path))
        return 0;
    if (file_mkdir(path, &why) == 0) {
        if (!created || strlist_add(created, path, err) == 0)
            return 0;
        rmdir(path);
        return -1;
    }
    if (is_directory(path))
        return 0;
    if (err)
        *err = why;
    return -1;
}

int file_mkdirs(const char *path, struct strlist *created, struct err *err)
{
    char *part = strdup(path);
    int rc = part ? 0 : err_nomem(err);
    for (char *p = part; rc == 0; p++) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        char separator = *p;
        *p = '\0';
        rc = make_missing(part, created, err);
        *p = separator;
        if (!separator)
            break;
    }
    free(part);
    return rc;
}

void file_remove_created(const struct strlist *created)
{
    for (size_t i = created->n; i-- > 0;)
        if (rmdir(created->items[i]) < 0)
            return;
}

int file_remove(const char *path, struct err *err)
{
    struct dir parent;
    char *dir = NULL;
    if (!file_exists(path) && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (open_parent(path, &parent, &dir, err) < 0)
        return -1;
    int rc = dir_remove(&parent, file_base(path), err);
    fd_close(&parent.fd);
    free(dir);
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

static char *find_home(void)
{
    const char *variable = getenv("HOME");
    if (variable && *variable)
        return strdup(variable);
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
    char *dir = find_home();
    if (!dir || !path[1])
        return dir;
    char *full = file_join(dir, path + 1 + strspn(path + 1, "/"));
    free(dir);
    return full;
}
