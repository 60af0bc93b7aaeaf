/*
 * Appends a host's key to a known_hosts file.
 *
 * ssh appends without a lock, so we write the line in one piece at the end of the file, after a newline if
 * one is missing. ssh-keygen replaces the file by a new one. If that happens before we have the lock, we open
 * and lock the new file.
 */
#include "gateway/ssh/knownhosts.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define LOCK_PAUSE_MS 10
#define SALT_SIZE 20
#define CHECKED_BYTES 65536

/* Adds the hashed form of a name (sshd(8)): `|1|`, a random salt, `|`, and the HMAC-SHA1 of the name with
 * that salt. Salt and HMAC are in base64. */
static int add_hashed(struct buf *b, const char *name, struct err *err)
{
    unsigned char salt[SALT_SIZE], digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (RAND_bytes(salt, sizeof salt) != 1 ||
        !HMAC(EVP_sha1(), salt, sizeof salt, (const unsigned char *)name, strlen(name), digest, &n))
        return err_set(err, ERR_FAILED, "OpenSSL failed to hash the host's name");
    buf_adds(b, "|1|");
    ssh_base64_add(b, salt, sizeof salt);
    buf_addc(b, '|');
    ssh_base64_add(b, digest, n);
    return 0;
}

/* Writes the whole line. */
static int compose_line(const struct known_addition *a, struct buf *b, struct err *err)
{
    struct buf name = BUF_INIT(512);
    char type[64];
    bool bare_name = a->port == 0 || a->port == 22;
    if (bare_name)
        buf_adds(&name, a->host);
    else
        buf_addf(&name, "[%s]:%u", a->host, a->port);
    int rc = buf_check(&name, "the host's name", err);
    for (size_t i = 0; rc == 0 && i < name.len; i++)
        if (name.data[i] >= 'A' && name.data[i] <= 'Z')
            name.data[i] = (char)(name.data[i] - 'A' + 'a');
    if (rc == 0 && a->hashed)
        rc = add_hashed(b, name.data, err);
    else if (rc == 0)
        buf_adds(b, name.data);
    buf_addf(b, " %s ", ssh_blob_type(a->key, type, sizeof type));
    ssh_base64_add(b, a->key->data, a->key->n);
    buf_addc(b, '\n');
    buf_release(&name);
    return rc < 0 ? -1 : buf_check(b, "a line of known hosts", err);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Returns whether the first word of a line is the options of a key in authorized_keys, such as `no-pty` or
 * `from="...",restrict`, and not a list of hosts. */
static bool has_key_options(struct str word)
{
    static const char *const flags[] = {
        "agent-forwarding",  "cert-authority", "no-agent-forwarding", "no-pty",          "no-port-forwarding",
        "no-touch-required", "no-user-rc",     "no-X11-forwarding",   "port-forwarding", "pty",
        "restrict",          "user-rc",        "verify-required",     "X11-forwarding"};
    if (word.n > 0 && word.p[0] == '|') /* a hashed name */
        return false;
    if (word.n > 0 && memchr(word.p, '=', word.n))
        return true;
    size_t n = 0;
    while (n < word.n && word.p[n] != ',')
        n++;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (n == strlen(flags[i]) && strncasecmp(word.p, flags[i], n) == 0)
            return true;
    return false;
}

/* Checks that a line, without its newline, is blank, a comment, or `[@MARKER] HOSTS TYPE KEY`. */
static bool is_known_hosts_line(const char *line, size_t n)
{
    static const char *const types[] = {"ssh-", "ecdsa-", "sk-"};
    struct str rest = str_trim((struct str){line, n});
    if (rest.n == 0 || rest.p[0] == '#')
        return true;
    struct str word = str_next_word(&rest);
    if (word.p[0] == '@')
        word = str_next_word(&rest);
    struct str type = str_next_word(&rest), key = str_next_word(&rest);
    bool is_key_type = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        is_key_type |= str_begins(type, types[i]);
    return is_key_type && key.n > 0 && !has_key_options(word);
}

/* Checks that the start of a file has only lines of known hosts, or no line. */
static bool has_only_known_hosts(int fd)
{
    char text[CHECKED_BYTES];
    ssize_t n = pread(fd, text, sizeof text, 0);
    if (n < 0)
        return false;
    for (const char *p = text, *end = text + n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        /* The last line may be incomplete. */
        if (!stop && n == (ssize_t)sizeof text && p > text)
            break;
        stop = stop ? stop : end;
        if (!is_known_hosts_line(p, (size_t)(stop - p)))
            return false;
        p = stop + 1;
    }
    return true;
}

/*
 * Checks a symbolic link or a file with several hard links before we append to it. Some users link
 * known_hosts to a file elsewhere, but an extracted archive may also contain such a link. So the file must
 * belong to this user and have only lines of known hosts. An empty file may be a new one of the user's.
 */
static int check_linked(const char *path, struct stat *ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0)
        return err_sys(err, "%s is a link, and cannot be opened", path);
    int rc = 0;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(err, ERR_FAILED, "%s is no regular file", path);
    else if (st.st_uid != geteuid() || !has_only_known_hosts(fd))
        rc = err_set(err, ERR_FAILED, "%s is a link to a file that is not your known hosts", path);
    else
        *ret = st;
    fd_close(&fd);
    return rc;
}

/* Opens the directory of a path and creates it if it is missing. */
static int open_directory(const char *dir, struct err *err)
{
    struct err why = ERR_INIT;
    if (!file_exists(dir) && file_mkdir(dir, &why) < 0 && why.kind != ERR_EXISTS) {
        if (err)
            *err = why;
        return -1;
    }
    return dir_open_user_path(dir, err);
}

/* Opens a file for appending, or creates it. Refuses a symbolic link; the caller has checked the number of
 * hard links. */
static int open_plain(const struct dir *dir, const char *path, struct err *err)
{
    int fd = openat(dir->fd, file_base(path),
                    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0600);
    return fd < 0 ? err_sys(err, "cannot write %s", path) : fd;
}

/* Opens the file that check_linked has checked, for appending. Fails if another file has replaced it. */
static int open_linked(const char *path, const struct stat *checked, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_sys(err, "cannot write %s", path);
    if (fstat(fd, &st) == 0 && st.st_dev == checked->st_dev && st.st_ino == checked->st_ino)
        return fd;
    fd_close(&fd);
    return err_set(err, ERR_FAILED, "%s was replaced while it was opened", path);
}

/* Opens the file for appending. Creates it and its directory if they are missing. Refuses a FIFO or a device
 * before opening it. */
static int open_file(const char *path, struct err *err)
{
    struct stat st;
    int fd = -1;
    char *name = file_dir(path);
    if (!name)
        return err_nomem(err);
    struct dir dir = {.fd = open_directory(name, err), .name = name};
    if (dir.fd < 0)
        goto out;
    bool exists = fstatat(dir.fd, file_base(path), &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        err_set(err, ERR_FAILED, "%s is no regular file", path);
    else if (!exists || (S_ISREG(st.st_mode) && st.st_nlink <= 1))
        fd = open_plain(&dir, path, err);
    else if (check_linked(path, &st, err) == 0)
        fd = open_linked(path, &st, err);
out:
    fd_close(&dir.fd);
    free(name);
    return fd;
}

/* Locks the file. Retries until the deadline, because flock has no timeout. */
static int lock_file(int fd, const char *path, int64_t deadline, int cancel_fd, struct err *err)
{
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return err_sys(err, "cannot lock %s", path);
        if (clock_poll_timeout(deadline) == 0)
            return err_set(err, ERR_TIMEOUT, "another process holds the lock of %s", path);
        struct err why = ERR_INIT;
        fd_wait(-1, 0, clock_deadline(clock_jitter(LOCK_PAUSE_MS)), cancel_fd, &why);
        if (why.kind == ERR_CANCELLED) {
            if (err)
                *err = why;
            return -1;
        }
    }
    return 0;
}

/* Checks that the path still leads to the open file. */
static bool is_current_file(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Opens and locks the file. Closing *ret unlocks it. */
static int open_locked(const char *path, const struct proc_limits *limits, int *ret, struct err *err)
{
    int64_t deadline = clock_deadline(limits->timeout_ms);
    while (clock_poll_timeout(deadline) != 0) {
        int fd = open_file(path, err);
        if (fd < 0)
            return -1;
        if (lock_file(fd, path, deadline, limits->cancel_fd, err) < 0) {
            fd_close(&fd);
            return -1;
        }
        if (is_current_file(fd, path)) {
            *ret = fd;
            return 0;
        }
        fd_close(&fd);
    }
    return err_set(err, ERR_TIMEOUT, "%s is replaced again and again", path);
}

/* Reads the file again under the lock. Returns 1 if it already has this key for the host, 0 if it has no key
 * for the host, and -1 with ERR_HOST_KEY if it has only other keys or has revoked this one. */
static int find_under_lock(const struct known_addition *a, const struct proc_limits *limits, struct err *err)
{
    struct known_hosts known = {0};
    struct strlist files = {0};
    int rc = strlist_add(&files, a->file, err);
    if (rc == 0)
        rc = known_hosts_find(&files, (struct known_name){a->host, a->port}, limits, &known, err);
    if (rc == 0 && known_hosts_compare(&known, a->key, NULL) != KNOWN_NEW)
        rc = known_hosts_check(&known, a->key, a->host, &files, err) == 0 ? 1 : -1;
    known_hosts_release(&known);
    strlist_release(&files);
    return rc;
}

static int append_line(int fd, const struct known_addition *a, struct err *err)
{
    struct buf b = BUF_INIT(SSH_BLOB_MAX * 2);
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n')
        buf_addc(&b, '\n');
    int rc = compose_line(a, &b, err);
    if (rc == 0) {
        ssize_t n = write(fd, b.data, b.len);
        if (n < 0)
            rc = err_sys(err, "cannot write %s", a->file);
        else if ((size_t)n < b.len)
            rc = err_set(err, ERR_LOCAL_IO, "cannot write %s: there is no space", a->file);
    }
    buf_release(&b);
    return rc;
}

/* Checks that a known_hosts file would not read the name as a list, a pattern, a marker or a hashed name. */
static bool is_plain_name(const char *host)
{
    return *host && text_is_visible(host) && !strpbrk(host, " ,@?*!#[]|'\"\\");
}

int known_hosts_add(const struct known_addition *a, const struct proc_limits *limits, struct err *err)
{
    int fd = -1;
    if (!is_plain_name(a->host))
        return err_set(err, ERR_FAILED, "the name \"%s\" is not valid in a known_hosts file", a->host);
    if (open_locked(a->file, limits, &fd, err) < 0)
        return -1;
    int found = find_under_lock(a, limits, err);
    int rc = found == 0 ? append_line(fd, a, err) : found < 0 ? -1 : 0;
    fd_close(&fd);
    return rc;
}
