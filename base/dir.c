/*
 * An operation opens the directory that contains the last component (open_location), then calls the system's
 * *at function on that component without following links.
 */
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#define HAVE_OPENAT2 1
#endif
#endif

#include "base/fd.h"
#include "base/data/text.h"
#include "base/banned.h"

/* O_PATH: looking up a name in a directory needs no permission to list the directory. */
#ifdef O_PATH
#define LOOKUP_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#else
#define LOOKUP_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#endif
#define LIST_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum { MAX_PATH = 4096, MAX_REMOVE_DEPTH = 100, TEMPORARY_TRIES = 100 };

/* ---- resolving ---- */

static bool is_component(const char *p, size_t n)
{
    return n > 0 && !(p[0] == '.' && (n == 1 || (n == 2 && p[1] == '.')));
}

static bool is_well_formed(const char *path)
{
    if (strlen(path) > MAX_PATH)
        return false;
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, "/");
        if (!is_component(p, n))
            return false;
        p += n;
        if (!*p)
            return true;
    }
}

/* Opens the path below fd with openat2. Returns -1 with errno, ENOSYS on systems without openat2. */
static int open_with_openat2(int fd, const char *path, int flags)
{
#ifdef HAVE_OPENAT2
    struct open_how how = {.flags = (uint64_t)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, fd, path, &how, sizeof how);
#else
    (void)fd;
    (void)path;
    (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

/* Sets mode 0700 whatever the umask is. If the umask removed the owner's rights, sets the mode by name,
 * because the directory cannot be opened. Returns -1 with errno. */
static int make_directory_private(int dir_fd, const char *name)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if ((st.st_mode & 07777) == 0700)
        return 0;
    int fd = openat(dir_fd, name, LIST_FLAGS);
    int rc = fd >= 0 ? fchmod(fd, 0700) : fchmodat(dir_fd, name, 0700, AT_SYMLINK_NOFOLLOW);
    fd_close(&fd);
    return rc;
}

/* Creates a directory if it does not exist. Returns -1 with errno. */
static int ensure_directory(int dir_fd, const char *name)
{
    if (mkdirat(dir_fd, name, 0700) == 0)
        return make_directory_private(dir_fd, name);
    return errno == EEXIST ? 0 : -1;
}

/* Opens one component after the other. If `create` is true, creates the missing ones. Returns -1 with errno.
 */
static int open_by_components(int fd, const char *path, int flags, bool create)
{
    char name[NAME_MAX + 1];
    int parent = -1;
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, "/");
        if (n >= sizeof name) {
            fd_close(&parent);
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        int above = parent < 0 ? fd : parent;
        int next = create && ensure_directory(above, name) < 0
                       ? -1
                       : openat(above, name, p[n] ? LOOKUP_FLAGS : flags);
        fd_close(&parent);
        if (next < 0 || !p[n])
            return next;
        parent = next;
        p += n;
    }
}

/* Opens a directory below `dir`. Returns -1 with errno. */
static int open_directory(const struct dir *dir, const char *path, int flags)
{
    int fd = -1;
    if (dir->fd < 0) {
        errno = EBADF;
        return -1;
    }
    if (!*path)
        return openat(dir->fd, ".", flags);
    errno = ENOSYS;
    if (!dir->without_openat2)
        fd = open_with_openat2(dir->fd, path, flags);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return open_by_components(dir->fd, path, flags, false);
}

/* The last component of a path and its directory. */
struct location {
    int dir_fd;
    const char *name;
    int owned_fd; /* dir_fd if close_location must close it, else -1 */
};

/* Finds the last component of a path and opens its directory. Returns -1 with errno. */
static int open_location(const struct dir *dir, const char *path, struct location *ret)
{
    char above[MAX_PATH + 1];
    if (dir->fd < 0 || !is_well_formed(path)) {
        errno = dir->fd < 0 ? EBADF : EXDEV;
        return -1;
    }
    const char *slash = strrchr(path, '/');
    *ret = (struct location){.dir_fd = dir->fd, .name = path, .owned_fd = -1};
    if (!slash)
        return 0;
    snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
    ret->owned_fd = open_directory(dir, above, LOOKUP_FLAGS);
    ret->dir_fd = ret->owned_fd;
    ret->name = slash + 1;
    return ret->owned_fd < 0 ? -1 : 0;
}

static void close_location(struct location *location)
{
    fd_close(&location->owned_fd);
}

/* ---- errors ---- */

/* Formats a path for a message, with the directory in front. */
static const char *format_path(const struct dir *dir, const char *path, char *dst, size_t cap)
{
    char below[300];
    text_printable(below, sizeof below, path, strlen(path));
    if (dir->name && *path)
        snprintf(dst, cap, "%s%s%s", dir->name, text_ends_in(dir->name, "/") ? "" : "/", below);
    else
        snprintf(dst, cap, "%s", *path ? below : dir->name ? dir->name : ".");
    return dst;
}

/* Finds the first component that is a symbolic link. Returns the length of the path up to the end of that
 * component, or 0 if there is no such link or it cannot be read. */
static size_t find_link(const struct dir *dir, const char *path)
{
    char part[MAX_PATH + 1];
    struct stat st;
    for (const char *p = path;; p++) {
        struct location location;
        p += strcspn(p, "/");
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        if (open_location(dir, part, &location) < 0)
            return 0;
        bool exists = fstatat(location.dir_fd, location.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        close_location(&location);
        if (exists && S_ISLNK(st.st_mode))
            return (size_t)(p - path);
        if (!exists || !*p)
            return 0;
    }
}

/* Sets the error from errno. `verb` names the operation on the path. */
static int set_path_error(struct err *err, const struct dir *dir, const char *verb, const char *path)
{
    char shown[400], link[400];
    int why = errno;
    format_path(dir, path, shown, sizeof shown);
    if (!is_well_formed(path) && (*path || why == EXDEV))
        return err_set(err, ERR_FAILED, "cannot %s %s: it is not a path below the directory", verb, shown);
    size_t n = why == ELOOP || why == ENOTDIR || why == EXDEV ? find_link(dir, path) : 0;
    if (n > 0) {
        char *part = strndup(path, n);
        err_set(err, ERR_FAILED,
                "cannot %s %s: %s is a symbolic link, and profgrab follows no links in this directory", verb,
                shown, part ? format_path(dir, part, link, sizeof link) : "a part of it");
        free(part);
        return -1;
    }
    errno = why;
    err_sys(err, "cannot %s %s", verb, shown);
    if (err && why == EEXIST)
        err->kind = ERR_EXISTS;
    return -1;
}

/* Works like set_path_error, with ERR_NOT_FOUND for a missing path. */
static int set_lookup_error(struct err *err, const struct dir *dir, const char *verb, const char *path)
{
    int why = errno;
    set_path_error(err, dir, verb, path);
    if (err && err->kind == ERR_LOCAL_IO && (why == ENOENT || why == ENOTDIR))
        err->kind = ERR_NOT_FOUND;
    return -1;
}

/* ---- opening ---- */

int dir_open_user_path(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#ifdef O_PATH
    /* A directory without read permission may still allow the user to create files. */
    if (fd < 0 && errno == EACCES)
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
#endif
    if (fd >= 0)
        return fd;
    if (errno == ENOTDIR)
        return err_set(err, ERR_LOCAL_IO, "cannot use the directory %s: it is not a directory", path);
    return err_sys(err, "cannot use the directory %s", path);
}

int dir_open_subdir(const struct dir *dir, const char *path, struct err *err)
{
    int fd = -1;
    errno = EXDEV;
    if (!*path || is_well_formed(path))
        fd = open_directory(dir, path, LIST_FLAGS);
    return fd < 0 ? set_lookup_error(err, dir, "open the directory", path) : fd;
}

int dir_open(const struct dir *dir, const char *path, struct err *err)
{
    struct location location;
    struct stat st;
    char shown[400];
    int fd = -1;
    if (open_location(dir, path, &location) == 0) {
        /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
        fd =
            openat(location.dir_fd, location.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
        close_location(&location);
    }
    /* open sets ENXIO for a socket and for a device without a driver. */
    if (fd < 0 && errno != ENXIO)
        return set_lookup_error(err, dir, "open", path);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    fd_close(&fd);
    return err_set(err, ERR_FAILED, "%s is not a regular file", format_path(dir, path, shown, sizeof shown));
}

int dir_read(const struct dir *dir, const char *path, struct buf *ret, struct err *err)
{
    char shown[400];
    struct stat st;
    int fd = dir_open(dir, path, err);
    if (fd < 0)
        return -1;
    format_path(dir, path, shown, sizeof shown);
    /* Do not read a file that is larger than the limit. */
    ret->failed |= fstat(fd, &st) == 0 && (uintmax_t)st.st_size > ret->max;
    int rc = !ret->failed && fd_read_all(fd, ret) < 0 ? err_sys(err, "cannot read %s", shown)
                                                      : buf_check(ret, shown, err);
    fd_close(&fd);
    return rc;
}

/* ---- creating ---- */

/* Sets mode 0600 whatever the umask is. Returns fd, or closes it and returns -1 with errno. */
static int make_private(int fd)
{
    if (fd >= 0 && fchmod(fd, 0600) < 0)
        fd_close(&fd);
    return fd;
}

/* Creates a file. Returns -1 with errno. */
static int create_at(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && (fd = make_private(fd)) < 0)
        unlinkat(dir_fd, name, 0);
    return fd;
}

int dir_create(const struct dir *dir, const char *path, struct err *err)
{
    struct location location;
    int fd = -1;
    if (open_location(dir, path, &location) == 0) {
        fd = create_at(location.dir_fd, location.name);
        close_location(&location);
    }
    return fd < 0 ? set_path_error(err, dir, "create", path) : fd;
}

/* Returns a new string, `NAME.tmp-` and unguessable letters, or NULL with errno. */
static char *temporary_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[12];
    char text[sizeof random + 1] = "", *ret = NULL;
    if (getentropy(random, sizeof random) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof random; i++)
        text[i] = letters[random[i] % (sizeof letters - 1)];
    return asprintf(&ret, "%s.tmp-%s", name, text) < 0 ? NULL : ret;
}

int dir_create_temporary(const struct dir *dir, const char *path, char **ret_path, struct err *err)
{
    if (!is_well_formed(path)) {
        errno = EXDEV;
        return set_path_error(err, dir, "create", path);
    }
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        struct err why = ERR_INIT;
        char *name = temporary_name(path);
        int fd = name ? dir_create(dir, name, &why) : err_nomem(&why);
        if (fd >= 0) {
            *ret_path = name;
            return fd;
        }
        free(name);
        if (why.kind != ERR_EXISTS) {
            if (err)
                *err = why;
            return -1;
        }
    }
    errno = EEXIST;
    return set_path_error(err, dir, "create a file beside", path);
}

/* Without O_TMPFILE, creates a temporary name and removes it at once. */
int dir_create_nameless(const struct dir *dir, struct err *err)
{
    char *name = NULL;
#ifdef O_TMPFILE
    int direct = dir->fd < 0 ? -1 : make_private(openat(dir->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (direct >= 0)
        return direct;
#endif
    int fd = dir_create_temporary(dir, "profgrab", &name, err);
    if (fd >= 0)
        unlinkat(dir->fd, name, 0);
    free(name);
    return fd;
}

static void format_fd_path(int fd, char dst[64])
{
    snprintf(dst, 64, "/proc/self/fd/%d", fd);
}

/* Accepts only files of O_TMPFILE, because Linux cannot give a new name to a file whose last name was
 * removed. */
bool dir_can_name_file(int fd)
{
#ifdef O_TMPFILE
    char link[64];
    int flags = fcntl(fd, F_GETFL);
    format_fd_path(fd, link);
    return flags >= 0 && (flags & O_TMPFILE) == O_TMPFILE && access(link, F_OK) == 0;
#else
    (void)fd;
    return false;
#endif
}

int dir_give_name(const struct dir *dir, int fd, const char *path, struct err *err)
{
    char link[64], shown[400];
    struct location location;
    if (!dir_can_name_file(fd))
        return err_set(err, ERR_UNSUPPORTED, "cannot create %s: a file without a name cannot get one here",
                       format_path(dir, path, shown, sizeof shown));
    format_fd_path(fd, link);
    int rc = open_location(dir, path, &location);
    if (rc == 0) {
        rc = linkat(AT_FDCWD, link, location.dir_fd, location.name, AT_SYMLINK_FOLLOW);
        close_location(&location);
    }
    return rc < 0 ? set_path_error(err, dir, "create", path) : 0;
}

int dir_mkdir(const struct dir *dir, const char *path, struct err *err)
{
    struct location location;
    if (open_location(dir, path, &location) < 0)
        return set_path_error(err, dir, "create the directory", path);
    int rc = mkdirat(location.dir_fd, location.name, 0700);
    if (rc < 0)
        rc = set_path_error(err, dir, "create the directory", path);
    else if (make_directory_private(location.dir_fd, location.name) < 0)
        rc = set_path_error(err, dir, "set the mode of", path);
    close_location(&location);
    return rc;
}

/* Opens the longest part of a path that exists; that may be `dir` itself. *ret_rest is the part of the path
 * below it, "" if the whole path exists. Returns -1 with errno. */
static int open_existing_part(const struct dir *dir, const char *path, const char **ret_rest)
{
    char part[MAX_PATH + 1];
    size_t n = strlen(path);
    for (;;) {
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        int fd = open_directory(dir, part, LOOKUP_FLAGS);
        *ret_rest = path + n + (path[n] == '/');
        if (fd >= 0 || errno != ENOENT || n == 0)
            return fd;
        while (n > 0 && path[--n] != '/')
            ;
    }
}

/* Looks for the existing part from the end of the path, because the caller may create many deep directories
 * that differ only at their ends. */
int dir_mkdirs(const struct dir *dir, const char *path, struct err *err)
{
    const char *rest = "";
    int fd = -1;
    errno = EXDEV;
    if (is_well_formed(path))
        fd = open_existing_part(dir, path, &rest);
    if (fd >= 0 && *rest) {
        int part_fd = fd;
        fd = open_by_components(part_fd, rest, LOOKUP_FLAGS, true);
        fd_close(&part_fd);
    }
    if (fd < 0)
        return set_path_error(err, dir, "create the directory", path);
    fd_close(&fd);
    return 0;
}

/* ---- replacing and renaming ---- */

/* Calls fsync on a directory. Succeeds without fsync if the directory cannot be opened for reading, or if its
 * file system does not support fsync. */
static int sync_directory(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 ? fsync(fd) : 0;
    fd_close(&fd);
    return rc < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? -1 : 0;
}

int dir_sync_parent(const struct dir *dir, const char *path, struct err *err)
{
    struct location location;
    int rc = open_location(dir, path, &location);
    if (rc == 0) {
        rc = sync_directory(location.dir_fd);
        close_location(&location);
    }
    return rc < 0 ? set_path_error(err, dir, "write to disk the directory of", path) : 0;
}

int dir_write(const struct dir *dir, const char *path, const void *p, size_t n, struct err *err)
{
    int rc = -1;
    char *temporary = NULL, shown[400];
    int fd = dir_create_temporary(dir, path, &temporary, err);
    if (fd < 0)
        return -1;
    format_path(dir, path, shown, sizeof shown);
    if (fd_write_all(fd, p, n, err) < 0)
        err_wrap(err, "%s", shown);
    else if (fsync(fd) < 0)
        err_sys(err, "cannot write %s to disk", shown);
    else if (dir_rename(dir, temporary, path, err) == 0)
        rc = dir_sync_parent(dir, path, err);
    if (rc < 0)
        dir_remove(dir, temporary, NULL);
    fd_close(&fd);
    free(temporary);
    return rc;
}

/* Opens the directories of both paths. */
static int open_two_locations(const struct dir *dir, const char *from, const char *to, struct location ret[2],
                              struct err *err)
{
    if (open_location(dir, from, &ret[0]) < 0)
        return set_path_error(err, dir, "rename", from);
    if (open_location(dir, to, &ret[1]) == 0)
        return 0;
    set_path_error(err, dir, "create", to);
    close_location(&ret[0]);
    return -1;
}

int dir_rename(const struct dir *dir, const char *from, const char *to, struct err *err)
{
    struct location locations[2];
    char shown[400];
    if (open_two_locations(dir, from, to, locations, err) < 0)
        return -1;
    int rc = renameat(locations[0].dir_fd, locations[0].name, locations[1].dir_fd, locations[1].name);
    if (rc < 0 && errno != ENOENT)
        rc = err_sys(err, "cannot rename to %s", format_path(dir, to, shown, sizeof shown));
    else if (rc < 0)
        rc = set_path_error(err, dir, "rename", from);
    close_location(&locations[0]);
    close_location(&locations[1]);
    return rc;
}

/* For a file system without hard links: reserves the name with an empty file, then replaces that file.
 * Returns -1 with errno. */
static int reserve_and_rename(const struct location *from, const struct location *to)
{
    int fd = create_at(to->dir_fd, to->name);
    if (fd < 0)
        return -1;
    fd_close(&fd);
    if (renameat(from->dir_fd, from->name, to->dir_fd, to->name) == 0)
        return 0;
    int why = errno;
    unlinkat(to->dir_fd, to->name, 0);
    errno = why;
    return -1;
}

int dir_rename_new(const struct dir *dir, const char *from, const char *to, struct err *err)
{
    struct location locations[2];
    if (open_two_locations(dir, from, to, locations, err) < 0)
        return -1;
    /* linkat(2) fails atomically if the name exists. Without AT_SYMLINK_FOLLOW it follows no link. */
    int rc = linkat(locations[0].dir_fd, locations[0].name, locations[1].dir_fd, locations[1].name, 0);
    if (rc == 0)
        unlinkat(locations[0].dir_fd, locations[0].name, 0);
    else if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK)
        rc = reserve_and_rename(&locations[0], &locations[1]);
    if (rc < 0)
        rc = set_path_error(err, dir, "create", to);
    close_location(&locations[0]);
    close_location(&locations[1]);
    return rc;
}

/* ---- reading metadata ---- */

int dir_stat(const struct dir *dir, const char *path, struct stat *ret, struct err *err)
{
    struct location location = {.owned_fd = -1};
    struct stat st;
    int rc = *path ? open_location(dir, path, &location) : fstat(dir->fd, &st);
    if (rc == 0 && *path) {
        rc = fstatat(location.dir_fd, location.name, &st, AT_SYMLINK_NOFOLLOW);
        close_location(&location);
    }
    if (rc < 0)
        return set_lookup_error(err, dir, "look at", path);
    *ret = st;
    return 0;
}

bool dir_exists(const struct dir *dir, const char *path)
{
    struct stat st;
    return dir_stat(dir, path, &st, NULL) == 0;
}

uint64_t dir_bytes_on_disk(const struct dir *dir, const char *path)
{
    int fd = dir_open(dir, path, NULL);
    uint64_t bytes = fd < 0 ? 0 : fd_bytes_on_disk(fd);
    fd_close(&fd);
    return bytes;
}

/* ---- trees ---- */

static bool is_dot_or_dot_dot(const char *name)
{
    return !is_component(name, strlen(name));
}

/* Opens a directory stream; closes fd on failure. Returns NULL with errno. */
static DIR *open_stream(int fd)
{
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        fd_close(&fd);
    return stream;
}

static int remove_at(int dir_fd, const char *name, unsigned depth);

/* Removes the entries of a directory that readdir finds. Returns whether it found one. *ret_errno is the
 * first error, 0 if there is none. */
static bool remove_entries(DIR *stream, unsigned depth, int *ret_errno)
{
    bool found = false;
    int why = 0;
    for (struct dirent *e; (errno = 0, e = readdir(stream));) {
        if (is_dot_or_dot_dot(e->d_name))
            continue;
        found = true;
        if (remove_at(dirfd(stream), e->d_name, depth + 1) < 0 && !why)
            why = errno;
    }
    *ret_errno = why ? why : errno;
    return found;
}

/* Removes an open directory with its entries. readdir may skip entries while others are removed, so this
 * repeats until the directory is empty. Returns -1 with the first errno. */
static int remove_directory(int dir_fd, const char *name, DIR *stream, unsigned depth)
{
    for (;;) {
        int why = 0;
        bool found = remove_entries(stream, depth, &why);
        if (why) {
            errno = why;
            return -1;
        }
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (!found || (errno != ENOTEMPTY && errno != EEXIST))
            return -1;
        rewinddir(stream);
    }
}

static int remove_at(int dir_fd, const char *name, unsigned depth)
{
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    /* For a directory Linux sets EISDIR and POSIX EPERM. */
    if (errno != EISDIR && errno != EPERM)
        return -1;
    int why = errno;
    if (depth > MAX_REMOVE_DEPTH) {
        errno = ENAMETOOLONG;
        return -1;
    }
    DIR *stream = open_stream(openat(dir_fd, name, LIST_FLAGS));
    if (!stream) {
        errno = errno == ENOTDIR ? why : errno;
        return -1;
    }
    int rc = remove_directory(dir_fd, name, stream, depth);
    why = errno;
    closedir(stream);
    errno = why;
    return rc;
}

int dir_remove(const struct dir *dir, const char *path, struct err *err)
{
    struct location location;
    int rc = open_location(dir, path, &location);
    if (rc == 0) {
        rc = remove_at(location.dir_fd, location.name, 0);
        close_location(&location);
    } else if (errno == ENOENT) {
        return 0;
    }
    return rc < 0 ? set_path_error(err, dir, "remove", path) : 0;
}

struct walker {
    const struct dir *dir;
    const struct dir_walk *walk;
    struct buf path;
    size_t n_entries;
};

static int walk_directory(struct walker *w, int fd, unsigned depth, struct err *err);

static int walk_entry(struct walker *w, int dir_fd, const char *name, unsigned depth, struct err *err)
{
    struct stat st;
    char shown[400];
    size_t before = w->path.len;
    if (w->n_entries++ >= w->walk->max_entries)
        return err_set(err, ERR_FAILED, "%s has more than %zu entries",
                       format_path(w->dir, "", shown, sizeof shown), w->walk->max_entries);
    buf_addf(&w->path, "%s%s", before ? "/" : "", name);
    if (buf_check(&w->path, "a path", err) < 0)
        return -1;
    if (depth >= w->walk->max_depth)
        return err_set(err, ERR_FAILED, "%s lies deeper than %u directories",
                       format_path(w->dir, buf_str(&w->path), shown, sizeof shown), w->walk->max_depth);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return set_path_error(err, w->dir, "look at", buf_str(&w->path));
    if (w->walk->visit(w->walk->ctx, buf_str(&w->path), &st, err) < 0 ||
        (S_ISDIR(st.st_mode) && walk_directory(w, openat(dir_fd, name, LIST_FLAGS), depth + 1, err) < 0))
        return -1;
    w->path.len = before;
    w->path.data[before] = '\0';
    return 0;
}

/* Walks an open directory, and closes fd. */
static int walk_directory(struct walker *w, int fd, unsigned depth, struct err *err)
{
    DIR *stream = open_stream(fd);
    if (!stream)
        return set_path_error(err, w->dir, "open the directory", buf_str(&w->path));
    int rc = 0;
    for (struct dirent *e; rc == 0 && (errno = 0, e = readdir(stream));)
        if (!is_dot_or_dot_dot(e->d_name))
            rc = walk_entry(w, dirfd(stream), e->d_name, depth, err);
    if (rc == 0 && errno)
        rc = set_path_error(err, w->dir, "read the directory", buf_str(&w->path));
    closedir(stream);
    return rc;
}

int dir_walk(const struct dir *dir, const struct dir_walk *walk, struct err *err)
{
    struct walker w = {
        .dir = dir, .walk = walk, .path = BUF_INIT(((size_t)walk->max_depth + 1) * (NAME_MAX + 1))};
    int rc = walk_directory(&w, open_directory(dir, "", LIST_FLAGS), 0, err);
    buf_release(&w.path);
    return rc;
}
